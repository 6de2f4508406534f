"""A one-bar law in 256 bins, and a law as a sample: proper scores, ranks and tails.

Every forecaster is put into the same bins (0.025 sigma at the centre), so that no one gains from
the form of its law. Returns are log returns; `sigma` only sets the width of the bins.

Source: Gneiting and Raftery (2007), JASA 102; fair CRPS: Ferro (2014), QJRMS 140.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from inference.training.evaluation.score import EDGES, fair_crps, row_cdf, row_crps
from inference.training.series import Floats

FLOOR: Final = 1e-9
"""Least mass of a bin before the law is scaled to one: keeps a log score finite."""
_TAIL_POINTS: Final = 64
_LEAST_BANDWIDTH: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedLaw:
    """Mass [256] of the return over sigma in the codec's bins; sums to one."""

    mass: Floats
    sigma: float

    def crps(self, value: float) -> float:
        """Return the CRPS at a log return, exact for the binned law."""
        return float(row_crps(self.mass[None], np.asarray([value / self.sigma]))[0]) * self.sigma

    def log_score(self, value: float) -> float:
        """Return minus the log density of a log return; lower is better."""
        place = int(np.searchsorted(EDGES, value / self.sigma, side="right")) - 1
        place = min(max(place, 0), len(self.mass) - 1)
        width = (EDGES[place + 1] - EDGES[place]) * self.sigma
        return -float(np.log(self.mass[place] / width))

    def rank(self, value: float) -> float:
        """Return the probability integral transform of a log return."""
        return float(row_cdf(self.mass[None], np.asarray([value / self.sigma]))[0])

    def quantiles(self, levels: Floats) -> Floats:
        """Return the log returns at these probabilities."""
        steps = np.concatenate(([0.0], np.cumsum(self.mass)))
        return np.asarray(np.interp(levels, steps / steps[-1], EDGES) * self.sigma)

    def tail(self, level: float) -> tuple[float, float]:
        """Return the quantile at a low level, and the mean below it (both negative)."""
        inside = (np.arange(_TAIL_POINTS) + 0.5) / _TAIL_POINTS * level
        return float(self.quantiles(np.asarray([level]))[0]), float(self.quantiles(inside).mean())

    @property
    def variance(self) -> float:
        """Variance of the log return: bins are uniform inside."""
        low, high = EDGES[:-1], EDGES[1:]
        mean = float(self.mass @ (low + high)) / 2.0
        square = float(self.mass @ (low * low + low * high + high * high)) / 3.0
        return (square - mean * mean) * self.sigma**2


def binned(mass: Floats, sigma: float) -> BinnedLaw:
    """Return a law from masses that need not sum to one."""
    held = np.maximum(np.asarray(mass, dtype=np.float64), FLOOR)
    return BinnedLaw(mass=held / held.sum(), sigma=sigma)


def from_cdf(cdf: Callable[[Floats], Floats], sigma: float) -> BinnedLaw:
    """Return the bins of a distribution function of the log return; the ends take the tails."""
    steps = cdf(EDGES[1:-1] * sigma)
    return binned(np.diff(np.concatenate(([0.0], steps, [1.0]))), sigma)


def from_residuals(residuals: Floats, sigma: float) -> BinnedLaw:
    """Return the Gaussian kernel density of scaled residuals, in bins."""
    width = bandwidth(residuals)

    def cdf(values: Floats) -> Floats:
        return np.asarray(ndtr((values[:, None] / sigma - residuals) / width).mean(axis=1))

    return from_cdf(cdf, sigma)


def bandwidth(sample: Floats) -> float:
    """Return Silverman's bandwidth of a sample (1986, equation 3.31)."""
    low, high = np.quantile(sample, (0.25, 0.75))
    spread = min(float(sample.std()), float(high - low) / 1.34)
    return max(0.9 * spread * float(len(sample)) ** -0.2, _LEAST_BANDWIDTH)


def sample_crps(ends: Floats, value: float) -> float:
    """Return the fair CRPS of a sample: unbiased for its size."""
    return float(fair_crps(ends[None], np.asarray([value]))[0])


def sample_log_score(ends: Floats, value: float) -> float:
    """Return minus the log of the sample's kernel density; compare equal sizes only."""
    width = bandwidth(ends)
    points = -0.5 * ((value - ends) / width) ** 2
    top = float(points.max())
    density = np.log(np.exp(points - top).mean()) + top
    return -float(density - np.log(width * np.sqrt(2.0 * np.pi)))


def sample_rank(ends: Floats, value: float) -> float:
    """Return the rank of a value in a sample, in (0, 1)."""
    return float((ends < value).sum() + 0.5) / (len(ends) + 1.0)
