"""Replay of an order: announcement, message, reports, seal.

The announced fields are made again from the approved intent. The message must carry exactly these
fields. Every report is settled again, by the walk's own function, from the recorded raw message.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import product

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.ledger import NO_HOOKS, Guard, Hooks, Lane
from fix.dialects.profile import OrderTags, Profile, simulator_profile
from fix.orders.state import OrderState
from fix.session.link import HandResult
from fix.wire.messages import new_order, parse
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches, same
from gateway.evidence.replay.past import Past
from gateway.walk.approval import ENDED_BY
from gateway.walk.journal import order as journal
from gateway.walk.journal.contents import Ending, SaidWhere
from gateway.walk.journal.control.difference import DifferenceResolved
from gateway.walk.journal.decision import DecisionSealed, ForecastTaken
from gateway.walk.journal.order import order_ended_by
from gateway.walk.journal.persons import RAW_MAX, RECORDED
from gateway.walk.journal.session import FixInbound
from gateway.walk.journal.standing import OUTCOMES
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.outbox import Orders
from gateway.walk.settlement import Received, SettleTools, settle
from risk.approved import approve

SESSION_TAGS = frozenset({8, 9, 10, 34, 49, 52, 56})
"""Fields that the session layer adds to an order."""
TRANSACT_TIME, MSG_SEQ_NUM = 60, 34
_TIME = re.compile(r"(\d{8}-\d\d:\d\d:\d\d)(?:\.(\d{3}|\d{6}))?")


def order_sending(past: Past, record: Record) -> str:
    """Make the announced fields again from the approving verdict, whose leaf names the order."""
    announced = journal.OrderSending.of(record)
    approving = past.last(Kind.VERDICT_GIVEN, before=record)
    given = VerdictGiven.of(approving)
    if given.result != "approved":
        raise ReplayDiffersError(step="order_sending", detail="its verdict does not approve")
    order = approve(
        given.intent,
        given.verdict,
        approving.leaf,
        given.send_before_us,
        given.kill_epoch,
        given.approval,
    )
    instrument = past.instrument(order.intent.instrument)
    fields = new_order(
        order,
        profile=_profile(past),
        tick_minor=instrument.tick_minor,
        lot=instrument.lot,
        transact_time_us=_time_us(dict(announced.fields)[TRANSACT_TIME]),
    )
    draft = journal.order_sending(
        replace(past.standing, approving=approving),
        fields,
        session=str(past.run.fix_profile.get("name", "")) if announced.session else "",
        kill_epoch=order.kill_epoch,
        send_before_us=order.send_before_us,
        market_now_us=announced.market_now_us,
        decided_us=approving.recorded_at_us,
    )
    matches(record, draft)
    return f"{announced.cl_ord_id}, {len(fields)} fields"


def order_sent(past: Past, record: Record) -> str:
    """Compare the message with the announcement: exactly these fields."""
    left = journal.OrderSent.of(record)
    sending = journal.OrderSending.of(past.last(Kind.ORDER_SENDING, before=record))
    raw, pairs = left.raw, parse(left.raw)
    carried = Counter((tag, text) for tag, text in pairs if tag not in SESSION_TAGS)
    same("order_sent", "raw", sorted(carried.elements()), sorted(sending.fields))
    took_us = record.recorded_at_us - sending.decided_us
    if left.decision_to_wire_us not in range(took_us + 1):
        raise ReplayDiffersError(step="order_sent", detail="decision_to_wire_us")
    sent = HandResult(
        outcome="sent",
        msg_seq_num=int(dict(pairs)[MSG_SEQ_NUM]),
        raw=raw,
        epoch=left.session_epoch,
    )
    matches(record, _handed(past, record, sent))
    return f"message {sent.msg_seq_num}, the announced fields"


def order_not_sent(past: Past, record: Record) -> str:
    """Compare which order the child refused or lost sight of; the reason is the child's."""
    outcome = "refused" if record.kind is Kind.ORDER_REFUSED else "unknown"
    said = HandResult(outcome=outcome, reason=Ending.of(record).reason)
    matches(record, _handed(past, record, said))
    return said.reason


def order_withdrawn(past: Past, record: Record) -> str:
    """Compare whose approval was not used."""
    ended = Ending.of(record)
    past.last(Kind.VERDICT_GIVEN, before=record)
    draft = journal.order_withdrawn(
        past.standing, ended.reason, market_time_us=ended.market_time_us
    )
    matches(record, draft)
    return ended.reason


def order_reported(past: Past, record: Record) -> str:
    """Settle the raw message again and compare what it meant."""
    return settled_again(past, record)


