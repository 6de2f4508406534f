from dataclasses import replace

import pytest

from gateway.errors import RequestError
from gateway.feeds import market as market_module
from gateway.feeds.market import REPEAT_US, Market
from gateway.feeds.sessions import PlaybackSession, load_playback


@pytest.fixture(scope="module")
def sessions() -> list[PlaybackSession]:
    return list(load_playback().sessions(4))


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        """Start at a thousand seconds."""
        self.us = 1_000_000_000

    def __call__(self) -> int:
        """Return now."""
        return self.us


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The market's monotonic clock."""
    one = Clock()
    monkeypatch.setattr(market_module, "monotonic_us", one)
    monkeypatch.setattr("gateway.clock.monotonic_us", one)
    return one


def test_what_is_not_quoted_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match="NOPE is not quoted here; quoted: none yet"):
        Market().tick("NOPE")


def test_the_first_session_moves_the_clock_to_its_open(
    clock: Clock, sessions: list[PlaybackSession]
) -> None:
    market = Market()
    market.open_session(sessions[0])
    assert market.now_us() == sessions[0].market_time_us
    clock.us += 250_000
    assert market.now_us() == sessions[0].market_time_us + 250_000


def test_the_second_instrument_of_a_day_does_not_move_the_clock_back(
    clock: Clock, sessions: list[PlaybackSession]
) -> None:
    market = Market()
    market.open_session(sessions[0])
    clock.us += 5_000_000
    market.open_session(sessions[1])
    assert market.now_us() == sessions[0].market_time_us + 5_000_000


@pytest.mark.parametrize("elapsed_us", [0, 1, 999_999, 1_000_000, 2_500_000, 3_600_000_000])
def test_the_quote_repeats_each_second_and_is_never_older(
    clock: Clock, sessions: list[PlaybackSession], elapsed_us: int
) -> None:
    market = Market()
    market.open_session(sessions[0])
    clock.us += elapsed_us
    tick = market.tick(sessions[0].instrument)
    age_us = tick.instant.now_us() - tick.quote.time_us
    assert 0 <= age_us < REPEAT_US
    assert tick.instant.now_us() == market.now_us(), "repeating a quote moved the clock"
    assert (tick.quote.time_us - sessions[0].market_time_us) % REPEAT_US == 0
    assert (tick.quote.bid_ticks, tick.quote.ask_ticks) == (
        sessions[0].bid_ticks,
        sessions[0].ask_ticks,
    )


def test_the_close_moves_the_clock_and_never_back(
    clock: Clock, sessions: list[PlaybackSession]
) -> None:
    market = Market()
    market.open_session(sessions[0])
    market.close_session(sessions[0].close_time_us)
    assert market.now_us() == sessions[0].close_time_us
    clock.us += 10
    market.close_session(sessions[0].market_time_us)
    assert market.now_us() == sessions[0].close_time_us + 10


def test_a_session_from_the_past_does_not_turn_time_back(
    clock: Clock, sessions: list[PlaybackSession]
) -> None:
    assert clock.us
    market = Market()
    market.open_session(sessions[2])
    now_us = market.now_us()
    market.open_session(replace(sessions[0], instrument=sessions[2].instrument))
    assert market.now_us() == now_us
