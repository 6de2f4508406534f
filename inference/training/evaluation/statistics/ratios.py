"""Pooled ratios and differences with intervals: months are drawn jointly over all series.

A month is drawn for every series at once, because series move together; and months are drawn in
runs, because forecasts of 5 and 20 bars overlap. The pooled ratio is the geometric mean over series
of the ratio of mean scores; the pooled difference is the mean over series of mean differences.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from inference.training.series import Floats, Ints

RUN_MONTHS: Final = {1: 1, 5: 2, 20: 3}
"""Months in one drawn run, by horizon in bars: longer than the overlap."""
DRAWS: Final = 1000
_FEWEST_RUNS: Final = 4
_TAIL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePair:
    """Two forecasters' scores of one series at the same origins."""

    months: Ints
    own: Floats
    rival: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimate:
    """A figure with its 90 % interval; the ends are None where there are too few months."""

    value: float
    low: float | None
    high: float | None


def pooled(
    parts: Mapping[str, ScorePair], horizon: int, seed: int, *, ratio: bool
) -> RatioEstimate:
    """Return the pooled ratio, or difference, of own to rival with its interval."""
    grids, months = _grids(parts)
    value = float(_figures(grids, np.ones((1, months)), ratio=ratio)[0])
    run = RUN_MONTHS[horizon]
    if months < _FEWEST_RUNS * run:
        return RatioEstimate(value=value, low=None, high=None)
    drawn = _figures(grids, month_weights(months, run, seed), ratio=ratio)
    low, high = np.nanquantile(drawn, tails(months // run))
    return RatioEstimate(value=value, low=float(low), high=float(high))


def tails(drawn: int) -> tuple[float, float]:
    """Return which quantiles of the bootstrap make a 90 % interval from so many drawn units.

    Plain ones are too narrow where units are few: means vary more than their bootstrap does, by
    n / (n - 1), and their errors have Student's tails, not a Gaussian's.

    Source: Hesterberg (2015), The American Statistician 69(4), expanded percentile interval.
    """
    low = float(ndtr(math.sqrt(drawn / (drawn - 1.0)) * stdtrit(drawn - 1.0, _TAIL)))
    return low, 1.0 - low


def month_weights(months: int, run: int, seed: int) -> Floats:
    """Return how often each month was drawn [draws, months], in circular runs of `run` months."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(months, size=(DRAWS, -(-months // run)))
    places = (starts[:, :, None] + np.arange(run)).reshape(DRAWS, -1)[:, :months] % months
    weights = np.zeros((DRAWS, months))
    np.add.at(weights, (np.arange(DRAWS)[:, None], places), 1.0)
    return weights


def _grids(parts: Mapping[str, ScorePair]) -> tuple[NDArray[np.float64], int]:
    first = min(int(part.months.min()) for part in parts.values())
    last = max(int(part.months.max()) for part in parts.values())
    grids = np.zeros((3, len(parts), last - first + 1))
    for row, name in enumerate(sorted(parts)):
        part = parts[name]
        sides = (part.own, part.rival, np.ones(len(part.months)))
        for side, values in enumerate(sides):
            np.add.at(grids[side, row], part.months - first, values)
    return grids, last - first + 1


def _figures(grids: Floats, weights: Floats, *, ratio: bool) -> Floats:
    own, rival, count = (weights @ grid.T for grid in grids)
    with np.errstate(divide="ignore", invalid="ignore"):
        if ratio:
            return np.asarray(np.exp(np.nanmean(np.log(own / rival), axis=1)))
        return np.asarray(np.nanmean((own - rival) / count, axis=1))
