"""Sizes of the hours of the week: from the past, each clock, each kind of session, recorded."""

import json
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from inference.errors import ScaleError
from inference.scale.fitted import fit_document, fit_from_document
from inference.scale.fitting import Fits
from inference.scale.schedule import quarter_start_us
from inference.scale.season import (
    SEASON_MIN,
    UNIT,
    USUAL_MOVE,
    WEEK_HOURS,
    Clock,
    Season,
    fit_season,
    hour_of_week,
    season_document,
    season_from_document,
    spread_of,
)
from tests.doubles.hourly_cases import (
    HOUR_US,
    LONDON,
    NEW_YORK,
    UTC,
    Opens,
    Size,
    hourly,
    session,
    shape,
)

FLAT = Season(clock=Clock.US, sizes_1e4=(UNIT,) * WEEK_HOURS, usual=tuple(range(WEEK_HOURS)))


def fitted(count: int, zone: ZoneInfo, opens: Opens = session, size: Size = shape) -> Season:
    times, returns = hourly(count, zone, opens, size)
    season = fit_season(times[1:], returns)
    assert season is not None
    return season


def always(_at: datetime) -> bool:
    return True


def quiet_weekend(at: datetime) -> float:
    return 0.6 if at.weekday() >= 5 else 1.0 + 0.5 * (13 <= at.hour <= 17)


@pytest.mark.parametrize(
    ("clock", "zone"), [(Clock.US, "America/New_York"), (Clock.EU, "Europe/Berlin")]
)
def test_summer_time_is_the_law_of_its_years(clock: Clock, zone: str) -> None:
    local = ZoneInfo(zone)
    first = 1987 if clock is Clock.US else 1996
    at = datetime(first, 1, 1, tzinfo=UTC)
    while at.year < 2040:
        shift = local.dst(at.astimezone(local).replace(tzinfo=None))
        assert shift is not None
        us = int(at.timestamp()) * 1_000_000
        moved = (hour_of_week(us + 1, clock) - hour_of_week(us + 1, Clock.NONE)) % WEEK_HOURS
        assert moved == shift // timedelta(hours=1), at
        at += timedelta(hours=13)


def test_a_bar_that_ends_on_the_hour_belongs_to_the_hour_before() -> None:
    monday = int(datetime(2015, 1, 5, 1, tzinfo=UTC).timestamp()) * 1_000_000
    assert hour_of_week(monday, Clock.NONE) == 0
    assert hour_of_week(monday + 1, Clock.NONE) == 1
    assert hour_of_week(monday - HOUR_US, Clock.NONE) == WEEK_HOURS - 1


def test_a_session_has_the_sizes_that_were_planted_and_steps_over_nights_and_weekends() -> None:
    season = fitted(2000, NEW_YORK)
    assert season.clock is Clock.US
    assert len(season.usual) == 35
    monday = season.usual[0]
    assert season.next(season.usual[-1]) == monday
    assert season.next(season.usual[6]) == season.usual[7] == season.usual[6] + 18
    sizes = [season.size(hour) for hour in season.usual[:7]]
    assert sizes == pytest.approx([2.0, 1.2, 0.9, 0.7, 0.6, 0.7, 0.9], rel=0.12)


def test_each_market_is_moved_by_the_summer_time_that_its_returns_show() -> None:
    assert fitted(2000, LONDON).clock is Clock.EU
    assert fitted(2000, NEW_YORK).clock is Clock.US
    assert fitted(2000, ZoneInfo("Asia/Tokyo")).clock is Clock.NONE


def test_a_market_that_never_closes_has_every_hour_and_its_quiet_weekend() -> None:
    season = fitted(2000, UTC, always, quiet_weekend)
    assert season.usual == tuple(range(WEEK_HOURS))
    assert season.next(WEEK_HOURS - 1) == 0
    sunday, tuesday = season.size(6 * 24 + 4), season.size(24 + 4)
    assert sunday / tuesday == pytest.approx(0.6, rel=0.15)


