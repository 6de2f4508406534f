"""How large an hour of the week is: the seasonal part of the scale of bars shorter than a day.

A return is divided by the size of its hour of the week before any recursion sees it, and the next
bar's volatility is multiplied by the size of the hour in which that bar is expected. Daily bars
have no season.

Rules:
    - A size is estimated on the returns of a fit only, which closed before its quarter. It is the
      mean absolute return (over the level of its time) of the hour of day, times that of the
      weekday, times that of the hour of the week, each leaning on the level above it, so that a
      thin hour does not speak for itself.
    - The next bar ends in the next *usual* hour: one that had a bar in at least half of the weeks.
      So nights, weekends and closed days are stepped over without a calendar of the exchange.
    - Summer time moves hours. Which rule moves those of a series, the United States', the European
      Union's or none, is decided by its own bars, and recorded.
    - The scale is multiplied by one more number, the series' spread, so that its usual
      standardised return has the size that rows shared by series are made for.
    - Sizes are integers in 1/10000: equal on every machine.

Source: Taylor and Xu (1997), J. Empirical Finance 4(4), for sizes before a variance recursion.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

from inference.errors import ScaleError

SEASON_MIN: Final = 252
"""Fewest returns on which sizes are estimated; a shorter series has no season."""
WEEK_HOURS: Final = 168
UNIT: Final = 10_000
"""Steps of a size: 10000 is an hour of the usual size."""
HOUR_WEIGHT: Final = 10
WEEKDAY_WEIGHT: Final = 100
SLOT_WEIGHT: Final = 200
"""Returns that the level above counts as: for an hour of day, a weekday, an hour of the week."""
AROUND: Final = 60
"""Returns on each side whose mean is the level of a return."""
LEAST_LEVEL: Final = 0.1
"""Share of the mean of all below which such a level does not fall."""
USUAL_MOVE: Final = 0.74
"""Mean absolute standardised return to which a series' spread is calibrated."""
SPREAD_WEIGHT: Final = 200
"""Standardised returns of the usual size that are added before the spread is taken."""
_DAY_HOURS: Final = 24
_HOUR_US: Final = 3_600_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_THURSDAY: Final = 3
_SUNDAY: Final = 6


class Clock(StrEnum):
    """Whose summer time moves the hours of a series; only the shift counts, not the zone."""

    US = "us"
    EU = "eu"
    NONE = "none"


