"""settle(): one inbound message to the ledger and, through it, to the book.

Not here: parsing (fix.wire.reports), the state table (fix.orders.state), the fold (ledger_book).
The raw message and what it means share one append, keyed by its inbox offset: settling the same
offset again changes nothing, so a crash anywhere here is recovered by reading the inbox from the
last recorded offset.

Rules kept:
- No message can stop those behind it: what cannot be put on record as meant is an anomaly, and the
  message itself is on record in any case.
- A report about another instrument or side than was sent is not booked. A trade is booked even if
  its price is beyond the limit or its quantity beyond the order's: it happened. Either is an alarm.
- A bust or correction changes the trade that its ExecRefID names, once; one that names no trade of
  its order, or one that is gone, changes nothing and is an alarm.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from audit.errors import CanonicalError, DraftError
from audit.records.canonical import JSON
from audit.records.record import Draft
from audit.sequencer.ledger import Lane
from fix.errors import FixError, ReportError
from fix.orders.state import Anomaly, OrderEvent, OrderState, advance, event_of, restated
from fix.wire.messages import NEW_ORDER
from fix.wire.reports import (
    BusinessReject,
    CancelReject,
    ExecutionReport,
    Inbound,
    SessionReject,
    parse_inbound,
    scaled,
)
from gateway.errors import NotReadyError
from gateway.walk.failpoints import reach
from gateway.walk.journal import order as journal_orders
from gateway.walk.journal.decision import decision_sealed
from gateway.walk.journal.persons import NOBODY, RAW_MAX, Persons, hide
from gateway.walk.ports import LedgerPort
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.outbox import Orders, Stage, Standing, Trade
from gateway.walk.reconciliation.quarantine import alarms
from risk.state.instrument import Instrument

NOTIONAL_MAX_MINOR = 10**14
"""Most that one trade may be worth or cost, minor units: far above any, and nothing overflows."""
TAG_SYMBOL, TAG_SIDE = 55, 54
# the last word of an order, by the state it ended in
OUTCOMES = {
    OrderState.FILLED: "filled",
    OrderState.CANCELED: "cancelled",
    OrderState.REJECTED: "rejected_by_broker",
    OrderState.EXPIRED: "expired",
    OrderState.NOT_RECEIVED: "not_received",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One inbound message in the inbox.

    Attributes:
        offset: its place in the inbox file, bytes; the idempotency key.
        raw: the message, one character per byte (ISO 8859-1).
    """

    offset: int
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleTools:
    """What settling needs.

    Attributes:
        persons: keeps the names that a message brings.
        public_tags: fields that name no person, as the broker's profile declares.
        differences: what is known to differ; each is told once.
        epoch: which beginning of our numbers holds; an old number may name another order now.
        forget: overwrites them in the inbox, once the message at an offset is on record.
    """

    ledger: LedgerPort
    orders: Orders
    session: str
    minor_digits: int
    instrument: Callable[[str], Instrument]
    market_now_us: Callable[[], int]
    persons: Persons = field(default=NOBODY)
    public_tags: tuple[int, ...] = ()
    forget: Callable[[int], None] = field(default=lambda _: None)
    differences: Differences | None = None
    epoch: Callable[[], int] = field(default=lambda: 0)


