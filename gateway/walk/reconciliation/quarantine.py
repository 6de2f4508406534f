"""Differences that a broker's message shows, as it is settled.

A report's CumQty (14) is compared with the booked fills after it and the adjustments. A message
that cannot be applied is a difference too: what it says may be true. Pure but for the orders that
are asked for. Not here: the whole book against all reports (`book_check`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.dialects.profile import ForeignTreatment
from fix.orders.state import OrderEvent, OrderState, event_of
from fix.wire.fields import MSG_TYPE, fields_in
from fix.wire.reports import ExecutionReport, is_report, parse_inbound, shares
from fix.wire.resends import word_of
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.session import FixAnomaly, fix_anomaly
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.journal.words import EVERY
from gateway.walk.projections.asked import fields_of
from gateway.walk.projections.differences import Differences
from gateway.walk.reconciliation.booking import FEE_OPEN
from gateway.walk.reconciliation.cancel_ends import SaidAt
from gateway.walk.reconciliation.strangers import names_stranger
from risk.state.instrument import Instrument

QUARANTINED: Final = {
    "unknown_order": DifferenceCause.UNKNOWN_ORDER,
    "unbookable": DifferenceCause.UNBOOKABLE,
    "unreadable": DifferenceCause.UNREADABLE,
    "exec_id_reused": DifferenceCause.EXEC_ID_REUSED,
    "undoes_unknown_trade": DifferenceCause.UNDOES_UNKNOWN_TRADE,
    "trade_undone_twice": DifferenceCause.TRADE_UNDONE_TWICE,
    "reject_unmatched": DifferenceCause.REJECT_UNMATCHED,
    "no_longer_known": DifferenceCause.NO_LONGER_KNOWN,
}
"""Anomalies that a person resolves, by the reason in `fix_anomaly`."""

BROKEN: Final = {
    "price_beyond_limit": DifferenceCause.PRICE_BEYOND_LIMIT,
    "overfilled": DifferenceCause.OVERFILLED,
    FEE_OPEN: DifferenceCause.FEE_OPEN,
}
"""In what a booked trade breaks its order or is not whole, by the name in `order_reported`."""

ODD_ENDS: Final = frozenset({"rejected_late", "no_longer_known"})
"""Ends that a broker gives to an order which it had accepted: each is told."""

_DONE: Final = frozenset({OrderState.DONE_FOR_DAY, OrderState.CALCULATED})

ToldOf = Callable[[tuple[str, str], str], Standing | None]
"""Returns the order that names (41, 11) and an OrderID (37) are about (`fix.orders.naming`)."""

_TRADING: Final = frozenset("F12GH")
_LATE: Final = frozenset("F12")
_ORDER_QTY, _PRICE, _RESTATEMENT_REASON = 38, 44, 378
_TRANSACT_TIME, _TIME_IN_FORCE, _ORDER_ID, _EXEC_ID, _DAY, _IOC = 60, 59, 37, 17, "0", "3"
_EXEC_TYPE, _CUM_QTY, _SYMBOL, _CL_ORD_ID, _ORIG_CL_ORD_ID = 150, 14, 55, 11, 41
_REJECTS: Final = frozenset("3j")
_TEXT_MAX: Final = 64
_DETAIL_MAX: Final = 200


def tells_total(report: ExecutionReport) -> bool:
    """Return whether CumQty (14) is the order's total now; an acknowledgement may be old."""
    event = event_of(report)
    if event is OrderEvent.NOT_KNOWN_THERE:
        return False
    return (
        report.is_trade
        or report.undoes
        or report.is_status
        or event in {OrderEvent.CANCELED, OrderEvent.EXPIRED, OrderEvent.TRADED_ALL}
    )


def sets_total(report: ExecutionReport) -> bool:
    """Return whether CumQty also counts when it is lower: a trade may arrive late."""
    return tells_total(report) and not report.is_trade


