"""Messages about orders at the broker that are not ours: told apart and put on record. Pure.

An order whose ClOrdID is not in our form can only be somebody else's, unless the broker reports it
under an OrderID (37) that one of ours has. It is recorded and shown; it changes no book and no
state, and blocks nothing, unless the profile says so. Not here: the form (`fix.orders.foreign`).
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from audit.records.record import Draft
from fix.dialects.profile import ForeignTreatment
from fix.orders.foreign import is_foreign
from fix.wire.identity import has_our_form
from fix.wire.reports import CancelReject, ExecutionReport
from gateway.walk.journal.foreign import foreign_reported
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.standing import Standing
from gateway.walk.reconciliation.cancel_ends import SaidAt

_CL_ORD_ID, _ORIG_CL_ORD_ID = 11, 41


def told_by_stranger(
    said: ExecutionReport | CancelReject,
    ours: Callable[[str], Standing | None],
    treatment: ForeignTreatment,
    at: SaidAt,
) -> Draft | None:
    """Return the record of a message about a foreign order; None if the order may be ours.

    `ours` returns the order of ours that has an OrderID at the broker.
    """
    if not is_foreign(said) or ours(said.order_id) is not None:
        return None
    return foreign_reported(at.session, said, offset=at.offset, treatment=treatment)


class OrdersPort(Protocol):
    """The orders of ours that a message may be about."""

    def by_broker_id(self, order_id: str) -> Standing | None:
        """Return the order with an OrderID (37) at the broker, or None."""
        ...

    def live(self) -> tuple[Standing, ...]:
        """Return the orders that may trade."""
        ...


def ours_among(orders: OrdersPort, said: ExecutionReport) -> Callable[[str], Standing | None]:
    """Return what finds the order of ours that a report may be about, by its OrderID (37).

    An order of ours that the broker has not reported yet has no OrderID here. A report that could
    be its first, with another ClOrdID or none, counts as being about it: in doubt it is no
    stranger's.
    """

    def ours(order_id: str) -> Standing | None:
        found = orders.by_broker_id(order_id) if order_id else None
        return found or next((one for one in orders.live() if _may_be(one, said)), None)

    return ours


def _may_be(order: Standing, said: ExecutionReport) -> bool:
    """Return whether a report has the instrument, side and quantity of an unreported order."""
    if order.broker_id or order.sending is None or not said.symbol:
        return False
    sent = dict(OrderSending.of(order.sending).fields)
    told = {55: said.symbol, 54: said.side, 38: said.order_qty}
    return all(sent.get(tag) == value for tag, value in told.items())


def unknown_order(
    report: ExecutionReport,
    why: Draft,
    ours: Callable[[str], Standing | None],
    treatment: ForeignTreatment,
    at: SaidAt,
    *,
    old: bool,
) -> tuple[Draft, ...]:
    """Return the drafts of a report about no order that is on record.

    `why` says that the order is unknown. An `old` report is older than the record.
    """
    if report.finds_nothing:
        return ()  # the answer to a mass status request: there is no order
    told = told_by_stranger(report, ours, treatment, at)
    if told is None:
        return (why,)
    return (() if old else (told,)) + ((why,) if treatment is ForeignTreatment.BLOCK else ())


def names_stranger(tags: Mapping[int, str]) -> bool:
    """Return whether a message names an order, and by no ClOrdID that could be ours."""
    names = [tags[tag] for tag in (_CL_ORD_ID, _ORIG_CL_ORD_ID) if tags.get(tag)]
    return bool(names) and not any(map(has_our_form, names))
