import json
from dataclasses import replace
from datetime import date, datetime, time
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.feeds.news.events import load_events, news_item
from gateway.feeds.sessions import (
    HISTORY_BARS,
    PLAYED,
    Playback,
    PlaybackSession,
    closing_time,
    load_playback,
    market_time_us,
    price_text,
)
from inference.snapshot import snapshot_document, snapshot_from_document

NEW_YORK = ZoneInfo("America/New_York")


@pytest.fixture(scope="module")
def playback() -> Playback:
    return load_playback()


@pytest.fixture(scope="module")
def played(playback: Playback) -> list[PlaybackSession]:
    return list(playback.sessions())


def test_every_session_of_2018_is_played_once_per_instrument(
    playback: Playback, played: list[PlaybackSession]
) -> None:
    assert len(playback.days) == 251
    assert len(played) == 502
    assert {(p.session, p.instrument) for p in played} == {
        (s, i) for s in range(251) for i in ("SPXN", "NDXN")
    }
    assert [p.index for p in played] == list(range(502))


def test_market_time_never_goes_back(played: list[PlaybackSession]) -> None:
    assert all(a.market_time_us <= b.market_time_us for a, b in pairwise(played))


def test_holidays_come_from_the_data(playback: Playback) -> None:
    mourning, thanksgiving = date(2018, 12, 5), date(2018, 11, 22)
    assert mourning not in playback.days
    assert thanksgiving not in playback.days


def test_a_snapshot_ends_at_the_previous_close_and_knows_nothing_later(
    played: list[PlaybackSession],
) -> None:
    for one in played:
        assert len(one.snapshot.bars) == HISTORY_BARS
        assert one.snapshot.bars[-1].close_time_us < one.snapshot.as_of_us == one.market_time_us
        assert all(item.published_us <= one.snapshot.as_of_us for item in one.snapshot.news)
        assert one.snapshot.as_of_us < one.close_time_us


def test_the_next_session_sees_the_bar_that_this_one_was_marked_at(
    played: list[PlaybackSession],
) -> None:
    for today, tomorrow in zip(played, played[2:], strict=False):
        last = tomorrow.snapshot.bars[-1]
        assert (last.close_time_us, last.close_ticks) == (today.close_time_us, today.close_ticks)


def test_a_played_price_has_the_decimals_of_its_currency() -> None:
    yen = replace(PLAYED[0], currency="JPY", tick_minor=5)
    assert price_text(2_684, yen) == "13420"
    assert price_text(26_842) == "268.42"


def test_first_prices_are_the_published_levels(played: list[PlaybackSession]) -> None:
    first = played[0]
    assert (first.bid_ticks, first.ask_ticks) == (26837 - 5, 26837 + 5)
    assert first.close_ticks == 26958
    assert first.snapshot.bars[-1].close_ticks == 26736


def test_half_days_close_at_one() -> None:
    early = [d for d in load_playback().days if closing_time(d) == time(13)]
    assert early == [date(2018, 7, 3), date(2018, 11, 23), date(2018, 12, 24)]


@pytest.mark.parametrize(("day", "hour_utc"), [(date(2018, 1, 2), 14), (date(2018, 7, 2), 13)])
def test_session_times_follow_new_york_daylight_saving(day: date, hour_utc: int) -> None:
    expected = datetime(day.year, day.month, day.day, hour_utc, 30, tzinfo=ZoneInfo("UTC"))
    assert market_time_us(day, time(9, 30)) == int(expected.timestamp()) * 1_000_000


def test_the_first_decision_is_later_than_the_year_that_models_may_see(playback: Playback) -> None:
    assert playback.first_as_of_us() > market_time_us(date(2017, 12, 31), time(23, 59))


def test_limit_cuts_the_same_sequence(playback: Playback, played: list[PlaybackSession]) -> None:
    assert list(playback.sessions(7)) == played[:7]


def test_snapshots_survive_their_document(played: list[PlaybackSession]) -> None:
    for one in played[::50]:
        again = snapshot_from_document(json.loads(json.dumps(snapshot_document(one.snapshot))))
        assert again == one.snapshot


def test_simulator_quotes_are_the_sessions_quotes(
    playback: Playback, played: list[PlaybackSession], tmp_path: Path
) -> None:
    path = tmp_path / "quotes.jsonl"
    playback.write_quotes(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(x["instrument"], x["session"], x["bid"], x["ask"]) for x in lines] == [
        (p.instrument, p.session, price_text(p.bid_ticks), price_text(p.ask_ticks)) for p in played
    ]
    assert (lines[0]["bid"], lines[0]["ask"]) == ("268.32", "268.42")


def test_events_are_many_unique_sorted_sourced_and_on_trading_days(playback: Playback) -> None:
    events = load_events()
    assert len(events) >= 25
    assert len({e.id for e in events}) == len(events)
    assert [e.published_us for e in events] == sorted(e.published_us for e in events)
    for event in events:
        day = date.fromisoformat(event.date)
        assert day in playback.days, event.id
        assert event.published_us == market_time_us(day, time.fromisoformat(event.local_time))
        assert event.source.institution
        assert event.source.url.startswith("https://")
        assert event.direction == "neutral"


def test_rate_decisions_are_the_eight_of_2018() -> None:
    days = [e.date for e in load_events() if e.id.startswith("fomc-decision")]
    expected = "01-31 03-21 05-02 06-13 08-01 09-26 11-08 12-19"
    assert days == [f"2018-{d}" for d in expected.split()]


def test_an_afternoon_decision_reaches_the_next_session_only(played: list[PlaybackSession]) -> None:
    decision = next(e for e in load_events() if e.id == "fomc-decision-2018-03-21")
    item = news_item(decision)
    by_day = {p.session_date: p for p in played if p.instrument == "SPXN"}
    assert item not in by_day[date(2018, 3, 21)].snapshot.news
    assert item in by_day[date(2018, 3, 22)].snapshot.news


def test_a_morning_release_reaches_the_same_session(played: list[PlaybackSession]) -> None:
    one = next(p for p in played if p.session_date == date(2018, 2, 2))
    assert "employment-situation-2018-02-02" in {n.event_id for n in one.snapshot.news}
