"""Requests to cancel and replace an order and reports on it, folded from records. Pure.

Not here: how a request ends by what the broker says (`cancel_ends`, `replace_ends`).
"""

from dataclasses import dataclass, replace

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.orders.naming import order_id_of
from fix.wire.fields import MSG_TYPE
from fix.wire.identity import cl_ord_id
from fix.wire.messages import CANCEL_REPLACE, CL_ORD_ID, NEW_ORDER, Fields
from gateway.walk.journal.cancel import CancelEnded, CancelRequested
from gateway.walk.journal.decision import IntentReceived
from gateway.walk.journal.order import OrderReported, OrderSending
from gateway.walk.journal.replace import ReplaceEnded, ReplaceRequested, TermsSaid
from gateway.walk.journal.standing import (
    AskedCancel,
    AskedReplace,
    BookedTrade,
    CancelOutcome,
    ReplaceOutcome,
    Stage,
    Standing,
    Terms,
)
from gateway.walk.journal.verdict import VerdictGiven
from risk.intent import Side

_QTY, _PRICE = 38, 44
BACK = frozenset({ReplaceOutcome.REJECTED.value})
"""Outcomes after which the order is in the state that the broker reports."""


def asked_for(standing: Standing, record: Record) -> Standing:
    """Return the standing after an agent's request, or one to cancel or replace, or its end."""
    if record.kind is Kind.INTENT_RECEIVED:
        return replace(standing, basket_id=IntentReceived.of(record).basket_id)
    return _cancelling(_replacing(standing, record), record)


def _replacing(standing: Standing, record: Record) -> Standing:
    """Return the standing after a request to replace, or after its end."""
    if record.kind is Kind.REPLACE_REQUESTED:
        asked = ReplaceRequested.of(record)
        one = AskedReplace(
            seq=record.seq,
            asked_us=record.recorded_at_us,
            orig_name=asked.orig_cl_ord_id,
            requested_by=asked.requested_by,
            client_key=asked.client_key,
            reason=asked.reason,
            terms=_terms(cl_ord_id(record.leaf), asked.after),
            reservation=asked.reservation,
        )
        return replace(standing, replaces=(*standing.replaces, one))
    if record.kind is not Kind.REPLACE_ENDED:
        return standing
    ended = ReplaceEnded.of(record)
    known = standing.replace_named(ended.cl_ord_id)
    if known is None:
        return standing
    done = replace(known, outcome=ended.outcome, detail=ended.reason)
    replaced = ended.outcome == ReplaceOutcome.REPLACED
    moved = ended.outcome in BACK and standing.is_live and ended.order_state
    kept = standing.restated is not None and not replaced  # then what was agreed stays
    return replace(
        standing,
        replaces=tuple(done if one is known else one for one in standing.replaces),
        terms=standing.terms
        if kept
        else _terms(known.replace_id if replaced else known.orig_name, ended.terms),
        restated=standing.restated if kept else None,
        order_state=ended.order_state if moved else standing.order_state,
    )


def _cancelling(standing: Standing, record: Record) -> Standing:
    """Return the standing after a request to cancel, or after its end; the first end counts."""
    if record.kind is Kind.CANCEL_REQUESTED:
        asked = CancelRequested.of(record)
        cancel = AskedCancel(
            seq=record.seq,
            asked_us=record.recorded_at_us,
            cancel_id=cl_ord_id(record.leaf),
            requested_by=asked.requested_by,
            client_key=asked.client_key,
            reason=asked.reason,
        )
        return replace(standing, cancels=(*standing.cancels, cancel))
    if record.kind is not Kind.CANCEL_ENDED:
        return standing
    ended = CancelEnded.of(record)
    cancels = tuple(
        replace(one, outcome=ended.outcome, detail=ended.reason)
        if one.cancel_id == ended.cl_ord_id and not one.outcome
        else one
        for one in standing.cancels
    )
    refused = ended.outcome == CancelOutcome.REJECTED and standing.is_live
    state = ended.order_state if refused else standing.order_state
    return replace(standing, cancels=cancels, order_state=state)


def terms_of(standing: Standing) -> Terms:
    """Return the terms that the broker works, also where it changed them by itself."""
    return standing.restated or agreed_of(standing)


def agreed_of(standing: Standing) -> Terms:
    """Return the approved terms that the broker has confirmed; of an announced order."""
    if standing.terms is not None:
        return standing.terms
    if standing.sending is None or standing.verdict is None:
        raise AssertionError("an order has terms once it was announced")
    sent = dict(OrderSending.of(standing.sending).fields)
    intent = VerdictGiven.of(standing.verdict).intent
    return Terms(
        name=standing.cl_ord_id,
        qty_lots=intent.qty_lots,
        limit_ticks=intent.limit_ticks,
        quantity=sent.get(_QTY, ""),
        price=sent.get(_PRICE, ""),
    )


