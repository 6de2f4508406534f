"""The figures: pair against each rival, pooled over companies, months drawn jointly over series."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from inference.snapshot import Frequency
from inference.training.evaluation.score import EDGES
from inference.training.evaluation.statistics.backtests import (
    acerbi_szekely,
    christoffersen,
    fissler_ziegel,
    holm,
    kupiec,
    qlike,
)
from inference.training.evaluation.statistics.ratios import ScorePair, pooled
from inference.training.series import Floats, Ints
from scripts.research.judged.bars import (
    TAIL,
    FirstBar,
    RowChoice,
    binned_bar,
    ewma_crps,
    hour_crps,
    law_bar,
    own_rows,
    path_makers,
    ranks,
    ready,
    row_tail,
    sampled_crps,
    shipped_rows,
)
from scripts.research.judged.ground import JudgedSeries
from scripts.research.scaled.history import ScaledSeries

TARGET: Final = 0.10
"""Volatility a year that the sizing aims at: exposure = target over forecast, without a cap."""
YEAR: Final = 252
WINDOW: Final = 63
LEAST: Final = 40
"""Origins without which a series is left out."""
_NULL_DRAWS: Final = 500
_REJECT: Final = 0.05
_LOW, _HIGH = 0.05, 0.95

Parts = dict[str, dict[str, ScorePair]]
"""Score pairs by figure, then by series."""


def judge(
    series: Sequence[JudgedSeries],
    table: Floats,
    span: tuple[int, int],
    seed: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Return all figures of the span [start, end), by frequency, as JSON values."""
    found: dict[str, Any] = {}
    for frequency in Frequency:
        parts: Parts = {}
        tests: list[dict[str, float]] = []
        inside: dict[str, list[Floats]] = {}
        for number, one in enumerate(series):
            if one.scaled.frequency is not frequency:
                continue
            where = ready(one.scaled, one.scaled.between(*span))
            if len(where) < LEAST:
                continue
            rows = shipped_rows(table, one.scaled, where)
            rank = ranks(one.scaled, where, rows)
            inside.setdefault(one.scaled.asset_class.value, []).append(
                ((rank >= _LOW) & (rank <= _HIGH)).astype(float)
            )
            _first_bar(parts, tests, one, where, rows, seed + number)
            _later_bars(parts, one.scaled, where, table, seed + number)
            say(f"judged {one.scaled.name}: {len(where)} origins")
        if parts:
            found[frequency.value] = {
                "figures": _figures(parts, seed),
                "coverage_90": {
                    name: {
                        "share": round(float(np.concatenate(hits).mean()), 4),
                        "series": len(hits),
                    }
                    for name, hits in sorted(inside.items())
                },
                "backtests": _rejections(tests),
                "ranged": sum(one.ranged for one in series if one.scaled.frequency is frequency),
            }
    return found


def _first_bar(
    parts: Parts,
    tests: list[dict[str, float]],
    one: JudgedSeries,
    where: Ints,
    rows: RowChoice,
    seed: int,
) -> None:
    series = one.scaled
    months, value = _months(series, where), series.returns[where]
    pair, gjr = binned_bar(series, where, rows), law_bar(series, where, leverage=True)
    codec = binned_bar(series, where, own_rows(series, where))
    rivals = {
        "codec": codec.crps,
        "gjr": gjr.crps,
        "garch": law_bar(series, where, leverage=False).crps,
        "ewma": ewma_crps(series, where),
    }
    if series.frequency is Frequency.HOURLY:
        rivals["hourly-garch"] = hour_crps(series, where)
    for name, crps in rivals.items():
        _put(parts, f"crps/{name}/1", series, months, pair.crps, crps)
    proxy = one.proxy[where]
    for name, bar in (("gjr", gjr), ("codec", codec)):
        own_loss, loss = qlike(pair.variance, proxy), qlike(bar.variance, proxy)
        _put(parts, f"qlike/{name}/1", series, months, own_loss, loss)
        _put(parts, f"tail/{name}/1", series, months, _joint(value, pair), _joint(value, bar))
    for name, bar in (("pair", pair), ("gjr", gjr)):
        hits = (value <= bar.var).astype(float)
        _put(parts, f"hits/{name}/1", series, months, hits, np.zeros(len(hits)))
        if name == "pair":
            tests.append(_backtests(hits, value, bar, rows, seed))
    if series.frequency is Frequency.DAILY and len(where) >= WINDOW:
        own, rival = _tracking(value, pair.variance), _tracking(value, gjr.variance)
        _put(parts, "tracking/gjr/20", series, months[WINDOW - 1 :], own, rival)


