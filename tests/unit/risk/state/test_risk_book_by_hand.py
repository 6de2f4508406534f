"""A book worked out by hand: every field after every sort of event, rounding included."""

import json
from dataclasses import replace
from typing import Any

import pytest

from risk.errors import BookError, DocumentError
from risk.forms.canonical import RANGE
from risk.forms.documents import document_of, value_of
from risk.intent import Side
from risk.rules.rule import RuleRefusal, positive, ratio_up, whole
from risk.state.book import (
    DAY_MEMORY,
    Book,
    DayResult,
    DayStarted,
    Filled,
    Marked,
    MessageSent,
    OpenReservation,
    OrderClosed,
    Released,
    Reserved,
    apply,
)
from risk.state.busts import BookFold, TradeUndone, surviving
from risk.state.holding import Position, trade

EMPTY = Book.empty("run-1", 1_000_000)
ORDER = Reserved(
    decision_id="d-2",
    instrument="ACME",
    side=Side.BUY,
    qty_lots=10,
    limit_ticks=51,
    unit_minor=100,
    time_us=10,
)
FILL = Filled(
    decision_id="d-2",
    instrument="ACME",
    side=Side.BUY,
    qty_lots=4,
    price_ticks=50,
    unit_minor=100,
    fee_minor=7,
    time_us=30,
    trade=1,
)


def fold(*events: object, start: Book = EMPTY) -> Book:
    """Return the book after some events."""
    taking = BookFold(start)
    for event in events:
        taking.take(event)  # type: ignore[arg-type]
    return taking.book


def test_every_field_follows_a_day_of_trading() -> None:
    book = fold(
        DayStarted(day="mon", time_us=5),
        ORDER,
        replace(ORDER, decision_id="d-1", side=Side.SELL, instrument="BOND", unit_minor=1),
        MessageSent(decision_id="d-2", time_us=20),
        FILL,
        Marked(instrument="ACME", price_ticks=40, time_us=40),
        Marked(instrument="ACME", price_ticks=60, time_us=41),
        replace(FILL, decision_id=None, side=Side.SELL, qty_lots=1, price_ticks=58, time_us=35),
        DayStarted(day="tue", time_us=50),
        Marked(instrument="ACME", price_ticks=55, time_us=60),
        DayStarted(day="tue", time_us=61),
    )
    held = Position(
        instrument="ACME",
        lots=3,
        cost_minor=15_000,
        unit_minor=100,
        mark_ticks=55,
        mark_time_us=60,
    )
    cash = 1_000_000 - 4 * 5_000 - 7 + 5_800 - 7
    assert book == Book(
        account="run-1",
        deposit_minor=1_000_000,
        cash_minor=cash,
        realised_minor=800,
        fees_minor=14,
        positions=(held,),
        reservations=(
            OpenReservation(
                decision_id="d-1",
                instrument="BOND",
                side=Side.SELL,
                open_lots=10,
                limit_ticks=51,
                unit_minor=1,
                sent=False,
                reserved_at_us=10,
            ),
            OpenReservation(
                decision_id="d-2",
                instrument="ACME",
                side=Side.BUY,
                open_lots=6,
                limit_ticks=51,
                unit_minor=100,
                sent=True,
                reserved_at_us=10,
            ),
        ),
        message_times_us=(20,),
        peak_minor=1_000_000 - 7 + 4 * 1_000,
        day=DayResult(day="tue", start_minor=cash + 18_000, low_minor=cash + 16_500),
        past_days=(
            DayResult(day="", start_minor=1_000_000, low_minor=1_000_000),
            DayResult(day="mon", start_minor=1_000_000, low_minor=1_000_000 - 7 - 4_000),
        ),
        as_of_us=61,
        late_fills=1,
    )
    worth = [(p.value_minor, p.cost_minor) for p in book.positions if p.lots]
    assert worth == [(3 * 5_500, 15_000)]
    assert (book.pending_lots("ACME", Side.BUY), book.pending_lots("ACME", Side.SELL)) == (6, 0)
    assert (book.lots("ACME"), book.lots("BOND"), book.position("BOND")) == (3, 0, None)


