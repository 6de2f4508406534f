"""Scores of hourly forecasts by fold, before and after, against four rivals.

Rows are learnt until the fold begins. `before` is pair v2's recipe: the scale without hours and the
rows of such returns. `after` has the sizes of hours. Rivals: GARCH-t on returns divided by the size
of their hour of the week in New York, estimated on all of the past; the codec alone (the series'
own standardised returns on the same scale since its first fit); EWMA; GJR-t without hours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from inference.training.evaluation.statistics.backtests import qlike
from inference.training.evaluation.statistics.ratios import ScorePair, pooled
from inference.training.series import Floats, Ints
from scripts.research.hours.ground import HourSeries
from scripts.research.judged.bars import (
    FirstBar,
    PathsOf,
    binned_bar,
    ewma_crps,
    hour_crps,
    law_bar,
    own_rows,
    path_makers,
    ranks,
    ready,
    sampled_crps,
    shipped_rows,
)
from scripts.research.scaled.choice import HORIZONS, midnight_us
from scripts.research.scaled.history import ScaledSeries
from scripts.research.scaled.table import TableRecipe, make_rows

FOLDS: Final = {
    "2010-2011": (2010, 2012),
    "2012-2013": (2012, 2014),
    "2014-2015": (2014, 2016),
    "2014": (2014, 2015),
    "2015": (2015, 2016),
}
"""First year and the year after the last; 2014-2015 is the validation."""
LEARNT: Final = {"2014": 2014, "2015": 2014}
"""First year that a fold's rows do not see, where it is not the fold's own first."""
RECIPE: Final = TableRecipe()
SEED: Final = 164
_LOW, _HIGH = 0.05, 0.95
_SAMPLED: Final = "2014-2015"


@dataclass(slots=True)
class _Tally:
    """Score pairs by figure and series, and hits of the 90 % interval by class."""

    parts: dict[str, dict[str, ScorePair]]
    inside: dict[str, list[Floats]]

    def put(
        self, label: str, series: ScaledSeries, where: Ints, own: Floats, rival: Floats
    ) -> None:
        """Take the scores of a series' origins."""
        ends = series.closes_us[where + 1].astype("datetime64[us]")
        months = np.asarray(ends.astype("datetime64[M]").astype(np.int64))
        pair = ScorePair(months=months, own=own, rival=rival)
        self.parts.setdefault(label, {})[series.name] = pair


def hourly_rows(series: Sequence[ScaledSeries], until_year: int) -> Floats:
    """Return the table [n_states, 256] learnt from hourly series alone, before a year."""
    return make_rows(list(series), 0, midnight_us(until_year), RECIPE)


def fold_figures(ground: Sequence[HourSeries]) -> dict[str, Any]:
    """Return all figures, by fold and by "before" and "after", as JSON values."""
    found: dict[str, Any] = {}
    for fold, (first, end) in FOLDS.items():
        learnt = LEARNT.get(fold, first)
        found[fold] = {}
        for label in ("before", "after"):
            chosen = [one.plain if label == "before" else one.seasonal for one in ground]
            table = hourly_rows(chosen, learnt)
            tally = _Tally(parts={}, inside={})
            for number, (one, series) in enumerate(zip(ground, chosen, strict=True)):
                span = series.between(midnight_us(first), midnight_us(end))
                where = ready(series, span)
                _first_bar(tally, one, series, where, table)
                if fold == _SAMPLED:
                    _later_bars(tally, one, series, where, table, SEED + number)
            found[fold][label] = _summary(tally)
    return found


def _first_bar(
    tally: _Tally, one: HourSeries, series: ScaledSeries, where: Ints, table: Floats
) -> None:
    rows = shipped_rows(table, series, where)
    own, codec = binned_bar(series, where, rows), binned_bar(series, where, own_rows(series, where))
    gjr = law_bar(one.plain, where, leverage=True)
    rivals = {
        "hourly-garch": hour_crps(one.plain, where),
        "codec": codec.crps,
        "ewma": ewma_crps(series, where),
        "gjr": gjr.crps,
    }
    for name, crps in rivals.items():
        tally.put(f"crps/{name}/1", series, where, own.crps, crps)
    proxy = one.proxy_from(int(where[0]))[where]
    bars: dict[str, FirstBar] = {"codec": codec, "gjr": gjr}
    for name, bar in bars.items():
        losses = qlike(own.variance, proxy), qlike(bar.variance, proxy)
        tally.put(f"qlike/{name}/1", series, where, *losses)
    rank = ranks(series, where, rows)
    hits = ((rank >= _LOW) & (rank <= _HIGH)).astype(float)
    tally.inside.setdefault(series.asset_class.value, []).append(hits)


def _later_bars(
    tally: _Tally, one: HourSeries, series: ScaledSeries, where: Ints, table: Floats, seed: int
) -> None:
    makers: dict[str, PathsOf] = path_makers(table)
    plain = makers["gjr"]
    makers["gjr"] = lambda _, part, rng: plain(one.plain, part, rng)
    part, scores = sampled_crps(series, where, makers, seed)
    for name in ("codec", "gjr", "ewma"):
        for horizon in HORIZONS:
            own, rival = scores["pair"][horizon], scores[name][horizon]
            tally.put(f"crps/{name}/{horizon}", series, part, own, rival)


def _summary(tally: _Tally) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for label, pairs in tally.parts.items():
        kind, _, horizon = label.split("/")
        estimate = pooled(pairs, int(horizon), SEED, ratio=kind == "crps")
        low, high = estimate.low, estimate.high
        figures[label] = {
            "value": round(estimate.value, 4),
            "interval_90": [low and round(low, 4), high and round(high, 4)],
            "series": {name: _alone(pair, kind) for name, pair in sorted(pairs.items())},
            "origins": sum(len(pair.own) for pair in pairs.values()),
        }
    coverage = {
        name: round(float(np.concatenate(hits).mean()), 4)
        for name, hits in sorted(tally.inside.items())
    }
    return {"figures": figures, "coverage_90": coverage}


def _alone(pair: ScorePair, kind: str) -> float:
    own, rival = float(pair.own.mean()), float(pair.rival.mean())
    return round(own / rival if kind == "crps" else own - rival, 4)
