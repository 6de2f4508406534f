"""What happens to a book beside its orders: the opening, splits, cash, trades by phone.

Not here: who may ask for it, and whether it would apply (the gateway).

Rules:
- After each, deposit + realised - fees = cash + cost of the positions still holds.
- A transfer of cash is no profit: peak and the day's start move with it.
- A split changes lots and mark, never cost or cash. Fractions of a lot are cut off; the gateway
  refuses a split that leaves some, so only a bust from before the split can bring them about.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from risk.state.book import Book, Filled, apply
from risk.state.holding import Position, positive, within


class CashSort(StrEnum):
    """Why cash moved; a dividend is income, a fee a cost, a transfer neither."""

    DIVIDEND = "dividend"
    FEE = "fee"
    TRANSFER = "cash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The account's positions and cash as they were before its first trade here.

    A position's mark is its average price until the market gives another.
    """

    cash_minor: int
    positions: tuple[Position, ...]
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CashMoved:
    """Cash came in (positive) or went out."""

    sort: CashSort
    amount_minor: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Of each `old` lots there are `new` now."""

    instrument: str
    new: int
    old: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TradedBeside:
    """A trade that no order of ours made: by phone, or given up to another broker."""

    fill: Filled

    @property
    def time_us(self) -> int:
        """The trade's market time."""
        return self.fill.time_us


Adjustment: TypeAlias = Opened | CashMoved | Split | TradedBeside


def adjusted(book: Book, event: Adjustment) -> Book:
    """Return the book after an adjustment.

    Raises:
        BookError: An amount, quantity or price cannot be booked.
    """
    if isinstance(event, TradedBeside):
        after = apply(book, replace(event.fill, decision_id=None))
        return replace(after, late_fills=book.late_fills)
    book = replace(book, as_of_us=max(book.as_of_us, within(event.time_us, "time")))
    if isinstance(event, Opened):
        return _opened(book, event)
    if isinstance(event, CashMoved):
        return _moved(book, event)
    return _split(book, event)


def _opened(book: Book, event: Opened) -> Book:
    cost = sum(position.cost_minor for position in event.positions)
    after = replace(
        book,
        deposit_minor=within(event.cash_minor + cost, "deposit"),
        cash_minor=within(event.cash_minor, "cash"),
        positions=tuple(sorted(event.positions, key=lambda position: position.instrument)),
    )
    equity = within(after.equity_minor, "equity")
    day = replace(book.day, start_minor=equity, low_minor=equity)
    return replace(after, peak_minor=equity, day=day)


def _moved(book: Book, event: CashMoved) -> Book:
    amount = within(event.amount_minor, "amount")
    after = replace(book, cash_minor=within(book.cash_minor + amount, "cash"))
    match event.sort:
        case CashSort.DIVIDEND:
            after = replace(after, realised_minor=book.realised_minor + amount)
        case CashSort.FEE:
            after = replace(after, fees_minor=book.fees_minor - amount)
        case CashSort.TRANSFER:
            return _transferred(after, amount)
    equity = within(after.equity_minor, "equity")
    low = min(book.day.low_minor, equity)
    peak = max(book.peak_minor, equity)
    return replace(after, peak_minor=peak, day=replace(book.day, low_minor=low))


def _transferred(book: Book, amount: int) -> Book:
    day = replace(
        book.day,
        start_minor=within(book.day.start_minor + amount, "day's start"),
        low_minor=within(book.day.low_minor + amount, "day's low"),
    )
    return replace(
        book,
        deposit_minor=within(book.deposit_minor + amount, "deposit"),
        peak_minor=within(book.peak_minor + amount, "peak"),
        day=day,
    )


def _split(book: Book, event: Split) -> Book:
    new, old = positive(event.new, "ratio"), positive(event.old, "ratio")
    return replace(
        book,
        positions=tuple(
            split_position(p, new, old) if p.instrument == event.instrument else p
            for p in book.positions
        ),
    )


def split_position(position: Position, new: int, old: int) -> Position:
    """Return a position after a split: as many lots as are whole, at the divided mark."""
    lots = abs(position.lots) * new // old
    mark = max(1, (2 * position.mark_ticks * old + new) // (2 * new))  # half up
    return replace(position, lots=lots if position.lots >= 0 else -lots, mark_ticks=mark)
