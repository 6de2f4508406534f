"""The incremental book equals a slow recomputation, whatever the events and their order."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.errors import BookError
from risk.forms.canonical import canonical_bytes
from risk.forms.documents import document_of, value_of
from risk.intent import Side
from risk.state.book import (
    Book,
    BookEvent,
    DayStarted,
    Filled,
    Marked,
    MessageSent,
    OrderClosed,
    Released,
    Reserved,
    apply,
)

UNITS = {"SPXN": 1, "NDXN": 5}
DEPOSIT = 100_000_000

names = st.sampled_from(sorted(UNITS))
ids = st.sampled_from(["d-1", "d-2", "d-3"])
sides = st.sampled_from(Side)
prices = st.integers(1, 50_000)
sizes = st.integers(1, 2_000)
times = st.integers(0, 400_000_000)


@st.composite
def events(draw: st.DrawFn) -> BookEvent:
    name, time_us = draw(names), draw(times)
    kinds: list[BookEvent] = [
        Reserved(
            decision_id=draw(ids),
            instrument=name,
            side=draw(sides),
            qty_lots=draw(sizes),
            limit_ticks=draw(prices),
            unit_minor=UNITS[name],
            time_us=time_us,
        ),
        Filled(
            decision_id=draw(st.none() | ids),
            instrument=name,
            side=draw(sides),
            qty_lots=draw(sizes),
            price_ticks=draw(prices),
            unit_minor=UNITS[name],
            fee_minor=draw(st.integers(-50, 500)),
            time_us=time_us,
        ),
        Marked(instrument=name, price_ticks=draw(prices), time_us=time_us),
        Released(decision_id=draw(ids), time_us=time_us),
        OrderClosed(decision_id=draw(ids), time_us=time_us),
        MessageSent(decision_id=draw(st.none() | ids), time_us=time_us),
        DayStarted(day=draw(st.sampled_from(["mon", "tue", "wed"])), time_us=time_us),
    ]
    return draw(st.sampled_from(kinds))


def folded(sequence: list[BookEvent]) -> tuple[Book, list[BookEvent]]:
    """The book, and the events it took (a reservation of an order already sent is refused)."""
    book, taken = Book.empty("run-1", DEPOSIT), []
    for event in sequence:
        try:
            book = apply(book, event)
        except BookError:
            assert isinstance(event, Reserved)
            continue
        taken.append(event)
    return book, taken


def signed(fill: Filled) -> int:
    return fill.qty_lots * fill.side.sign


@given(st.lists(events(), max_size=40))
def test_cash_and_lots_equal_the_sum_of_all_fills(sequence: list[BookEvent]) -> None:
    book, taken = folded(sequence)
    fills = [event for event in taken if isinstance(event, Filled)]
    assert book.cash_minor == DEPOSIT - sum(
        signed(f) * f.price_ticks * f.unit_minor + f.fee_minor for f in fills
    )
    for name in UNITS:
        assert book.lots(name) == sum(signed(f) for f in fills if f.instrument == name)
    assert book.fees_minor == sum(f.fee_minor for f in fills)


@given(st.lists(events(), max_size=40))
def test_profit_splits_into_realised_and_unrealised_without_a_rest(
    sequence: list[BookEvent],
) -> None:
    book, _ = folded(sequence)
    unrealised_minor = sum(p.value_minor - p.cost_minor for p in book.positions)
    profit = book.realised_minor + unrealised_minor - book.fees_minor
    assert book.equity_minor == DEPOSIT + profit
    assert all(p.cost_minor == 0 for p in book.positions if p.lots == 0)


@given(st.lists(events(), max_size=40))
def test_realised_profit_follows_average_cost(sequence: list[BookEvent]) -> None:
    """Exact fractions; the book may differ by half a minor unit per closing fill."""
    book, taken = folded(sequence)
    lots: dict[str, int] = defaultdict(int)
    cost: dict[str, Fraction] = defaultdict(Fraction)
    realised, closings = Fraction(0), 0
    for fill in (event for event in taken if isinstance(event, Filled)):
        name, price = fill.instrument, fill.price_ticks * fill.unit_minor
        closing = min(fill.qty_lots, abs(lots[name])) if lots[name] * signed(fill) < 0 else 0
        if closing:
            share = cost[name] * closing / abs(lots[name])
            realised += -fill.side.sign * closing * price - share
            cost[name] -= share
            closings += 1
        cost[name] += fill.side.sign * (fill.qty_lots - closing) * price
        lots[name] += signed(fill)
    # Each rounding moves cost between now and later, so errors do not grow beyond their number.
    assert abs(book.realised_minor - realised) <= closings


@given(st.lists(events(), max_size=40))
def test_what_is_reserved_is_what_may_still_execute(sequence: list[BookEvent]) -> None:
    book, taken = folded(sequence)
    open_lots: dict[str, int] = {}
    sent: set[str] = set()
    where: dict[str, tuple[str, Side]] = {}
    for event in taken:
        match event:
            case Reserved():
                open_lots[event.decision_id] = event.qty_lots
                where[event.decision_id] = (event.instrument, event.side)
                sent.discard(event.decision_id)
            case Filled() if event.decision_id in open_lots and where[event.decision_id] == (
                event.instrument,
                event.side,
            ):
                open_lots[event.decision_id] -= event.qty_lots
                sent.add(event.decision_id)
            case MessageSent() if event.decision_id in open_lots:
                sent.add(event.decision_id)
            case OrderClosed():
                open_lots.pop(event.decision_id, None)
            case Released() if event.decision_id not in sent:
                open_lots.pop(event.decision_id, None)
            case _:
                pass
        open_lots = {key: lots for key, lots in open_lots.items() if lots > 0}
        sent &= set(open_lots)
    assert {r.decision_id: r.open_lots for r in book.reservations} == open_lots
    assert {r.decision_id for r in book.reservations if r.sent} == sent


@given(st.lists(events(), max_size=40))
def test_peak_only_rises_and_the_low_only_falls_within_a_day(sequence: list[BookEvent]) -> None:
    book = Book.empty("run-1", DEPOSIT)
    highest = DEPOSIT
    for event in sequence:
        try:
            after = apply(book, event)
        except BookError:
            continue
        highest = max(highest, after.equity_minor)
        assert after.peak_minor == highest
        assert after.day.low_minor <= after.equity_minor
        if after.day.day == book.day.day:
            assert after.day.low_minor <= book.day.low_minor
        else:
            assert after.past_days[-1] == book.day
        book = after


@given(st.lists(events(), max_size=25))
def test_a_book_survives_its_document(sequence: list[BookEvent]) -> None:
    book, _ = folded(sequence)
    document = document_of(book)
    assert value_of(Book, document) == book
    assert canonical_bytes(document_of(value_of(Book, document))) == canonical_bytes(document)


@given(st.lists(events(), max_size=25), st.integers(0, 25))
def test_a_fold_resumes_anywhere(sequence: list[BookEvent], cut: int) -> None:
    book, taken = folded(sequence)
    half = Book.empty("run-1", DEPOSIT)
    for event in taken[:cut]:
        half = apply(half, event)
    half = value_of(Book, document_of(half))
    for event in taken[cut:]:
        half = apply(half, event)
    assert half == book


def fill(**changes: int) -> Filled:
    base = Filled(
        decision_id=None,
        instrument="SPXN",
        side=Side.BUY,
        qty_lots=1,
        price_ticks=1,
        unit_minor=1,
        fee_minor=0,
        time_us=1,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad",
    [
        {"qty_lots": 0},
        {"qty_lots": -1},
        {"qty_lots": True},
        {"qty_lots": 2**63},
        {"price_ticks": 0},
        {"unit_minor": 0},
        {"fee_minor": None},
        {"time_us": 1.0},
    ],
)
def test_a_fill_with_impossible_numbers_is_not_booked(bad: dict[str, int]) -> None:
    with pytest.raises(BookError):
        apply(Book.empty("run-1", DEPOSIT), fill(**bad))


def test_a_late_fill_is_booked_and_counted() -> None:
    book = apply(Book.empty("run-1", DEPOSIT), replace(fill(), decision_id="gone"))
    assert (book.lots("SPXN"), book.late_fills) == (1, 1)


def test_an_overfill_is_booked_and_counted() -> None:
    held = Reserved(
        decision_id="d-1",
        instrument="SPXN",
        side=Side.BUY,
        qty_lots=3,
        limit_ticks=10,
        unit_minor=1,
        time_us=1,
    )
    book = apply(Book.empty("run-1", DEPOSIT), held)
    book = apply(book, replace(fill(qty_lots=5), decision_id="d-1"))
    assert (book.lots("SPXN"), book.late_fills, book.reservations) == (5, 1, ())


def test_a_unit_that_changes_under_a_position_stops_the_fold() -> None:
    book = apply(Book.empty("run-1", DEPOSIT), fill())
    with pytest.raises(BookError):
        apply(book, fill(unit_minor=2))


def test_old_messages_are_forgotten() -> None:
    book = Book.empty("run-1", DEPOSIT)
    for time_us in (0, 5, 120_000_004, 120_000_005):
        book = apply(book, MessageSent(decision_id=None, time_us=time_us))
    assert book.message_times_us == (5, 120_000_004, 120_000_005)