def alarms_of(  # noqa: PLR0913 - what a message is held against
    drafts: Sequence[Draft],
    raw: str,
    offset: int,
    *,
    session: str,
    told_of: ToldOf,
    instrument: Callable[[str], Instrument],
    differences: Differences | None,
    old: bool = False,
    foreign: ForeignTreatment = ForeignTreatment.SHOW,
) -> tuple[Draft, ...]:
    """Return the differences that a message shows, to be committed with its meaning.

    `instrument` raises KeyError for an unknown symbol. Without `differences` each one is news. An
    `old` message is a resend older than the record: its total is not today's.
    """
    word = word_of(raw)
    resent = word is not None and word.resent
    undated = resent and word is not None and word.said is None
    found: list[Found | None] = []
    tags = dict(reversed(fields_in(raw)))  # the first of each tag counts
    for draft in drafts:
        if draft.kind is Kind.FIX_ANOMALY:
            said = FixAnomaly.read(draft.payload)
            one = _quarantined(said, tags, told_of, instrument, foreign)
            late = undated or tags.get(_EXEC_TYPE, "") in _LATE
            found.append(None if old else _as_known(one, 0, differences, late=late))
        elif draft.kind is Kind.ORDER_REPORTED:
            reported = OrderReported.read(draft.payload)
            one, late = _totals_apart(raw, reported, told_of, instrument, differences)
            late = late or undated
            one = _as_known(one, reported.last_lots, differences, late=late, old=old)
            order = told_of(("", reported.cl_ord_id), "")
            found += [one, *_breaches(one, reported.anomaly or "", order, _detail(drafts))]
    return tuple(
        book_difference(
            replace(one, resent=resent), session=session, source="report", number=offset
        )
        for one in _told_once(found)
        if _is_news(one, differences)
    )


def _told_once(found: Sequence[Found | None]) -> tuple[Found, ...]:
    """Return the differences; of one order's totals the one that says why, not both."""
    told = [one for one in found if one is not None]
    named = {one.cl_ord_id for one in told if one.cause in QUARANTINED.values()} - {""}
    total = DifferenceCause.CUM_QTY
    return tuple(one for one in told if one.cause is not total or one.cl_ord_id not in named)


def odd_end(report: ExecutionReport, standing: Standing, after: OrderState) -> str | None:
    """Return what is odd about the end of an order that the broker had accepted; None if nothing.

    A DAY order that the broker does not know on a later day, or after it was done for the day, has
    ended with its day.
    """
    before = OrderState(standing.order_state)
    accepted = standing.filled_lots or standing.report_status not in {None, "A"}
    if before.is_terminal or not after.is_terminal or not accepted:
        return None
    if after is OrderState.REJECTED:
        return "rejected_late"
    forgotten = event_of(report) is OrderEvent.NOT_KNOWN_THERE
    if not forgotten or before in _DONE or standing.sending is None:
        return None
    sent = dict(fields_of(standing))
    day, said = sent.get(_TRANSACT_TIME, "")[:8], report.envelope.sending_time[:8]
    for_the_day = sent.get(_TIME_IN_FORCE, _DAY) in {_DAY, _IOC}
    return None if for_the_day and day and day < said else "no_longer_known"


def restatement(
    report: ExecutionReport, standing: Standing, raw: str, at: SaidAt
) -> tuple[Draft, ...]:
    """Return the alarm of a broker that changed an order by itself (150=D), if it did.

    What it leaves of the reservation is in the report's record (`restating`).
    """
    if not report.is_restatement or standing.sending is None:
        return ()
    sent, tags = dict(fields_of(standing)), dict(reversed(fields_in(raw)))
    changed = [
        f"{tag}={tags[tag]}, sent {sent[tag]}"
        for tag in (_ORDER_QTY, _PRICE)
        if tag in tags and tag in sent and not _equal(tags[tag], sent[tag])
    ]
    if not changed:
        return ()
    why = tags.get(_RESTATEMENT_REASON, "-")
    detail = f"{standing.cl_ord_id}: {'; '.join(changed)}; 378={why}"
    return (fix_anomaly(at.session, offset=at.offset, raw=raw, reason="restated", detail=detail),)


def _equal(one: str, other: str) -> bool:
    """Return whether two texts are the same number; text that is no number equals nothing."""
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def _is_news(found: Found, differences: Differences | None) -> bool:
    if differences is not None:
        return differences.is_news(found)
    return found.cause is not DifferenceCause.CUM_QTY or found.book_lots != found.broker_lots


def _detail(drafts: Sequence[Draft]) -> str:
    said = (FixAnomaly.read(one.payload) for one in drafts if one.kind is Kind.FIX_ANOMALY)
    return next((_plain(one.detail, _DETAIL_MAX) for one in said), "")


def _breaches(
    found: Found | None, anomaly: str, order: Standing | None, detail: str
) -> Iterator[Found]:
    """Yield an alarm for each way in which a booked trade breaks its order or is not whole."""
    for cause in (BROKEN[one] for one in anomaly.split(", ") if one in BROKEN):
        if cause is DifferenceCause.FEE_OPEN and order is not None:  # blocks no instrument
            yield Found(
                cause=cause,
                account=order.account,
                instrument="",
                cl_ord_id=order.cl_ord_id,
                book_lots=None if found is None else found.book_lots,
                broker_lots=None if found is None else found.broker_lots,
                detail=detail,
            )
        elif found is not None:
            yield replace(found, cause=cause, detail=detail)