def settled_again(past: Past, record: Record) -> str:
    """Settle a record's message again and compare what it meant."""
    told = journal.SettledMessage.of(record)
    inbound = _inbound(past, record, told)
    message = FixInbound.of(inbound)
    raw = message.raw
    if len(raw) >= RAW_MAX:  # the record has the beginning, a blob the whole
        raw = (past.reader.blob(message.digest) or raw.encode("latin-1")).decode("latin-1")
    before = [r for r in past.records if r.seq < record.seq and not _with(r, told)]
    differs: ReplayDiffersError | None = None
    for known, differences in product(_known(before), _resolutions(past, record)):
        try:
            reported, received = _settled(past, record, known, raw, differences)
            matches(record, reported)
            matches(inbound, received)
        except ReplayDiffersError as error:
            differs = differs or error
        else:
            return f"{told.order_state} from the message at {told.inbox_offset}"
    raise differs or ReplayDiffersError(step=record.kind.value, detail="nothing before it")


def order_ended(past: Past, record: Record) -> str:
    """Settle the refusal again and compare; or find the person's resolution."""
    ended = journal.OrderEnded.of(record)
    if ended.resolves_seq is None:
        return settled_again(past, record)
    resolved = past.reader.by_key("control", f"resolved:{ended.resolves_seq}")
    if resolved is None or resolved.kind is not Kind.DIFFERENCE_RESOLVED:
        raise ReplayDiffersError(step="order_ended", detail="nobody resolved that difference")
    orders = Orders()
    orders.fold(r for r in past.records if r.seq < record.seq)
    standing = orders.get(past.decision_id)
    if standing is None:
        raise ReplayDiffersError(step="order_ended", detail="nothing before it")
    again = order_ended_by(
        standing,
        ended.resolves_seq,
        order_state=ended.order_state,
        market_time_us=ended.market_time_us,
    )
    matches(record, again)
    return f"resolved by {DifferenceResolved.of(resolved).resolved_by}"


def decision_sealed(past: Past, record: Record) -> str:
    """Derive the outcome from the records before it."""
    sealed = DecisionSealed.of(record)
    outcomes = _outcomes([r for r in past.records if r.seq < record.seq])
    if sealed.outcome not in outcomes:
        raise ReplayDiffersError(step="decision_sealed", detail="outcome")
    sealed_for = past.tags.account if sealed.account is None else sealed.account
    same("decision_sealed", "account", sealed_for, past.tags.account)
    judged = any(r.kind is Kind.VERDICT_GIVEN and r.seq < record.seq for r in past.records)
    unjudged = not judged and sealed.outcome in {"no_trade", "no_forecast"}
    named = past.policy_named if unjudged else {}
    same("decision_sealed", "mode", record.body.get("mode", past.tags.mode), past.tags.mode)
    said = {name: value for name, value in record.body.items() if name not in {"account", "mode"}}
    same("decision_sealed", "payload", {"outcome": sealed.outcome, **named}, said)
    return sealed.outcome


class _Settled(Exception):  # noqa: N818 - no error: it carries what would have been appended
    """Carries the drafts of a message that is settled again."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        super().__init__()
        self.drafts = tuple(drafts)


class _Notebook:
    """A ledger that stops the settling at its append."""

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
        hooks: Hooks = NO_HOOKS,
    ) -> tuple[Record, ...]:
        del lane, guard, timeout_s, hooks
        raise _Settled(drafts)

    def put_blob(self, data: bytes) -> str:
        return sha256(data).hexdigest()


def _resolutions(past: Past, record: Record) -> Iterator[Differences | None]:
    """Yield the differences as known when the message was read; a resolution may be later.

    Records of earlier versions do not count resolved lots.
    """
    if journal.SettledMessage.of(record).resolved_lots is None:
        yield None
        return
    words = past.reader.records(
        stream="control", kinds=(Kind.DIFFERENCE_RESOLVED,), before_seq=record.seq
    )
    for size in (record.seq, *(word.seq for word in list(words)[-1:])):
        known = Differences(past.reader)
        known.read(size)
        yield known


def _settled(
    past: Past,
    record: Record,
    known: Sequence[Record],
    raw: str,
    differences: Differences | None,
) -> tuple[Draft, Draft]:
    """Return the report and the inbound message as `settle` records them."""
    again = journal.SettledMessage.of(record)
    orders = Orders()
    orders.fold(known)
    tools = SettleTools(
        ledger=_Notebook(),
        orders=orders,
        session=again.session,
        minor_digits=_profile(past).minor_digits,
        instrument=past.instrument,
        market_now_us=lambda: again.market_time_us,
        persons=RECORDED,
        epoch=lambda: _epoch(known),
        # as recorded: which messages were resends cannot be told from a decision's records
        revives=_reopened(past, again),
        restates=_restated(past, again),
        differences=differences,
    )
    try:
        settle(Received(offset=again.inbox_offset, raw=raw), tools)
    except _Settled as settled:
        found = {draft.kind: draft for draft in settled.drafts}
        found |= {d.kind: d for d in settled.drafts if d.idem_key == record.idem_key}
        if {record.kind, Kind.FIX_INBOUND} <= set(found):
            return found[record.kind], found[Kind.FIX_INBOUND]
    raise ReplayDiffersError(step=record.kind.value, detail="its message reports nothing")


def _with(record: Record, told: journal.SettledMessage) -> bool:
    """Return whether a record before was made of the same message."""
    if record.kind not in {
        Kind.ORDER_REPORTED,
        Kind.ORDER_ENDED,
        Kind.CANCEL_ENDED,
        Kind.REPLACE_ENDED,
    }:
        return False
    return SaidWhere.of(record) == SaidWhere(session=told.session, inbox_offset=told.inbox_offset)


def _reopened(past: Past, told: journal.SettledMessage) -> bool:
    """Return whether a report of the same message made the order work again."""
    reports = (r for r in past.records if r.kind is Kind.ORDER_REPORTED and _with(r, told))
    return told.reopens or any(journal.OrderReported.of(one).reopens for one in reports)


def _restated(past: Past, told: journal.SettledMessage) -> bool:
    """Return whether a report of the same message changed the reservation; earlier ones did not."""
    reports = (r for r in past.records if r.kind is Kind.ORDER_REPORTED and _with(r, told))
    return any(journal.OrderReported.of(one).restated is not None for one in reports)


def _epoch(known: Sequence[Record]) -> int:
    """Return the epoch in which the decision's order left."""
    sent = [record for record in known if record.kind is Kind.ORDER_SENT]
    return journal.OrderSent.of(sent[-1]).session_epoch if sent else 0