def test_a_late_event_does_not_turn_the_books_time_back() -> None:
    later = Marked(instrument="ACME", price_ticks=40, time_us=90)
    assert fold(later, replace(later, time_us=3)).as_of_us == 90


def test_holdings_and_orders_stand_in_one_order_whichever_came_first() -> None:
    names = ("ZINC", "ACME", "BOND")
    fills = [replace(FILL, decision_id=None, instrument=name) for name in names]
    orders = [replace(ORDER, decision_id=f"d-{name}", instrument=name) for name in names]
    one, other = fold(*fills, *orders), fold(*reversed(orders), *reversed(fills))
    assert one == other
    assert [p.instrument for p in one.positions] == ["ACME", "BOND", "ZINC"]
    partly = replace(FILL, decision_id="d-ACME", qty_lots=1)
    rest = [r.decision_id for r in fold(*orders, partly).reservations]
    assert rest == ["d-ACME", "d-BOND", "d-ZINC"]


def test_only_the_last_finished_days_are_remembered() -> None:
    book = fold(*(DayStarted(day=f"day-{n}", time_us=n) for n in range(8)))
    assert DAY_MEMORY == 5
    assert [day.day for day in book.past_days] == [f"day-{n}" for n in (2, 3, 4, 5, 6)]


@pytest.mark.parametrize(
    "odd", [{"decision_id": "d-9"}, {"instrument": "BOND"}, {"side": Side.SELL}, {"qty_lots": 11}]
)
def test_a_fill_that_no_reservation_covers_is_booked_and_counted(odd: dict[str, object]) -> None:
    fill = replace(FILL, **odd)  # type: ignore[arg-type]
    book = fold(ORDER, fill)
    assert book.late_fills == 1
    assert book.lots(fill.instrument) == fill.qty_lots * fill.side.sign
    left = () if fill.qty_lots > 10 else fold(ORDER).reservations
    assert book.reservations == left


def test_a_fill_of_the_whole_order_ends_its_reservation_and_one_less_does_not() -> None:
    assert fold(ORDER, replace(FILL, qty_lots=10)).reservations == ()
    assert fold(ORDER, replace(FILL, qty_lots=9)).reservations[0].open_lots == 1
    assert fold(ORDER, replace(FILL, qty_lots=10)).late_fills == 0


def test_a_release_ends_an_unsent_order_only_and_the_brokers_word_any() -> None:
    sent = MessageSent(decision_id="d-2", time_us=20)
    release, closed = (kind(decision_id="d-2", time_us=40) for kind in (Released, OrderClosed))
    assert fold(ORDER, release).reservations == ()
    assert [r.open_lots for r in fold(ORDER, sent, release).reservations] == [10]
    assert fold(ORDER, sent, closed).reservations == ()
    with pytest.raises(BookError, match="sent"):
        fold(ORDER, sent, ORDER)
    again = replace(ORDER, qty_lots=3)
    assert [r.open_lots for r in fold(ORDER, again).reservations] == [3]


@pytest.mark.parametrize(
    ("lots", "cost", "sold", "released"),
    [
        (2, 5, 1, 2),  # 2.5 to the even 2
        (2, 7, 1, 4),  # 3.5 to the even 4
        (2, -5, 1, -2),
        (2, -7, 1, -4),
        (3, 10, 1, 3),  # 3.33
        (3, 11, 1, 4),  # 3.67
        (3, 10, 2, 7),  # 6.67
        (3, 10, 3, 10),
    ],
)
def test_a_share_of_the_cost_is_rounded_half_even_and_the_rest_stays(
    lots: int, cost: int, sold: int, released: int
) -> None:
    held = Position(
        instrument="ACME", lots=lots, cost_minor=cost, unit_minor=1, mark_ticks=1, mark_time_us=1
    )
    after, realised = trade(held, -sold, 9)
    assert (after.lots, after.cost_minor) == (lots - sold, cost - released)
    assert realised == sold * 9 - released


