"""The only door to `arch`: maximum likelihood of GARCH-t and GJR-t, least squares of the range.

Start values are fixed and the mean is constant, so the same bars give the same parameters in every
process of one machine; other processors may differ in the last digits, so parameters are recorded.

Not here: the recursions (`law.py`), when to fit (`schedule.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import arch
import numpy as np

from inference.errors import ScaleError
from inference.scale.fitted import ScaleFit, data_digest, default_fit
from inference.scale.law import VarianceLaw
from inference.scale.moving import scales_of
from inference.scale.ranges import FLOOR_SHARE, MONTH, STILL, WEEK, RangeLaw
from inference.scale.schedule import BURN_IN, FIT_MIN, fit_part
from inference.scale.season import Season, fit_season, flattened, spread_of

FITTER: Final = f"arch {arch.__version__}"
_PERCENT: Final = 100.0
"""`arch` works on percent: the optimiser wants values near one."""
_STARTS: Final = ((0.05, 0.05, 0.90, 8.0), (0.10, 0.02, 0.80, 4.5), (0.02, 0.01, 0.96, 3.2))
"""alpha, gamma, beta and nu from which the optimiser starts; the next where one ends badly.

Heavy tails with rare jumps stop it from the first: one stock had no fit on most of its days."""
_ITERATIONS: Final = 500
_RANGED_SHARE: Final = 0.8
_TRIM: Final = 0.999
"""Quantile above which a squared return counts as that quantile in the spread."""


def fit_law(log_returns: Sequence[float], *, leverage: bool) -> VarianceLaw | None:
    """Return GJR-t (with leverage) or GARCH-t, or None when the estimation did not end well."""
    percent = _PERCENT * np.asarray(log_returns, dtype=np.float64)
    if len(percent) < FIT_MIN:
        return None
    spread = float(np.var(percent))
    if not math.isfinite(spread) or spread <= 0.0:
        return None
    model = arch.arch_model(
        percent, mean="Constant", vol="GARCH", p=1, o=int(leverage), q=1, dist="t", rescale=False
    )
    for alpha, gamma, beta, nu in _STARTS:
        middle = [gamma] if leverage else []
        rest = 1.0 - alpha - 0.5 * sum(middle) - beta
        start = [float(np.mean(percent)), rest * spread, alpha, *middle, beta, nu]
        found = model.fit(
            disp="off",
            show_warning=False,
            starting_values=np.asarray(start),
            options={"maxiter": _ITERATIONS},
        )
        law = _law_of([float(v) for v in found.params]) if found.convergence_flag == 0 else None
        if law is not None:
            return law
    return None


def _law_of(params: Sequence[float]) -> VarianceLaw | None:
    """Return the law of an estimate on percent, or None when it has no variance."""
    mean, omega, alpha, *middle, beta, nu = params
    alpha = max(alpha, 0.0)  # the optimiser keeps its bounds only up to its tolerance
    try:
        return VarianceLaw(
            mean=mean / _PERCENT,
            omega=max(omega, 0.0) / _PERCENT**2,
            alpha=alpha,
            gamma=max(sum(middle), -alpha),
            beta=max(beta, 0.0),
            nu=nu,
        )
    except ScaleError:
        return None


def fit_ranges(
    fit: ScaleFit, log_returns: Sequence[float], found: Sequence[float | None]
) -> RangeLaw | None:
    """Return the log-HAR of a series, by least squares, or None when few bars have a range."""
    seen = [i for i, ranged in enumerate(found) if ranged is not None]
    if len(log_returns) < FIT_MIN or len(seen) < _RANGED_SHARE * len(log_returns):
        return None
    scales = scales_of(replace(fit, ranges=None), log_returns, found)[:-1]
    returns = np.asarray(log_returns[BURN_IN:])
    joined = np.asarray([scale.sigma**2 for scale in scales])
    if not returns[MONTH:].any():  # a price that never moved
        return None
    raw = [r if r is not None else v * v for r, v in zip(found, log_returns, strict=True)]
    logs = np.log(np.maximum(np.asarray(raw[BURN_IN:]), FLOOR_SHARE * joined))
    falls = np.minimum(returns, 0.0) / np.sqrt(joined)
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    rows = np.arange(MONTH, len(logs))
    means = [(sums[rows] - sums[rows - k]) / k for k in (1, WEEK, MONTH)]
    design = np.column_stack([np.ones(len(rows)), *means, falls[rows - 1]])
    weights = np.linalg.lstsq(design, logs[rows], rcond=None)[0]
    expected = design @ weights
    squares = returns[rows] ** 2 / np.exp(expected)
    spread = math.log(float(np.mean(np.minimum(squares, np.quantile(squares, _TRIM)))))
    moves = np.log(STILL + squares / math.exp(spread))
    answer = np.column_stack([np.ones(len(rows)), moves])
    still, moved = np.linalg.lstsq(answer, logs[rows] - expected, rcond=None)[0]
    level, day, week, month, fall = (float(v) for v in weights)
    try:
        return RangeLaw(
            level=level,
            day=day,
            week=week,
            month=month,
            fall=fall,
            spread=spread,
            still=float(still),
            moved=float(moved),
        )
    except ScaleError:
        return None


def fit_scale(
    log_returns: Sequence[float],
    found: Sequence[float | None],
    *,
    fitted_us: int,
    digest: str,
) -> ScaleFit:
    """Return the laws of a series as of the close `fitted_us` of its last return.

    The default laws are returned when GARCH or GJR cannot be estimated from any start; the law of
    ranges is fitted all the same, on their scale.

    Raises:
        ScaleError: without returns.
    """
    garch = fit_law(log_returns, leverage=False)
    gjr = fit_law(log_returns, leverage=True)
    fit = default_fit(log_returns, fitted_us=fitted_us, digest=digest)
    if garch is not None and gjr is not None:
        fit = replace(fit, fitter=FITTER, garch=garch, gjr=gjr)
    return replace(fit, ranges=fit_ranges(fit, log_returns, found))


def with_season(
    fit: ScaleFit, season: Season, flat: Sequence[float], found: Sequence[float | None]
) -> ScaleFit:
    """Return a fit of returns without the sizes of their hours with its season and spread."""
    scales = scales_of(fit, flat, found)[:-1]
    pairs = zip(flat[BURN_IN:], scales, strict=True)
    spread = spread_of([value / scale.sigma for value, scale in pairs])
    return replace(fit, season=replace(season, spread_1e4=spread))


class Fits:
    """Fits by digest of their data: the same bars are estimated once. Not thread-safe."""

    def __init__(self) -> None:
        self._fits: dict[tuple[str, bool], ScaleFit] = {}

    def before(
        self,
        closes_us: Sequence[int],
        log_returns: Sequence[float],
        found: Sequence[float | None],
        last: int,
        *,
        seasonal: bool = False,
    ) -> ScaleFit:
        """Return the fit in force after bar `last`; n bars have n - 1 returns and ranges.

        `seasonal` is for bars shorter than a day: their hours of the week have sizes, where there
        are enough returns (`season.py`).

        Raises:
            ScaleError: as in `fit_part`.
        """
        part = fit_part(closes_us, last)
        closes, returns = closes_us[part.start + 1 : part.stop + 1], log_returns[part]
        digest = data_digest(closes, returns, found[part])
        season = fit_season(closes, returns) if seasonal else None
        known = self._fits.get((digest, season is not None))
        if known is None:
            flat, ranged = list(returns), list(found[part])
            if season is not None:
                flat, ranged = flattened(season, closes, returns, ranged)
            made = fit_scale(flat, ranged, fitted_us=closes[-1], digest=digest)
            known = made if season is None else with_season(made, season, flat, ranged)
            self.keep(known)
        return known

    def keep(self, fit: ScaleFit) -> None:
        """Take a fit that was just made."""
        self._fits[fit.data_digest, fit.season is not None] = fit
