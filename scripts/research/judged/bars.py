"""Scores of every forecaster at every origin: one bar exact, 5 and 20 bars by paths.

`pair` is the table as shipped on codec 2's scale. `codec` is filtered historical simulation on the
same scale: before each quarter the row is the smoothed histogram of the series' own standardised
returns since `FROM_US`, nothing pooled over series. `gjr`, `garch` and `ewma` are the laws of the
same fits. `hourly-garch` is GARCH-t on returns divided by their hour of week.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from scipy.stats import t as student_t

from inference.codec import vocabulary as words
from inference.codec.bins import FIRST_MOMENTS, SECOND_MOMENTS
from inference.scale.fitting import fit_law
from inference.scale.law import VarianceLaw, conditional_variances
from inference.scale.schedule import FIT_MAX
from inference.training.evaluation.score import EDGES, fair_crps, row_cdf, row_crps
from inference.training.series import Floats, Ints
from scripts.research.scaled.choice import HORIZONS, PATHS, STRIDE, table_paths
from scripts.research.scaled.history import ScaledSeries
from scripts.research.scaled.rivals import ewma_of, law_paths, law_scores, student
from scripts.research.scaled.table import FLOOR, kernel, states_of
from scripts.research.scores import gaussian_crps

TAIL: Final = 0.025
_SMOOTH_BINS: Final = 2.5
_TAIL_POINTS: Final = 64
_HOUR_WEIGHT: Final = 10.0
"""Returns that the plain level counts as when an hour of the week is estimated."""
_NEW_YORK: Final = ZoneInfo("America/New_York")
_WEEK_HOURS: Final = 168
LEAST_OWN: Final = 100
"""Own standardised returns before a quarter without which its origins are left out."""
_WARM: Final = 299


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBar:
    """Arrays [n] of one forecaster's first bar; tails are log returns, both negative."""

    crps: Floats
    variance: Floats
    var: Floats
    shortfall: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """Different rows [k, 256] of a binned forecaster and which one [n] holds at each origin."""

    table: Floats
    which: Ints


def shipped_rows(table: Floats, series: ScaledSeries, where: Ints) -> RowChoice:
    """Return the pair's rows at these origins."""
    states, which = np.unique(states_of(series, where), return_inverse=True)
    held = np.asarray(table[states], dtype=np.float64)
    return RowChoice(table=held / held.sum(axis=1, keepdims=True), which=which)


def ready(series: ScaledSeries, where: Ints) -> Ints:
    """Return the origins at which codec-alone has enough residuals; all rivals use these."""
    owners, begins = np.unique(series.fit_of[series.first :], return_index=True)
    past = dict(zip(owners.tolist(), begins.tolist(), strict=True))
    enough = [past[int(owner)] - 1 >= LEAST_OWN for owner in series.fit_of[where]]
    return where[np.asarray(enough, dtype=bool)]


def own_rows(series: ScaledSeries, where: Ints) -> RowChoice:
    """Return codec-alone's rows: one for each quarter, from the series' own past."""
    owners, which = np.unique(series.fit_of[where], return_inverse=True)
    smooth = kernel(_SMOOTH_BINS)
    rows = []
    for owner in owners:
        begin = int(np.flatnonzero(series.fit_of[series.first :] == owner)[0]) + series.first
        past = series.bins[series.first + 1 : begin]
        row = np.maximum(np.bincount(past, minlength=words.N_BINS) @ smooth / len(past), FLOOR)
        rows.append(row / row.sum())
    return RowChoice(table=np.asarray(rows), which=which)


def binned_bar(series: ScaledSeries, where: Ints, rows: RowChoice) -> FirstBar:
    """Return the first bar of a binned forecaster, exact for its bins."""
    sigma, held = series.sigmas[where], rows.table[rows.which]
    mean = rows.table @ np.asarray(FIRST_MOMENTS)
    spread = rows.table @ np.asarray(SECOND_MOMENTS) - mean * mean
    tails = np.asarray([row_tail(row) for row in rows.table])[rows.which]
    return FirstBar(
        crps=row_crps(held, series.returns[where] / sigma) * sigma,
        variance=spread[rows.which] * sigma * sigma,
        var=tails[:, 0] * sigma,
        shortfall=tails[:, 1] * sigma,
    )


def ranks(series: ScaledSeries, where: Ints, rows: RowChoice) -> Floats:
    """Return the probability integral transform of each return."""
    return row_cdf(rows.table[rows.which], series.returns[where] / series.sigmas[where])


def row_tail(row: Floats) -> tuple[float, float]:
    """Return the 2.5 % quantile of a row and the mean below it, in sigma."""
    steps = np.concatenate(([0.0], np.cumsum(row)))
    inside = (np.arange(_TAIL_POINTS) + 0.5) / _TAIL_POINTS * TAIL
    return float(np.interp(TAIL, steps, EDGES)), float(np.interp(inside, steps, EDGES).mean())


def law_bar(series: ScaledSeries, where: Ints, *, leverage: bool) -> FirstBar:
    """Return the first bar of GARCH-t or GJR-t."""
    variance = (series.gjr if leverage else series.garch)[where]
    var, shortfall = np.empty(len(where)), np.empty(len(where))
    for owner in np.unique(series.fit_of[where]):
        mine = series.fit_of[where] == owner
        fit = series.fits[int(owner)]
        law = fit.gjr if leverage else fit.garch
        low, mean = _student_tail(law.nu)
        sigma = np.sqrt(variance[mine])
        var[mine], shortfall[mine] = law.mean + low * sigma, law.mean + mean * sigma
    crps = law_scores(series, where, leverage=leverage)[0]
    return FirstBar(crps=crps, variance=variance, var=var, shortfall=shortfall)


