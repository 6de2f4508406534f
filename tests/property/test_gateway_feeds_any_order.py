"""Whatever a feed delivers, in whatever order: nothing unsound ever stands."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import RequestError
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import STANDS, Condition, FeedLimits
from gateway.feeds.live.items import BARS, QUOTES, BarItem, QuoteItem
from gateway.feeds.live.series import Item
from tests.doubles.set_clock import SetClock
from tests.doubles.small_desk import INSTRUMENTS

START = 1_800_000_000_000_000
NUMBERS = st.integers(1, 12)
PRICES = st.integers(-2, 6)
TIMES = st.integers(START - 4_000_000, START + 2_000_000)
QUOTE_ITEMS = st.builds(
    QuoteItem,
    source=st.sampled_from(["alpha", "beta"]),
    instrument=st.just("SPXN"),
    sequence=NUMBERS,
    event_us=TIMES,
    bid_ticks=PRICES,
    ask_ticks=PRICES,
    last_ticks=st.none() | PRICES,
)
BAR_ITEMS = st.builds(
    BarItem,
    source=st.just("alpha"),
    instrument=st.just("SPXN"),
    sequence=NUMBERS,
    event_us=TIMES,
    open_ticks=PRICES,
    high_ticks=PRICES,
    low_ticks=PRICES,
    close_ticks=PRICES,
)


def market() -> FedMarket:
    """Return a market whose wall clock stands at the start."""
    return FedMarket(INSTRUMENTS, FeedLimits(), lambda: START, SetClock().monotonic_us)


def put(board: FedMarket, feed: str, item: Item) -> Condition:
    """Judge and take an item."""
    found = board.judged(feed, item, START)
    board.take(feed, item, found, START)
    return found.condition


@given(st.lists(QUOTE_ITEMS, max_size=30))
def test_no_order_of_quotes_makes_an_unsound_one_stand(items: list[QuoteItem]) -> None:
    board = market()
    for item in items:
        condition = put(board, QUOTES, item)
        used = board.series(QUOTES, "SPXN")
        # what one source says wrongly does not spoil another's word, unless they contradict
        speaks = used is None or used.source == item.source or condition is Condition.BIASED
        with contextlib.suppress(RequestError):
            tick = board.tick("SPXN")
            assert 0 < tick.quote.bid_ticks <= tick.quote.ask_ticks
            assert tick.quote.time_us <= START
            sound = condition in {Condition.OK, Condition.REPEAT}
            assert sound or not speaks or tick.quote.seq_gap > 0, "a decision under way must see it"
        if speaks and condition not in STANDS | {Condition.REPEAT}:
            assert board.fresh_middle("SPXN") is None
        assert put(board, QUOTES, item) in {Condition.REPEAT, Condition.CONFLICT}


@given(st.lists(BAR_ITEMS, max_size=30))
def test_no_order_of_bars_makes_a_hole_or_an_unsound_bar_used(items: list[BarItem]) -> None:
    board = market()
    sent = {}
    for item in items:
        if put(board, BARS, item) in STANDS:
            sent[item.sequence] = item
        with contextlib.suppress(RequestError, KeyError):
            board.snapshot("SPXN")
        used = board.unbroken("SPXN")
        numbers = [bar.sequence for bar in used]
        assert numbers == list(range(numbers[0], numbers[0] + len(used))) if used else not sent
        assert all(sent[bar.sequence] == bar for bar in used)
        times = [bar.event_us for bar in used]
        assert times == sorted(set(times))
        assert all(0 < bar.low_ticks <= bar.close_ticks <= bar.high_ticks for bar in used)
