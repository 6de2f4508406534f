"""Skill against EWMA and coverage on 2016-2017.

One step ahead is exact: the score of the 256-bin law in closed form. Five and ten bars are
sampled (fair CRPS of 64 paths). The rival is a Gaussian with EWMA(0.94) variance. The weights are
read from the files as shipped (float16); origins are spread evenly in time.

Source: fair CRPS, Ferro (2014), Q. J. R. Meteorol. Soc. 140; Gaussian CRPS, Gneiting & Raftery
(2007), J. Am. Stat. Assoc. 102, section 4.2.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

from inference.codec import vocabulary as words
from inference.snapshot import Frequency
from inference.training.evaluation.score import fair_crps, row_cdf, row_crps
from inference.training.model import SmallLlama
from inference.training.sampling import bin_rows, fan_out
from inference.training.series import Floats, Ints
from scripts.research.pair_v1.windows import prompt_row
from scripts.research.scores import decode_many, ewma_variances, gaussian_crps
from scripts.research.series import CodedSeries

HORIZONS: Final = (1, 5, 10)
PATHS: Final = 64
LONG_SERIES: Final = 2000
"""Training returns from which a series counts as long and gets more origins."""
CHUNK: Final = 32
BOOTSTRAP: Final = 500
SEED: Final = 2016
_TAILS: Final = (0.05, 0.95)

_Tally = list[tuple[CodedSeries, int, float, float, bool]]
"""Scores by series and month: model, rival, covered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Origins per series; sampled horizons are measured on long series only."""

    exact_long: int = 40
    exact_short: int = 6
    sampled: int = 8


def evaluate(
    target: SmallLlama, series: list[CodedSeries], effort: Effort, say: Callable[[str], None]
) -> dict[str, Any]:
    """Return ratio, interval and coverage by frequency and horizon, as JSON values."""
    tallies: dict[int, _Tally] = {horizon: [] for horizon in HORIZONS}
    for number, item in enumerate(series):
        long = item.first_validation >= LONG_SERIES
        _exact(target, item, effort.exact_long if long else effort.exact_short, tallies[1])
        if long and effort.sampled:
            _sampled(target, item, effort.sampled, tallies)
        if number % 10 == 0:
            say(f"evaluated {number + 1} of {len(series)} series")
    return {
        frequency.value: {
            f"h{horizon}": figures
            for horizon, tally in tallies.items()
            if (figures := _summary(tally, frequency))
        }
        for frequency in Frequency
    }


def origins(series: CodedSeries, count: int, ahead: int) -> Ints:
    """Return origins spread evenly over the validation years, with `ahead` bars after each.

    A series' name gives its offset, so that dates differ between series.
    """
    last = len(series.bins) - ahead
    if last <= series.first_validation:
        return np.asarray([], dtype=np.int64)
    stride = (last - series.first_validation) / count
    shift = (zlib.crc32(series.name.encode()) % 997) / 997
    places = series.first_validation + stride * (np.arange(count) + shift)
    return np.unique(places.astype(np.int64))


def prompts_at(series: CodedSeries, where: Ints) -> torch.Tensor:
    """Return the prompts [n, 143], without news, at these origins."""
    return torch.tensor([prompt_row(series, int(i), words.MAX_CONTEXT, ()) for i in where])


def _exact(target: SmallLlama, series: CodedSeries, count: int, tally: _Tally) -> None:
    where = origins(series, count, 1)
    where = where[where >= words.MAX_CONTEXT]
    rivals = ewma_variances(series)
    for start in range(0, len(where), CHUNK):
        part = where[start : start + CHUNK]
        with torch.no_grad():
            rows = bin_rows(target(prompts_at(series, part))[:, -1]).double().numpy()
        sigmas = np.asarray([series.scale(int(i)).sigma for i in part])
        scaled = series.returns[part] / sigmas
        own = row_crps(rows, scaled) * sigmas
        rank = row_cdf(rows, scaled)
        rival = gaussian_crps(series.returns[part], np.sqrt(rivals[part]))
        for index, origin in enumerate(part):
            hit = bool(_TAILS[0] <= rank[index] <= _TAILS[1])
            month = _month(series, int(origin))
            tally.append((series, month, float(own[index]), float(rival[index]), hit))


def _sampled(
    target: SmallLlama, series: CodedSeries, count: int, tallies: dict[int, _Tally]
) -> None:
    steps = max(HORIZONS)
    where = origins(series, count, steps)
    rivals = ewma_variances(series)
    generator = torch.Generator().manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    for start in range(0, len(where), CHUNK // 2):
        part = where[start : start + CHUNK // 2]
        tokens, _ = fan_out(target, prompts_at(series, part), PATHS, steps, generator)
        bins = tokens.numpy() - words.BIN_START
        paths = decode_many(bins, series.scales[part], rng).cumsum(axis=-1)
        for horizon in HORIZONS[1:]:
            truth = np.asarray([series.returns[i : i + horizon].sum() for i in part])
            drawn = paths[:, :, horizon - 1]
            own = fair_crps(drawn, truth)
            rival = gaussian_crps(truth, np.sqrt(rivals[part] * horizon))
            low, high = np.quantile(drawn, _TAILS, axis=1)
            for index, origin in enumerate(part):
                hit = bool(low[index] <= truth[index] <= high[index])
                month = _month(series, int(origin))
                tallies[horizon].append(
                    (series, month, float(own[index]), float(rival[index]), hit)
                )


def _month(series: CodedSeries, origin: int) -> int:
    """Return the number of the calendar month, the block of the bootstrap."""
    stamp = np.datetime64(int(series.last_close_us[origin]), "us")
    return int(stamp.astype("datetime64[M]").astype(np.int64))


def _summary(tally: _Tally, frequency: Frequency) -> dict[str, Any]:
    rows = [row for row in tally if row[0].frequency is frequency]
    if not rows:
        return {}
    rng = np.random.default_rng(SEED)
    months = sorted({row[1] for row in rows})
    sums: dict[tuple[str, int], Floats] = defaultdict(lambda: np.zeros(2))
    for series, month, own, rival, _hit in rows:
        sums[(series.name, month)] += (own, rival)
    names = sorted({row[0].name for row in rows})
    grid = np.asarray([[sums[(name, month)] for month in months] for name in names])
    draws = [_ratio(grid[:, rng.integers(len(months), size=len(months))]) for _ in range(BOOTSTRAP)]
    low, high = np.quantile(draws, _TAILS)
    return {
        "crps_over_ewma": round(_ratio(grid), 4),
        "interval_90": [round(float(low), 4), round(float(high), 4)],
        "coverage_90": round(float(np.mean([row[4] for row in rows])), 4),
        "series": len(names),
        "origins": len(rows),
    }


def _ratio(grid: Floats) -> float:
    """Return the ratio of mean scores, own to rival, as a geometric mean over series."""
    totals = grid.sum(axis=1)
    good = totals[:, 1] > 0.0
    return float(np.exp(np.log(totals[good, 0] / totals[good, 1]).mean()))