def _student_tail(nu: float) -> tuple[float, float]:
    """Return quantile and mean below it of a Student-t of unit variance (McNeil et al. 2005)."""
    width = math.sqrt((nu - 2.0) / nu)
    low = float(student_t.ppf(TAIL, nu))
    mean = -float(student_t.pdf(low, nu)) / TAIL * (nu + low * low) / (nu - 1.0)
    return low * width, mean * width


def ewma_crps(series: ScaledSeries, where: Ints) -> Floats:
    """Return the CRPS of a centred Gaussian with EWMA(0.94) variance."""
    return gaussian_crps(series.returns[where], np.sqrt(ewma_of(series)[where]))


def hour_crps(series: ScaledSeries, where: Ints) -> Floats:
    """Return the CRPS of GARCH-t on returns divided by the size of their hour of the week.

    Sizes and law are estimated at each quarter on earlier returns; where the estimation does not
    end, the quarter's raw GARCH-t stands in.
    """
    hours = _hours(series.closes_us[1:])
    scores = law_scores(series, where, leverage=False)[0]
    for owner in np.unique(series.fit_of[where]):
        mine = np.flatnonzero(series.fit_of[where] == owner)
        begin, stop = int(where[mine[0]]), int(where[mine[-1]]) + 1
        sizes = hour_sizes(hours[:begin], series.returns[:begin])
        flat = series.returns[:stop] / sizes[hours[:stop]]
        law = fit_law(flat[max(0, begin - FIT_MAX) : begin].tolist(), leverage=False)
        if law is None:
            continue
        scores[mine] = _flat_crps(law, flat, where[mine]) * sizes[hours[where[mine]]]
    return scores


def _flat_crps(law: VarianceLaw, flat: Floats, where: Ints) -> Floats:
    warm = max(0, int(where[0]) - _WARM)
    past = flat[warm : int(where[-1])].tolist()
    first = float(np.mean(flat[warm : int(where[0])] ** 2))
    sigma = np.sqrt(np.asarray(conditional_variances(law, past, first))[where - warm])
    z = (flat[where] - law.mean) / sigma
    return np.asarray(student(round(law.nu, 1)).crps(z) * sigma)


def hour_sizes(hours: Ints, returns: Floats) -> Floats:
    """Return the mean absolute return of each hour of the week [168] over that of all."""
    level = float(np.abs(returns).mean())
    total = np.bincount(hours, weights=np.abs(returns), minlength=_WEEK_HOURS)
    count = np.bincount(hours, minlength=_WEEK_HOURS)
    return np.asarray((total / level + _HOUR_WEIGHT) / (count + _HOUR_WEIGHT))


def _hours(closes_us: Ints) -> Ints:
    """Return the hour of the week, New York time, of each close."""
    local = [
        datetime.fromtimestamp(int(at) // 1_000_000, UTC).astimezone(_NEW_YORK) for at in closes_us
    ]
    return np.asarray([24 * at.weekday() + at.hour for at in local])


PathsOf = Callable[[ScaledSeries, Ints, np.random.Generator], Floats]
"""Paths [n, PATHS, 20] from origins of one fit."""


def path_makers(table: Floats) -> dict[str, PathsOf]:
    """Return how pair, codec and gjr draw paths."""
    steps = max(HORIZONS)

    def codec(series: ScaledSeries, where: Ints, rng: np.random.Generator) -> Floats:
        row = own_rows(series, where).table[0]
        return table_paths(series, where, np.tile(row, (len(table), 1)), steps, rng)

    def gjr(series: ScaledSeries, where: Ints, rng: np.random.Generator) -> Floats:
        law = series.fits[int(series.fit_of[where[0]])].gjr
        return law_paths(law, series.gjr[where], steps, PATHS, rng)

    return {
        "pair": lambda series, where, rng: table_paths(series, where, table, steps, rng),
        "codec": codec,
        "gjr": gjr,
    }


def sampled_crps(
    series: ScaledSeries, where: Ints, makers: dict[str, PathsOf], seed: int
) -> tuple[Ints, dict[str, dict[int, Floats]]]:
    """Return every fifth origin with 20 bars after it, and fair CRPS by forecaster and horizon."""
    part = where[::STRIDE]
    part = part[part + max(HORIZONS) <= len(series.returns)]
    truth = {h: np.asarray([series.returns[i : i + h].sum() for i in part]) for h in HORIZONS}
    found: dict[str, dict[int, Floats]] = {}
    for number, (name, make) in enumerate(makers.items()):
        rng = np.random.default_rng((seed, number))
        ends = {h: np.empty((len(part), PATHS)) for h in HORIZONS}
        for owner in np.unique(series.fit_of[part]):
            mine = np.flatnonzero(series.fit_of[part] == owner)
            sums = make(series, part[mine], rng).cumsum(axis=-1)
            for horizon, kept in ends.items():
                kept[mine] = sums[:, :, horizon - 1]
        found[name] = {h: fair_crps(kept, truth[h]) for h, kept in ends.items()}
    variance = ewma_of(series)[part]
    found["ewma"] = {h: gaussian_crps(truth[h], np.sqrt(variance * h)) for h in HORIZONS}
    return part, found
