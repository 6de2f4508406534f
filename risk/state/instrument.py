"""The instrument an order is for: its units, nothing about its market.

Not here: limits per instrument (`risk/policy/policy.py`) and prices (`risk/state/state.py`).
"""

from dataclasses import dataclass


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
