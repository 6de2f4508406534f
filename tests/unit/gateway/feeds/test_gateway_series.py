"""What one source delivered: runs of bars, early and absurd items, and when a quote was said."""

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import STANDS, Condition, FeedLimits
from gateway.feeds.live.items import BARS, QUOTES, BarItem, QuoteItem
from gateway.feeds.live.series import WAITING, Item, Series
from tests.doubles.set_clock import SetClock
from tests.doubles.small_desk import INSTRUMENTS

S = 1_000_000
DAY_US = 86_400 * S
START = 1_800_000_000 * S
LAST = 2**53 - 1
BAR = BarItem(
    source="alpha",
    instrument="SPXN",
    sequence=1,
    event_us=START - 100 * DAY_US,
    open_ticks=100,
    high_ticks=100,
    low_ticks=100,
    close_ticks=100,
)
QUOTE = QuoteItem(
    source="alpha", instrument="SPXN", sequence=1, event_us=START, bid_ticks=100, ask_ticks=101
)


class Door:
    """A market with its clock; items are judged and taken as they come."""

    def __init__(self) -> None:
        self.clock = SetClock.still()
        self.market = FedMarket(
            INSTRUMENTS, FeedLimits(), self.clock.wall_us, self.clock.monotonic_us
        )

    def put(self, feed: str, item: Item) -> Condition:
        now_us = self.clock.wall_us()
        finding = self.market.judged(feed, item, now_us)
        self.market.take(feed, item, finding, now_us)
        return finding.condition

    def quote(self, number: int, age_us: int = 0) -> Condition:
        self.clock.passes(S)
        return self.put(
            QUOTES, replace(QUOTE, sequence=number, event_us=self.clock.wall_us() - age_us)
        )

    def bar(self, number: int, day: int) -> BarItem:
        return replace(BAR, sequence=number, event_us=self.clock.wall_us() + day * DAY_US)


def test_bars_out_of_time_order_are_no_run() -> None:
    series = Series(feed=BARS, instrument="SPXN", source="alpha")
    for number, day in ((1, 1), (2, 2), (3, 6), (4, 4), (5, 5), (6, 7)):
        series.bring_back(replace(BAR, sequence=number, event_us=START + day * DAY_US))
    assert [bar.sequence for bar in series.last_run()] == [4, 5, 6]


def test_the_run_ends_at_the_bar_that_closed_last_whatever_number_is_the_highest() -> None:
    series = Series(feed=BARS, instrument="SPXN", source="alpha")
    for number, day in ((1, 1), (2, 2), (LAST, 0), (3, 3)):
        series.bring_back(replace(BAR, sequence=number, event_us=START + day * DAY_US))
    assert [bar.sequence for bar in series.last_run()] == [1, 2, 3]
    assert series.last_sequence == 3


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=20))
def test_a_run_that_is_kept_is_the_one_found_anew(came: list[tuple[int, int]]) -> None:
    series = Series(feed=BARS, instrument="SPXN", source="alpha")
    for number, day in came:
        series.bring_back(replace(BAR, sequence=number, event_us=START + day * DAY_US))
        anew = Series(feed=BARS, instrument="SPXN", source="alpha", sound=dict(series.sound))
        assert series.last_run() == anew.last_run()
        assert series.last_close_us == max(bar.event_us for bar in series.sound.values())
        assert series.copy().last_run() == series.last_run()


def test_a_quote_is_as_old_as_its_event_and_grows_older_since_its_receipt() -> None:
    door = Door()
    door.quote(1, age_us=1_500_000)
    said_us = door.clock.wall_us() - 1_500_000
    tick = door.market.tick("SPXN")
    assert tick.quote.time_us == said_us
    assert (tick.instant.tick_us, tick.instant.seen_us) == (
        door.clock.wall_us(),
        door.clock.monotonic_us(),
    )


