"""Outside trading hours nothing is stale and nothing is decided; each feed's state is shown."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from gateway.errors import RequestError
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.calendars import Calendars, TradingHours
from gateway.feeds.live.items import (
    BARS,
    QUOTES,
    PostedBar,
    PostedQuote,
    QuoteItem,
    bar_item,
    quote_item,
)
from gateway.feeds.live.overview import faults, overview
from gateway.surfaces.api.app import build_api
from risk.state.state import Phase
from tests.doubles.feeds import FedDesk, bars, fed_desk, quote
from tests.doubles.memory_desk import memory_desk
from tests.doubles.small_desk import INSTRUMENTS

SECOND = 1_000_000
SPXN = INSTRUMENTS["SPXN"]


def desk_that_opens_in(tmp_path: Path, opens_in_s: int, open_s: int = 3600) -> FedDesk:
    """Return a fed desk whose market opens at a time from now, for an hour."""
    fed = fed_desk(memory_desk(tmp_path, live=False))
    opens_us = fed.clock.wall_us() + opens_in_s * SECOND
    hours = TradingHours(
        name="XTST",
        opens=(opens_us, opens_us + 86_400 * SECOND),
        closes=(opens_us + open_s * SECOND, opens_us + 90_000 * SECOND),
        loaded_us=fed.clock.wall_us(),
    )
    calendars = Calendars({"SPXN": "XTST"}, lambda _, __: hours)
    return fed_desk(fed.desk, calendars)


def item(fed: FedDesk, number: int) -> QuoteItem:
    return quote_item(PostedQuote(**quote(number, fed.clock.wall_us())), SPXN)


def fill(fed: FedDesk) -> None:
    posted = bars(60, fed.clock.wall_us())
    fed.feeding.take(BARS, [bar_item(PostedBar(**one), SPXN) for one in posted])


def test_outside_the_session_an_intent_is_refused_with_the_opening(tmp_path: Path) -> None:
    fed = desk_that_opens_in(tmp_path, 600)
    fill(fed)
    fed.feeding.take(QUOTES, [item(fed, 1)])
    with pytest.raises(RequestError, match=r"SPXN: market closed, opens at .*Z \(XTST\)"):
        fed.desk.ask()
    assert not fed.desk.log.of_kind(Kind.INTENT_RECEIVED)
    assert fed.market.tick("SPXN").quote.phase is Phase.CLOSED, "R24 refuses one under way"
    assert fed.market.fresh_middle("SPXN") is None, "a closed market marks nothing"


def test_no_quote_is_stale_while_the_market_is_closed_and_every_old_one_after_it_opens(
    tmp_path: Path,
) -> None:
    fed = desk_that_opens_in(tmp_path, 600)
    fill(fed)
    fed.feeding.take(QUOTES, [item(fed, 1)])
    fed.clock.passes(590 * SECOND)
    fed.feeding.watch()
    recorded = fed.desk.log.of_kind(Kind.FEED_CONDITION)
    assert {r.body["condition"] for r in recorded} == {"ok"}
    fed.clock.passes(13 * SECOND)
    assert fed.market.finding(QUOTES, "SPXN", "alpha").condition.value == "ok", "3 s after it opens"
    fed.clock.passes(4 * SECOND)
    with pytest.raises(RequestError, match="quote is stale: last 7 s ago, limit 5 s"):
        fed.market.snapshot("SPXN")


def lines_of(market: FedMarket) -> dict[tuple[str, str], str]:
    lines = overview(market, ("SPXN", "NDXN"))
    assert lines is not None
    return {(line.instrument, line.feed): line.condition for line in lines}


def test_the_state_of_each_feed_is_shown_and_a_closed_market_is_no_fault(tmp_path: Path) -> None:
    fed = desk_that_opens_in(tmp_path, 600)
    fill(fed)
    fed.feeding.take(QUOTES, [item(fed, 1)])
    assert lines_of(fed.market) == {
        ("SPXN", "quotes"): "closed",
        ("SPXN", "bars"): "ok",
        ("NDXN", "quotes"): "none",
        ("NDXN", "bars"): "none",
        ("*", "events"): "none",
    }
    lines = overview(fed.market, ("SPXN",))
    assert lines is not None
    assert faults(lines) == {}
    (bar_line,) = [line for line in lines if line.feed == BARS]
    assert (bar_line.sequence, bar_line.held, bar_line.missing) == (60, 60, 0)


def test_readyz_names_what_is_wrong_with_the_feeds_and_stays_ready(tmp_path: Path) -> None:
    fed = desk_that_opens_in(tmp_path, -10)
    small = fed.desk.small
    browser = TestClient(build_api(small.desk, small.keyring))
    answer = browser.get("/readyz")
    assert answer.json()["feeds"]["SPXN quotes"] == "nothing delivered"
    assert answer.status_code == 200, "feeds deliver through this door"
    fill(fed)
    fed.feeding.take(QUOTES, [item(fed, 1)])
    said = browser.get("/readyz").json()["feeds"]
    assert set(said) == {"NDXN quotes", "NDXN bars"}