def _later_bars(parts: Parts, series: ScaledSeries, where: Ints, table: Floats, seed: int) -> None:
    part, scores = sampled_crps(series, where, path_makers(table), seed)
    if not len(part):
        return
    months = _months(series, part)
    for name in ("codec", "gjr", "ewma"):
        for horizon, own in scores["pair"].items():
            rival = scores[name][horizon]
            _put(parts, f"crps/{name}/{horizon}", series, months, own, rival)


def _put(
    parts: Parts, label: str, series: ScaledSeries, months: Ints, own: Floats, rival: Floats
) -> None:
    pair = ScorePair(months=months, own=own, rival=rival)
    parts.setdefault(label, {})[series.name] = pair


def _joint(value: Floats, bar: FirstBar) -> Floats:
    return fissler_ziegel(value, bar.var, bar.shortfall, TAIL)


def _months(series: ScaledSeries, where: Ints) -> Ints:
    ends = series.closes_us[where + 1].astype("datetime64[us]")
    return np.asarray(ends.astype("datetime64[M]").astype(np.int64))


def _tracking(value: Floats, variance: Floats) -> Floats:
    """Return |realised / target - 1| of each 63-day window of the sized returns."""
    sized = value * TARGET / np.sqrt(variance * YEAR)
    sums = np.concatenate(([0.0], np.cumsum(sized * sized)))
    realised = np.sqrt((sums[WINDOW:] - sums[:-WINDOW]) / WINDOW * YEAR)
    return np.asarray(np.abs(realised / TARGET - 1.0))


def _backtests(
    hits: Floats, value: Floats, bar: FirstBar, rows: RowChoice, seed: int
) -> dict[str, float]:
    """Return p-values of three tests; the last draws worlds from the forecaster's own law."""
    seen = acerbi_szekely(value, bar.var, bar.shortfall, TAIL)
    rng = np.random.default_rng(seed)
    # A row's hit adds z / (level * shortfall in sigma), so the scale cancels: only depth is drawn.
    mean = np.empty((_NULL_DRAWS, 0))
    for index, row in enumerate(rows.table):
        count = int((rows.which == index).sum())
        mean = np.concatenate((mean, _null_terms(row, (_NULL_DRAWS, count), rng)), axis=1)
    drawn = 1.0 - mean.mean(axis=1)
    return {
        "kupiec": kupiec(hits, TAIL),
        "christoffersen": christoffersen(hits, TAIL),
        "acerbi_szekely": float((1.0 + (drawn <= seen).sum()) / (1.0 + _NULL_DRAWS)),
    }


def _null_terms(row: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    steps = np.concatenate(([0.0], np.cumsum(row)))
    pick = rng.random(shape)
    shortfall = row_tail(row)[1]
    drawn = np.interp(np.minimum(pick, TAIL), steps, EDGES)
    return np.asarray(np.where(pick <= TAIL, drawn / (TAIL * shortfall), 0.0))


def _rejections(tests: Sequence[dict[str, float]]) -> dict[str, Any]:
    found = {}
    for name in ("kupiec", "christoffersen", "acerbi_szekely"):
        values = [one[name] for one in tests]
        found[name] = {
            "series": len(values),
            "rejected": sum(p < _REJECT for p in values),
            "rejected_holm": sum(p < _REJECT for p in holm(values)),
        }
    return found


def _figures(parts: Parts, seed: int) -> dict[str, Any]:
    found = {}
    for label, pairs in parts.items():
        kind, _, horizon = label.split("/")
        estimate = pooled(pairs, int(horizon), seed, ratio=kind == "crps")
        found[label] = {
            "value": _rounded(estimate.value),
            "interval_90": [_rounded(estimate.low), _rounded(estimate.high)],
            "better": sum(float(p.own.mean()) < float(p.rival.mean()) for p in pairs.values()),
            "series": len(pairs),
            "origins": sum(len(p.own) for p in pairs.values()),
        }
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, 4)
