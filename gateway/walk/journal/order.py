"""What stands in each record from verdict to the order's end.

One function per kind, in walk order.
"""

from collections.abc import Mapping

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from fix.session.link import HandResult
from fix.wire.reports import ExecutionReport
from gateway.walk.journal.decision import GATEWAY, draft
from gateway.walk.ports import Case
from gateway.walk.projections.outbox import Standing, Trade
from risk.approved import Approval, band_of
from risk.documents import document_of
from risk.intent import Intent, intent_digest
from risk.policy.policy import Policy
from risk.state.state import RiskState
from risk.verdict import Verdict


def verdict_given(  # noqa: PLR0913 - what a verdict binds
    case: Case,
    intent: Intent,
    verdict: Verdict,
    state: RiskState,
    *,
    basis_seq: int,
    result: str,
    send_before_us: int,
    approval: Approval | None,
) -> Draft:
    """The verdict with everything a replay needs, and the reservation it makes."""
    reserves = result in {"approved", "held"}
    reservation: dict[str, JSON] | None = None
    if reserves:
        reservation = {
            "instrument": intent.instrument,
            "side": intent.side.value,
            "qty_lots": intent.qty_lots,
            "limit_ticks": intent.limit_ticks,
            "unit_minor": case.instrument.unit_minor,
        }
    return draft(
        case,
        Kind.VERDICT_GIVEN,
        f"verdict:{basis_seq}",
        {
            "decision_id": case.decision_id,
            "intent": document_of(intent),
            "intent_digest": intent_digest(intent),
            "verdict": document_of(verdict),
            "result": result,
            "basis_seq": basis_seq,
            "policy_digest": verdict.policy_digest,
            "policy_status": document_of(state.policy_status),
            "kill_epoch": state.kill.egress_epoch,
            "state": {
                "killed": state.kill.killed,
                "kill_epoch": state.kill.kill_epoch,
                "egress_epoch": state.kill.egress_epoch,
                **({"book_differs": True} if state.book_differs else {}),
            },
            "quote": None if state.quote is None else document_of(state.quote),
            "narrative_as_of_us": state.narrative_as_of_us,
            "renewal": state.renewal,
            "market_now_us": state.now_us,
            "send_before_us": send_before_us,
            "reservation": reservation,
            "approval": None if approval is None else document_of(approval),
        },
        tagged=True,
    )


def order_draft(
    standing: Standing, kind: Kind, idem_key: str, payload: dict[str, JSON], *, actor: str = GATEWAY
) -> Draft:
    """Return a draft in the stream of an order's decision, with its account."""
    return Draft(
        stream=f"decision/{standing.decision_id}",
        kind=kind,
        payload={"account": standing.account, "decision_id": standing.decision_id, **payload},
        actor=actor,
        idem_key=idem_key,
    )


def order_sending(
    standing: Standing,
    cl_ord_id: str,
    fields: tuple[tuple[int, str], ...],
    *,
    kill_epoch: int,
    send_before_us: int,
    market_now_us: int,
    decided_us: int,
) -> Draft:
    """The announcement: committed before the FIX child hears of the order."""
    if standing.approving is None:
        raise AssertionError("an order is sent only for an approving record")
    return order_draft(
        standing,
        Kind.ORDER_SENDING,
        f"sending:{cl_ord_id}",
        {
            "cl_ord_id": cl_ord_id,
            "approving_seq": standing.approving.seq,
            "approving_leaf": standing.approving.leaf.hex(),
            "fields": [[tag, text] for tag, text in fields],
            "kill_epoch": kill_epoch,
            "send_before_us": send_before_us,
            "market_now_us": market_now_us,
            "decided_us": decided_us,
        },
    )


