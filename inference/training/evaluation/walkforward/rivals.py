"""The baselines, each a function of the bars before an origin: nothing later is reachable.

    ewma        Gaussian on EWMA(0.94), closed form at every horizon
    fhs         filtered historical simulation: the series' own residuals on codec 1's scale
    har         log HAR on ranges (1, 5, 22 bars), residuals as drawn; only series with ranges
    garch-t     GARCH(1,1) with Student-t errors
    gjr-t       the same with leverage
    garch-hour  GARCH-t on returns over the size of their hour of the week; hourly series only

Parameters are fitted again at each calendar quarter on at most 2000 returns that closed before it
(`inference.scale.schedule`). A fit uses one-bar returns only, so no target of a horizon reaches
over an origin and nothing has to be purged.

Source: Corsi (2009), J. Financ. Econom. 7(2); Barone-Adesi et al. (1999).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr, stdtr

from inference.scale.ewma import BURN_IN, first_scale
from inference.scale.fitting import fit_law
from inference.scale.law import VarianceLaw, conditional_variances
from inference.scale.schedule import fit_window
from inference.scale.season import Season, fit_season, flattened
from inference.snapshot import Frequency
from inference.training.evaluation.statistics.laws import BinnedLaw, from_cdf, from_residuals
from inference.training.evaluation.walkforward.series import History
from inference.training.series import Floats

PATHS: Final = 500
EWMA: Final = 0.94
LOOK_BACK: Final = 2200
"""Returns before an origin that a baseline sees: a quarter more than a fit uses."""
RESIDUALS: Final = 1000
_LAGS: Final = (1, 5, 22)
_FLOOR: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A one-bar law, and sampled cumulative returns by horizon.

    `fallback` is whether its scale had the default laws, because the series had no fit.
    """

    law: BinnedLaw
    ends: dict[int, Floats]
    fallback: bool = False


Rival = Callable[[History, tuple[int, ...], np.random.Generator], Predicted | None]
"""Past, horizons beyond one (may be empty), generator to forecast; None where it has none."""


def ewma(past: History, horizons: tuple[int, ...], rng: np.random.Generator) -> Predicted:
    """Return a Gaussian with EWMA(0.94) variance."""
    sigma = float(np.sqrt(max(_ewma_variance(past.returns), _FLOOR)))
    law = from_cdf(lambda values: np.asarray(ndtr(values / sigma)), sigma)
    return Predicted(
        law=law, ends={h: rng.standard_normal(PATHS) * sigma * np.sqrt(h) for h in horizons}
    )


def fhs(past: History, horizons: tuple[int, ...], rng: np.random.Generator) -> Predicted:
    """Return the series' scaled residuals on codec 1's scale, which runs on along the paths."""
    scale = first_scale([float(v) for v in past.returns[:BURN_IN]])
    scaled = []
    for value in past.returns[BURN_IN:]:
        scaled.append(float(value) / scale.sigma)
        scale = scale.after(float(value))
    residuals = np.asarray(scaled[-RESIDUALS:])
    law = from_residuals(residuals, scale.sigma)
    fast, slow = np.full(PATHS, scale.fast), np.full(PATHS, scale.slow)

    def step(_bar: int) -> Floats:
        nonlocal fast, slow
        sigma = np.sqrt(0.75 * fast + 0.25 * slow)
        value = rng.choice(residuals, PATHS) * sigma
        square = np.minimum(np.abs(value), 8.0 * sigma) ** 2
        fast, slow = EWMA * fast + (1.0 - EWMA) * square, 0.99 * slow + 0.01 * square
        return np.asarray(value)

    return Predicted(law=law, ends=_ends(horizons, step))


class Garch:
    """GARCH-t or GJR-t; keeps the fit of the last quarter that it saw.

    `by_hour`: on returns over the size of their hour of the week; the next bar ends in the series'
    next usual hour, as for the codec's own scale.
    """

    def __init__(self, *, leverage: bool, by_hour: bool = False) -> None:
        self._leverage = leverage
        self._by_hour = by_hour
        self._fits: dict[tuple[str, int, int], _Fit | None] = {}

    def __call__(
        self, past: History, horizons: tuple[int, ...], rng: np.random.Generator
    ) -> Predicted | None:
        """Return the law; None by hour for daily bars, and where a fit is short or did not end."""
        if self._by_hour and past.frequency is not Frequency.HOURLY:
            return None
        closes, values = [int(v) for v in past.closes_us], [float(v) for v in past.returns]
        window = fit_window(closes, len(closes) - 1)
        key = (past.name, window.stop - window.start, closes[window.stop - 1])
        if key not in self._fits:
            part = slice(window.start, max(window.stop - 1, 0))
            self._fits = {key: self._fit(closes[1:][part], values[part])}
        found = self._fits[key]
        if found is None:
            return None
        flat = _flat(found.season, closes[1:], values)
        start = float(np.mean(np.square(flat)))
        variance = max(conditional_variances(found.law, flat, start)[-1], _FLOOR)
        sizes = _sizes_ahead(found.season, closes[-1], max(horizons, default=1))
        return _garch(found.law, variance, sizes, horizons, rng)

    def _fit(self, closes: list[int], returns: list[float]) -> "_Fit | None":
        season = fit_season(closes, returns) if self._by_hour else None
        if self._by_hour and season is None:
            return None
        law = fit_law(_flat(season, closes, returns), leverage=self._leverage)
        return None if law is None else _Fit(season, law)


