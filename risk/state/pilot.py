"""The further limits of pilot mode: what an approved order may be at most before it leaves.

Not here: the rules and the signed policy, which judge in every mode; the gateway, which counts.

Rules:
- Nothing leaves in pilot mode that is not named: no instrument, and every number at zero.
- A limit may be reached and not passed. The first one that is passed is named.
- An order that brings the position nearer to zero passes the limit of positions.
"""

from dataclasses import dataclass
from enum import StrEnum

from typing_extensions import override

from risk.intent import Side


class PilotLimit(StrEnum):
    """A limit, as a refusal names it."""

    INSTRUMENTS = "pilot_instruments"
    PRICE = "pilot_price"
    VALUE = "pilot_value"
    ORDERS = "pilot_orders"
    POSITION = "pilot_position"


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotLimits:
    """The limits of pilot mode.

    Attributes:
        instruments: the only ones that may be traded.
        price_max_minor: highest limit price of one unit, in minor units.
        value_max_minor: largest value of one order, in minor units.
        orders_per_day: orders announced on one day, UTC.
        position_max_lots: the firm's largest position in one instrument, over all accounts, either
            way, with what is pending.
    """

    instruments: tuple[str, ...]
    price_max_minor: int
    value_max_minor: int
    orders_per_day: int
    position_max_lots: int

    @override
    def __str__(self) -> str:
        """Return the limits in one line, as officers sign them."""
        return (
            f"instruments {','.join(self.instruments) or 'none'}"
            f" price {self.price_max_minor} value {self.value_max_minor}"
            f" orders {self.orders_per_day} position {self.position_max_lots}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotOrder:
    """What the limits look at; the order's own reservation is not in `pending_lots`.

    Attributes:
        price_minor: its limit price for one unit.
        value_minor: its value at the worst price that the rules saw.
        earlier_orders: other orders that were announced on the same day.
        held_lots: the firm's signed position.
        pending_lots: what other orders of the firm on the same side may still execute.
    """

    instrument: str
    side: Side
    qty_lots: int
    price_minor: int
    value_minor: int
    earlier_orders: int
    held_lots: int
    pending_lots: int


def passed(limits: PilotLimits, order: PilotOrder) -> str:
    """Return which limit an order passes, with both numbers; empty if it passes none."""
    if order.instrument not in limits.instruments:
        return f"{PilotLimit.INSTRUMENTS}: {order.instrument} is not among them"
    worst = order.held_lots + order.side.sign * (order.pending_lots + order.qty_lots)
    nearer = abs(worst) <= abs(order.held_lots)
    measured = (
        (PilotLimit.PRICE, order.price_minor, limits.price_max_minor),
        (PilotLimit.VALUE, order.value_minor, limits.value_max_minor),
        (PilotLimit.ORDERS, order.earlier_orders + 1, limits.orders_per_day),
        (PilotLimit.POSITION, 0 if nearer else abs(worst), limits.position_max_lots),
    )
    return next(
        (f"{name}: {found}, at most {most}" for name, found, most in measured if found > most), ""
    )