def settle(received: Received, tools: SettleTools) -> None:
    """Put one inbound message on record and apply what it reports.

    Only the message without names of persons is looked at; the names are personal fields.

    Raises:
        audit.errors.AuditError: the ledger could not take it; the inbox still has it.
    """
    reach("settle.received")  # a crash here leaves the message in the inbox, unrecorded
    raw, personal = hide(received.raw, tools.persons, tools.public_tags)
    named, received = raw != received.raw, replace(received, raw=raw)
    (inbound, *meant), ended = _read(received, tools)
    drafts = (replace(inbound, personal=personal), *meant, *_alarms(meant, received, tools))
    try:
        records = tools.ledger.append(*drafts, lane=Lane.URGENT)
    except (DraftError, CanonicalError) as error:
        # nothing was written, and no second try would do better: keep the message, say why
        kept = _kept(drafts[0], received, tools)
        why = _anomaly(received, tools, "unbookable", str(error))
        drafts, ended = (kept, why, *_alarms((why,), received, tools)), None
        records = tools.ledger.append(*drafts, lane=Lane.URGENT)
    tools.orders.catch_up(records)
    reach("settle.recorded")  # a crash here leaves a closed order whose decision is not sealed
    if ended is not None:
        standing, outcome = ended
        seal = decision_sealed(
            f"decision/{standing.decision_id}",
            outcome,
            account=standing.account,
            again=standing.seals,
        )
        tools.orders.catch_up(tools.ledger.append(seal, lane=Lane.URGENT))
        reach("settle.sealed")
    if named:
        tools.forget(received.offset)  # a crash before it is made up for at the next start


def _read(
    received: Received, tools: SettleTools
) -> tuple[tuple[Draft, ...], tuple[Standing, str] | None]:
    """Return the drafts for a message, and the decision it ends with its outcome."""
    digest = sha256(received.raw.encode("latin-1", "replace")).hexdigest()
    try:
        message = parse_inbound(received.raw)
    except FixError as error:
        inbound = _inbound(received, tools, "?", digest)
        return (inbound, _anomaly(received, tools, "unreadable", str(error))), None
    inbound = _inbound(received, tools, message.envelope.msg_type, digest)
    if isinstance(message, BusinessReject | SessionReject):
        return _refused(message, received, tools, inbound)
    if not isinstance(message, ExecutionReport):
        return (inbound, *_other(message, received, tools)), None
    standing = tools.orders.by_cl_ord_id(message.orig_cl_ord_id or message.cl_ord_id)
    if standing is None:
        standing = tools.orders.by_cl_ord_id(message.cl_ord_id)
    if standing is None:
        return (inbound, _anomaly(received, tools, "unknown_order", message.cl_ord_id)), None
    return _reported(message, standing, received, tools, inbound)


def _alarms(drafts: Sequence[Draft], received: Received, tools: SettleTools) -> tuple[Draft, ...]:
    """Return the differences between the book and the broker that a message shows."""
    return alarms(
        drafts,
        received.raw,
        received.offset,
        session=tools.session,
        standing=tools.orders.by_cl_ord_id,
        instrument=tools.instrument,
        differences=tools.differences,
    )


def _reported(
    report: ExecutionReport,
    standing: Standing,
    received: Received,
    tools: SettleTools,
    inbound: Draft,
) -> tuple[tuple[Draft, ...], tuple[Standing, str] | None]:
    """Apply an execution report to its order."""
    document = journal_orders.report_document(report)
    trade_date = (report.transact_time or report.envelope.sending_time)[:8]
    key = (tools.session, trade_date, report.exec_id)
    if not report.is_status:
        before = tools.orders.reports.get(key)
        if before == document:
            # the same report again: on record as received, booked once; a try that ended between
            # the report and the seal is brought to its end
            unsealed = standing.stage is Stage.CLOSED and not standing.sealed
            outcome = OUTCOMES.get(OrderState(standing.order_state), "closed")
            return (inbound,), (standing, outcome) if unsealed else None
        if before is not None:
            return (inbound, _anomaly(received, tools, "exec_id_reused", report.exec_id)), None
    undone = standing.trade(report.exec_ref_id) if report.undoes else None
    if report.undoes and (undone is None or undone.fill is None):
        reason = "trade_undone_twice" if undone else "undoes_unknown_trade"
        return (inbound, _anomaly(received, tools, reason, report.exec_ref_id)), None
    try:
        _same_order(report, standing)
        fill = _fill(report, standing, tools, undone)
        booked = standing.filled_lots + _lots(fill) - (0 if undone is None else undone.lots)
        state, odd = _next_state(report, standing, booked, tools)
    except FixError as error:
        return (inbound, _anomaly(received, tools, "unbookable", str(error))), None
    terminal = state.is_terminal and odd != "missing_trades"
    contradictions = _contradictions(standing, fill, booked)
    over = standing.stage in {Stage.CLOSED, Stage.SEALED}
    anomaly = ", ".join(filter(None, (odd, *contradictions))) or None
    idem_key = (
        f"status:{received.offset}"
        if report.is_status
        else f"report:{tools.session}:{trade_date}:{report.exec_id}"
    )
    reported = journal_orders.order_reported(
        standing,
        report,
        idem_key=idem_key,
        session=tools.session,
        trade_date=trade_date,
        order_state=state.value,
        terminal=terminal,
        fill=fill,
        anomaly=anomaly,
        offset=received.offset,
        market_time_us=tools.market_now_us(),
        undone=undone,
        reopens=undone is not None and over and not state.is_terminal,
    )
    ended = (standing, OUTCOMES.get(state, "closed")) if terminal and not standing.sealed else None
    if not contradictions:
        return (inbound, reported), ended
    detail = f"booked: {report.last_qty} at {report.last_price}"
    return (inbound, reported, _anomaly(received, tools, ", ".join(contradictions), detail)), ended


