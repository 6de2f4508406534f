"""Differences that a broker's message shows, as it is settled.

A report's CumQty (14) is compared with the booked fills after it and the adjustments. A message
that cannot be applied is a difference too: what it says may be true. Pure but for the orders that
are asked for. Not here: the whole book against all reports (`book_check`).
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.dialects.profile import ForeignTreatment
from fix.errors import FixError
from fix.orders.state import OrderEvent, event_of
from fix.wire.messages import parse
from fix.wire.reports import ExecutionReport, parse_inbound, scaled
from fix.wire.resends import word_of
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.order import OrderReported
from gateway.walk.journal.session import FixAnomaly, fix_anomaly
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.asked import fields_of
from gateway.walk.projections.differences import EVERY, Differences
from gateway.walk.projections.standing import Standing
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
}
"""Anomalies that a person resolves, by the reason in `fix_anomaly`."""

BROKEN: Final = {
    "price_beyond_limit": DifferenceCause.PRICE_BEYOND_LIMIT,
    "overfilled": DifferenceCause.OVERFILLED,
}
"""In what a booked trade breaks its order, by the name in `order_reported`."""

_TRADING: Final = frozenset("F12GH")
_LATE: Final = frozenset("F12")
_ORDER_QTY, _PRICE, _RESTATEMENT_REASON = 38, 44, 378
_EXEC_TYPE, _CUM_QTY, _SYMBOL, _CL_ORD_ID, _ORIG_CL_ORD_ID = 150, 14, 55, 11, 41
_TEXT_MAX: Final = 64


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
    standing: Callable[[str], Standing | None],
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
    for draft in drafts:
        if draft.kind is Kind.FIX_ANOMALY:
            one = _quarantined(
                FixAnomaly.read(draft.payload).reason, _tags(raw), standing, instrument, foreign
            )
            late = undated or _tags(raw).get(_EXEC_TYPE, "") in _LATE
            found.append(None if old else _as_known(one, 0, differences, late=late))
        elif draft.kind is Kind.ORDER_REPORTED:
            reported = OrderReported.read(draft.payload)
            one, late = _totals_apart(raw, reported, standing, instrument, differences)
            late = late or undated
            one = _as_known(one, reported.last_lots, differences, late=late, old=old)
            found += [one, *_breaches(one, reported.anomaly)]
    return tuple(
        book_difference(
            replace(one, resent=resent), session=session, source="report", number=offset
        )
        for one in found
        if one is not None and _is_news(one, differences)
    )


def restatement(
    report: ExecutionReport, standing: Standing, raw: str, at: SaidAt
) -> tuple[Draft, ...]:
    """Return the alarm of a broker that changed an order by itself (150=D), if it did.

    What it leaves of the reservation is in the report's record (`restating`).
    """
    if not report.is_restatement or standing.sending is None:
        return ()
    sent, tags = dict(fields_of(standing)), _tags(raw)
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


def _breaches(found: Found | None, anomaly: str) -> tuple[Found, ...]:
    """Return an alarm for each way in which a booked trade breaks its order."""
    if found is None:
        return ()
    return tuple(replace(found, cause=BROKEN[one]) for one in anomaly.split(", ") if one in BROKEN)


def _quarantined(
    reason: str,
    tags: Mapping[int, str],
    standing: Callable[[str], Standing | None],
    instrument: Callable[[str], Instrument],
    foreign: ForeignTreatment,
) -> Found | None:
    """Return an anomaly's difference; None if it tells of no trade and ends no order of ours."""
    cause = QUARANTINED.get(reason)
    if cause is None:
        return None
    if cause is DifferenceCause.REJECT_UNMATCHED:
        return Found(
            cause=cause, account="", instrument="", cl_ord_id="", book_lots=None, broker_lots=None
        )
    quantity = _quantity(tags)
    if tags.get(35) != "8":
        return None
    trading = tags.get(_EXEC_TYPE, "") in _TRADING
    if (
        cause in {DifferenceCause.UNKNOWN_ORDER, DifferenceCause.UNREADABLE}
        and not trading
        and not quantity
    ):
        return None
    name = _plain(tags.get(_ORIG_CL_ORD_ID) or tags.get(_CL_ORD_ID, ""))
    order = standing(name)
    spared = foreign is not ForeignTreatment.BLOCK and cause is DifferenceCause.UNREADABLE
    if order is None and spared and names_stranger(tags):
        return None
    symbol = _plain(tags.get(_SYMBOL, "")) or EVERY
    if order is not None and order.verdict is not None:
        symbol = VerdictGiven.of(order.verdict).instrument
    try:
        lot = instrument(symbol).lot
    except KeyError:
        lot = 1
    return Found(
        cause=cause,
        account="" if order is None else order.account,
        instrument=symbol,
        cl_ord_id=name,
        book_lots=0 if order is None else order.filled_lots,
        broker_lots=None if quantity is None else quantity // lot,
    )


def _totals_apart(
    raw: str,
    reported: OrderReported,
    standing: Callable[[str], Standing | None],
    instrument: Callable[[str], Instrument],
    differences: Differences | None,
) -> tuple[Found | None, bool]:
    """Return both sides of an order after a report, and whether the total may be old."""
    report, order = parse_inbound(raw), standing(reported.cl_ord_id)
    if not isinstance(report, ExecutionReport) or order is None or order.verdict is None:
        return None, False
    symbol = VerdictGiven.of(order.verdict).instrument
    booked = order.filled_lots + reported.last_lots
    adjusted = 0 if differences is None else differences.adjusted_of(order.cl_ord_id)
    lots = scaled(report.cum_qty, 0) // instrument(symbol).lot
    if lots < booked + adjusted and not tells_total(report):
        return None, False
    found = Found(
        cause=DifferenceCause.CUM_QTY,
        account=order.account,
        instrument=symbol,
        cl_ord_id=order.cl_ord_id,
        book_lots=booked,
        broker_lots=lots,
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
    told = differences.total_told(found.cl_ord_id, book - last_lots)
    broker = found.broker_lots
    if old and told is not None:
        broker = told
    elif late and broker is not None and told is not None:
        broker = max(broker, told)
    return replace(found, book_lots=book, broker_lots=broker)


def _tags(raw: str) -> dict[int, str]:
    """Return the first value of each tag; empty for bytes that are no message."""
    found: dict[int, str] = {}
    with contextlib.suppress(FixError):
        for tag, value in parse(raw):
            found.setdefault(tag, value)
    return found


def _quantity(tags: Mapping[int, str]) -> int | None:
    """Return CumQty, or None if it cannot be read."""
    try:
        return scaled(tags.get(_CUM_QTY, ""), 0)
    except FixError:
        return None


def _plain(text: str) -> str:
    """Return a name in characters that any record takes."""
    return "".join(c for c in text if c.isascii() and c.isprintable())[:_TEXT_MAX]
