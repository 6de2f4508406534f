"""An instrument's units.

Not here: its limits (`risk/policy/policy.py`) and prices (`risk/state/state.py`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """Reference data of one instrument.

    Attributes:
        asset_class: Key of the policy's class section ("index", "equity", "fx", ...).
        tick_minor: Minor currency units per price tick and unit of quantity.
        lot: Units per lot; quantities are counted in lots.
        multiplier: Contract multiplier.
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
        """Value of one tick of one lot, in minor units."""
        return self.lot * self.tick_minor * self.multiplier
