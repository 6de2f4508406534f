"""Committed records to book events: the one place that says which record changes a book, and how.

Pure. Folding these events over a ledger gives the book that a verdict was judged against; the
section, the pages and replay all fold through here. A trade's number is that of the record that
booked it; a bust or a correction names it.
"""

from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Record
from risk.intent import Side
from risk.state.book import (
    DayStarted,
    Filled,
    Marked,
    MessageSent,
    OrderClosed,
    Released,
    Reserved,
)
from risk.state.busts import Adjusted, FoldEvent, Reopened, TradeUndone

# kinds that `book_events` gives a meaning to, for queries
BOOK_KINDS = (
    Kind.MARK_TAKEN,
    Kind.VERDICT_GIVEN,
    Kind.APPROVAL_REFUSED,
    Kind.RESERVATION_RELEASED,
    Kind.ORDER_SENDING,
    Kind.ORDER_REFUSED,
    Kind.ORDER_WITHDRAWN,
    Kind.ORDER_REPORTED,
    Kind.ORDER_ENDED,
    Kind.DIFFERENCE_RESOLVED,
)
PLACEBO_KINDS = (Kind.MARK_TAKEN, Kind.PLACEBO_JUDGED)


def book_events(record: Record) -> tuple[FoldEvent, ...]:
    """Return what one record does to its account's book; most records do nothing."""
    body: dict[str, Any] = record.body
    match record.kind:
        case Kind.MARK_TAKEN:
            return _marked(body)
        case Kind.VERDICT_GIVEN:
            return _reserved(body)
        case Kind.APPROVAL_REFUSED | Kind.RESERVATION_RELEASED | Kind.ORDER_WITHDRAWN:
            return (Released(decision_id=_decision_id(record), time_us=body["market_time_us"]),)
        case Kind.ORDER_REFUSED | Kind.ORDER_ENDED:
            # It was announced, so a mere release would not free it; it never left, or the broker
            # refused the message.
            return (OrderClosed(decision_id=_decision_id(record), time_us=body["market_time_us"]),)
        case Kind.ORDER_SENDING:
            return (MessageSent(decision_id=_decision_id(record), time_us=body["market_now_us"]),)
        case Kind.DIFFERENCE_RESOLVED if body.get("adjustment") is not None:
            return (_adjusted(body),)
        case Kind.ORDER_REPORTED:
            return _reported(_decision_id(record), body, record.seq)
        case _:
            return ()


def placebo_events(record: Record) -> tuple[FoldEvent, ...]:
    """Return what one record does to the placebo twin's book.

    Its assumed fills, and the same marks.
    """
    body: dict[str, Any] = record.body
    if record.kind is Kind.MARK_TAKEN:
        return _marked(body)
    if record.kind is Kind.PLACEBO_JUDGED and body.get("fill") is not None:
        return (_filled(None, body["fill"], body["market_now_us"]),)
    return ()


def is_trade(report: dict[str, Any]) -> bool:
    """Whether an `order_reported` books a trade; a correction changes one that is booked."""
    return report["fill"] is not None and report.get("undoes_seq") is None


def _decision_id(record: Record) -> str:
    return record.stream.removeprefix("decision/")


def _marked(body: dict[str, Any]) -> tuple[FoldEvent, ...]:
    mark = Marked(
        instrument=body["instrument"],
        price_ticks=body["price_ticks"],
        time_us=body["market_time_us"],
    )
    if body["kind"] == "open":
        return (DayStarted(day=body["session_date"], time_us=body["market_time_us"]), mark)
    return (mark,)


def _reserved(body: dict[str, Any]) -> tuple[FoldEvent, ...]:
    reservation = body["reservation"]
    if reservation is None:
        return ()
    return (
        Reserved(
            decision_id=body["decision_id"],
            instrument=reservation["instrument"],
            side=Side(reservation["side"]),
            qty_lots=reservation["qty_lots"],
            limit_ticks=reservation["limit_ticks"],
            unit_minor=reservation["unit_minor"],
            time_us=body["market_now_us"],
        ),
    )


def _reported(decision_id: str, body: dict[str, Any], seq: int) -> tuple[FoldEvent, ...]:
    events: list[FoldEvent] = []
    undone, time_us = body.get("undoes_seq"), body["market_time_us"]
    number = seq if undone is None else undone
    fill = None
    if body["fill"] is not None:
        fill = _filled(decision_id, body["fill"], time_us, trade=number)
    if undone is None and body.get("reopens"):
        events.append(Reopened(decision_id=decision_id, time_us=time_us))
    if undone is not None:
        reopens = body["reopens"]
        events.append(
            TradeUndone(
                decision_id=decision_id,
                trade=number,
                instead=fill,
                reopens=reopens,
                time_us=time_us,
            )
        )
    elif fill is not None:
        events.append(fill)
    if body["terminal"]:
        events.append(OrderClosed(decision_id=decision_id, time_us=body["market_time_us"]))
    return tuple(events)


def _adjusted(body: dict[str, Any]) -> FoldEvent:
    """Return what an adjustment books; records of earlier versions do not name its decision."""
    fill = _filled(None, body["adjustment"], body["market_time_us"])
    name = body.get("decision_id")
    return fill if name is None else Adjusted(decision_id=name, fill=fill)


def _filled(
    decision_id: str | None, fill: dict[str, Any], time_us: int, *, trade: int = 0
) -> Filled:
    return Filled(
        decision_id=decision_id,
        instrument=fill["instrument"],
        side=Side(fill["side"]),
        qty_lots=fill["qty_lots"],
        price_ticks=fill["price_ticks"],
        unit_minor=fill["unit_minor"],
        fee_minor=fill["fee_minor"],
        time_us=time_us,
        trade=trade,
    )
