"""settle(): one inbound message to the ledger and, through it, to the book.

Not here: parsing (`fix.wire.reports`), the state table (`fix.orders.state`), the fold
(`projections.book`).

Rules:
- The raw message and its meaning share one append, keyed by the message's inbox offset. Settling
  an offset again changes nothing, so after a crash the inbox is read again from the last recorded
  offset.
- No message blocks those behind it: a message that cannot be applied is recorded as an anomaly.
- A report about another instrument, side or currency than was sent is not booked. A trade beyond
  the order's price or quantity, or with a fee that is not understood, is booked, and an alarm.
- A spoiled report is booked as far as it goes, else it is a difference (`quarantine`).
- A status that is sent again, and is older than what is on record, changes nothing.
- If news says that an ended order still has quantity open, the order works again, with its
  reservation, until the broker ends it once more.
- A bust or correction changes the trade that its ExecRefID names, once; an alarm if there is none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from audit.errors import CanonicalError, DraftError
from audit.records.record import Draft
from audit.sequencer.ledger import Lane
from fix.dialects.profile import ForeignTreatment
from fix.errors import FixError
from fix.orders.state import (
    Anomaly,
    OrderEvent,
    OrderState,
    advance,
    restated,
)
from fix.wire.messages import NEW_ORDER
from fix.wire.reports import (
    BusinessReject,
    CancelReject,
    ExecutionReport,
    Inbound,
    SessionReject,
    parse_inbound,
)
from gateway.errors import NotReadyError
from gateway.walk.failpoints import reach
from gateway.walk.journal import order as journal_orders
from gateway.walk.journal.persons import NOBODY, RAW_MAX, Persons, hide
from gateway.walk.journal.session import fix_anomaly, fix_inbound
from gateway.walk.journal.standing import OUTCOMES, Stage, Standing
from gateway.walk.ports import LedgerPort
from gateway.walk.projections.differences import Differences
from gateway.walk.projections.outbox import NOT_BOOKED, Orders
from gateway.walk.projections.session_orders import SessionOrders
from gateway.walk.reconciliation import booking, replace_ends, strangers
from gateway.walk.reconciliation.applying import MISSING_TRADES, next_state, of_report, revives
from gateway.walk.reconciliation.cancel_ends import SaidAt
from gateway.walk.reconciliation.quarantine import ODD_ENDS, alarms_of
from gateway.walk.reconciliation.resends import Resends
from gateway.walk.reconciliation.restating import restated_by
from gateway.walk.reconciliation.strangers import told_by_stranger, unknown_order
from risk.state.instrument import Instrument

WORKS_AGAIN = "works_again"
"""The anomaly of a report that reopens an ended order."""
_OVER = frozenset({Stage.CLOSED, Stage.SEALED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One inbound message (ISO 8859-1, one character per byte) and its offset in the inbox."""

    offset: int
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleTools:
    """What settling needs.

    Attributes:
        forget: overwrites the names in the inbox, once the message at an offset is on record.
        differences: the known differences; each is recorded once.
        epoch: the present numbering of our messages; an old number may name another order now.
        resends: what was heard before; None takes every message for news, as a replay must.
        revives: whether news may reopen an ended order; a replay follows its record, and does so
            in whether a restatement changes the reservation (`restates`).
        foreign: what the profile says about orders that are not ours.
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
    resends: Resends | None = None
    revives: bool = True
    restates: bool = True
    foreign: ForeignTreatment = ForeignTreatment.SHOW

    @property
    def theirs(self) -> SessionOrders:
        """The orders that the session's broker may speak of."""
        return SessionOrders(self.orders, self.session)


def settle(received: Received, tools: SettleTools) -> None:
    """Record one inbound message and apply what it reports.

    Only the message without the names of persons is read; the names become personal fields.

    Raises:
        audit.errors.AuditError: when the ledger cannot take it; the inbox still has it.
    """
    reach("settle.received")  # a crash here leaves the message in the inbox, unrecorded
    raw, personal = hide(received.raw, tools.persons, tools.public_tags)
    named, received = raw != received.raw, replace(received, raw=raw)
    old = tools.resends is not None and tools.resends.has_heard(raw)
    (inbound, *meant), ended = _read(received, tools, old=old)
    alarms = _alarms(meant, received, tools, old=old)
    drafts = (replace(inbound, personal=personal), *meant, *alarms)
    try:
        records = tools.ledger.append(*drafts, lane=Lane.URGENT)
    except (DraftError, CanonicalError) as error:
        # nothing was written, and trying again would not help: keep the message, record why
        kept = _kept(drafts[0], received, tools)
        why = _anomaly(received, tools, "unbookable", str(error))
        drafts, ended = (kept, why, *_alarms((why,), received, tools, old=old)), None
        records = tools.ledger.append(*drafts, lane=Lane.URGENT)
    tools.orders.catch_up(records)
    reach("settle.recorded")  # a crash here leaves a closed order whose decision is not sealed
    if ended is not None:
        standing, outcome = ended
        seal = journal_orders.sealed(standing, outcome)
        tools.orders.catch_up(tools.ledger.append(seal, lane=Lane.URGENT))
        reach("settle.sealed")
    if named:
        tools.forget(received.offset)  # after a crash before this, the next start does it


