"""Orders at the broker that are not ours, such as a trader's on the same account. Pure.

Not here: how they are shown and recorded (the gateway).

Rules:
- An order is foreign if no ClOrdID in the report has our form. One in our form that nobody knows is
  no stranger: it may be ours, and blocks until a person looks at it. So does a trade without any
  ClOrdID, which cannot be told from ours.
- Unless the profile says ``cancel``, no sweep touches a foreign order. While one works, no mass
  cancel is sent either, because it would cancel that order too: single cancels do the work.
"""

from fix.dialects.profile import ForeignTreatment
from fix.orders.state import is_over_by
from fix.wire.identity import has_our_form
from fix.wire.reports import CancelReject, ExecutionReport, Inbound


def is_foreign(inbound: Inbound) -> bool:
    """Return whether a report or a cancel's refusal is about an order that is not ours."""
    if not isinstance(inbound, ExecutionReport | CancelReject):
        return False
    if isinstance(inbound, ExecutionReport) and inbound.finds_nothing:
        return False
    names = [name for name in (inbound.cl_ord_id, inbound.orig_cl_ord_id) if name]
    if not names and isinstance(inbound, ExecutionReport) and _traded(inbound):
        return False
    return not any(map(has_our_form, names))


def _traded(report: ExecutionReport) -> bool:
    return report.is_trade or report.undoes


def name_of(inbound: ExecutionReport | CancelReject) -> str:
    """Return what names a foreign order through all its changes: OrderID (37), else ClOrdID."""
    order_id = inbound.order_id if inbound.order_id != "NONE" else ""
    return order_id or inbound.orig_cl_ord_id or inbound.cl_ord_id


def works(report: ExecutionReport) -> bool:
    """Return whether a report says that its order may still trade."""
    return report.has_leaves and not is_over_by(report.ord_status)


class Strangers:
    """The foreign orders that work, as far as one session's child has heard."""

    def __init__(self, treatment: ForeignTreatment) -> None:
        """Begin with none."""
        self._treatment = treatment
        self._working: set[str] = set()

    @property
    def are_spared(self) -> bool:
        """Whether an order works that a mass cancel would take along."""
        return bool(self._working) and self._treatment is not ForeignTreatment.CANCEL

    def told(self, names: frozenset[str]) -> None:
        """Add orders that worked before this child began, by `name_of`."""
        self._working |= names

    def took(self, inbound: Inbound) -> bool:
        """Take a message about a foreign order; return whether nobody else may act on it."""
        if not is_foreign(inbound):
            return False
        if isinstance(inbound, ExecutionReport):
            (self._working.add if works(inbound) else self._working.discard)(name_of(inbound))
        return self._treatment is not ForeignTreatment.CANCEL