def _quarantined(
    said: FixAnomaly,
    tags: Mapping[int, str],
    told_of: ToldOf,
    instrument: Callable[[str], Instrument],
    foreign: ForeignTreatment,
) -> Found | None:
    """Return an anomaly's difference; None if it tells of no trade and ends no order of ours."""
    cause = QUARANTINED.get(said.reason)
    if cause is None:
        return None
    rejects = cause is DifferenceCause.UNREADABLE and tags.get(MSG_TYPE) in _REJECTS
    if cause is DifferenceCause.REJECT_UNMATCHED or rejects:
        return Found(
            cause=cause, account="", instrument="", cl_ord_id="", book_lots=None, broker_lots=None
        )
    quantity = shares(tags.get(_CUM_QTY, ""))
    if not is_report(tags):
        return None
    trading = tags.get(_EXEC_TYPE, "") in _TRADING
    if cause is DifferenceCause.UNKNOWN_ORDER and not trading and not quantity:
        return None
    name = _plain(tags.get(_ORIG_CL_ORD_ID) or tags.get(_CL_ORD_ID, ""))
    names = (tags.get(_ORIG_CL_ORD_ID, ""), tags.get(_CL_ORD_ID, ""))
    order = told_of(names, tags.get(_ORDER_ID, ""))
    spared = foreign is not ForeignTreatment.BLOCK and cause is DifferenceCause.UNREADABLE
    if order is None and spared and names_stranger(tags):
        return None
    symbol = _plain(tags.get(_SYMBOL, "")) or EVERY
    if order is not None and order.verdict is not None:
        symbol = VerdictGiven.of(order.verdict).instrument
    try:
        lot = 1 if symbol == EVERY else instrument(symbol).lot
    except KeyError:
        lot = 1
    booked = 0 if order is None else order.filled_lots
    told, odd = (None, 0) if quantity is None else divmod(quantity, lot)
    lost = cause is DifferenceCause.NO_LONGER_KNOWN
    return Found(
        cause=cause,
        account="" if order is None else order.account,
        instrument=symbol,
        cl_ord_id=name if order is None else order.cl_ord_id,
        book_lots=booked,
        broker_lots=booked if lost else told,
        odd_units=0 if lost else odd,
        exec_id=_plain(tags.get(_EXEC_ID, "")) if trading else "",
        detail=_plain(said.detail, _DETAIL_MAX),
    )


def _totals_apart(
    raw: str,
    reported: OrderReported,
    told_of: ToldOf,
    instrument: Callable[[str], Instrument],
    differences: Differences | None,
) -> tuple[Found | None, bool]:
    """Return both sides of an order after a report, and whether the total may be old."""
    report, order = parse_inbound(raw), told_of(("", reported.cl_ord_id), "")
    if not isinstance(report, ExecutionReport) or order is None or order.verdict is None:
        return None, False
    if not report.cum_qty:
        return None, False
    symbol = VerdictGiven.of(order.verdict).instrument
    booked = order.filled_lots + reported.last_lots
    adjusted = 0 if differences is None else differences.adjusted_of(order.cl_ord_id)
    told = shares(report.cum_qty)  # None: no total that this book can have, so a person looks
    lots, odd = (None, 0) if told is None else divmod(told, instrument(symbol).lot)
    if lots is not None and lots < booked + adjusted and not tells_total(report):
        return None, False
    found = Found(
        cause=DifferenceCause.CUM_QTY,
        account=order.account,
        instrument=symbol,
        cl_ord_id=order.cl_ord_id,
        book_lots=booked,
        broker_lots=lots,
        odd_units=odd,
    )
    return found, not sets_total(report)


def _as_known(
    found: Found | None,
    last_lots: int,
    differences: Differences | None,
    *,
    late: bool,
    old: bool = False,
) -> Found | None:
    """Return both sides with the adjustments and earlier totals of the order.

    `last_lots` is what this message adds to the fills. If the message is `late`, a higher total
    that was told before still counts; if it is `old`, the earlier total counts in any case.
    """
    if found is None or differences is None or not found.cl_ord_id or found.book_lots is None:
        return found
    book = found.book_lots + differences.adjusted_of(found.cl_ord_id)
    told, told_odd = differences.total_told(found.cl_ord_id, book - last_lots)
    broker, odd = found.broker_lots, found.odd_units
    if old and told is not None:
        broker, odd = told, told_odd
    elif late and broker is not None and told is not None:
        broker, odd = max((broker, odd), (told, told_odd))
    return replace(found, book_lots=book, broker_lots=broker, odd_units=odd)


def _plain(text: str, longest: int = _TEXT_MAX) -> str:
    """Return text in characters that any record takes."""
    return "".join(c for c in text if c.isascii() and c.isprintable())[:longest]