def bounds_of(standing: Standing) -> tuple[int, int]:
    """Return the most lots and the worst limit that a trade may have now.

    While a replace is open, the order may trade under either terms. What the broker restated by
    itself permits nothing.
    """
    now, asked = agreed_of(standing), standing.open_replace
    if asked is None or standing.verdict is None:
        return now.qty_lots, now.limit_ticks
    worst = max if VerdictGiven.of(standing.verdict).intent.side is Side.BUY else min
    lots = max(now.qty_lots, asked.reservation.qty_lots)
    return lots, worst(now.limit_ticks, asked.terms.limit_ticks)


def fields_of(standing: Standing, terms: Terms | None = None) -> Fields:
    """Return the order's fields under its terms, by default those that were agreed."""
    if standing.sending is None:
        return ()
    sent = OrderSending.of(standing.sending).fields
    if terms is None and standing.terms is None:
        return sent
    now = terms or agreed_of(standing)
    changed = {CL_ORD_ID: now.name, _QTY: now.quantity, _PRICE: now.price}
    changed[MSG_TYPE] = NEW_ORDER if now.name == standing.cl_ord_id else CANCEL_REPLACE
    return tuple((tag, changed.get(tag, text)) for tag, text in sent)


def _terms(name: str, said: TermsSaid) -> Terms:
    return Terms(
        name=name,
        qty_lots=said.qty_lots,
        limit_ticks=said.limit_ticks,
        quantity=said.quantity,
        price=said.price,
    )


def reported(standing: Standing, record: Record) -> Standing:
    """Return the standing after a report; a report that reopens the order unseals its decision."""
    report = OrderReported.of(record)
    ends = report.terminal and (report.reopens or not standing.sealed)
    stage = Stage.CLOSED if ends else Stage.SENT if report.reopens else standing.stage
    return replace(
        standing,
        stage=stage,
        order_state=report.order_state,
        filled_lots=standing.filled_lots + report.last_lots,
        broker_id=order_id_of(report.report.get("order_id", "")) or standing.broker_id,
        said_us=record.recorded_at_us,
        report_status=report.ord_status,
        sealed=standing.sealed and not report.reopens,
        trades=_trades(standing.trades, report, record.seq),
        restated=_restated(standing, report),
    )


def _restated(standing: Standing, report: OrderReported) -> Terms | None:
    said = report.restated
    if said is None:
        return standing.restated
    return Terms(
        name=standing.wire_name,
        qty_lots=said.qty_lots,
        limit_ticks=said.limit_ticks,
        quantity=said.quantity,
        price=said.price,
    )


def _trades(
    trades: tuple[BookedTrade, ...], report: OrderReported, seq: int
) -> tuple[BookedTrade, ...]:
    fill, undone, exec_id = report.fill, report.undoes_seq, report.exec_id
    if undone is not None:
        return tuple(
            replace(t, exec_ids=(*t.exec_ids, exec_id), fill=fill) if t.seq == undone else t
            for t in trades
        )
    if fill is None:
        return trades
    return (*trades, BookedTrade(seq=seq, exec_ids=(exec_id,), fill=fill))


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """A message on its way to the broker, as it was judged.

    Attributes:
        given: the order's approving verdict.
        policy_digest, kill_epoch: under which the message was judged.
        stops: that were in force then, and that it passed.
        minor: the most that the order may be worth, minor units.
        seq: of the record that judged it; what was judged later counts after it.
        requested_by: who asked for the replace; empty for a new order.
        reduces: a replace under which no trade is larger, dearer or easier than before.
    """

    standing: Standing
    given: VerdictGiven
    policy_digest: str
    kill_epoch: int
    stops: tuple[str, ...]
    minor: int
    seq: int
    requested_by: str = ""
    reduces: bool = False


def order_going(standing: Standing) -> Going | None:
    """Return an approved order as it leaves; None without an approval."""
    if standing.approving is None:
        return None
    given = VerdictGiven.of(standing.approving)
    held = given.reservation
    return Going(
        standing=standing,
        given=given,
        policy_digest=given.policy_digest,
        kill_epoch=given.kill_epoch,
        stops=given.stops,
        minor=0 if held is None else held.qty_lots * held.limit_ticks * held.unit_minor,
        seq=standing.approving.seq,
    )


def replace_going(standing: Standing, given: VerdictGiven, record: Record, epoch: int) -> Going:
    """Return a recorded replace as it leaves; `epoch` is the kill epoch that it was asked under."""
    asked = ReplaceRequested.of(record)
    judged, held = asked.judged, asked.reservation
    return Going(
        standing=standing,
        given=given,
        policy_digest=given.policy_digest if judged is None else str(judged["policy_digest"]),
        kill_epoch=epoch if judged is None else int(judged["kill_epoch"]),
        stops=() if judged is None else tuple(map(str, judged["state"].get("stops", ()))),
        minor=held.qty_lots * held.limit_ticks * held.unit_minor,
        seq=record.seq,
        requested_by=asked.requested_by,
        reduces=judged is None,
    )