@pytest.mark.parametrize("absurd", [LAST, LAST - 1, 10**9, 5_000])
def test_an_absurd_number_costs_a_source_two_quotes(absurd: int) -> None:
    """Attack sec_feed f3: one number locked its source until the gateway was started again."""
    door = Door()
    assert door.quote(1) is Condition.OK
    assert door.quote(absurd) is Condition.GAP
    found = [door.quote(number) for number in (2, 3, 4, 5)]
    assert found == [Condition.BACKWARDS, Condition.GAP, Condition.OK, Condition.OK]
    assert door.market.last_sequence(QUOTES, "SPXN", "alpha") == 5


def test_a_source_that_begins_again_at_one_is_heard_again() -> None:
    door = Door()
    for number in range(1, 40):
        door.quote(number)
    found = [door.quote(number) for number in (1, 2, 3, 4)]
    assert found == [Condition.BACKWARDS, Condition.GAP, Condition.OK, Condition.OK]


def test_single_old_numbers_among_the_true_ones_move_nothing() -> None:
    door = Door()
    for number in range(10, 16):
        door.quote(number)
        assert door.quote(number - 9) is Condition.BACKWARDS
    assert door.market.last_sequence(QUOTES, "SPXN", "alpha") == 15


@given(st.lists(st.integers(1, LAST), max_size=12))
def test_whatever_numbers_came_a_true_source_is_heard_after_three_quotes(
    numbers: list[int],
) -> None:
    door = Door()
    for number in numbers:
        door.quote(number)
    first = door.market.last_sequence(QUOTES, "SPXN", "alpha") // 2 + 1
    found = [door.quote(number) for number in range(first, first + 5)]
    assert found[-1] in STANDS, "the true source is heard"


def test_a_bar_of_an_absurd_number_does_not_stand() -> None:
    door = Door()
    for number in range(1, 60):
        assert door.put(BARS, door.bar(number, number - 60)) in STANDS
    assert door.put(BARS, door.bar(LAST, 0)) is Condition.JUMP
    assert door.put(BARS, door.bar(60, 0)) is Condition.OK
    assert len(door.market.unbroken("SPXN")) == 60


def test_a_bar_that_came_early_waits_for_its_close() -> None:
    door = Door()
    early = replace(door.bar(1, 0), event_us=door.clock.wall_us() + 5 * S)
    assert door.put(BARS, early) is Condition.AHEAD
    assert door.put(BARS, early) is Condition.AHEAD, "it may be posted again"
    assert door.market.due_bars() == ()
    door.clock.passes(5 * S)
    assert door.market.due_bars() == (early,)
    assert door.put(BARS, early) is Condition.OK
    assert door.market.due_bars() == ()
    assert door.put(BARS, early) is Condition.REPEAT


def test_a_bar_of_another_year_does_not_wait() -> None:
    door = Door()
    for days in range(2, 400):
        door.put(BARS, door.bar(days, days))
    door.clock.passes(500 * DAY_US)
    assert door.market.due_bars() == ()
    for number in range(1, 3 * WAITING):
        door.put(
            BARS, replace(door.bar(number, 0), event_us=door.clock.wall_us() + (60 + number) * S)
        )
    door.clock.passes(DAY_US)
    assert len(door.market.due_bars()) == WAITING, "memory is bounded"


UNSOUND = st.sampled_from(
    [
        {"low_ticks": 101},
        {"high_ticks": 99},
        {"close_ticks": 0},
        {"open_ticks": -5},
        {"sequence": 9_000},
        {"event_us": START * 2},
    ]
)


@given(UNSOUND, st.integers(2, 9))
def test_a_bar_that_never_stood_can_be_corrected(fault: dict[str, int], number: int) -> None:
    """Repro r24, for every way in which a bar is unsound."""
    door = Door()
    for earlier in range(1, number):
        door.put(BARS, door.bar(earlier, earlier - 20))
    right = door.bar(number, number - 20)
    wrong = replace(right, **cast("dict[str, Any]", fault))
    assert door.put(BARS, wrong) not in STANDS
    assert door.put(BARS, right) in STANDS
    assert [bar.sequence for bar in door.market.unbroken("SPXN")] == list(range(1, number + 1))
    assert door.market.finding(BARS, "SPXN", "alpha").condition is not Condition.CONFLICT
