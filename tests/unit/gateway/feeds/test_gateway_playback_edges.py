"""The edges of the playback: what is news at the open, how much history, and which series fit."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from gateway.errors import IntakeError
from gateway.feeds import sessions as playback_module
from gateway.feeds.intake import DailySeries, parse_daily_series
from gateway.feeds.sessions import (
    HISTORY_BARS,
    NEWS_DAYS,
    OPEN,
    Playback,
    load_playback,
    market_time_us,
    quote,
)

DAY_US = 86_400_000_000


@pytest.fixture(scope="module")
def playback() -> Playback:
    return load_playback()


@pytest.mark.parametrize(
    ("before_us", "known"),
    [
        (-1, False),
        (0, True),
        (1, True),
        (NEWS_DAYS * DAY_US - 1, True),
        (NEWS_DAYS * DAY_US, False),
    ],
)
def test_news_counts_from_its_publication_on_and_for_ten_days(
    playback: Playback, before_us: int, *, known: bool
) -> None:
    at_us = market_time_us(playback.days[0], OPEN) - before_us
    event = playback.events[0].model_copy(update={"published_us": at_us})
    (first,) = replace(playback, events=(event,)).sessions(1)
    assert [item.event_id for item in first.snapshot.news] == ([event.id] if known else [])


def test_a_session_without_its_whole_history_is_refused(playback: Playback) -> None:
    def beginning(at: int) -> Playback:
        series = tuple((i, replace(s, rows=s.rows[at:])) for i, s in playback.series)
        return replace(playback, series=series)

    spare = playback.series[0][1].place(playback.days[0]) - HISTORY_BARS
    (first,) = beginning(spare).sessions(1)
    assert len(first.snapshot.bars) == HISTORY_BARS
    with pytest.raises(IntakeError, match="bars to 2018-01-02"):
        next(beginning(spare + 1).sessions(1))


def test_series_that_differ_in_their_days_are_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(packed: bytes, *, name: str, ticks_per_unit: Decimal) -> DailySeries:
        found = parse_daily_series(packed, name=name, ticks_per_unit=ticks_per_unit)
        left = tuple(row for row in found.rows if row.day != date(2018, 7, 3))
        return replace(found, rows=left if name == "nasdaq" else found.rows)

    monkeypatch.setattr(playback_module, "parse_daily_series", lacking)
    with pytest.raises(IntakeError, match="differ in the days of 2018"):
        load_playback()


@pytest.mark.parametrize(("opened", "half"), [(1, 1), (2_500, 1), (12_500, 2), (26_837, 5)])
def test_a_quote_has_a_spread_at_any_price(playback: Playback, opened: int, half: int) -> None:
    row = replace(playback.series[0][1].rows[0], open_ticks=opened)
    assert quote(row) == (opened - half, opened + half)


def test_the_run_names_the_bytes_that_it_plays(playback: Playback) -> None:
    assert playback.source() == {f"arch.data.{i.series}": s.digest for i, s in playback.series}
    assert {len(bytes.fromhex(digest)) for digest in playback.source().values()} == {32}
    assert len(set(playback.source().values())) == len(playback.series)


def test_the_simulator_quotes_at_the_open_of_each_session(
    playback: Playback, tmp_path: Path
) -> None:
    path = tmp_path / "quotes.jsonl"
    playback.write_quotes(path)
    told = [json.loads(line)["market_time_us"] for line in path.read_text().splitlines()]
    assert told[::2] == [market_time_us(day, OPEN) for day in playback.days]