CLOCK_MARGIN: Final = {Clock.US: 0.0, Clock.EU: 3.0, Clock.NONE: 10.0}
"""Nats by which another clock must explain the returns better than that of the United States.

The two kinds of summer time differ for four weeks a year only; no summer time for half of it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """Sizes of the hours of the week; hour 0 is Monday 00:00 to 01:00 UTC, less summer time."""

    clock: Clock
    sizes_1e4: tuple[int, ...]
    usual: tuple[int, ...]
    """Hours in which a bar is expected, ascending."""
    spread_1e4: int = UNIT
    """By what the scale is multiplied besides, in 1/10000."""

    def __post_init__(self) -> None:
        """Raise `ScaleError` for other than 168 positive sizes, or hours out of order."""
        if len(self.sizes_1e4) != WEEK_HOURS or min(*self.sizes_1e4, self.spread_1e4) <= 0:
            raise ScaleError(f"expected a spread and {WEEK_HOURS} sizes, all positive")
        hours = self.usual
        if not hours or list(hours) != sorted(set(hours)) or not hours[0] >= 0:
            raise ScaleError(f"expected ascending hours of the week, was {hours}")
        if hours[-1] >= WEEK_HOURS:
            raise ScaleError(f"expected hours below {WEEK_HOURS}, was {hours[-1]}")

    def hour(self, close_us: int) -> int:
        """Return the hour of the week in which a bar ends; one that ends on the hour is before."""
        return hour_of_week(close_us, self.clock)

    def next(self, hour: int) -> int:
        """Return the hour in which the bar after one of this hour is expected."""
        place = bisect_right(self.usual, hour)
        return self.usual[place if place < len(self.usual) else 0]

    def size(self, hour: int) -> float:
        """Return the size of an hour: 1 is usual."""
        return self.sizes_1e4[hour] / UNIT

    def spread(self, hour: int) -> float:
        """Return by what the scale of returns without sizes is multiplied in an hour."""
        return self.sizes_1e4[hour] * self.spread_1e4 / UNIT**2


def fit_season(closes_us: Sequence[int], log_returns: Sequence[float]) -> Season | None:
    """Return the season of returns that end at these closes, or None where there is none.

    There is none below 252 returns, or where no return differs from zero.
    """
    level = math.fsum(map(abs, log_returns)) / max(len(log_returns), 1)
    if len(log_returns) < SEASON_MIN or not math.isfinite(level) or level <= 0.0:
        return None
    moves = _moves(log_returns, level)
    found = []
    for clock, margin in CLOCK_MARGIN.items():
        hours = [hour_of_week(at, clock) for at in closes_us]
        season = _season_of(clock, hours, moves)
        found.append((_surprise(season, hours, moves) + margin, season))
    return min(found, key=lambda one: one[0])[1]


def _surprise(season: Season, hours: Sequence[int], moves: Sequence[float]) -> float:
    """Return minus the log likelihood of the hours that have bars, and of the moves in them.

    Under a clock that is not the series' own, bars spread over more hours and sizes mix.
    """
    counts = Counter(hours)
    return math.fsum(
        math.log(len(hours) / counts[hour]) + math.log(season.size(hour)) + move / season.size(hour)
        for hour, move in zip(hours, moves, strict=True)
    )


def spread_of(standardised: Sequence[float]) -> int:
    """Return the spread, in 1/10000, of a series whose returns over its scale are these.

    Laws are fitted to variances, which a few large returns decide; rows are shared by series. The
    spread brings the usual return of every series to the same size, whatever its tails.
    """
    total = math.fsum(map(abs, standardised)) + SPREAD_WEIGHT * USUAL_MOVE
    return round(UNIT * total / ((len(standardised) + SPREAD_WEIGHT) * USUAL_MOVE))


def _moves(log_returns: Sequence[float], level: float) -> list[float]:
    """Return absolute returns over the mean of those around them, so that a wild month counts once.

    Without it a clock could pass for right because its summer hours met a calmer market.
    """
    sums = [0.0, *accumulate(map(abs, log_returns))]
    found = []
    for place, value in enumerate(log_returns):
        start, stop = max(0, place - AROUND), min(len(log_returns), place + AROUND + 1)
        near = (sums[stop] - sums[start]) / (stop - start)
        found.append(abs(value) / max(near, LEAST_LEVEL * level))
    return found


def _season_of(clock: Clock, hours: Sequence[int], moves: Sequence[float]) -> Season:
    by_hour = _sizes([hour % _DAY_HOURS for hour in hours], moves, _DAY_HOURS, HOUR_WEIGHT)
    left = [m / by_hour[hour % _DAY_HOURS] for hour, m in zip(hours, moves, strict=True)]
    by_day = _sizes([hour // _DAY_HOURS for hour in hours], left, 7, WEEKDAY_WEIGHT)
    left = [m / by_day[hour // _DAY_HOURS] for hour, m in zip(hours, left, strict=True)]
    by_slot = _sizes(hours, left, WEEK_HOURS, SLOT_WEIGHT)
    sizes = [
        by_hour[hour % _DAY_HOURS] * by_day[hour // _DAY_HOURS] * by_slot[hour]
        for hour in range(WEEK_HOURS)
    ]
    mean = math.fsum(sizes[hour] for hour in hours) / len(hours)
    counts = Counter(hours)
    return Season(
        clock=clock,
        sizes_1e4=tuple(max(1, round(UNIT * size / mean)) for size in sizes),
        usual=tuple(hour for hour in range(WEEK_HOURS) if 2 * counts[hour] >= max(counts.values())),
    )


def _sizes(groups: Sequence[int], moves: Sequence[float], count: int, weight: int) -> list[float]:
    """Return the mean move of each group; `weight` moves of 1 are added to each."""
    found: list[list[float]] = [[] for _ in range(count)]
    for group, move in zip(groups, moves, strict=True):
        found[group].append(move)
    return [(math.fsum(each) + weight) / (len(each) + weight) for each in found]


def flattened(
    season: Season,
    closes_us: Sequence[int],
    log_returns: Sequence[float],
    found: Sequence[float | None],
) -> tuple[list[float], list[float | None]]:
    """Return returns and range variances without the sizes of the hours in which they end."""
    sizes = [season.size(season.hour(at)) for at in closes_us]
    flat = [value / size for value, size in zip(log_returns, sizes, strict=True)]
    ranges = [
        None if ranged is None else ranged / (size * size)
        for ranged, size in zip(found, sizes, strict=True)
    ]
    return flat, ranges


def hour_of_week(close_us: int, clock: Clock) -> int:
    """Return the hour of the week, 0..167 from Monday, of the last instant of a bar."""
    hours = (close_us - 1) // _HOUR_US
    return (hours + _summer(hours, clock) + _THURSDAY * _DAY_HOURS) % WEEK_HOURS


def _summer(hours: int, clock: Clock) -> int:
    if clock is Clock.NONE:
        return 0
    start, end = _summer_of((_EPOCH + timedelta(hours=hours)).year, clock)
    return int(start <= hours < end)


@lru_cache(maxsize=512)
def _summer_of(year: int, clock: Clock) -> tuple[int, int]:
    """Return the first and the first later hour of summer time, in hours since the epoch.

    Source: the Energy Policy Act of 2005 and 15 U.S.C. 260a before it; directive 2000/84/EC.
    """
    if clock is Clock.EU:
        return _hours(_sunday(year, 4, -1), 1), _hours(_sunday(year, 11, -1), 1)
    if year >= 2007:  # noqa: PLR2004 - the year of the act
        return _hours(_sunday(year, 3, 1), 7), _hours(_sunday(year, 11, 0), 6)
    return _hours(_sunday(year, 4, 0), 7), _hours(_sunday(year, 11, -1), 6)


def _sunday(year: int, month: int, after: int) -> date:
    """Return the first Sunday of a month and `after` weeks; -1 is the last of the month before."""
    first = date(year, month, 1)
    return first + timedelta(days=(_SUNDAY - first.weekday()) % 7 + 7 * after)


def _hours(day: date, hour: int) -> int:
    return (day - _EPOCH.date()).days * _DAY_HOURS + hour


def season_document(season: Season) -> dict[str, Any]:
    """Return the season as JSON values without floats."""
    return {
        "clock": season.clock.value,
        "sizes_1e4": list(season.sizes_1e4),
        "usual": list(season.usual),
        "spread_1e4": season.spread_1e4,
    }


def season_from_document(document: Any) -> Season:  # noqa: ANN401 - JSON
    """Read what `season_document` returned.

    Raises:
        ScaleError: when a field is missing, unknown, or of another type.
    """
    if not isinstance(document, dict) or set(document) != _FIELDS:
        raise ScaleError(f"expected the fields {sorted(_FIELDS)}, was {document!r}")
    sizes, usual, spread = document["sizes_1e4"], document["usual"], document["spread_1e4"]
    for values in (sizes, usual, [spread]):
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            raise ScaleError(f"expected integers in a season, was {values!r}")
    try:
        clock = Clock(document["clock"])
    except ValueError as error:
        raise ScaleError(f"expected a clock of {[c.value for c in Clock]}: {error}") from error
    return Season(clock=clock, sizes_1e4=tuple(sizes), usual=tuple(usual), spread_1e4=spread)


_FIELDS: Final = {"clock", "sizes_1e4", "usual", "spread_1e4"}