def handed(
    standing: Standing,
    result: HandResult,
    *,
    raw_digest: str,
    decision_to_wire_us: int,
    market_time_us: int,
) -> Draft:
    """What the FIX child said: sent, refused by its guard, or unknown."""
    order: dict[str, JSON] = {"cl_ord_id": standing.cl_ord_id}
    match result.outcome:
        case "sent":
            return order_draft(
                standing,
                Kind.ORDER_SENT,
                f"sent:{standing.cl_ord_id}",
                {
                    **order,
                    "msg_seq_num": result.msg_seq_num,
                    "raw": result.raw,
                    "raw_digest": raw_digest,
                    "decision_to_wire_us": decision_to_wire_us,
                    **({"session_epoch": result.epoch} if result.epoch else {}),
                },
            )
        case "refused":
            return order_draft(
                standing,
                Kind.ORDER_REFUSED,
                f"refused:{standing.cl_ord_id}",
                {**order, "reason": result.reason, "market_time_us": market_time_us},
            )
        case _:
            return order_unknown(standing, result.reason, market_time_us=market_time_us)


def order_unknown(standing: Standing, reason: str, *, market_time_us: int) -> Draft:
    """SENDING was committed and nobody can say whether it left; it is never sent again."""
    return order_draft(
        standing,
        Kind.ORDER_UNKNOWN,
        f"unknown:{standing.cl_ord_id}",
        {
            "cl_ord_id": standing.cl_ord_id,
            "reason": reason or "no answer",
            "market_time_us": market_time_us,
        },
    )


def order_withdrawn(standing: Standing, reason: str, *, market_time_us: int) -> Draft:
    """Approved but not sent in time, or no longer allowed: it will never be sent."""
    return order_draft(
        standing,
        Kind.ORDER_WITHDRAWN,
        "withdrawn",
        {"reason": reason, "market_time_us": market_time_us},
    )


def fix_inbound(session: str, *, offset: int, raw: str, msg_type: str, digest: str) -> Draft:
    """One message as it came in, byte for byte (ISO 8859-1 text, one character per byte)."""
    return Draft(
        stream=f"session/{session}",
        kind=Kind.FIX_INBOUND,
        payload={"offset": offset, "raw": raw, "msg_type": msg_type, "digest": digest},
        actor="fix",
        idem_key=f"inbound:{offset}",
    )


def fix_anomaly(session: str, *, offset: int, raw: str, reason: str, detail: str) -> Draft:
    """A message that fits nothing we know: kept, shown, not acted on."""
    return Draft(
        stream=f"session/{session}",
        kind=Kind.FIX_ANOMALY,
        payload={"offset": offset, "raw": raw, "reason": reason, "detail": detail[:300]},
        actor="fix",
        idem_key=f"anomaly:{offset}",
    )


def report_document(report: ExecutionReport) -> dict[str, JSON]:
    """Return an execution report's own fields, as text, without the session's envelope."""
    undone: dict[str, JSON] = {"exec_ref_id": report.exec_ref_id} if report.undoes else {}
    return {
        **undone,
        "order_id": report.order_id,
        "cl_ord_id": report.cl_ord_id,
        "orig_cl_ord_id": report.orig_cl_ord_id,
        "exec_id": report.exec_id,
        "exec_type": report.exec_type,
        "ord_status": report.ord_status,
        "last_qty": report.last_qty,
        "last_price": report.last_price,
        "leaves_qty": report.leaves_qty,
        "cum_qty": report.cum_qty,
        "average_price": report.average_price,
        "commission": report.commission,
        "reject_reason": report.reject_reason,
        "transact_time": report.transact_time,
        "text": report.text,
    }


