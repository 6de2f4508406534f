"""What a broker's own change of an order (150=D) leaves of it, and of its reservation. Pure.

Rules:
- The order's new total is what the broker says (38), but never less than what is booked and still
  works (151): what is reserved is never below what the broker could fill.
- While a replace is open, what it reserved stays, unless the broker's total is larger.
- The limit of the reservation never falls: it is the higher of the agreed one and the broker's.
- Whether a trade breaks its order is still judged by the terms that were approved.

Not here: the alarm of such a change (`quarantine.restatement`).
"""

from decimal import ROUND_CEILING, Decimal, InvalidOperation

from fix.wire.reports import ExecutionReport
from gateway.walk.journal.contents import Reservation
from gateway.walk.journal.order import Restated
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.asked import agreed_of, terms_of


def restated_by(report: ExecutionReport, standing: Standing, booked: int) -> Restated | None:
    """Return an order's terms after a restatement, or None if it changes none.

    `booked` are the order's executed lots, with this report's.
    """
    if not report.is_restatement or standing.verdict is None or standing.sending is None:
        return None
    agreed, before = agreed_of(standing), terms_of(standing)
    lots = _units(report.order_qty, agreed.quantity, agreed.qty_lots)
    ticks = _units(report.price, agreed.price, agreed.limit_ticks)
    works = _units(report.leaves_qty, agreed.quantity, agreed.qty_lots) or 0
    told = before.qty_lots if lots is None else max(lots, booked + works)
    limit = max(agreed.limit_ticks, ticks or 0)
    if (told, limit) == (before.qty_lots, before.limit_ticks):
        return None
    first, asked = VerdictGiven.of(standing.verdict).reservation, standing.open_replace
    if first is None:
        return None
    held = before.qty_lots if asked is None else standing.reserved_lots(asked)
    wanted = told if asked is None else max(asked.reservation.qty_lots, told)
    reserved = Reservation(
        instrument=first.instrument,
        side=first.side,
        qty_lots=wanted,
        limit_ticks=limit if asked is None else max(limit, asked.reservation.limit_ticks),
        unit_minor=first.unit_minor,
    )
    return Restated(
        qty_lots=told,
        limit_ticks=limit,
        quantity=before.quantity
        if lots is None
        else _whole(agreed.quantity, agreed.qty_lots, told),
        price=agreed.price if limit == agreed.limit_ticks else report.price,
        add_lots=wanted - held,
        reservation=reserved,
    )


def _units(said: str, agreed: str, units: int) -> int | None:
    """Return a number in the units of the agreed one, rounded up; None if it is not given."""
    try:
        one = Decimal(agreed) / units
        return int((Decimal(said) / one).to_integral_value(ROUND_CEILING)) if said else None
    except (InvalidOperation, ZeroDivisionError):
        return None


def _whole(agreed: str, units: int, lots: int) -> str:
    return f"{Decimal(agreed) / units * lots:f}"
