"""The moving scale of many paths at once, in numpy; a test holds it equal to `MovingScale`."""

import numpy as np

from inference.scale.law import VarianceLaw
from inference.scale.moving import RANGE_WEIGHT, VARIANCE_FLOOR, WINSOR_SIGMAS
from inference.scale.ranges import LARGEST_SURPRISE, MONTH, STILL, WEEK
from inference.scale.season import WEEK_HOURS
from inference.training.series import Floats, Ints
from scripts.research.scaled.history import ScaledSeries


class ScaleCloud:
    """States of paths [n, paths] from origins with one fit; arrays are replaced at each move."""

    def __init__(self, series: ScaledSeries, where: Ints, paths: int) -> None:
        self.fit = series.fits[int(series.fit_of[where[0]])]
        self.garch, self.gjr, self.fall = (
            np.repeat(column[where][:, None], paths, axis=1)
            for column in (series.garch, series.gjr, series.falls)
        )
        self.ranges = np.repeat(series.ranges[where][:, None, :], paths, axis=1)
        self._hours = series.hours[where][:, None]
        """[n, 1]: hour of the week of the last bar; all paths of an origin have the same."""
        season, week = self.fit.season, range(WEEK_HOURS)
        self._next = np.asarray([hour if season is None else season.next(hour) for hour in week])
        self._sizes = np.asarray([1.0 if season is None else season.size(hour) for hour in week])
        self._spreads = np.asarray([1.0 if season is None else season.spread(h) for h in week])

    def expected(self) -> Floats:
        """Return the next bar's expected log range variance; the fit must have a range law."""
        law = self.fit.ranges
        if law is None:
            raise ValueError("this fit has no range law")
        found = law.level + law.day * self.ranges[..., -1] + law.fall * self.fall
        found += law.week * self.ranges[..., -WEEK:].mean(axis=-1)
        found += law.month * self.ranges[..., -MONTH:].mean(axis=-1)
        return np.asarray(found)

    def sigma(self) -> Floats:
        """Return the volatility of the next bar."""
        return np.asarray(self._flat_sigma() * self._spreads[self._next[self._hours]])

    def _flat_sigma(self) -> Floats:
        joined = 0.5 * np.log(self.garch * self.gjr)
        if self.fit.ranges is None:
            return np.asarray(np.exp(0.5 * joined))
        ranged = self.expected() + self.fit.ranges.spread
        return np.asarray(np.exp(0.5 * ((1.0 - RANGE_WEIGHT) * joined + RANGE_WEIGHT * ranged)))

    def move(self, held: Floats) -> None:
        """Advance by returns; each counts as at most 8 sigma."""
        self._hours = self._next[self._hours]
        limit = WINSOR_SIGMAS * self._flat_sigma()
        held = np.clip(held / self._sizes[self._hours], -limit, limit)
        law = self.fit.ranges
        if law is not None:
            expected = self.expected()
            squares = held * held / np.exp(expected + law.spread)
            surprise = np.minimum(law.still + law.moved * np.log(STILL + squares), LARGEST_SURPRISE)
            newest = (expected + surprise)[..., None]
            self.ranges = np.concatenate((self.ranges[..., 1:], newest), axis=-1)
            self.fall = np.minimum(held, 0.0) / (self.garch * self.gjr) ** 0.25
        self.garch = _after(self.fit.garch, self.garch, held)
        self.gjr = _after(self.fit.gjr, self.gjr, held)


def _after(law: VarianceLaw, variance: Floats, held: Floats) -> Floats:
    error = held - law.mean
    slope = np.where(error < 0.0, law.alpha + law.gamma, law.alpha)
    moved = law.omega + slope * error * error + law.beta * variance
    return np.asarray(np.maximum(moved, VARIANCE_FLOOR))
