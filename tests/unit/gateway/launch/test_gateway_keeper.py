"""Forecasts are ready before anybody asks: new inputs, failures, an engine that is away."""

from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from audit.records.kinds import Kind
from gateway.desk.officers.forecasts import forecasts_document
from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, bar_item, quote_item
from gateway.feeds.news.posted import EVENTS, parse_event
from gateway.launch.threads.keeper import FIRST_WAIT_US, ForecastKeeper
from inference.engine.port import EngineDescription, SampleRequest, Samples
from inference.errors import EngineDeadError, EngineDeadlineError
from tests.doubles.feeds import FedDesk, bars, fed_desk, quote
from tests.doubles.memory_desk import TABLE, memory_desk
from tests.doubles.row_engine import RowEngine
from tests.doubles.small_desk import INSTRUMENTS

SPXN = INSTRUMENTS["SPXN"]
DAY_US = 86_400_000_000


@pytest.fixture
def fed(tmp_path: Path) -> FedDesk:
    found = fed_desk(memory_desk(tmp_path, live=False))
    posted = bars(60, found.clock.wall_us())
    found.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])
    return found


class Clock:
    """A monotonic clock that is set."""

    now_us = 0

    def __call__(self) -> int:
        return self.now_us


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keeper(fed: FedDesk, clock: Clock) -> ForecastKeeper:
    return ForecastKeeper(fed.desk.small.desk, clock)


def with_engine(fed: FedDesk, kind: type[RowEngine]) -> None:
    own = fed.desk.small.desk.own
    engine = kind(table=TABLE, codec=own.tools.codec)
    fed.desk.small.desk.own = replace(own, tools=replace(own.tools, engine=engine))


class Late(RowEngine):
    """Never answers in time."""

    @override
    def sample(self, request: SampleRequest) -> Samples:
        raise EngineDeadlineError(request.request_id)


class Away(RowEngine):
    """Its process has ended."""

    @override
    def describe(self) -> EngineDescription:
        raise EngineDeadError("gone")


def test_a_forecast_is_made_of_bars_alone_and_an_intent_finds_it(
    fed: FedDesk, clock: Clock
) -> None:
    kept = keeper(fed, clock)
    assert kept.look() == 1, "neither a quote nor an intent was there"
    assert kept.look() == 0, "the same inputs"
    posted = PostedQuote(**quote(1, fed.clock.wall_us()))
    fed.feeding.take(QUOTES, [quote_item(posted, SPXN)])
    assert fed.desk.ask().result == "approved"
    assert len(fed.desk.log.of_kind(Kind.FORECAST_REQUESTED)) == 1


def test_a_new_item_makes_another_one_due_and_time_alone_none(fed: FedDesk, clock: Clock) -> None:
    kept = keeper(fed, clock)
    kept.look()
    clock.now_us = DAY_US
    assert kept.look() == 0
    item = {
        "source": "wire",
        "sequence": 1,
        "id": "event-1",
        "published_us": fed.clock.wall_us() - 9_000_000,
        "event_type": "macro",
        "headline": "The central bank leaves its rate unchanged",
        "origin": "central bank: statement",
    }
    fed.feeding.take(EVENTS, [parse_event(item)])
    assert kept.look() == 1


def test_a_failure_is_tried_again_later_each_time(fed: FedDesk, clock: Clock) -> None:
    with_engine(fed, Late)
    kept = keeper(fed, clock)

    def failed() -> int:
        return len(fed.desk.log.of_kind(Kind.FORECAST_FAILED))

    assert (kept.look(), kept.look(), failed()) == (0, 0, 1)
    clock.now_us = FIRST_WAIT_US
    assert (kept.look(), kept.look(), failed()) == (0, 0, 2)
    clock.now_us = 2 * FIRST_WAIT_US
    assert (kept.look(), failed()) == (0, 2), "twice as long"
    clock.now_us = 3 * FIRST_WAIT_US
    with_engine(fed, RowEngine)
    assert kept.look() == 1


def test_an_engine_that_is_away_is_asked_for_nothing(fed: FedDesk, clock: Clock) -> None:
    with_engine(fed, Away)
    assert keeper(fed, clock).look() == 0
    assert not fed.desk.log.of_kind(Kind.SNAPSHOT_TAKEN)


def test_the_list_says_of_each_instrument_how_its_forecast_stands(
    fed: FedDesk, clock: Clock
) -> None:
    own = fed.desk.small.desk.own

    def line() -> dict[str, object]:
        found = forecasts_document(fed.desk.small.desk.own)["forecasts"]
        (mine,) = [one for one in found if one["instrument"] == "SPXN"]
        return dict(mine)

    assert (line()["outcome"], line()["forecast_id"]) == ("none", "")
    with_engine(fed, Late)
    keeper(fed, clock).look()
    assert (line()["outcome"], line()["reason"]) == ("failed", "engine_deadline")
    fed.desk.small.desk.own = own
    keeper(fed, clock).look()
    (made,) = fed.desk.log.of_kind(Kind.FORECAST_MADE)
    said = line()
    assert (said["outcome"], said["attempt"], said["seq"]) == ("made", 1, made.seq)
    assert said["horizon_vol_1e8"] == made.body["forecast"]["horizon_vol_1e8"]