def order_reported(  # noqa: PLR0913 - a report and what it means
    standing: Standing,
    report: ExecutionReport,
    *,
    idem_key: str,
    session: str,
    trade_date: str,
    order_state: str,
    terminal: bool,
    fill: dict[str, JSON] | None,
    anomaly: str | None,
    offset: int,
    market_time_us: int,
    undone: Trade | None = None,
    reopens: bool = False,
    resolved_lots: int = 0,
) -> Draft:
    """One report, applied: the order's new state and, for a trade, the fill to book.

    With `undone` it changes a trade that is booked: `fill` is the corrected one, None for a bust.
    With `reopens` the order was over and works again.
    With `resolved_lots` it may end an order, because persons answered for so many lots.
    """
    lots: JSON = 0 if fill is None else fill["qty_lots"]
    if undone is not None:
        lots = int(str(lots)) - undone.lots
    payload: dict[str, JSON] = {
        "cl_ord_id": standing.cl_ord_id,
        "report": report_document(report),
        "exec_id": report.exec_id,
        "trade_date": trade_date,
        "session": session,
        "order_state": order_state,
        "ord_status": report.ord_status,
        "terminal": terminal,
        "fill": fill,
        "last_lots": lots,
        "inbox_offset": offset,
        "market_time_us": market_time_us,
    }
    if undone is not None:
        payload |= {"undoes_seq": undone.seq, "reopens": reopens}
    elif reopens:
        payload["reopens"] = True
    if resolved_lots:
        payload["resolved_lots"] = resolved_lots
    if anomaly is not None:
        payload["anomaly"] = anomaly
    return order_draft(standing, Kind.ORDER_REPORTED, idem_key, payload, actor="fix")


def order_ended(
    standing: Standing,
    reason: str,
    *,
    order_state: str,
    session: str,
    offset: int,
    market_time_us: int,
) -> Draft:
    """The broker refused the message that carried the order: nothing of it works there."""
    return order_draft(
        standing,
        Kind.ORDER_ENDED,
        f"ended:{session}:{offset}",
        {
            "cl_ord_id": standing.cl_ord_id,
            "reason": reason,
            "order_state": order_state,
            "session": session,
            "inbox_offset": offset,
            "market_time_us": market_time_us,
        },
        actor="fix",
    )


def approval_requested(
    case: Case, verdict: Record, intent: Intent, *, until: Mapping[str, JSON]
) -> Draft:
    """A person is asked; nothing is approved by itself.

    `until` is what `asked_until` gives, empty in records of earlier versions.
    """
    return draft(
        case,
        Kind.APPROVAL_REQUESTED,
        f"approval_requested:{verdict.seq}",
        {
            "decision_id": case.decision_id,
            "verdict_seq": verdict.seq,
            "intent_digest": intent_digest(intent),
            "author": case.author,
            **until,
        },
        tagged=True,
    )


def asked_until(policy: Policy, intent: Intent, verdict: Verdict, ends_us: int) -> dict[str, JSON]:
    """Return what a person who is asked must know: until when, and what his yes would cover."""
    return {
        "expires_us": ends_us,
        "band": document_of(band_of(policy, intent)),
        "verdict_digest": verdict.verdict_digest,
        "policy_digest": verdict.policy_digest,
    }


def approval_given(
    standing: Standing, approval: Approval, *, verdict_seq: int, note: str | None
) -> Draft:
    """A person agreed, within a band; the order still has to pass every rule again.

    `note` is the person's own word; None in records of earlier versions.
    """
    said: dict[str, JSON] = {} if note is None else {"reason": note}
    return order_draft(
        standing,
        Kind.APPROVAL_GIVEN,
        f"approval:{verdict_seq}",
        {
            "approver": approval.approver,
            "intent_digest": approval.intent_digest,
            "verdict_digest": approval.verdict_digest,
            "verdict_seq": verdict_seq,
            "expires_us": approval.expires_us,
            "band": document_of(approval),
            **said,
        },
        actor=f"person:{approval.approver}",
    )


def approval_refused(
    standing: Standing, approver: str, note: str, *, verdict_seq: int, market_time_us: int
) -> Draft:
    """A person said no; the reservation ends with it."""
    return order_draft(
        standing,
        Kind.APPROVAL_REFUSED,
        f"approval:{verdict_seq}",
        {
            "approver": approver,
            "reason": note,
            "verdict_seq": verdict_seq,
            "market_time_us": market_time_us,
        },
        actor=f"person:{approver}",
    )


def reservation_released(standing: Standing, reason: str, *, market_time_us: int) -> Draft:
    """What a hold reserved is free again."""
    return order_draft(
        standing,
        Kind.RESERVATION_RELEASED,
        "released",
        {"reason": reason, "market_time_us": market_time_us},
    )
