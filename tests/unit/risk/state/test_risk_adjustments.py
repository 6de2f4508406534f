"""Adjustments keep the book's sums, and tell profit from what only moves."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.errors import BookError
from risk.intent import Side
from risk.state.adjustments import (
    Adjustment,
    CashMoved,
    CashSort,
    Opened,
    Split,
    TradedBeside,
    adjusted,
    split_position,
)
from risk.state.book import Book, Filled, Marked, apply
from risk.state.holding import Position

MONEY = st.integers(-(10**9), 10**9)


def position(lots: int, price: int, mark: int | None = None) -> Position:
    return Position(
        instrument="A",
        lots=lots,
        cost_minor=lots * price * 2,
        unit_minor=2,
        mark_ticks=price if mark is None else mark,
        mark_time_us=1,
    )


def trade(side: Side, lots: int, price: int) -> Filled:
    return Filled(
        decision_id=None,
        instrument="A",
        side=side,
        qty_lots=lots,
        price_ticks=price,
        unit_minor=2,
        fee_minor=3,
        time_us=5,
    )


STEPS = st.one_of(
    st.builds(CashMoved, sort=st.sampled_from(CashSort), amount_minor=MONEY, time_us=st.just(3)),
    st.builds(
        Split,
        instrument=st.just("A"),
        new=st.integers(1, 9),
        old=st.integers(1, 9),
        time_us=st.just(4),
    ),
    st.builds(
        TradedBeside,
        fill=st.builds(trade, st.sampled_from(Side), st.integers(1, 500), st.integers(1, 10**5)),
    ),
)


@given(st.integers(-500, 500), st.integers(1, 10**5), MONEY, st.lists(STEPS, max_size=12))
def test_deposit_and_profit_are_cash_and_cost_after_any_adjustments(
    lots: int, price: int, cash: int, steps: list[Adjustment]
) -> None:
    opening = Opened(cash_minor=cash, positions=(position(lots, price),), time_us=1)
    book = adjusted(Book.empty("a", 1_000), opening)
    for step in steps:
        before = book
        book = adjusted(book, step)
        cost = sum(p.cost_minor for p in book.positions)
        assert book.deposit_minor + book.realised_minor - book.fees_minor == book.cash_minor + cost
        assert book.late_fills == 0
        assert book.as_of_us >= before.as_of_us
        if isinstance(step, Split):
            assert (book.cash_minor, cost) == (
                before.cash_minor,
                sum(p.cost_minor for p in before.positions),
            )
        if isinstance(step, CashMoved) and step.sort is CashSort.TRANSFER:
            was, now = before.equity_minor, book.equity_minor
            assert now - was == book.peak_minor - before.peak_minor
            assert now - was == book.day.low_minor - before.day.low_minor


def test_a_loss_by_a_fee_lowers_the_day_and_a_dividend_raises_the_peak() -> None:
    book = Book.empty("a", 1_000)
    book = adjusted(book, CashMoved(sort=CashSort.FEE, amount_minor=-10, time_us=1))
    assert (book.fees_minor, book.day.low_minor, book.peak_minor) == (10, 990, 1_000)
    book = adjusted(book, CashMoved(sort=CashSort.DIVIDEND, amount_minor=50, time_us=2))
    assert (book.realised_minor, book.peak_minor, book.day.low_minor) == (50, 1_040, 990)


@pytest.mark.parametrize(
    ("lots", "mark", "new", "old", "lots_after", "mark_after"),
    [(3, 101, 2, 1, 6, 51), (-6, 100, 1, 3, -2, 300), (7, 1, 9, 1, 63, 1), (5, 10, 1, 2, 2, 20)],
)
def test_a_split_changes_lots_and_mark(
    lots: int, mark: int, new: int, old: int, lots_after: int, mark_after: int
) -> None:
    after = split_position(position(lots, 10, mark), new, old)
    assert (after.lots, after.mark_ticks, after.cost_minor) == (lots_after, mark_after, lots * 20)


def test_a_split_leaves_other_instruments_alone_and_later_marks_count() -> None:
    opening = Opened(cash_minor=0, positions=(position(4, 10),), time_us=1)
    book = adjusted(Book.empty("a", 1_000), opening)
    other = adjusted(book, Split(instrument="B", new=2, old=1, time_us=2))
    assert other == replace(book, as_of_us=2)
    split = adjusted(book, Split(instrument="A", new=2, old=1, time_us=2))
    marked = apply(split, Marked(instrument="A", price_ticks=6, time_us=3))
    assert (marked.lots("A"), marked.equity_minor - book.equity_minor) == (
        8,
        8 * 6 * 2 - 4 * 10 * 2,
    )


@pytest.mark.parametrize(
    "event",
    [
        CashMoved(sort=CashSort.FEE, amount_minor=2**70, time_us=1),
        Split(instrument="A", new=0, old=1, time_us=1),
        Opened(cash_minor=2**70, positions=(), time_us=1),
        TradedBeside(fill=trade(Side.BUY, 0, 5)),
    ],
)
def test_what_cannot_be_booked_is_an_error(event: Adjustment) -> None:
    with pytest.raises(BookError):
        adjusted(Book.empty("a", 1_000), event)
