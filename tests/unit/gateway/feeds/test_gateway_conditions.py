"""The judge of items: one line for each condition."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.errors import IntakeError
from gateway.feeds.live.conditions import (
    Condition,
    FeedLimits,
    Reached,
    judge,
    stale,
    stale_bars,
)
from gateway.feeds.live.items import BarItem, PostedQuote, QuoteItem, quote_item
from tests.doubles.small_desk import INSTRUMENTS

NOW = 1_800_000_000_000_000
QUOTE = QuoteItem(
    source="alpha", instrument="SPXN", sequence=8, event_us=NOW, bid_ticks=100, ask_ticks=102
)
BAR = BarItem(
    source="alpha",
    instrument="SPXN",
    sequence=8,
    event_us=NOW,
    open_ticks=100,
    high_ticks=110,
    low_ticks=90,
    close_ticks=105,
)
PAST = Reached(sequence=7, event_us=NOW - 500_000)


@pytest.mark.parametrize(
    ("item", "condition", "said"),
    [
        (QUOTE, Condition.OK, ""),
        (replace(QUOTE, bid_ticks=102), Condition.OK, ""),
        (replace(QUOTE, bid_ticks=103), Condition.CROSSED, "bid 103 is above ask 102"),
        (replace(QUOTE, bid_ticks=0), Condition.NON_POSITIVE, "bid 0, ask 102"),
        (replace(QUOTE, ask_ticks=-1), Condition.NON_POSITIVE, "ask -1"),
        (replace(QUOTE, last_ticks=0), Condition.NON_POSITIVE, ""),
        (replace(QUOTE, ask_ticks=2**53), Condition.NON_POSITIVE, ""),
        (replace(QUOTE, event_us=NOW - 500_001), Condition.BACKWARDS, "event time"),
        (replace(QUOTE, event_us=NOW - 500_000), Condition.OK, ""),
        (replace(QUOTE, sequence=6), Condition.BACKWARDS, "sequence 6 after 7"),
        (replace(QUOTE, event_us=NOW + 1_000_000), Condition.OK, ""),
        (replace(QUOTE, event_us=NOW + 1_000_001), Condition.AHEAD, "1.0 s after its receipt"),
        (replace(BAR, low_ticks=101), Condition.CROSSED, "low 101"),
        (replace(BAR, high_ticks=104), Condition.CROSSED, "high 104"),
        (replace(BAR, close_ticks=0), Condition.NON_POSITIVE, ""),
        (replace(BAR, event_us=PAST.event_us), Condition.BACKWARDS, "event time"),
        (replace(BAR, sequence=5, event_us=NOW), Condition.BACKWARDS, "closes after"),
        (replace(BAR, sequence=5, event_us=NOW - 10**12), Condition.OK, ""),
        (BAR, Condition.OK, ""),
    ],
)
def test_an_item_has_its_condition_and_its_reason(
    item: QuoteItem | BarItem, condition: Condition, said: str
) -> None:
    found = judge(item, past=PAST, same=None, missing=0, received_us=NOW, limits=FeedLimits())
    assert found.condition is condition
    assert said in found.detail
    assert bool(found.detail) == (condition is not Condition.OK)


def test_a_quote_is_late_and_a_bar_is_not() -> None:
    def condition(item: QuoteItem | BarItem, age_us: int) -> Condition:
        return judge(
            item, past=None, same=None, missing=0, received_us=NOW + age_us, limits=FeedLimits()
        ).condition

    assert condition(QUOTE, 2_000_000) is Condition.OK
    assert condition(QUOTE, 2_000_001) is Condition.LATE
    assert condition(BAR, 10**12) is Condition.OK


def test_the_same_item_is_a_repeat_and_another_one_a_conflict() -> None:
    other = replace(QUOTE, ask_ticks=103)
    for same, condition in ((QUOTE, Condition.REPEAT), (other, Condition.CONFLICT)):
        found = judge(QUOTE, past=PAST, same=same, missing=3, received_us=NOW, limits=FeedLimits())
        assert found.condition is condition


def test_what_is_missing_is_counted() -> None:
    found = judge(QUOTE, past=PAST, same=None, missing=3, received_us=NOW, limits=FeedLimits())
    assert (found.condition, found.detail) == (Condition.GAP, "3 missing before sequence 8")


def test_a_feed_is_stale_after_its_limit_and_says_both() -> None:
    limits = FeedLimits(stale_us=5_000_000)
    assert stale(5_000_000, limits) is None
    found = stale(41_000_000, limits)
    assert found is not None
    assert found.detail == "last 41 s ago, limit 5 s"
    assert stale_bars(limits.bar_age_us, limits) is None
    assert stale_bars(limits.bar_age_us + 1, limits) is not None


def test_a_price_between_two_ticks_is_refused_and_never_rounded() -> None:
    def posted(bid: str) -> QuoteItem:
        body: dict[str, Any] = {"source": "a", "instrument": "SPXN", "sequence": 1}
        return quote_item(
            PostedQuote(**body, event_time_us=1, bid=bid, ask="269.00"), INSTRUMENTS["SPXN"]
        )

    assert posted("268.5").bid_ticks == 26_850
    assert posted("-0.01").bid_ticks == -1
    with pytest.raises(IntakeError, match=r"bid: 268\.505 is not a multiple of SPXN's tick 0\.01"):
        posted("268.505")