def _known(before: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the records that may have been known when the message was read.

    The child's own answer may have been committed between the reading and the report.
    """
    yield before
    own = {Kind.ORDER_SENT, Kind.ORDER_UNKNOWN}
    if before and before[-1].kind in own:
        yield before[:-1]


def _inbound(past: Past, record: Record, again: journal.SettledMessage) -> Record:
    for message in past.reader.records(
        stream=f"session/{again.session}", kinds=(Kind.FIX_INBOUND,), before_seq=record.seq
    ):
        if FixInbound.of(message).offset == again.inbox_offset:
            return message
    raise ReplayDiffersError(step=record.kind.value, detail="no fix_inbound at its offset")


def _handed(past: Past, record: Record, result: HandResult) -> Draft:
    said = journal.ChildAnswer.of(record)
    sending = past.last(Kind.ORDER_SENDING, before=record)
    return journal.handed(
        replace(past.standing, cl_ord_id=journal.OrderSending.of(sending).cl_ord_id),
        result,
        raw_digest=sha256(result.raw.encode("latin-1")).hexdigest(),
        decision_to_wire_us=said.decision_to_wire_us,
        market_time_us=said.market_time_us,
    )


def _outcomes(before: Sequence[Record]) -> frozenset[str]:
    """Return the outcomes that these records allow."""
    kinds = {r.kind for r in before}
    ends = [
        Ending.of(r)
        for r in before
        if r.kind is Kind.ORDER_ENDED
        or (r.kind is Kind.ORDER_REPORTED and journal.OrderReported.of(r).terminal)
    ]
    released = next((r for r in before if r.kind is Kind.RESERVATION_RELEASED), None)
    if ends:
        return frozenset({OUTCOMES.get(OrderState(str(ends[-1].order_state)), "closed")})
    for kind, outcome in (
        (Kind.ORDER_REFUSED, "refused"),
        (Kind.ORDER_WITHDRAWN, "withdrawn"),
        (Kind.APPROVAL_REFUSED, "hold_refused"),
    ):
        if kind in kinds:
            return frozenset({outcome})
    if released is not None:
        reason = Ending.of(released).reason
        if reason.startswith("basket "):
            return frozenset({"withdrawn"})
        renewed = reason == "renewal_refused"
        return frozenset({*ENDED_BY.values(), "rejected"} if renewed else {"hold_expired"})
    if Kind.VERDICT_GIVEN in kinds:
        return frozenset({"rejected"})
    if any(r.kind is Kind.FORECAST_TAKEN and ForecastTaken.of(r).missing for r in before):
        return frozenset({"no_forecast"})
    return frozenset({"no_trade", "abandoned"} if Kind.INTENT_PROPOSED in kinds else {"abandoned"})


def _time_us(text: str) -> int:
    """Return a UTCTimestamp with 0, 3 or 6 decimals as microseconds since the epoch."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ReplayDiffersError(step="order_sending", detail="its time (60) is no UTCTimestamp")
    whole = f"{found[1]}.{found[2] or '0'}+0000"
    moment = datetime.strptime(whole, "%Y%m%d-%H:%M:%S.%f%z").astimezone(UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _profile(past: Past) -> Profile:
    """Return the broker's profile as far as an order's own text depends on it."""
    recorded = past.run.order_profile
    return simulator_profile(1).model_copy(
        update={**recorded, "tags": OrderTags.model_validate_json(json.dumps(recorded["tags"]))}
    )