def _read(
    received: Received, tools: SettleTools, *, old: bool
) -> tuple[tuple[Draft, ...], tuple[Standing, str] | None]:
    """Return the drafts for a message, and the decision that it ends with its outcome.

    An `old` message is older than something on record about its order.
    """
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
    name = message.cl_ord_id
    standing = tools.theirs.told_of((message.orig_cl_ord_id, name), message.order_id)
    if standing is None and message.doubled:
        return (inbound, _anomaly(received, tools, "unbookable", message.contradiction)), None
    if standing is None:
        why = _anomaly(received, tools, "unknown_order", name)
        at, ours = _said_at(received, tools), strangers.ours_among(tools.theirs, message)
        return (inbound, *unknown_order(message, why, ours, tools.foreign, at, old=old)), None
    if message.is_status and old:
        return (inbound,), _unsealed(standing)  # an old state is no news
    if (
        other := replace_ends.unknown_there(message, standing, _said_at(received, tools))
    ) is not None:
        return (inbound, *other), None  # about one of several names
    tools = replace(tools, revives=tools.revives and not old)
    return _reported(message, standing, received, tools, inbound)


def _unsealed(standing: Standing) -> tuple[Standing, str] | None:
    """Return an order that ended without a seal, with its outcome, or None."""
    if standing.stage is not Stage.CLOSED or standing.sealed:
        return None
    return standing, OUTCOMES.get(OrderState(standing.order_state), "closed")


def _alarms(
    drafts: Sequence[Draft], received: Received, tools: SettleTools, *, old: bool
) -> tuple[Draft, ...]:
    """Return the differences between the book and the broker that a message shows."""
    return alarms_of(
        drafts,
        received.raw,
        received.offset,
        session=tools.session,
        told_of=tools.theirs.told_of,
        instrument=tools.instrument,
        differences=tools.differences,
        old=old,
        foreign=tools.foreign,
    )


def _reported(
    report: ExecutionReport,
    standing: Standing,
    received: Received,
    tools: SettleTools,
    inbound: Draft,
) -> tuple[tuple[Draft, ...], tuple[Standing, str] | None]:
    """Apply an execution report to its order."""
    trade_date = (report.transact_time or report.envelope.sending_time)[:8]
    before = None
    if not report.is_status and not report.doubled:
        before = tools.orders.reports.get((tools.session, trade_date, report.exec_id))
        document = journal_orders.report_document(report)
        told = before is not None and booking.is_repeat(before, document)
        if told or (before is None and booking.has_it(report, standing, tools.instrument)):
            # recorded again, but booked once; after a crash before the seal it is sealed now
            return (inbound,), _unsealed(standing)
        if before is not None and booking.says_the_same(before, document):
            return (inbound, _anomaly(received, tools, "exec_id_reused", report.exec_id)), None
    reused = before is not None
    found = of_report(report, standing, tools.instrument, tools.minor_digits, reused=reused)
    fill, undone, whole, over = found.fill, found.undone, found.whole, standing.stage in _OVER
    booked = standing.filled_lots + (fill.qty_lots if fill else 0) - (undone.lots if undone else 0)
    resolved = _resolved_lots(standing, tools)
    revived = tools.revives and revives(whole, standing)
    state, odd = next_state(whole, standing, booked + resolved, tools.instrument)
    if revived:
        state, odd = restated(state, whole), WORKS_AGAIN
    terminal = state.is_terminal and odd != MISSING_TRADES
    breaches, now = booking.breaches_of(standing, fill, booked), OrderState(standing.order_state)
    fee_open = (booking.FEE_OPEN,) if found.open_fees else ()
    key = f"report:{tools.session}:{trade_date}:{report.exec_id}"
    if report.is_status or found.odd:
        key = f"{'status:' if report.is_status else NOT_BOOKED}{received.offset}"
    reported = journal_orders.order_reported(
        standing,
        report,
        idem_key=key,
        session=tools.session,
        trade_date=trade_date,
        order_state=state.value,
        terminal=terminal,
        fill=fill,
        anomaly=", ".join(filter(None, (odd, found.odd, *breaches, *fee_open))) or None,
        offset=received.offset,
        market_time_us=tools.market_now_us(),
        undone=undone,
        reopens=over and (revived or (undone is not None and not state.is_terminal)),
        resolved_lots=resolved if state.is_terminal else 0,
        restated=None if terminal or not tools.restates else restated_by(whole, standing, booked),
    )
    ended = (standing, OUTCOMES.get(state, "closed")) if terminal and not standing.sealed else None
    at, raw = _said_at(received, tools), received.raw[:RAW_MAX]
    ends = replace_ends.requests_after(standing, state, at, report, raw)
    notes = [] if found.odd else booking.notes_on(report, standing, breaches, found.open_fees)
    words = [tuple(map(", ".join, zip(*notes, strict=True)))] if notes else []
    words.append((found.odd, found.detail))
    words.append((odd if odd in ODD_ENDS else "", f"39={report.ord_status} after {now.value}"))
    odder = (_anomaly(received, tools, why, said) for why, said in words if why)
    return (inbound, reported, *ends, *odder), ended


