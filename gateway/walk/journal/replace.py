"""Records of a replace: what was asked for and reserved, that it left, and how it ended.

The replace's ClOrdID derives from the leaf of its request, as an order's does from its approval.
Quantities are the order's totals, with what was executed. From the request to the end the larger of
both totals is reserved, at the higher of both limits.
"""

from typing import Any

from audit.records.canonical import JSON
from audit.records.record import Draft
from audit.records.record_kind import ORDER, Contents, Filing, RecordKind
from fix.session.link import HandResult
from gateway.walk.journal.contents import Reservation
from gateway.walk.journal.decision import GATEWAY
from gateway.walk.journal.order import order_draft
from gateway.walk.journal.standing import (
    AskedReplace,
    ReplaceOutcome,
    Standing,
    Terms,
)
from gateway.walk.journal.verdict import VerdictBasis


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
    requested = ReplaceRequested(
        account=standing.account,
        decision_id=standing.decision_id,
        orig_cl_ord_id=before.name,
        session=session,
        requested_by=requested_by,
        role=role,
        client_key=client_key,
        reason=reason,
        before=TermsSaid.read(before.document()),
        after=TermsSaid.read(after.document()),
        reservation=reserved,
        market_now_us=market_now_us,
        judged=judged,
    )
    by = "agent" if role == "agent" else "person"
    return order_draft(standing, requested, actor=f"{by}:{requested_by}")


class TermsSaid(Contents, frozen=True, kw_only=True):
    """An order's quantity and limit: in lots and ticks, and as the message has them."""

    qty_lots: int
    limit_ticks: int
    quantity: str
    price: str


class ReplaceRequested(RecordKind, frozen=True, kw_only=True):
    """Who asked for which terms, and what is reserved."""

    filing = Filing(
        "decision/{decision_id}",
        "replace_requested:{requested_by}:{client_key}",
        tags=ORDER,
        section=True,
    )

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
    sent = ReplaceSent(
        cl_ord_id=asked.replace_id,
        orig_cl_ord_id=asked.orig_name,
        msg_seq_num=result.msg_seq_num,
        session_epoch=result.epoch,
        raw=raw,
        raw_digest=raw_digest,
    )
    return order_draft(standing, sent)


class ReplaceSent(RecordKind, frozen=True, kw_only=True):
    """A replace that left."""

    filing = Filing("decision/{decision_id}", "replace_sent:{cl_ord_id}", tags=ORDER)

    cl_ord_id: str
    orig_cl_ord_id: str
    msg_seq_num: int
    session_epoch: int
    raw: str
    raw_digest: str


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
    said = offset >= 0
    ended = ReplaceEnded(
        decision_id=standing.decision_id,
        cl_ord_id=asked.replace_id,
        orig_cl_ord_id=asked.orig_name,
        outcome=outcome.value,
        reason=reason,
        terms=TermsSaid.read(now.document()),
        freed_lots=standing.reserved_lots(asked) - now.qty_lots,
        reservation=asked.reservation,
        market_time_us=market_time_us,
        session=session if said else "",
        inbox_offset=offset if said else -1,
        order_state=order_state if said else "",
        ord_status=ord_status,
    )
    return order_draft(
        standing,
        ended,
        key=f"replace_ended:{asked.replace_id}:{offset}",
        actor="fix" if said or ord_status else GATEWAY,
    )


class ReplaceEnded(RecordKind, frozen=True, kw_only=True):
    """How a replace ended; only what the broker said has a session and an offset."""

    filing = Filing(
        "decision/{decision_id}",
        "replace_ended:{cl_ord_id}:{inbox_offset}",
        tags=ORDER,
        section=True,
        loose="market_time_us",
    )

    decision_id: str
    cl_ord_id: str
    orig_cl_ord_id: str
    outcome: str
    reason: str
    terms: TermsSaid
    freed_lots: int
    reservation: Reservation
    market_time_us: int
    order_state: str = ""
    session: str = ""
    inbox_offset: int = -1
    ord_status: str = ""
