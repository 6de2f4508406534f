"""Scores to figures: pooled by bar length, and each series; JSON values only."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from inference.training.evaluation.statistics.backtests import (
    christoffersen,
    fissler_ziegel,
    holm,
    kupiec,
    qlike,
    rank_distance,
)
from inference.training.evaluation.statistics.ratios import RatioEstimate, ScorePair, pooled
from inference.training.evaluation.walkforward.walk import HORIZONS, TAIL, null_p_value
from inference.training.series import Floats, Ints

ORDER: Final = ("model", "table", "ewma", "fhs", "har-range", "garch-t", "gjr-t", "garch-hour")
COVERED: Final = (50, 80, 90, 98)
_FEWEST: Final = 10
"""Origins below which a series is left out of a comparison."""

Scores = dict[str, Floats]


def figures(by_series: Mapping[str, Scores], seed: int, own: str) -> dict[str, Any]:
    """Return every figure, by bar length: `own` against each other forecaster, and each alone."""
    found: dict[str, Any] = {}
    for frequency in sorted({name.partition("/")[0] for name in by_series}):
        part = {n: s for n, s in by_series.items() if n.partition("/")[0] == frequency}
        names = [n for n in ORDER if any(f"{n}/1/crps" in s for s in part.values())]
        found[frequency] = {
            "series": sorted(part),
            "against": {
                str(h): {n: _against(part, own, n, h, seed) for n in names if n != own}
                for h in HORIZONS
            },
            "alone": {
                str(h): {n: alone for n in names if (alone := _alone(part, n, h))} for h in HORIZONS
            },
            "tails": {n: _tails(part, n) for n in names},
        }
    return found


def _compared(
    part: Mapping[str, Scores], own: str, rival: str, horizon: int, measure: str
) -> dict[str, ScorePair]:
    """Return both sides at the origins where both have a forecast, by series."""
    found = {}
    for name, scores in part.items():
        sides = [scores.get(f"{side}/{horizon}/origin") for side in (own, rival)]
        if sides[0] is None or sides[1] is None:
            continue
        _, left, right = np.intersect1d(sides[0], sides[1], return_indices=True)
        if len(left) < _FEWEST:
            continue
        found[name] = ScorePair(
            months=_months(scores[f"{own}/{horizon}/day"][left]),
            own=_measure(scores, own, horizon, measure)[left],
            rival=_measure(scores, rival, horizon, measure)[right],
        )
    return found


def _measure(scores: Scores, name: str, horizon: int, measure: str) -> Floats:
    def column(of: str) -> Floats:
        return scores[f"{name}/{horizon}/{of}"]

    if measure == "qlike":
        return qlike(column("variance"), column("proxy"))
    if measure == "fz":
        return fissler_ziegel(column("value"), column("var"), column("shortfall"), TAIL)
    return column(measure)


def _months(days: Floats) -> Ints:
    stamps = days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]")
    return np.asarray(stamps.astype(np.int64))


def _against(
    part: Mapping[str, Scores], own: str, rival: str, horizon: int, seed: int
) -> dict[str, Any]:
    crps = _compared(part, own, rival, horizon, "crps")
    if not crps:
        return {"series": 0}
    each = {n: float(c.own.sum() / c.rival.sum()) for n, c in crps.items()}
    found: dict[str, Any] = {
        "series": len(crps),
        "origins": sum(len(c.own) for c in crps.values()),
        "better_on": sum(value < 1.0 for value in each.values()),
        "crps_ratio": _estimate(pooled(crps, horizon, seed, ratio=True)),
        "log_score_difference": _difference(part, own, rival, horizon, "log", seed),
        "by_series": {n: round(v, 4) for n, v in sorted(each.items())},
    }
    if horizon == 1:
        found["qlike_difference"] = _difference(part, own, rival, 1, "qlike", seed)
        found["joint_tail_loss_difference"] = _difference(part, own, rival, 1, "fz", seed)
    return found


def _difference(
    part: Mapping[str, Scores], own: str, rival: str, horizon: int, measure: str, seed: int
) -> dict[str, Any]:
    sides = _compared(part, own, rival, horizon, measure)
    return _estimate(pooled(sides, horizon, seed, ratio=False))


def _estimate(value: RatioEstimate) -> dict[str, Any]:
    interval = None
    if value.low is not None and value.high is not None:
        interval = [round(value.low, 4), round(value.high, 4)]
    return {"value": round(value.value, 4), "interval_90": interval}


def _alone(part: Mapping[str, Scores], name: str, horizon: int) -> dict[str, Any]:
    ranks = [s[key] for s in part.values() if (key := f"{name}/{horizon}/rank") in s]
    if not ranks:
        return {}
    together = np.concatenate(ranks)
    gap, p = rank_distance(together)
    counts, _ = np.histogram(together, bins=20, range=(0.0, 1.0))
    inside = {
        str(c): round(float((np.abs(together - 0.5) <= c / 200.0).mean()), 4) for c in COVERED
    }
    away = [s[key] for s in part.values() if (key := f"{name}/1/fallback") in s]
    return {
        "origins": len(together),
        "fallback_share": round(float(np.concatenate(away).mean()), 4),
        "coverage": inside,
        "pit": {"distance": round(gap, 4), "p": _shown(p), "histogram": counts.tolist()},
    }


def _tails(part: Mapping[str, Scores], name: str) -> dict[str, Any]:
    tests: dict[str, list[float]] = {"kupiec": [], "christoffersen": [], "acerbi_szekely": []}
    names, hits_of = [], []
    for series, scores in sorted(part.items()):
        if f"{name}/1/var" not in scores or len(scores[f"{name}/1/var"]) < _FEWEST:
            continue
        value, var, shortfall, null = (
            scores[f"{name}/1/{of}"] for of in ("value", "var", "shortfall", "null")
        )
        hits = (value <= var).astype(np.float64)
        names.append(series)
        hits_of.append(hits)
        tests["kupiec"].append(kupiec(hits, TAIL))
        tests["christoffersen"].append(christoffersen(hits, TAIL))
        tests["acerbi_szekely"].append(null_p_value(value, var, shortfall, null))
    if not names:
        return {"series": 0}
    corrected = {test: holm(values) for test, values in tests.items()}
    return {
        "series": len(names),
        "exceedances": round(float(np.concatenate(hits_of).mean()), 4),
        "rejected_after_holm": {
            test: sum(p < 0.05 for p in values if not math.isnan(p))  # noqa: PLR2004 - the usual level
            for test, values in corrected.items()
        },
        "p_after_holm": {
            test: {n: _shown(p) for n, p in zip(names, values, strict=True)}
            for test, values in corrected.items()
        },
    }


def _shown(p: float) -> float | None:
    return None if math.isnan(p) else round(p, 4)
