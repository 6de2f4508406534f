"""Scores on 2014-2015 with intervals, and the release gate.

One bar is exact, from the rows. Five and twenty bars are sampled. Series are one per company.
Ratios are geometric means over series; 90 % intervals resample whole months of all series at once.

The gate: a candidate replaces the table only if it beats both the table and GJR on these years,
with its interval. The best ratio on the years that chose it is optimistic; 2016-2017 judge once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from inference.codec import vocabulary as words
from inference.codec.bins import FIRST_MOMENTS, SECOND_MOMENTS, X_MAX, X_WIDTH, Z_SCALE
from inference.codec.codec import N_MOVES
from inference.scale.moving import WINSOR_SIGMAS
from inference.snapshot import Frequency
from inference.training.evaluation.score import EDGES, fair_crps, row_cdf, row_crps
from inference.training.series import Floats, Ints
from scripts.research.scaled.cloud import ScaleCloud
from scripts.research.scaled.history import ScaledSeries
from scripts.research.scaled.rivals import ewma_of, law_paths, law_scores, qlike
from scripts.research.scaled.table import MOVES, states_of
from scripts.research.scores import gaussian_crps


def midnight_us(year: int) -> int:
    """Return the first instant of a year, microseconds UTC."""
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


LEARN_END_US: Final = midnight_us(2014)
CHOICE_END_US: Final = midnight_us(2016)
BOOTSTRAP: Final = 1000
SEED: Final = 2014
PATHS: Final = 256
STRIDE: Final = 5
"""Bars between sampled origins."""
HORIZONS: Final = (5, 20)
_WIDTHS: Final = np.diff(EDGES)

RowsAt = Callable[[ScaledSeries, Ints], Floats]
"""Rows [n, 256] of a candidate before given returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Scores of one forecaster: by series, each with its months."""

    names: list[str]
    months: list[Ints]
    scores: list[Floats]


def one_per_company(series: Sequence[ScaledSeries]) -> list[ScaledSeries]:
    """Return one series per symbol and frequency: the adjusted long set first, then others."""
    order = {"arch": 0, "wti": 0, "natgas": 0, "vix": 0, "us": 1, "lean": 2, "stocknet": 3}
    found: dict[tuple[str, Frequency], tuple[int, ScaledSeries]] = {}
    twins = {"spy": "sp500", "qqq": "nasdaq", "goog": "goog"}
    for item in series:
        group, _, file = item.name.partition("/")
        family, _, rest = file.partition("-")
        family, rest = (group, file) if group == "arch" else (family, rest or family)
        symbol = rest.removesuffix("-close")
        key = (twins.get(symbol, symbol), item.frequency)
        rank = order.get(family, 4)
        if key not in found or rank < found[key][0]:
            found[key] = (rank, item)
    return [item for _, item in found.values()]


def table_rows(table: Floats) -> RowsAt:
    """Return a table as a candidate."""
    return lambda series, where: np.asarray(table[states_of(series, where)])


def exact(
    series: Sequence[ScaledSeries], rows_at: RowsAt, start_us: int, end_us: int
) -> dict[str, Tally]:
    """Return CRPS, log score, QLIKE and coverage of a candidate's first bar."""
    tallies = {name: Tally(names=[], months=[], scores=[]) for name in _EXACT}
    for item in series:
        where = _origins(item, start_us, end_us)
        if not len(where):
            continue
        rows, sigma, value = rows_at(item, where), item.sigmas[where], item.returns[where]
        rows = rows / rows.sum(axis=1, keepdims=True)
        z = value / sigma
        mean = rows @ np.asarray(FIRST_MOMENTS)
        spread = rows @ np.asarray(SECOND_MOMENTS) - mean * mean
        bins = item.bins[where]
        likely = rows[np.arange(len(where)), bins] / _WIDTHS[bins]
        rank = row_cdf(rows, z)
        found = {
            "crps": row_crps(rows, z) * sigma,
            "log": np.log(sigma) - np.log(likely),
            "qlike": qlike(spread * sigma * sigma, value),
            "inside_90": ((rank >= 0.05) & (rank <= 0.95)).astype(float),  # noqa: PLR2004
        }
        _add(tallies, item, where, found)
    return tallies


_EXACT: Final = ("crps", "log", "qlike", "inside_90")


def exact_rival(
    series: Sequence[ScaledSeries], rival: str, start_us: int, end_us: int
) -> dict[str, Tally]:
    """Return CRPS, log score and QLIKE of "ewma", "garch" or "gjr"."""
    tallies = {name: Tally(names=[], months=[], scores=[]) for name in _EXACT[:3]}
    for item in series:
        where = _origins(item, start_us, end_us)
        if not len(where):
            continue
        if rival == "ewma":
            variance, value = ewma_of(item)[where], item.returns[where]
            crps = gaussian_crps(value, np.sqrt(variance))
            loss = qlike(variance, value)
            log_score = 0.5 * (loss + np.log(2.0 * np.pi))
        else:
            crps, log_score, loss = law_scores(item, where, leverage=rival == "gjr")
        _add(tallies, item, where, {"crps": crps, "log": log_score, "qlike": loss})
    return tallies


