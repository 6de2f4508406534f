"""A book that is folded on: also past a trade that the broker takes back or corrects later.

Not here: what one event does to a book (`risk/state/book.py`).

Rules kept:
- After a bust the book is what it would be had the trade never been, after a correction what it
  would be had it been the corrected one: holdings, cash, fees, profit, peak, days, reservation.
- An order that works again because a trade was taken back reserves what it may still execute.
- Average cost does not run backwards, so the events are kept and folded again from the start.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from risk.errors import BookError
from risk.state.book import Book, BookEvent, Filled, OrderClosed, apply


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeUndone:
    """The broker took a trade back (`instead` is None), or corrected it.

    Attributes:
        decision_id: The order's decision.
        trade: The trade's number, as `Filled.trade`.
        instead: The trade as it is now; it stands at the place and time of the first one.
        reopens: True if the order works again: what closed it before is undone too.
    """

    decision_id: str
    trade: int
    instead: Filled | None
    reopens: bool
    time_us: int


FoldEvent: TypeAlias = BookEvent | TradeUndone


@dataclass(slots=True)
class BookFold:
    """One account's book and the events behind it.

    Attributes:
        start: The book before the first event.
        book: The book now.
    """

    start: Book
    book: Book = field(init=False)
    _events: list[BookEvent] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Begin with nothing folded."""
        self.book = self.start

    def take(self, event: FoldEvent) -> None:
        """Fold one more event.

        Raises:
            BookError: A quantity, price or unit that cannot be booked, or an unknown trade.
        """
        if not isinstance(event, TradeUndone):
            self.book = apply(self.book, event)
            self._events.append(event)
            return
        events = surviving(self._events, event)
        book = self.start
        for one in events:
            book = apply(book, one)
        latest = max(self.book.as_of_us, event.time_us)
        self.book, self._events = replace(book, as_of_us=latest), events


def surviving(events: Iterable[BookEvent], undone: TradeUndone) -> list[BookEvent]:
    """Return the events as they would be had the trade been as it is now known to be.

    Raises:
        BookError: The trade is not among them.
    """
    left: list[BookEvent] = []
    found = False
    for event in events:
        match event:
            case Filled(trade=number) if number == undone.trade and number != 0:
                found = True
                if undone.instead is not None:
                    now = replace(undone.instead, trade=number, time_us=event.time_us)
                    left.append(now)
            case OrderClosed() if undone.reopens and event.decision_id == undone.decision_id:
                pass
            case _:
                left.append(event)
    if not found:
        raise BookError(f"trade {undone.trade} is not in the book")
    return left
