"""The fold of a book whose trades the broker may later bust or correct, and persons its marks.

Not here: what one event does to a book (`risk/state/book.py`).

Rules:
- After a bust the whole book is as if the trade had never been; after a correction, as if the
  trade had been the corrected one from the start.
- After the correction of marks the book is as if they had been the corrected ones from the start:
  the peak that a wrong mark made goes with it, and the day's low.
- An order that works again reserves what it may still execute.
- A person's adjustment counts as executed: the order reserves its quantity less trades and
  adjustments, at least zero.
- Average cost cannot be reversed, so all events are kept and folded again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, assert_never

from risk.errors import BookError
from risk.intent import Side
from risk.state.adjustments import Adjustment, CashMoved, Opened, Split, TradedBeside, adjusted
from risk.state.book import (
    Book,
    BookEvent,
    Filled,
    Marked,
    OrderClosed,
    Released,
    Reserved,
    Resized,
    apply,
    reservation_of,
    reserving,
    without,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeUndone:
    """The broker busted a trade (`instead` is None) or corrected it.

    Attributes:
        instead: The corrected trade; it takes the place and time of the first one.
        reopens: True if the order works again, so that its closing is undone too.
    """

    decision_id: str
    trade: int
    instead: Filled | None
    reopens: bool
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """An ended order works again at the broker, so that its closing is undone."""

    decision_id: str
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksCorrected:
    """Marks of an instrument from one number to another were wrong.

    `price_ticks` is what they should have been; None if the ones before them should have stood.
    """

    instrument: str
    first: int
    last: int
    price_ticks: int | None
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """A person booked or took out a quantity that differs from the order's reports.

    `fill` is what is booked, without a decision; on the order's side or the opposite.
    """

    decision_id: str
    fill: Filled


KeptEvent: TypeAlias = BookEvent | Adjusted | Adjustment
FoldEvent: TypeAlias = KeptEvent | TradeUndone | Reopened | MarksCorrected
# a union written where it is asked is made each time
_UNDOING: Final = (TradeUndone, Reopened, MarksCorrected)
_ADJUSTING: Final = (Opened, CashMoved, Split, TradedBeside)


@dataclass(slots=True)
class BookFold:
    """One account's present book, the book before the first event, and the events."""

    start: Book
    book: Book = field(init=False)
    _events: list[KeptEvent] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.book = self.start

    def take(self, event: FoldEvent) -> None:
        """Fold one more event.

        Raises:
            BookError: A quantity, price or unit cannot be booked, or the trade is unknown.
        """
        if not isinstance(event, _UNDOING):
            self.book = _folded(self.book, self._events, event)
            self._events.append(event)
            return
        again = BookFold(self.start)
        for one in _kept(self._events, event):
            again.take(one)
        latest = max(self.book.as_of_us, event.time_us)
        self.book, self._events = replace(again.book, as_of_us=latest), again._events


def _kept(
    events: Iterable[KeptEvent], event: TradeUndone | Reopened | MarksCorrected
) -> list[KeptEvent]:
    """Return the events as they are after one that undoes some of them."""
    match event:
        case Reopened():
            return without_its_end(events, event.decision_id)
        case TradeUndone():
            return surviving(events, event)
        case MarksCorrected():
            return remarked(events, event)
        case _:
            assert_never(event)


def _folded(book: Book, before: Sequence[KeptEvent], event: KeptEvent) -> Book:
    """Return the book after one more event; `before` are the earlier events."""
    if isinstance(event, _ADJUSTING):
        return adjusted(book, event)
    if not isinstance(event, Adjusted):
        return apply(book, event)
    return _reserving_the_rest(apply(book, event.fill), (*before, event), event.decision_id)


def _reserving_the_rest(book: Book, events: Iterable[KeptEvent], decision_id: str) -> Book:
    """Return the book with what an order may still execute as its reservation.

    An ended order, or one that never reserved anything, reserves nothing.
    """
    reserved: Reserved | None = None
    executed, over = 0, False
    for event in events:
        match event:
            case Reserved(decision_id=name) if name == decision_id:
                reserved, executed, over = event, 0, False
            case Resized(decision_id=name) if name == decision_id and reserved:
                total = reserved.qty_lots + event.add_lots
                reserved = replace(reserved, qty_lots=total, limit_ticks=event.limit_ticks)
            case Filled(decision_id=name) if name == decision_id:
                executed += event.qty_lots
            case Adjusted(decision_id=name, fill=fill) if name == decision_id and reserved:
                executed += fill.qty_lots * Side(fill.side).sign * Side(reserved.side).sign
            case OrderClosed(decision_id=name) | Released(decision_id=name) if name == decision_id:
                over = True
            case _:
                pass
    if reserved is None or over:
        return book
    left = reserved.qty_lots - executed
    if left <= 0:
        return without(book, decision_id)
    return reserving(book, replace(reservation_of(reserved), open_lots=left, sent=True))


def surviving(events: Iterable[KeptEvent], undone: TradeUndone) -> list[KeptEvent]:
    """Return the events without a busted trade, or with the corrected one.

    Raises:
        BookError: The trade is not among them.
    """
    left: list[KeptEvent] = []
    found = False
    for event in without_its_end(events, undone.decision_id) if undone.reopens else events:
        match event:
            case Filled(trade=number) if number == undone.trade and number != 0:
                found = True
                if undone.instead is not None:
                    left.append(replace(undone.instead, trade=number, time_us=event.time_us))
            case _:
                left.append(event)
    if not found:
        raise BookError(f"trade {undone.trade} is not in the book")
    return left


def remarked(events: Iterable[KeptEvent], corrected: MarksCorrected) -> list[KeptEvent]:
    """Return the events with the corrected marks, or without them."""
    left: list[KeptEvent] = []
    price = corrected.price_ticks
    for event in events:
        if not (
            isinstance(event, Marked)
            and event.instrument == corrected.instrument
            and event.mark > 0
            and corrected.first <= event.mark <= corrected.last
        ):
            left.append(event)
        elif price is not None:
            left.append(replace(event, price_ticks=price))
    return left


def without_its_end(events: Iterable[KeptEvent], decision_id: str) -> list[KeptEvent]:
    """Return the events without those that closed this decision's order."""
    return [
        event
        for event in events
        if not (isinstance(event, OrderClosed) and event.decision_id == decision_id)
    ]
