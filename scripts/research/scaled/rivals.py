"""GARCH-t, GJR-t and EWMA at the same origins and from the same fits.

The laws of the two are those of the scale (`ScaleFit`), with their own mean and Student-t errors.

Source: CRPS as the integral of (F - 1{x >= y})^2, Gneiting and Raftery (2007), J. Am. Stat.
Assoc. 102.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np

from inference.scale.law import VarianceLaw
from inference.training.series import Floats, Ints
from scripts.research.scaled.history import ScaledSeries

_REACH: Final = 80.0
_POINTS: Final = 40_001
EWMA_DECAY: Final = 0.94
_GRID: Final = np.sinh(np.linspace(-math.asinh(_REACH), math.asinh(_REACH), _POINTS))
"""Standardised values, dense at the centre."""


class StudentScores:
    """CRPS and log density of a Student-t with unit variance, from integrals on a grid."""

    def __init__(self, nu: float) -> None:
        self._nu = nu
        self._width = math.sqrt((nu - 2.0) / nu)
        steps = np.diff(_GRID)
        density = np.exp(self.log_density(_GRID))
        rank = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * steps)))
        rank /= rank[-1]
        below, above = rank * rank, (1.0 - rank) ** 2
        left = np.concatenate(([0.0], np.cumsum(0.5 * (below[1:] + below[:-1]) * steps)))
        right = np.concatenate(([0.0], np.cumsum(0.5 * (above[1:] + above[:-1]) * steps)))
        self._crps = left + right[-1] - right

    def crps(self, z: Floats) -> Floats:
        """Return the CRPS at standardised values, in units of sigma."""
        inside = np.clip(z, -_REACH, _REACH)
        return np.asarray(np.interp(inside, _GRID, self._crps) + np.abs(z - inside))

    def log_density(self, z: Floats) -> Floats:
        """Return the log density at standardised values."""
        nu = self._nu
        level = math.lgamma((nu + 1.0) / 2.0) - math.lgamma(nu / 2.0)
        level -= 0.5 * math.log(nu * math.pi) + math.log(self._width)
        return np.asarray(level - (nu + 1.0) / 2.0 * np.log1p((z / self._width) ** 2 / nu))


@lru_cache(maxsize=64)
def student(nu: float) -> StudentScores:
    """Return the scores of a Student-t; very light tails count as 200 degrees of freedom."""
    return StudentScores(min(max(nu, 2.05), 200.0))


def law_scores(
    series: ScaledSeries, where: Ints, *, leverage: bool
) -> tuple[Floats, Floats, Floats]:
    """Return CRPS, log score (nats, lower is better) and QLIKE of GARCH-t or GJR-t."""
    crps, log_score, loss = (np.empty(len(where)) for _ in range(3))
    variances = (series.gjr if leverage else series.garch)[where]
    owners = series.fit_of[where]
    for owner in np.unique(owners):
        fit = series.fits[int(owner)]
        law = fit.gjr if leverage else fit.garch
        mine = owners == owner
        sigma = np.sqrt(variances[mine])
        z = (series.returns[where[mine]] - law.mean) / sigma
        scores = student(round(law.nu, 1))
        crps[mine] = scores.crps(z) * sigma
        log_score[mine] = np.log(sigma) - scores.log_density(z)
        loss[mine] = qlike(variances[mine], series.returns[where[mine]])
    return crps, log_score, loss


def qlike(variances: Floats, returns: Floats) -> Floats:
    """Return log h + r^2 / h: the loss of a variance forecast; the proxy is the squared return."""
    return np.asarray(np.log(variances) + returns * returns / variances)


def ewma_of(series: ScaledSeries) -> Floats:
    """Return the EWMA(0.94) variance before each return."""
    variances = np.empty(len(series.returns))
    variance = float(np.mean(series.returns[:32] ** 2))
    for index, value in enumerate(series.returns):
        variances[index] = max(variance, 1e-12)
        variance = EWMA_DECAY * variance + (1.0 - EWMA_DECAY) * float(value) ** 2
    return variances


def law_paths(
    law: VarianceLaw, variances: Floats, steps: int, paths: int, rng: np.random.Generator
) -> Floats:
    """Return simulated log returns [n, paths, steps] from variances [n] at the origins."""
    shape = (len(variances), paths)
    variance = np.repeat(variances[:, None], paths, axis=1)
    width = math.sqrt((law.nu - 2.0) / law.nu)
    drawn = np.empty((*shape, steps))
    for step in range(steps):
        error = np.sqrt(variance) * rng.standard_t(law.nu, shape) * width
        drawn[:, :, step] = law.mean + error
        slope = np.where(error < 0.0, law.alpha + law.gamma, law.alpha)
        variance = law.omega + slope * error * error + law.beta * variance
    return drawn