def _next_state(
    report: ExecutionReport, standing: Standing, booked: int, tools: SettleTools
) -> tuple[OrderState, str | None]:
    """Return the order's state once a report has led to `booked` lots, and what is odd about it."""
    now, event = OrderState(standing.order_state), event_of(report)
    if event is None:
        return now, "unknown_status"
    after = restated(now, report) if report.undoes else advance(now, event)
    if isinstance(after, Anomaly):
        return now, after.reason.value.lower()
    told = scaled(report.cum_qty, 0)  # shares; a lot has one or more
    if after.is_terminal and told > booked and told > booked * _lot(standing, tools):
        return after, "missing_trades"
    return after, None


def _lot(standing: Standing, tools: SettleTools) -> int:
    """Return how many shares a lot of an order's instrument has."""
    if standing.verdict is None:
        return 1
    return tools.instrument(standing.verdict.body["intent"]["instrument"]).lot


def _same_order(report: ExecutionReport, standing: Standing) -> None:
    """Refuse a report whose symbol or side is not the one that was sent under its ClOrdID.

    Raises:
        ReportError: it speaks of another order.
    """
    if standing.sending is None:
        return
    sent = {int(tag): str(text) for tag, text in standing.sending.body["fields"]}
    for tag, said in ((TAG_SYMBOL, report.symbol), (TAG_SIDE, report.side)):
        if said and said != sent.get(tag, said):
            raise ReportError(msg_type="8", problem=f"tag {tag} is {said[:24]}, not {sent[tag]}")


def _lots(fill: Mapping[str, object] | None) -> int:
    return 0 if fill is None else int(str(fill["qty_lots"]))


def _contradictions(
    standing: Standing, fill: dict[str, JSON] | None, booked: int
) -> tuple[str, ...]:
    """Return in what a trade that leads to `booked` lots breaks the order that it fills."""
    if fill is None or standing.verdict is None:
        return ()
    intent = standing.verdict.body["intent"]
    price = int(str(fill["price_ticks"]))
    beyond = (
        price - intent["limit_ticks"] if fill["side"] == "BUY" else intent["limit_ticks"] - price
    )
    found = {
        "price_beyond_limit": beyond > 0,
        "overfilled": booked > intent["qty_lots"],
    }
    return tuple(name for name, true in found.items() if true)