def test_a_thin_hour_leans_on_what_is_known_of_its_day_and_hour() -> None:
    def now_and_then(at: datetime) -> bool:
        return session(at) or (at.weekday() == 5 and at.hour == 10 and at.day == 8)

    season = fitted(2000, NEW_YORK, now_and_then)
    saturdays = [hour for hour in season.usual if hour // 24 == 5]
    assert saturdays == []
    assert 1.5 < season.size(5 * 24 + 14) < 2.6


def test_a_short_or_motionless_series_has_no_season() -> None:
    times, returns = hourly(SEASON_MIN, NEW_YORK, session, shape)
    assert fit_season(times[1:], returns) is not None
    assert fit_season(times[2:], returns[1:]) is None
    assert fit_season(times[1:], [0.0] * SEASON_MIN) is None
    assert fit_season([], []) is None


def test_one_wild_month_does_not_become_a_season() -> None:
    times, returns = hourly(2000, NEW_YORK, session, lambda _: 1.0)
    wild = [5.0 * r if 1000 <= i < 1150 else r for i, r in enumerate(returns)]
    season = fit_season(times[1:], wild)
    assert season is not None
    assert all(0.8 < season.size(hour) < 1.25 for hour in season.usual)


def test_later_bars_change_no_season_and_daily_bars_have_none() -> None:
    times, returns = hourly(1500, NEW_YORK, session, shape)
    start = quarter_start_us(times[-1])
    bent = [r if at < start else 9.0 * r for at, r in zip(times[1:], returns, strict=True)]
    none: list[float | None] = [None] * len(returns)
    last = len(times) - 1
    one = Fits().before(times, returns, none, last, seasonal=True)
    assert one.season is not None
    assert one == Fits().before(times, bent, none, last, seasonal=True)
    fits = Fits()
    assert fits.before(times, returns, none, last).season is None
    assert fits.before(times, returns, none, last, seasonal=True) == one
    assert fits.before(times, returns, none, last).season is None  # both are kept


def test_a_fit_survives_the_record_and_one_without_a_season_is_written_as_before() -> None:
    times, returns = hourly(900, NEW_YORK, session, shape)
    none: list[float | None] = [None] * len(returns)
    fit = Fits().before(times, returns, none, len(times) - 1, seasonal=True)
    told = json.loads(json.dumps(fit_document(fit)))
    assert fit_from_document(told) == fit
    plain = Fits().before(times, returns, none, len(times) - 1)
    assert set(fit_document(plain)) == {
        *("fitter", "fitted_us", "n_returns", "data_digest", "garch", "gjr", "ranges")
    }
    assert fit.digest != plain.digest


BAD: dict[str, dict[str, Any]] = {
    "a size of zero": {"sizes_1e4": [0] * WEEK_HOURS},
    "a size too few": {"sizes_1e4": [UNIT] * (WEEK_HOURS - 1)},
    "a float": {"sizes_1e4": [1.0] * WEEK_HOURS},
    "a spread of zero": {"spread_1e4": 0},
    "no usual hour": {"usual": []},
    "an hour twice": {"usual": [3, 3]},
    "hours out of order": {"usual": [4, 3]},
    "an hour below zero": {"usual": [-1, 3]},
    "an hour of next week": {"usual": [WEEK_HOURS]},
    "an unknown clock": {"clock": "mars"},
    "text for hours": {"usual": "12"},
    "a field too many": {"more": 1},
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_season_is_refused(name: str) -> None:
    assert season_from_document(season_document(FLAT)) == FLAT
    with pytest.raises(ScaleError):
        season_from_document({**season_document(FLAT), **BAD[name]})


def test_heavier_tails_give_a_narrower_scale_and_few_returns_move_it_little() -> None:
    assert spread_of([USUAL_MOVE, -USUAL_MOVE] * 900) == UNIT
    assert 0.75 * UNIT < spread_of([0.55] * 1800) < 0.80 * UNIT
    assert 0.95 * UNIT < spread_of([0.55] * 30) < UNIT
    assert spread_of([]) == UNIT
