"""What a broker's message says about a replace (35=G). Pure.

Not here: the states of an order (`fix.orders.state`).

Rules:
- Until the broker answers, the order works under its old or its new ClOrdID, and nobody knows
  under which. An "unknown order" about one of them then says nothing about the other.
- Replaced (150=5) confirms it. So does any later report under the new ClOrdID that is neither
  pending nor a refusal: the session delivers reports in their order, but a logon may begin with the
  answer to a status request.
- A cancel leaves for both ClOrdIDs.
"""

from fix.orders.live import LiveOrder
from fix.orders.state import OrderEvent, event_of
from fix.wire.reports import CancelReject, ExecutionReport, Inbound

_PENDING = frozenset("6AE")
_REJECTED = "8"


def says_replaced(report: ExecutionReport, replace_id: str) -> bool:
    """Return whether a report shows the order as the replace with this ClOrdID left it."""
    if not replace_id or report.cl_ord_id != replace_id or report.is_ambiguous:
        return False
    if report.is_replaced:
        return True
    waits = report.ord_status in _PENDING or report.ord_status == _REJECTED
    return not waits and (report.is_status or report.is_trade)


def says_unknown(inbound: Inbound) -> bool:
    """Return whether the broker has no order under the ClOrdID that it was asked about."""
    match inbound:
        case ExecutionReport():
            unknown = event_of(inbound) is OrderEvent.NOT_KNOWN_THERE
            return unknown and not inbound.is_ambiguous
        case CancelReject():
            return inbound.ord_status == _REJECTED
        case _:
            return False


def counts_about(inbound: Inbound, name: str, order: LiveOrder) -> bool:
    """Return whether a message about one of an order's ClOrdIDs counts for the order."""
    return not says_unknown(inbound) or (not order.asked and name == order.wire_name)