def _fill(
    report: ExecutionReport, standing: Standing, tools: SettleTools, undone: Trade | None
) -> dict[str, JSON] | None:
    """Return the fill of a trade, or of one that is corrected, in our units, or None.

    Refuses what is not whole ticks and lots. A correction that names no commission leaves it.
    """
    if not (report.is_trade or report.is_correction) or standing.verdict is None:
        return None
    intent = standing.verdict.body["intent"]
    instrument = tools.instrument(intent["instrument"])
    quantity, price = scaled(report.last_qty, 0), scaled(report.last_price, tools.minor_digits)
    if quantity <= 0 or quantity % instrument.lot or price <= 0 or price % instrument.tick_minor:
        raise ReportError(
            msg_type="8",
            problem=f"{report.last_qty}@{report.last_price} is not whole lots and ticks",
        )
    fee = scaled(report.commission or "0", tools.minor_digits)
    if undone is not None and undone.fill is not None and not report.commission:
        fee = int(undone.fill["fee_minor"])
    if max(quantity * price * instrument.multiplier, abs(fee)) > NOTIONAL_MAX_MINOR:
        raise ReportError(
            msg_type="8",
            problem=f"{report.last_qty}@{report.last_price}, fee {report.commission}: out of range",
        )
    return {
        "instrument": instrument.symbol,
        "side": intent["side"],
        "qty_lots": quantity // instrument.lot,
        "price_ticks": price // instrument.tick_minor,
        "fee_minor": fee,
        "unit_minor": instrument.unit_minor,
    }


def _other(message: Inbound, received: Received, tools: SettleTools) -> tuple[Draft, ...]:
    """Say what a message that is no execution report means for the record."""
    if isinstance(message, CancelReject):
        return (_anomaly(received, tools, "cancel_rejected", message.orig_cl_ord_id),)
    return ()


def _refused(
    message: BusinessReject | SessionReject, received: Received, tools: SettleTools, inbound: Draft
) -> tuple[tuple[Draft, ...], tuple[Standing, str] | None]:
    """End the order that a Reject (3) or BusinessMessageReject (j) names, if it was one.

    Raises:
        NotReadyError: an order was handed out and its number is not on record yet: wait for it.
    """
    if message.ref_msg_type not in {NEW_ORDER, ""}:
        return (inbound, _anomaly(received, tools, "rejected_by_peer", message.text)), None
    named = message.ref_id if isinstance(message, BusinessReject) else ""
    standing = tools.orders.by_cl_ord_id(named)
    if standing is None:
        standing = tools.orders.by_msg_seq_num(tools.epoch(), message.ref_seq_num)
    if standing is None and any(s.stage is Stage.SENDING for s in tools.orders.live()):
        raise NotReadyError(part="the refused order's number", state="not on record yet")
    now = OrderState.INTENT if standing is None else OrderState(standing.order_state)
    after = advance(now, OrderEvent.REJECTED)
    if standing is None or isinstance(after, Anomaly):
        detail = f"MsgSeqNum {message.ref_seq_num} {named}"
        return (inbound, _anomaly(received, tools, "reject_unmatched", detail)), None
    if after is now:
        return (inbound,), None  # told twice
    ended = journal_orders.order_ended(
        standing,
        f"{message.envelope.msg_type}:{message.reason}",
        order_state=after.value,
        session=tools.session,
        offset=received.offset,
        market_time_us=tools.market_now_us(),
    )
    return (inbound, ended), (standing, OUTCOMES[after])


def _inbound(received: Received, tools: SettleTools, msg_type: str, digest: str) -> Draft:
    return journal_orders.fix_inbound(
        tools.session,
        offset=received.offset,
        raw=received.raw,
        msg_type=msg_type[:24],
        digest=digest,
    )


def _kept(inbound: Draft, received: Received, tools: SettleTools) -> Draft:
    """Return the message's own record; of one that may not fit, its beginning, the whole a blob."""
    if len(received.raw) <= RAW_MAX:
        return inbound
    tools.ledger.put_blob(received.raw.encode("latin-1", "replace"))
    return replace(inbound, payload={**inbound.payload, "raw": received.raw[:RAW_MAX]})


def _anomaly(received: Received, tools: SettleTools, reason: str, detail: str) -> Draft:
    return journal_orders.fix_anomaly(
        tools.session,
        offset=received.offset,
        raw=received.raw[:RAW_MAX],
        reason=reason,
        detail=detail,
    )
