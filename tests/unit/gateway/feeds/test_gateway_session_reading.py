"""R43's input: how far a session is, and what all participants traded in ten minutes."""

from pathlib import Path

import pytest

from gateway.feeds.live.calendars import Calendars, TradingHours
from gateway.feeds.live.items import QUOTES, PostedQuote, quote_item
from gateway.walk.projections.gathering import SessionReading
from risk.state.activity import LAST, REPEAT_US
from risk.state.inputs.activity import OwnFill
from risk.state.inputs.market import SessionClock
from tests.doubles.feeds import FedDesk, fed_desk, quote
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SECOND = 1_000_000
SPXN = INSTRUMENTS["SPXN"]


def open_desk(tmp_path: Path, *, closes_in_s: int = 300) -> FedDesk:
    fed = fed_desk(memory_desk(tmp_path, live=False))
    now_us = fed.clock.wall_us()
    closes_us = now_us + closes_in_s * SECOND
    hours = TradingHours(
        name="XTST",
        opens=(now_us - 7_200 * SECOND, now_us - 3_600 * SECOND, closes_us + 3_600 * SECOND),
        closes=(now_us - 3_600 * SECOND, closes_us, closes_us + 7_200 * SECOND),
        loaded_us=now_us,
    )
    return fed_desk(fed.desk, Calendars({"SPXN": "XTST"}, lambda _, __: hours))


def post(fed: FedDesk, number: int, volume: int | None) -> None:
    body = quote(number, fed.clock.wall_us()) | {"volume": volume}
    fed.feeding.take(QUOTES, [quote_item(PostedQuote(**body), SPXN)])


def test_spans_that_meet_are_one_session_and_volume_counts_from_the_first_reading(
    tmp_path: Path,
) -> None:
    fed = open_desk(tmp_path)
    post(fed, 1, 10_000)
    fed.clock.passes(2 * SECOND)
    post(fed, 2, 10_700)
    found = fed.market.session_reading("SPXN")
    assert found is not None
    assert (found.market_lots, found.since_open_us // SECOND) == (700, 7_202)
    assert found.to_close_us // SECOND in {297, 298}
    assert found.volume_age_us < SECOND


def test_a_volume_of_more_than_ten_minutes_ago_does_not_count(tmp_path: Path) -> None:
    fed = open_desk(tmp_path, closes_in_s=3_600)
    post(fed, 1, 10_000)
    fed.clock.passes(REPEAT_US + SECOND)
    post(fed, 2, 15_000)
    fed.clock.passes(2 * SECOND)
    post(fed, 3, 15_100)
    found = fed.market.session_reading("SPXN")
    assert found is not None
    assert found.market_lots == 100


def test_a_volume_that_falls_begins_another_day(tmp_path: Path) -> None:
    fed = open_desk(tmp_path)
    for number, volume in ((1, 9_000), (2, 50), (3, 80)):
        post(fed, number, volume)
        fed.clock.passes(2 * SECOND)
    found = fed.market.session_reading("SPXN")
    assert found is not None
    assert found.market_lots == 30


@pytest.mark.parametrize("closed", [False, True])
def test_without_a_volume_or_in_a_closed_market_there_is_no_reading(
    tmp_path: Path, *, closed: bool
) -> None:
    fed = open_desk(tmp_path)
    post(fed, 1, 10_000 if closed else None)
    fed.clock.passes(301 * SECOND if closed else 0)
    assert fed.market.session_reading("SPXN") is None
    assert fed_desk(fed.desk).market.session_reading("SPXN") is None, "no calendar"


def fills(count: int) -> tuple[OwnFill, ...]:
    one = OwnFill(decision_id="d", side="BUY", lots=3, price_ticks=1, time_us=1)
    return (one,) * count


def test_own_executions_join_the_reading_and_forgotten_ones_leave_none() -> None:
    reading = SessionReading(since_open_us=1, to_close_us=2, market_lots=9, volume_age_us=4)
    assert reading.clock(fills(2)) == SessionClock(
        since_open_us=1, to_close_us=2, own_lots=6, market_lots=9, volume_age_us=4
    )
    assert reading.clock(fills(LAST)) is None
