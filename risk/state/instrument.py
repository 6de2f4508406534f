"""The instrument an order is for: its units, nothing about its market.

Not here: limits per instrument (`risk/policy/policy.py`) and prices (`risk/state/state.py`).
"""

from dataclasses import dataclass

from risk.canonical import JSON, Reader, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """Reference data of one instrument.

    Attributes:
        symbol: Our name of it.
        asset_class: Key of the policy's class section ("index", "equity", "fx", ...).
        tick_minor: Minor currency units per price tick and unit of quantity.
        lot: Units per lot; quantities are counted in lots.
        multiplier: Contract multiplier.
        currency: ISO 4217 code of price and money.
        min_qty: Smallest order and quantity step, in lots.
    """

    symbol: str
    asset_class: str
    tick_minor: int
    lot: int
    multiplier: int
    currency: str
    min_qty: int

    @property
    def unit_minor(self) -> int:
        """Minor units by which one lot changes in value when the price moves one tick."""
        return self.lot * self.tick_minor * self.multiplier


def instrument_document(instrument: Instrument) -> dict[str, JSON]:
    """Write an instrument as a document."""
    return {
        "symbol": instrument.symbol,
        "asset_class": instrument.asset_class,
        "tick_minor": number(instrument.tick_minor),
        "lot": number(instrument.lot),
        "multiplier": number(instrument.multiplier),
        "currency": instrument.currency,
        "min_qty": number(instrument.min_qty),
    }


def instrument_from_document(document: object) -> Instrument:
    """Read an instrument back.

    Raises:
        DocumentError: Not an instrument's document.
    """
    read = Reader(document)
    instrument = Instrument(
        symbol=read.text("symbol"),
        asset_class=read.text("asset_class"),
        tick_minor=read.number("tick_minor"),
        lot=read.number("lot"),
        multiplier=read.number("multiplier"),
        currency=read.text("currency"),
        min_qty=read.number("min_qty"),
    )
    read.done()
    return instrument
