"""What the readers of records share: typed contents, read from a payload.

A class is named like its kind and has only the fields that this version reads. A field that older
records lack has a default.
"""

from typing import Self

from msgspec import to_builtins

from audit.records.canonical import JSON
from audit.records.record import Record
from audit.records.typed import TypedFields
from risk.intent import Side


class Contents(TypedFields, frozen=True, kw_only=True):
    """The fields of one kind's payload."""

    @classmethod
    def of(cls, record: Record) -> Self:
        """Read a record.

        Raises:
            ValueError: when a field is missing or has another type.
            CanonicalError: when the payload is not canonical JSON.
        """
        return cls.read(record.body)

    def document(self) -> dict[str, JSON]:
        """Return the fields as a payload holds them."""
        document: dict[str, JSON] = to_builtins(self)
        return document


class Ending(Contents, frozen=True, kw_only=True):
    """What ends an approval, a hold or an order: when on the market's clock, and why."""

    market_time_us: int
    reason: str = ""
    order_state: str | None = None


class Reasoned(Contents, frozen=True, kw_only=True):
    """Why, of any kind that says so in one field."""

    reason: str = ""


class SaidWhere(Contents, frozen=True, kw_only=True):
    """Which message of the broker a record was made of; nothing if it was made of none."""

    session: str = ""
    inbox_offset: int = -1


class Fill(Contents, frozen=True, kw_only=True):
    """A trade in whole lots and ticks; `unit_minor` is the worth of one lot at one tick."""

    instrument: str
    side: Side
    qty_lots: int
    price_ticks: int
    fee_minor: int
    unit_minor: int


class Reservation(Contents, frozen=True, kw_only=True):
    """What an approved or held intent reserves until its order ends."""

    instrument: str
    side: Side
    qty_lots: int
    limit_ticks: int
    unit_minor: int
