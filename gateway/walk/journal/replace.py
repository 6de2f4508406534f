"""Records of a replace: what was asked for and reserved, that it left, and how it ended.

The replace's ClOrdID derives from the leaf of its request, as an order's does from its approval.
Quantities are the order's totals, with what was executed. From the request to the end the larger of
both totals is reserved, at the higher of both limits.
"""

from typing import Any

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.session.link import HandResult
from gateway.walk.journal.contents import Contents, Reservation
from gateway.walk.journal.order import order_draft
from gateway.walk.journal.verdict import VerdictBasis
from gateway.walk.projections.standing import (
    AskedReplace,
    ReplaceOutcome,
    Standing,
    Terms,
)


def replace_requested(  # noqa: PLR0913 - what was asked, and what it binds
    standing: Standing,
    before: Terms,
    after: Terms,
    reserved: Reservation,
    *,
    session: str,
    requested_by: str,
    role: str,
    client_key: str,
    reason: str,
    market_now_us: int,
    judged: dict[str, JSON] | None = None,
) -> Draft:
    """A request to replace an order; committed, with its reservation, before anything leaves.

    `judged` has the verdict where the replace raises what the order may do.
    """
    return order_draft(
        standing,
        Kind.REPLACE_REQUESTED,
        f"replace_requested:{requested_by}:{client_key}",
        {
            "orig_cl_ord_id": before.name,
            "session": session,
            "requested_by": requested_by,
            "role": role,
            "client_key": client_key,
            "reason": reason,
            "before": before.document(),
            "after": after.document(),
            "reservation": reserved.document(),
            "market_now_us": market_now_us,
            **({} if judged is None else {"judged": judged}),
        },
        actor=f"{'agent' if role == 'agent' else 'person'}:{requested_by}",
    )


class TermsSaid(Contents, frozen=True, kw_only=True):
    """An order's quantity and limit: in lots and ticks, and as the message has them."""

    qty_lots: int
    limit_ticks: int
    quantity: str
    price: str


class ReplaceRequested(Contents, frozen=True, kw_only=True):
    """The contents of `replace_requested`."""

    decision_id: str
    account: str
    orig_cl_ord_id: str
    session: str
    requested_by: str
    role: str
    client_key: str
    reason: str
    before: TermsSaid
    after: TermsSaid
    reservation: Reservation
    market_now_us: int
    judged: dict[str, Any] | None = None

    @property
    def basis(self) -> VerdictBasis | None:
        """What its verdict rested on; None for a replace that only reduces."""
        return None if self.judged is None else VerdictBasis.read(self.judged)


def replace_sent(
    standing: Standing, asked: AskedReplace, result: HandResult, *, raw: str, raw_digest: str
) -> Draft:
    """The message left, with this number."""
    return order_draft(
        standing,
        Kind.REPLACE_SENT,
        f"replace_sent:{asked.replace_id}",
        {
            "cl_ord_id": asked.replace_id,
            "orig_cl_ord_id": asked.orig_name,
            "msg_seq_num": result.msg_seq_num,
            "session_epoch": result.epoch,
            "raw": raw,
            "raw_digest": raw_digest,
        },
    )


class ReplaceSent(Contents, frozen=True, kw_only=True):
    cl_ord_id: str
    msg_seq_num: int
    raw: str
    session_epoch: int = 0


def replace_ended(  # noqa: PLR0913 - what the broker said, and where
    standing: Standing,
    asked: AskedReplace,
    outcome: ReplaceOutcome,
    reason: str,
    now: Terms,
    *,
    market_time_us: int,
    order_state: str = "",
    session: str = "",
    offset: int = -1,
    ord_status: str = "",
) -> Draft:
    """How a replace ended; `now` are the terms under which the order goes on.

    Without an `offset` the broker said nothing: it did not leave.
    """
    said: dict[str, JSON] = {}
    if offset >= 0:
        said = {"session": session, "inbox_offset": offset, "order_state": order_state}
    if ord_status:
        said["ord_status"] = ord_status
    held = standing.reserved_lots(asked)
    return order_draft(
        standing,
        Kind.REPLACE_ENDED,
        f"replace_ended:{asked.replace_id}:{offset}",
        {
            "cl_ord_id": asked.replace_id,
            "orig_cl_ord_id": asked.orig_name,
            "outcome": outcome.value,
            "reason": reason,
            "terms": now.document(),
            "freed_lots": held - now.qty_lots,
            "reservation": asked.reservation.document(),
            "market_time_us": market_time_us,
            **said,
        },
        actor="fix" if said else "gateway",
    )


class ReplaceEnded(Contents, frozen=True, kw_only=True):
    """The contents of `replace_ended`; only what the broker said has a session and an offset."""

    decision_id: str
    cl_ord_id: str
    outcome: str
    reason: str
    terms: TermsSaid
    freed_lots: int
    reservation: Reservation
    market_time_us: int
    order_state: str = ""
    session: str = ""
    inbox_offset: int = -1