def sampled(
    series: Sequence[ScaledSeries], table: Floats | None, start_us: int, end_us: int
) -> dict[int, Tally]:
    """Return the fair CRPS at 5 and 20 bars of a table, or of GJR-t simulated without one."""
    tallies = {h: Tally(names=[], months=[], scores=[]) for h in HORIZONS}
    steps = max(HORIZONS)
    for number, item in enumerate(series):
        where = _origins(item, start_us, end_us)[::STRIDE]
        where = where[where + steps <= len(item.returns)]
        if not len(where):
            continue
        rng = np.random.default_rng((SEED, number))
        paths = np.empty((len(where), PATHS, steps))
        for owner in np.unique(item.fit_of[where]):
            mine = item.fit_of[where] == owner
            if table is None:
                law, first = item.fits[int(owner)].gjr, item.gjr[where[mine]]
                paths[mine] = law_paths(law, first, steps, PATHS, rng)
            else:
                paths[mine] = table_paths(item, where[mine], table, steps, rng)
        sums = paths.cumsum(axis=-1)
        for horizon, tally in tallies.items():
            truth = np.asarray([item.returns[i : i + horizon].sum() for i in where])
            score = fair_crps(sums[:, :, horizon - 1], truth)
            _add({"": tally}, item, where, {"": score})
    return tallies


def table_paths(
    series: ScaledSeries, where: Ints, table: Floats, steps: int, rng: np.random.Generator
) -> Floats:
    """Return paths [n, PATHS, steps] of a table from origins of one fit, scales run on along."""
    shape = (len(where), PATHS)
    cloud = ScaleCloud(series, where, PATHS)
    states = np.repeat(states_of(series, where)[:, None], PATHS, axis=1)
    sums = np.cumsum(table, axis=1)
    drawn = np.empty((*shape, steps))
    for step in range(steps):
        pick = rng.random(shape)
        bins = np.empty(shape, dtype=np.int64)
        for state in np.unique(states):
            mine = states == state
            bins[mine] = np.searchsorted(sums[state], pick[mine] * sums[state, -1], side="right")
        bins = np.minimum(bins, words.N_BINS - 1)
        sigma = cloud.sigma()
        value = Z_SCALE * np.sinh(-X_MAX + (bins + rng.random(shape)) * X_WIDTH) * sigma
        drawn[:, :, step] = value
        cloud.move(np.clip(value, -WINSOR_SIGMAS * sigma, WINSOR_SIGMAS * sigma))
        states = states - (states - 1) % N_MOVES + MOVES[bins]
    return drawn


def compare(own: Tally, rival: Tally, *, difference: bool = False) -> dict[str, Any]:
    """Return own over rival with its 90 % interval, or the mean difference for losses.

    Both tallies must be of the same origins.
    """
    if own.names != rival.names:
        raise ValueError("the tallies are of different series")
    months = sorted({int(m) for part in own.months for m in part})
    place = {month: index for index, month in enumerate(months)}
    grid = np.zeros((len(own.names), len(months), 3))
    parts = zip(own.months, own.scores, rival.scores, strict=True)
    for row, (when, one, two) in enumerate(parts):
        at = [place[int(m)] for m in when]
        np.add.at(grid[row], at, np.stack((one, two, np.ones(len(one))), axis=1))
    rng = np.random.default_rng(SEED)
    turns = rng.integers(len(months), size=(BOOTSTRAP, len(months)))
    figure = _mean_difference if difference else _ratio
    draws = [figure(grid[:, turn]) for turn in turns]
    low, high = np.quantile(draws, (0.05, 0.95))
    better = (grid.sum(axis=1)[:, 0] < grid.sum(axis=1)[:, 1]).sum()
    return {
        "figure": round(figure(grid), 4),
        "interval_90": [round(float(low), 4), round(float(high), 4)],
        "better": int(better),
        "series": len(own.names),
        "origins": int(grid[:, :, 2].sum()),
    }


def passes(over_table: dict[str, Any], over_gjr: dict[str, Any]) -> bool:
    """Return whether a candidate is released: its intervals lie below the table and GJR."""
    return over_table["interval_90"][1] < 1.0 and over_gjr["interval_90"][1] < 1.0


def _ratio(grid: Floats) -> float:
    totals = grid.sum(axis=1)
    seen = totals[:, 2] > 0.0
    return float(np.exp(np.mean(np.log(totals[seen, 0] / totals[seen, 1]))))


def _mean_difference(grid: Floats) -> float:
    totals = grid.sum(axis=1)
    seen = totals[:, 2] > 0.0
    return float(np.mean((totals[seen, 0] - totals[seen, 1]) / totals[seen, 2]))


def _origins(series: ScaledSeries, start_us: int, end_us: int) -> Ints:
    where = series.between(start_us, end_us)
    return where[where > series.first]


def _add(
    tallies: Mapping[str, Tally], series: ScaledSeries, where: Ints, found: dict[str, Floats]
) -> None:
    ends = series.closes_us[where + 1]
    months = ends.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    for name, tally in tallies.items():
        tally.names.append(series.name)
        tally.months.append(months)
        tally.scores.append(found[name])