class _Fit(NamedTuple):
    season: Season | None
    law: VarianceLaw


def _flat(season: Season | None, closes: list[int], returns: list[float]) -> list[float]:
    if season is None:
        return returns
    return flattened(season, closes, returns, [None] * len(returns))[0]


def _sizes_ahead(season: Season | None, close_us: int, bars: int) -> list[float]:
    """Return the size of the hour in which each coming bar is expected; 1 without a season."""
    if season is None:
        return [1.0] * bars
    hour, sizes = season.hour(close_us), []
    for _ in range(bars):
        hour = season.next(hour)
        sizes.append(season.size(hour))
    return sizes


def _garch(
    found: VarianceLaw,
    variance: float,
    sizes: list[float],
    horizons: tuple[int, ...],
    rng: np.random.Generator,
) -> Predicted:
    """Return what a law says from a variance on; `sizes` are those of the hours of coming bars."""
    sigma = float(np.sqrt(variance))
    unit = float(np.sqrt(found.nu / (found.nu - 2.0)))  # a Student-t over it has variance one

    def cdf(values: Floats) -> Floats:
        return np.asarray(stdtr(found.nu, (values / sizes[0] - found.mean) / sigma * unit))

    state = np.full(PATHS, variance)

    def step(bar: int) -> Floats:
        nonlocal state
        error = rng.standard_t(found.nu, PATHS) / unit * np.sqrt(state)
        slope = found.alpha + found.gamma * (error < 0.0)
        state = found.omega + slope * error**2 + found.beta * state
        return np.asarray((found.mean + error) * sizes[bar])

    return Predicted(law=from_cdf(cdf, sigma * sizes[0]), ends=_ends(horizons, step))


def har(past: History, horizons: tuple[int, ...], rng: np.random.Generator) -> Predicted | None:
    """Return the log-HAR scale of ranges with its own residuals; None without ranges."""
    closes = [int(v) for v in past.closes_us]
    window = fit_window(closes, len(closes) - 1)
    size = window.stop - window.start - 1
    if not past.has_range or size < 2 * 252:
        return None
    floor = 1e-3 * float(np.mean(past.returns**2)) + _FLOOR
    logs = np.log(np.maximum(past.proxy, floor))
    fit = slice(window.start, window.stop - 1)
    design, target = _har_design(logs[fit])
    weights = np.linalg.lstsq(design, target, rcond=None)[0]
    fitted = design @ weights
    returns = past.returns[fit][-len(fitted) :]
    gain = float(np.mean(returns**2) / np.mean(np.exp(fitted)))
    residuals = (returns / np.sqrt(gain * np.exp(fitted)))[-RESIDUALS:]
    ahead = list(logs[-_LAGS[-1] :])
    sigmas = []
    for _ in range(max(horizons, default=1)):
        level = float(_har_row(np.asarray(ahead)) @ weights)
        sigmas.append(float(np.sqrt(gain * np.exp(level))))
        ahead.append(level)

    def step(bar: int) -> Floats:
        return np.asarray(rng.choice(residuals, PATHS) * sigmas[bar])

    return Predicted(law=from_residuals(residuals, sigmas[0]), ends=_ends(horizons, step))


def rivals() -> dict[str, Rival]:
    """Return the baselines by name; those with fits are new."""
    return {
        "ewma": ewma,
        "fhs": fhs,
        "har-range": har,
        "garch-t": Garch(leverage=False),
        "gjr-t": Garch(leverage=True),
        "garch-hour": Garch(leverage=False, by_hour=True),
    }


def _ewma_variance(returns: Floats) -> float:
    squares = returns[-LOOK_BACK:] ** 2
    weights = EWMA ** np.arange(len(squares))[::-1]
    return float(squares @ weights / weights.sum())


def _ends(horizons: tuple[int, ...], step: Callable[[int], Floats]) -> dict[int, Floats]:
    total, found = np.zeros(PATHS), {}
    for bar in range(max(horizons, default=0)):
        total = total + step(bar)
        if bar + 1 in horizons:
            found[bar + 1] = total
    return found


def _har_row(logs: Floats) -> Floats:
    return np.asarray([1.0, *(float(logs[-lag:].mean()) for lag in _LAGS)])


def _har_design(logs: Floats) -> tuple[Floats, Floats]:
    """Return rows [n, 4] of the bar before, and the targets [n]."""
    longest = _LAGS[-1]
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    ends = np.arange(longest, len(logs))
    columns = [np.ones(len(ends)), *((sums[ends] - sums[ends - lag]) / lag for lag in _LAGS)]
    return np.stack(columns, axis=1), logs[longest:]