def test_a_trade_through_zero_closes_everything_and_opens_at_its_price() -> None:
    short = Position(
        instrument="ACME", lots=-3, cost_minor=-300, unit_minor=10, mark_ticks=1, mark_time_us=1
    )
    after, realised = trade(short, 5, 8)
    assert (after.lots, after.cost_minor) == (2, 160)
    assert realised == 300 - 240
    more, nothing = trade(short, -1, 8)
    assert (more.lots, more.cost_minor, nothing) == (-4, -380, 0)


def test_a_fill_without_a_number_can_never_be_taken_back() -> None:
    plain = Filled(
        decision_id="d-2",
        instrument="ACME",
        side=Side.BUY,
        qty_lots=4,
        price_ticks=50,
        unit_minor=100,
        fee_minor=7,
        time_us=30,
    )
    assert plain.trade == 0
    for number in (0, 1):
        bust = TradeUndone(decision_id="d-2", trade=number, instead=None, reopens=False, time_us=40)
        with pytest.raises(BookError, match="not in the book"):
            surviving([plain], bust)


def test_a_bust_undoes_one_trade_and_reopens_its_own_order_only() -> None:
    other = replace(FILL, decision_id="d-3", trade=2, fee_minor=1)
    story = [
        ORDER,
        replace(ORDER, decision_id="d-3"),
        FILL,
        other,
        OrderClosed(decision_id="d-2", time_us=50),
        OrderClosed(decision_id="d-3", time_us=50),
    ]
    bust = TradeUndone(decision_id="d-2", trade=1, instead=None, reopens=True, time_us=70)
    book = fold(*story, bust)
    assert [(r.decision_id, r.open_lots) for r in book.reservations] == [("d-2", 10)]
    assert (book.lots("ACME"), book.fees_minor, book.as_of_us) == (4, 1, 70)
    ended = fold(*story, replace(bust, reopens=False))
    assert ended.reservations == ()
    corrected = replace(bust, instead=replace(FILL, qty_lots=3, price_ticks=49, time_us=66))
    now = fold(*story, corrected)
    assert (now.lots("ACME"), now.reservations[0].open_lots) == (7, 7)
    again = fold(*story, corrected, replace(bust, time_us=71))
    assert again.lots("ACME") == 4, "a corrected trade keeps its number"
    assert now.position("ACME") == replace(
        fold(other).positions[0], lots=7, cost_minor=3 * 4_900 + 4 * 5_000, mark_ticks=49
    )


@pytest.mark.parametrize("value", [RANGE, -RANGE])
def test_a_number_is_in_range_up_to_the_last_one(value: int) -> None:
    inner = value - 1 if value > 0 else value + 1
    assert whole(inner) == inner
    with pytest.raises(RuleRefusal):
        whole(value)
    with pytest.raises(BookError):
        apply(EMPTY, Marked(instrument="ACME", price_ticks=1, time_us=value))
    assert apply(EMPTY, Marked(instrument="A", price_ticks=1, time_us=inner)).as_of_us >= 0


def test_one_is_positive_and_nought_is_not() -> None:
    assert positive(1) == 1
    with pytest.raises(RuleRefusal):
        positive(0)
    assert [ratio_up(part, 10, 3) for part in (-1, 0, 1, 3)] == [-3, 0, 4, 10]


def test_a_message_older_than_what_is_remembered_is_forgotten_however_late_it_comes() -> None:
    memory = 120_000_000
    now = MessageSent(decision_id=None, time_us=memory + 50)
    at, past = (replace(now, time_us=time_us) for time_us in (50, 49))
    assert fold(now, at, past).message_times_us == (50, memory + 50)
    assert fold(past, at, now).message_times_us == (50, memory + 50)


@pytest.mark.parametrize("part", ["positions", "reservations", "past_days", "day", ""])
def test_no_part_of_a_books_document_has_a_field_too_many(part: str) -> None:
    book = fold(DayStarted(day="mon", time_us=1), ORDER, replace(FILL, decision_id=None))
    document: Any = json.loads(json.dumps(document_of(book)))
    assert value_of(Book, document) == book
    inner = document[part] if part else document
    (inner[0] if isinstance(inner, list) else inner)["more"] = 1
    with pytest.raises(DocumentError, match="unknown field more"):
        value_of(Book, document)
