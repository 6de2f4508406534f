"""Committed records to book events. Pure.

This module alone says which record changes a book, and how: the section, the pages and replay fold
through it. A trade's number is that of the record that booked it; busts and corrections name it.
"""

from enum import StrEnum

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.contents import Ending, Fill
from gateway.walk.journal.control.adjustment import AdjustmentSort, BookAdjusted
from gateway.walk.journal.control.difference import DifferenceResolved
from gateway.walk.journal.decision import TwinJudged
from gateway.walk.journal.order import OrderReported, OrderSending, Restated
from gateway.walk.journal.replace import ReplaceEnded, ReplaceRequested
from gateway.walk.journal.run import MarkTaken
from gateway.walk.journal.verdict import VerdictGiven
from risk.state.adjustments import (
    Adjustment,
    CashMoved,
    CashSort,
    Opened,
    Split,
    TradedBeside,
)
from risk.state.book import (
    DayStarted,
    Filled,
    Marked,
    MessageSent,
    OrderClosed,
    Released,
    Reserved,
    Resized,
)
from risk.state.busts import Adjusted, FoldEvent, MarksCorrected, Reopened, TradeUndone
from risk.state.holding import Position

# the kinds that change a book, for queries
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
    Kind.REPLACE_REQUESTED,
    Kind.REPLACE_ENDED,
    Kind.DIFFERENCE_RESOLVED,
    Kind.BOOK_ADJUSTED,
)


class Twin(StrEnum):
    """The twins that have a book of their own."""

    PLACEBO = "placebo"
    GJR = "gjr"

    @property
    def judged(self) -> Kind:
        """The kind of its verdicts."""
        return Kind.PLACEBO_JUDGED if self is Twin.PLACEBO else Kind.GJR_JUDGED

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that change its book, for queries."""
        return (Kind.MARK_TAKEN, self.judged, Kind.BOOK_ADJUSTED)

    def account(self, account: str) -> str:
        """Return the name of its book beside an account's."""
        return f"{account}.{self.value}"


_FOR_THE_TWIN = frozenset(
    {AdjustmentSort.OPENING, AdjustmentSort.SPLIT, AdjustmentSort.CASH, AdjustmentSort.MARK}
)


def book_events(record: Record) -> tuple[FoldEvent, ...]:  # noqa: PLR0911 - one per kind
    """Return what one record does to its account's book; most records do nothing."""
    name = record.stream.removeprefix("decision/")
    match record.kind:
        case Kind.MARK_TAKEN:
            return _marked(MarkTaken.of(record), record.seq)
        case Kind.VERDICT_GIVEN:
            return _reserved(VerdictGiven.of(record))
        case Kind.APPROVAL_REFUSED | Kind.RESERVATION_RELEASED | Kind.ORDER_WITHDRAWN:
            return (Released(decision_id=name, time_us=Ending.of(record).market_time_us),)
        case Kind.ORDER_REFUSED | Kind.ORDER_ENDED:
            # It was announced, so `Released` would not free it; it never left or was refused.
            return (OrderClosed(decision_id=name, time_us=Ending.of(record).market_time_us),)
        case Kind.ORDER_SENDING:
            return (MessageSent(decision_id=name, time_us=OrderSending.of(record).market_now_us),)
        case Kind.REPLACE_REQUESTED | Kind.REPLACE_ENDED:
            return _resized(name, record)
        case Kind.DIFFERENCE_RESOLVED | Kind.BOOK_ADJUSTED:
            return _by_persons(record)
        case Kind.ORDER_REPORTED:
            return _reported(name, OrderReported.of(record), record.seq)
        case _:
            return ()


def twin_events(twin: Twin, record: Record) -> tuple[FoldEvent, ...]:
    """Return what one record does to a twin's book.

    It opens with the account, and shares splits, transfers and corrected marks; it has no
    dividends, fees or trades by phone, which come from what the account itself held and did.
    """
    if record.kind is not twin.judged:
        return shared_events(record)
    judged = TwinJudged.of(record)
    return () if judged.fill is None else (filled(None, judged.fill, judged.market_now_us),)


def shared_events(record: Record) -> tuple[FoldEvent, ...]:
    """Return what one record does to every book beside an account's: marks, splits, transfers."""
    if record.kind is Kind.BOOK_ADJUSTED:
        done = BookAdjusted.of(record)
        return (adjustment_of(done),) if done.sort in _FOR_THE_TWIN else ()
    if record.kind is not Kind.MARK_TAKEN:
        return ()
    return _marked(MarkTaken.of(record), record.seq)


def _marked(mark: MarkTaken, seq: int) -> tuple[FoldEvent, ...]:
    marked = Marked(
        instrument=mark.instrument,
        price_ticks=mark.price_ticks,
        time_us=mark.market_time_us,
        mark=seq,
    )
    if mark.kind == "open":
        return (DayStarted(day=mark.session_date, time_us=mark.market_time_us), marked)
    return (marked,)


def _reserved(given: VerdictGiven) -> tuple[FoldEvent, ...]:
    reservation = given.reservation
    if reservation is None:
        return ()
    return (
        Reserved(
            decision_id=given.decision_id,
            instrument=reservation.instrument,
            side=reservation.side,
            qty_lots=reservation.qty_lots,
            limit_ticks=reservation.limit_ticks,
            unit_minor=reservation.unit_minor,
            time_us=given.market_now_us,
        ),
    )


