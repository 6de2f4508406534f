"""The scale between two bars: GARCH and GJR, joined, and the range where the series has one.

The variance is the weighted geometric mean of three: a third for GARCH and GJR together (half
each) and two thirds for the log-HAR on ranges. A series without ranges has GARCH and GJR alone.
All recursions advance with every return, recorded or sampled. A return counts as at most 8 sigma,
so that one bad print does not inflate the scale for months.

A fit with a season (`season.py`) has laws of returns without the sizes of their hours: each return
is divided by the size of the hour in which its bar ended, and sigma is multiplied by that of the
hour in which the next bar is expected, and by the series' spread.

The scale before return t uses bars before t only, and parameters fitted on earlier bars.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inference.errors import ScaleError
from inference.scale.fitted import ScaleFit
from inference.scale.ranges import MONTH
from inference.scale.schedule import BURN_IN

RANGE_WEIGHT: Final = 2.0 / 3.0
WINSOR_SIGMAS: Final = 8.0
VARIANCE_FLOOR: Final = 1e-12
"""Sigma of GARCH and GJR never falls below 1e-6, so a flat series stays finite."""
LONG: Final = 0.995
"""Decay of the mean square that stands for the long run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingScale:
    """State of the recursions between two bars; variances of one-bar log returns."""

    fit: ScaleFit
    garch: float
    gjr: float
    long: float
    ranges: tuple[float, ...] = ()
    """Last 22 log range variances, the newest last; empty without a range law."""
    fall: float = 0.0
    """The last return in sigma of GARCH and GJR if it was negative."""
    hour: int = 0
    """Hour of the week in which the last bar ended; 0 where the fit has no season."""

    @property
    def sigma(self) -> float:
        """Volatility of the next bar."""
        return self._flat_sigma() * self._spread()

    @property
    def sigma_long(self) -> float:
        """Long-run volatility of a bar of the next bar's hour."""
        return math.sqrt(self.long) * self._spread()

    def sizes(self, bars: int) -> tuple[float, ...]:
        """Return the sizes of the hours in which the next bars end; ones without a season."""
        found, hour = [], self.hour
        for _ in range(bars):
            hour = hour if self.fit.season is None else self.fit.season.next(hour)
            found.append(self._size(hour))
        return tuple(found)

    def _next_hour(self) -> int:
        season = self.fit.season
        return self.hour if season is None else season.next(self.hour)

    def _spread(self) -> float:
        season = self.fit.season
        return 1.0 if season is None else season.spread(season.next(self.hour))

    def _size(self, hour: int) -> float:
        season = self.fit.season
        return 1.0 if season is None else season.size(hour)

    def _flat_sigma(self) -> float:
        """Return the volatility of the next bar without the size of its hour."""
        joined = math.sqrt(self.garch * self.gjr)
        law = self.fit.ranges
        if law is None:
            return math.sqrt(joined)
        ranged = law.expected(self.ranges, self.fall) + law.spread
        return math.exp(0.5 * ((1.0 - RANGE_WEIGHT) * math.log(joined) + RANGE_WEIGHT * ranged))

    def after(
        self, log_return: float, found: float | None = None, hour: int | None = None
    ) -> "MovingScale":
        """Return the state after one more return.

        `found` is its bar's range variance, `hour` the hour of the week in which it ended; on a
        path the bar has neither, and ends in the hour that was expected.
        """
        hour = self._next_hour() if hour is None else hour
        size = self._size(hour)
        flat, found = log_return / size, None if found is None else found / (size * size)
        limit = WINSOR_SIGMAS * self._flat_sigma()
        held = min(max(flat, -limit), limit)
        joined = math.sqrt(self.garch * self.gjr)
        law, ranges, fall = self.fit.ranges, self.ranges, 0.0
        if law is not None:
            expected = law.expected(ranges, self.fall)
            ranges = (*ranges[1:], law.seen(expected, held, found, joined))
            fall = min(held, 0.0) / math.sqrt(joined)
        return MovingScale(
            fit=self.fit,
            garch=max(self.fit.garch.after(self.garch, held), VARIANCE_FLOOR),
            gjr=max(self.fit.gjr.after(self.gjr, held), VARIANCE_FLOOR),
            long=max(LONG * self.long + (1.0 - LONG) * held * held, VARIANCE_FLOOR),
            ranges=ranges,
            fall=fall,
            hour=hour,
        )


def first_moving(fit: ScaleFit, burn_in: Sequence[float], hour: int = 0) -> MovingScale:
    """Return the state after the burn-in: its mean square without the largest return.

    The returns are without the sizes of their hours; `hour` is that of the last bar.

    Raises:
        ScaleError: with fewer than two returns.
    """
    if len(burn_in) < 2:  # noqa: PLR2004 - one is left out
        raise ScaleError(f"expected at least 2 returns to start on, was {len(burn_in)}")
    squares = sorted(r * r for r in burn_in)[:-1]
    mean = max(math.fsum(squares) / len(squares), VARIANCE_FLOOR)
    law = fit.ranges
    ranges = () if law is None else (math.log(mean) - law.spread,) * MONTH
    return MovingScale(fit=fit, garch=mean, gjr=mean, long=mean, ranges=ranges, hour=hour)


def scales_of(
    fit: ScaleFit,
    log_returns: Sequence[float],
    found: Sequence[float | None],
    closes_us: Sequence[int] = (),
) -> list[MovingScale]:
    """Return the scale before each return after the burn-in, then the one after the last.

    `found` has the range variance of each return's bar, `closes_us` the time at which it ended; a
    fit without a season does not read the times.

    Raises:
        ScaleError: the fit has a season, and the times are not as many as the returns.
    """
    season = fit.season
    if season is None:
        hours, burn_in = [0] * len(log_returns), list(log_returns[:BURN_IN])
    elif len(closes_us) != len(log_returns):
        raise ScaleError(f"expected {len(log_returns)} close times, was {len(closes_us)}")
    else:
        hours = [season.hour(at) for at in closes_us]
        pairs = zip(log_returns[:BURN_IN], hours, strict=False)
        burn_in = [value / season.size(hour) for value, hour in pairs]
    scales = [first_moving(fit, burn_in, hours[len(burn_in) - 1])]
    rest = zip(log_returns[BURN_IN:], found[BURN_IN:], hours[BURN_IN:], strict=True)
    for value, ranged, hour in rest:
        scales.append(scales[-1].after(value, ranged, hour))
    return scales