def _resolved_lots(standing: Standing, tools: SettleTools) -> int:
    """Return how many lots of the broker's total were resolved by persons; they need no trade."""
    known = tools.differences
    return 0 if known is None else known.resolved_of(standing.cl_ord_id)


def _other(message: Inbound, received: Received, tools: SettleTools) -> tuple[Draft, ...]:
    """Return the drafts of a message that is no execution report."""
    if not isinstance(message, CancelReject):
        return ()
    standing, at = tools.theirs.by_cancel_id(message.cl_ord_id), _said_at(received, tools)
    ended = standing and replace_ends.refused_request(standing, message, at)
    if not standing:
        ended = told_by_stranger(message, tools.theirs.by_broker_id, tools.foreign, at)
    return (ended or _anomaly(received, tools, "cancel_rejected", message.orig_cl_ord_id),)


def _refused(
    message: BusinessReject | SessionReject, received: Received, tools: SettleTools, inbound: Draft
) -> tuple[tuple[Draft, ...], tuple[Standing, str] | None]:
    """End the order that a Reject (3) or BusinessMessageReject (j) names.

    Raises:
        NotReadyError: when an order was handed out whose number is not on record yet.
    """
    if message.ref_msg_type != NEW_ORDER and (
        message.ref_msg_type or tools.theirs.by_replace_number(tools.epoch(), message.ref_seq_num)
    ):
        refused = replace_ends.refused_as_message(
            message, tools.theirs, tools.epoch(), _said_at(received, tools)
        )
        why = refused or _anomaly(received, tools, "rejected_by_peer", message.text)
        return (inbound, why), None
    named = message.ref_id if isinstance(message, BusinessReject) else ""
    standing = tools.theirs.by_cl_ord_id(named)
    if standing is None:
        standing = tools.theirs.by_msg_seq_num(tools.epoch(), message.ref_seq_num)
    if standing is None and any(s.stage is Stage.SENDING for s in tools.theirs.live()):
        raise NotReadyError(part="the refused order's number", state="not on record yet")
    now = OrderState.INTENT if standing is None else OrderState(standing.order_state)
    after = advance(now, OrderEvent.REJECTED)
    if standing is None or isinstance(after, Anomaly) or standing.trades:
        detail = f"MsgSeqNum {message.ref_seq_num} {named}"
        return (inbound, _anomaly(received, tools, "reject_unmatched", detail)), None
    if after is now:
        return (inbound,), None  # reported twice
    ended = journal_orders.order_ended(
        standing,
        f"{message.envelope.msg_type}:{message.reason}",
        order_state=after.value,
        session=tools.session,
        offset=received.offset,
        market_time_us=tools.market_now_us(),
    )
    cancels = replace_ends.requests_after(standing, after, _said_at(received, tools))
    return (inbound, ended, *cancels), (standing, OUTCOMES[after])


def _said_at(received: Received, tools: SettleTools) -> SaidAt:
    now_us = tools.market_now_us()
    return SaidAt(session=tools.session, offset=received.offset, market_time_us=now_us)


def _inbound(received: Received, tools: SettleTools, msg_type: str, digest: str) -> Draft:
    return fix_inbound(
        tools.session,
        offset=received.offset,
        raw=received.raw,
        msg_type=msg_type[:24],
        digest=digest,
    )


def _kept(inbound: Draft, received: Received, tools: SettleTools) -> Draft:
    """Return the record of a message; of a long one the beginning, with the whole in a blob."""
    if len(received.raw) <= RAW_MAX:
        return inbound
    tools.ledger.put_blob(received.raw.encode("latin-1", "replace"))
    return replace(inbound, payload={**inbound.payload, "raw": received.raw[:RAW_MAX]})


def _anomaly(received: Received, tools: SettleTools, reason: str, detail: str) -> Draft:
    return fix_anomaly(
        tools.session,
        offset=received.offset,
        raw=received.raw[:RAW_MAX],
        reason=reason,
        detail=detail,
    )
