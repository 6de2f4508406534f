"""Records of a cancel that somebody asked for: the request, and how it ended.

The cancel's ClOrdID derives from the leaf of its request, as an order's derives from its approval.
Between the two records the FIX child notes the message (`cancel_sent`) before its bytes leave. Not
here: the cancels of a kill or a sweep, which nobody asked for one by one.
"""

from audit.records.record import Draft
from audit.records.record_kind import ORDER, Filing, RecordKind
from gateway.walk.journal.decision import GATEWAY
from gateway.walk.journal.order import order_draft
from gateway.walk.journal.standing import AskedCancel, CancelOutcome, Standing


def cancel_requested(
    standing: Standing, *, session: str, requested_by: str, role: str, client_key: str, reason: str
) -> Draft:
    """A request to cancel an order; committed before the FIX child hears of it."""
    requested = CancelRequested(
        orig_cl_ord_id=standing.cl_ord_id,
        session=session,
        requested_by=requested_by,
        role=role,
        client_key=client_key,
        reason=reason,
    )
    by = "agent" if role == "agent" else "person"
    return order_draft(standing, requested, actor=f"{by}:{requested_by}")


class CancelRequested(RecordKind, frozen=True, kw_only=True):
    """Who asked to cancel, and why."""

    filing = Filing(
        "decision/{decision_id}", "cancel_requested:{requested_by}:{client_key}", tags=ORDER
    )

    orig_cl_ord_id: str
    session: str
    requested_by: str
    role: str
    client_key: str
    reason: str


def cancel_not_sent(
    standing: Standing, asked: AskedCancel, reason: str, *, market_time_us: int
) -> Draft:
    """The cancel did not leave and never will; its order goes on."""
    ended = CancelEnded(
        cl_ord_id=asked.cancel_id,
        orig_cl_ord_id=standing.cl_ord_id,
        outcome=CancelOutcome.NOT_SENT.value,
        reason=reason,
        market_time_us=market_time_us,
    )
    return order_draft(standing, ended, key=f"cancel_not_sent:{asked.cancel_id}", actor=GATEWAY)


def cancel_ended(  # noqa: PLR0913 - what the broker said, and where
    standing: Standing,
    asked: AskedCancel,
    outcome: CancelOutcome,
    reason: str,
    *,
    order_state: str,
    session: str,
    offset: int,
    market_time_us: int,
    ord_status: str = "",
) -> Draft:
    """What the broker made of a cancel; after a rejected one the order is in `order_state`."""
    ended = CancelEnded(
        cl_ord_id=asked.cancel_id,
        orig_cl_ord_id=standing.cl_ord_id,
        outcome=outcome.value,
        reason=reason,
        order_state=order_state,
        session=session,
        inbox_offset=offset,
        market_time_us=market_time_us,
        ord_status=ord_status,
    )
    return order_draft(standing, ended)


class CancelEnded(RecordKind, frozen=True, kw_only=True):
    """How a cancel ended; only what the broker said has a session and an offset."""

    filing = Filing(
        "decision/{decision_id}", "cancel_ended:{cl_ord_id}:{inbox_offset}", "fix", tags=ORDER
    )

    cl_ord_id: str
    orig_cl_ord_id: str
    outcome: str
    reason: str
    market_time_us: int = 0
    order_state: str = ""
    session: str = ""
    inbox_offset: int = -1
    ord_status: str = ""
