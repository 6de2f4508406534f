"""An instrument of the table as a draft policy needs it: its units, price, what is stated.

Not here: where a price comes from (`launch/commands/prices`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from risk.forms.money import grouped_money, minor_digits

_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TradedInstrument:
    """What a draft reads of an instrument.

    Attributes:
        min_qty: the venue's smallest order and step, in lots.
        max_qty: the venue's largest order, in lots.
        unit_minor: value of one tick of one lot, in minor units.
        price_ticks: the price by which limits are scaled; None if nobody gave one.
        price_said: the price and where it is from, in words; empty without one.
        stated: the optional fields of the table that say something usable of it.
    """

    symbol: str
    asset_class: str
    currency: str
    min_qty: int
    max_qty: int
    unit_minor: int
    calendar: str
    price_ticks: int | None = None
    price_said: str = ""
    stated: frozenset[str] = frozenset()

    @property
    def lot_minor(self) -> int | None:
        """Value of one lot in minor units, at least one; None without a price."""
        return None if self.price_ticks is None else max(1, self.price_ticks * self.unit_minor)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftScale:
    """The options by which limits are scaled.

    Attributes:
        prices: texts `SYMBOL=PRICE`.
        bars: a file of bars.
        equity: the account's equity, an amount in the policy's currency.
    """

    prices: tuple[str, ...] = ()
    bars: Path | None = None
    equity: str | None = None


UNSCALED: Final = DraftScale()


def currency_of(traded: Sequence[TradedInstrument]) -> str:
    """Return the currency of the instruments of a table, which has one."""
    return traded[0].currency


def named(traded: Iterable[TradedInstrument], field: str) -> str:
    """Return the symbols of which the table does not state a field, "" if there is none."""
    return listed([one.symbol for one in traded if field not in one.stated])


def listed(symbols: Sequence[str]) -> str:
    """Return symbols as text, at most three of them by name."""
    more = len(symbols) - _NAMED
    return ", ".join(symbols[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def said(minor: int, currency: str) -> str:
    """Return an amount in words: ``1,000,000.00 USD``."""
    return f"{grouped_money(minor, minor_digits(currency))} {currency}"
