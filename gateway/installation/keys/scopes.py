"""The scope of an agent's key: what it may ask for, how much, how often and until when.

A scope is a TOML file; `countersign keygen --role agent --scope FILE` keeps it beside the key. It
narrows what the key may do and never widens what the policy allows. Every field must be said, so
that no limit is missing by mistake; only `account` (the key's name) and `intents_at_once` (as many
as a minute has) have a default.

Not here: what an intent is held against it (`gateway.desk.intake.scope`), the fold of what was used
(`gateway.walk.projections.mandates`).
"""

import tomllib
from datetime import UTC, date, datetime, time
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from audit.records.canonical import JSON, canonical
from gateway.errors import SettingsError
from risk.forms.money import HUNDREDTHS, rescaled
from risk.intent import SYMBOL, Side

ACCOUNT: Final = r"^[a-z][a-z0-9-]{1,31}$"
TAKEN: Final = frozenset({"agent", "placebo", "gjr"})
"""Accounts that a scope may not name: the one that keys without a scope share, and the twins'."""
EVERY: Final = "*"
"""In place of symbols: every instrument of the desk's table."""
PER_MINUTE_MAX: Final = 600
EXAMPLE: Final = """\
instruments = ["SPXN"]           # symbols, or "*" for every one of the table
sides = ["BUY", "SELL"]
order_notional_max = "50000.00"  # of one order at its limit price, in the book's currency
day_notional_max = "200000.00"   # of all orders of one trading day
intents_per_minute = 6           # replaces count too
expires = 2027-01-31             # the key ends with this day, UTC
account = "desk-1"               # orders are booked in ACCOUNT.desk-1; default: the key's name
intents_at_once = 3              # refilled evenly; default: a minute's may all come at once
"""
_Listed = Annotated[str, Field(pattern=rf"^(\*|{SYMBOL})$")]
_Money = Annotated[str, Field(pattern=r"^[0-9]{1,13}(\.[0-9]{1,2})?$")]


class _File(BaseModel):
    """A scope as a person writes it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    instruments: Annotated[list[_Listed], Field(min_length=1, max_length=1_000)]
    sides: Annotated[list[str], Field(min_length=1, max_length=2)]
    order_notional_max: _Money
    day_notional_max: _Money
    intents_per_minute: Annotated[int, Field(ge=1, le=PER_MINUTE_MAX)]
    intents_at_once: Annotated[int, Field(ge=1, le=PER_MINUTE_MAX)] | None = None
    expires: date | datetime
    account: Annotated[str, Field(pattern=ACCOUNT)] | None = None


class KeyScope(BaseModel):
    """The scope of one key; money in hundredths, times in microseconds UTC.

    A scope is written before its book is known: `order_max` and `day_max` count in the minor units
    of a book.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    instruments: tuple[str, ...]
    sides: tuple[Side, ...]
    order_notional_max_minor: int
    day_notional_max_minor: int
    intents_per_minute: int
    intents_at_once: int | None = None
    expires_us: int
    account: str

    @classmethod
    def read(cls, file: Path, name: str) -> Self:
        """Read the scope of the key `name` from a TOML file.

        Raises:
            SettingsError: the file cannot be read, or a field is missing, unknown or out of range.
        """
        try:
            asked = _File.model_validate(tomllib.loads(file.read_text()))
            sides = sorted({Side(side) for side in asked.sides})
        except OSError as error:
            raise _wrong(file, str(error.strerror)) from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise _wrong(file, f"{where}: {first['msg']}") from None
        except ValueError as error:  # TOML, UTF-8, or a side that is none
            raise _wrong(file, str(error)) from None
        account = asked.account or name
        if account in TAKEN:
            raise _wrong(file, f"account: {account} is taken; choose another name")
        return cls(
            instruments=tuple(sorted(set(asked.instruments))),
            sides=tuple(sides),
            order_notional_max_minor=_minor(asked.order_notional_max),
            day_notional_max_minor=_minor(asked.day_notional_max),
            intents_per_minute=asked.intents_per_minute,
            intents_at_once=asked.intents_at_once,
            expires_us=_end_us(asked.expires),
            account=account,
        )

    def covers(self, instrument: str) -> bool:
        """Return whether the key may ask for an instrument."""
        return instrument in self.instruments or EVERY in self.instruments

    def order_max(self, digits: int) -> int:
        """Return the most that one order may be worth, in 10**-`digits` of the book's currency."""
        return rescaled(self.order_notional_max_minor, HUNDREDTHS, digits)

    def day_max(self, digits: int) -> int:
        """Return the most that a day's orders may be worth, as `order_max`."""
        return rescaled(self.day_notional_max_minor, HUNDREDTHS, digits)

    def document(self) -> dict[str, JSON]:
        """Return the fields as the key folder and the record hold them."""
        # what a scope does not say is not there: digests of scopes from before a field stay
        document: dict[str, JSON] = self.model_dump(mode="json", exclude_none=True)
        return document

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of the canonical document."""
        return sha256(canonical(self.document())).hexdigest()


def _minor(text: str, digits: int = HUNDREDTHS) -> int:
    return int(Decimal(text).scaleb(digits))


def _end_us(expires: date | datetime) -> int:
    """Return when a key ends: the given time, or the end of the given day."""
    if isinstance(expires, datetime):
        moment = expires if expires.tzinfo is not None else expires.replace(tzinfo=UTC)
        return int(moment.timestamp()) * 1_000_000
    midnight = datetime.combine(expires, time(), tzinfo=UTC)
    return (int(midnight.timestamp()) + 86_400) * 1_000_000


def _wrong(file: Path, problem: str) -> SettingsError:
    return SettingsError(
        name="--scope", problem=f"{file}: {problem}; a complete file looks like this:\n{EXAMPLE}"
    )