def _reported(decision_id: str, report: OrderReported, seq: int) -> tuple[FoldEvent, ...]:
    events: list[FoldEvent] = []
    undone, time_us = report.undoes_seq, report.market_time_us
    number = seq if undone is None else undone
    fill = None
    if report.fill is not None:
        fill = filled(decision_id, report.fill, time_us, trade=number)
    if undone is None and report.reopens:
        events.append(Reopened(decision_id=decision_id, time_us=time_us))
    if undone is not None:
        events.append(
            TradeUndone(
                decision_id=decision_id,
                trade=number,
                instead=fill,
                reopens=bool(report.reopens),
                time_us=time_us,
            )
        )
    elif fill is not None:
        events.append(fill)
    if report.restated is not None:
        events.append(_restated(decision_id, report.restated, time_us))
    if report.terminal:
        events.append(OrderClosed(decision_id=decision_id, time_us=time_us))
    return tuple(events)


def _restated(decision_id: str, restated: Restated, time_us: int) -> Resized:
    held = restated.reservation
    return Resized(
        decision_id=decision_id,
        instrument=held.instrument,
        side=held.side,
        unit_minor=held.unit_minor,
        add_lots=restated.add_lots,
        limit_ticks=held.limit_ticks,
        time_us=time_us,
    )


def _resized(decision_id: str, record: Record) -> tuple[FoldEvent, ...]:
    """Return what a replace reserves before it leaves, as a message, or frees at its end."""
    if record.kind is Kind.REPLACE_ENDED:
        ended = ReplaceEnded.of(record)
        held, lots, limit = ended.reservation, -ended.freed_lots, ended.terms.limit_ticks
        time_us = ended.market_time_us
    else:
        asked = ReplaceRequested.of(record)
        held, limit, time_us = asked.reservation, asked.reservation.limit_ticks, asked.market_now_us
        lots = held.qty_lots - asked.before.qty_lots
    resized = Resized(
        decision_id=decision_id,
        instrument=held.instrument,
        side=held.side,
        unit_minor=held.unit_minor,
        add_lots=lots,
        limit_ticks=limit,
        time_us=time_us,
    )
    if record.kind is Kind.REPLACE_ENDED:
        return (resized,)
    return (resized, MessageSent(decision_id=decision_id, time_us=time_us))


def _by_persons(record: Record) -> tuple[FoldEvent, ...]:
    """Return what persons book; resolutions of earlier versions do not name their decision."""
    if record.kind is Kind.BOOK_ADJUSTED:
        return (adjustment_of(BookAdjusted.of(record)),)
    resolved = DifferenceResolved.of(record)
    if resolved.adjustment is None:
        return ()
    fill, name = filled(None, resolved.adjustment, resolved.market_time_us), resolved.decision_id
    return (fill if name is None else Adjusted(decision_id=name, fill=fill),)


def adjustment_of(done: BookAdjusted) -> Adjustment | MarksCorrected:
    """Return what an adjustment does to a book.

    Raises:
        ValueError: the record lacks what its sort needs.
    """
    time_us = done.market_time_us
    match done.sort:
        case AdjustmentSort.OPENING:
            positions = tuple(
                Position(
                    instrument=one.instrument,
                    lots=one.lots,
                    cost_minor=one.lots * one.price_ticks * one.unit_minor,
                    unit_minor=one.unit_minor,
                    mark_ticks=one.price_ticks,
                    mark_time_us=time_us,
                )
                for one in done.positions
            )
            return Opened(cash_minor=done.amount_minor, positions=positions, time_us=time_us)
        case AdjustmentSort.DIVIDEND | AdjustmentSort.FEE | AdjustmentSort.CASH:
            sort = CashSort(done.sort.value)
            return CashMoved(sort=sort, amount_minor=done.amount_minor, time_us=time_us)
        case AdjustmentSort.SPLIT if done.split is not None:
            new, old = done.split
            return Split(instrument=done.instrument, new=new, old=old, time_us=time_us)
        case AdjustmentSort.MARK if done.marks is not None:
            first, last = done.marks
            return MarksCorrected(
                instrument=done.instrument,
                first=first,
                last=last,
                price_ticks=done.mark_ticks,
                time_us=time_us,
            )
        case AdjustmentSort.TRADE | AdjustmentSort.GIVE_UP if done.fill is not None:
            return TradedBeside(fill=filled(None, done.fill, time_us))
        case _:
            message = f"an adjustment of the sort {done.sort} lacks its terms"
            raise ValueError(message)


def filled(decision_id: str | None, fill: Fill, time_us: int, *, trade: int = 0) -> Filled:
    """Return the event of a fill, of a decision's order or of none."""
    return Filled(
        decision_id=decision_id,
        instrument=fill.instrument,
        side=fill.side,
        qty_lots=fill.qty_lots,
        price_ticks=fill.price_ticks,
        unit_minor=fill.unit_minor,
        fee_minor=fill.fee_minor,
        time_us=time_us,
        trade=trade,
    )
