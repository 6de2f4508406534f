"""Records of a cancel that somebody asked for: the request, and how it ended.

The cancel's ClOrdID derives from the leaf of its request, as an order's derives from its approval.
Between the two records the FIX child notes the message (`cancel_sent`) before its bytes leave. Not
here: the cancels of a kill or a sweep, which nobody asked for one by one.
"""

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.order import order_draft
from gateway.walk.projections.standing import AskedCancel, CancelOutcome, Standing


def cancel_requested(
    standing: Standing, *, session: str, requested_by: str, role: str, client_key: str, reason: str
) -> Draft:
    """A request to cancel an order; committed before the FIX child hears of it."""
    return order_draft(
        standing,
        Kind.CANCEL_REQUESTED,
        f"cancel_requested:{requested_by}:{client_key}",
        {
            "orig_cl_ord_id": standing.cl_ord_id,
            "session": session,
            "requested_by": requested_by,
            "role": role,
            "client_key": client_key,
            "reason": reason,
        },
        actor=f"{'agent' if role == 'agent' else 'person'}:{requested_by}",
    )


class CancelRequested(Contents, frozen=True, kw_only=True):
    session: str
    requested_by: str
    role: str
    client_key: str
    reason: str


def cancel_not_sent(
    standing: Standing, asked: AskedCancel, reason: str, *, market_time_us: int
) -> Draft:
    """The cancel did not leave and never will; its order goes on."""
    return order_draft(
        standing,
        Kind.CANCEL_ENDED,
        f"cancel_not_sent:{asked.cancel_id}",
        {
            "cl_ord_id": asked.cancel_id,
            "orig_cl_ord_id": standing.cl_ord_id,
            "outcome": CancelOutcome.NOT_SENT.value,
            "reason": reason,
            "market_time_us": market_time_us,
        },
    )


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
    payload: dict[str, JSON] = {
        "cl_ord_id": asked.cancel_id,
        "orig_cl_ord_id": standing.cl_ord_id,
        "outcome": outcome.value,
        "reason": reason,
        "order_state": order_state,
        "session": session,
        "inbox_offset": offset,
        "market_time_us": market_time_us,
    }
    if ord_status:
        payload["ord_status"] = ord_status
    return order_draft(
        standing,
        Kind.CANCEL_ENDED,
        f"cancel_ended:{asked.cancel_id}:{offset}",
        payload,
        actor="fix",
    )


class CancelEnded(Contents, frozen=True, kw_only=True):
    """The contents of `cancel_ended`; only what the broker said has a session and an offset."""

    cl_ord_id: str
    outcome: str
    reason: str
    order_state: str = ""
    session: str = ""
    inbox_offset: int = -1
    market_time_us: int = 0
