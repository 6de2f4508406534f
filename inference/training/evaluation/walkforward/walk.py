"""Forecasts at each origin, from the bars before it only, and their scores.

A forecaster gets `History.part(start, origin)`: an array that ends at the origin. Nothing later
is in its reach, and a test that changes the future proves it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from inference.training.evaluation.statistics.backtests import acerbi_szekely
from inference.training.evaluation.statistics.laws import (
    sample_crps,
    sample_log_score,
    sample_rank,
)
from inference.training.evaluation.walkforward.rivals import LOOK_BACK, Predicted, rivals
from inference.training.evaluation.walkforward.series import History
from inference.training.series import Floats, Ints

HORIZONS: Final = (1, 5, 20)
TAIL: Final = 0.025
"""Level of VaR and expected shortfall."""
NULL_DRAWS: Final = 200
"""Draws from each law, for the p-value of Acerbi and Szekely's test."""
FEWEST: Final = 300
"""Returns before the first origin."""
_PROXY_BARS: Final = 1000
_DAY_US: Final = 86_400_000_000
_STRIDE: Final = 16
"""Origins between two reports of progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkPlan:
    """Which origins: one of every n bars from `from_us`; sampled horizons every m-th of those."""

    from_us: int
    every: int = 1
    sampled: int = 4
    paths: int = 64
    seed: int = 2016


class UnderTest(Protocol):
    """What is judged against the baselines."""

    def forecasts(
        self, pasts: Sequence[History], horizons: tuple[int, ...]
    ) -> list[dict[str, Predicted]]:
        """Return named forecasts after each past."""
        ...


def origins_of(history: History, plan: WalkPlan) -> Ints:
    """Return the index of the first unknown return of each origin, ascending.

    Of every n bars one is drawn, by a hash of its group's number: each fifth daily bar would be the
    same weekday, and its scores not those of all bars.
    """
    first = int(np.searchsorted(history.closes_us[1:], plan.from_us))
    first, end = max(first, FEWEST), len(history.returns)
    starts = np.arange(first, end, plan.every, dtype=np.int64)
    drawn = [_draw(f"{plan.seed}:origin:{group}") % plan.every for group in range(len(starts))]
    places = starts + np.asarray(drawn, dtype=np.int64)
    return np.asarray(places[places < end])


def walk(
    history: History, under_test: UnderTest | None, plan: WalkPlan, tick: Callable[[int], None]
) -> dict[str, Floats]:
    """Return arrays by "forecaster/horizon/measure", one value for each origin.

    `tick` is told the number of finished origins. NaN stands where a forecaster had no forecast.
    """
    where = origins_of(history, plan)
    known = rivals()
    scores = _Scores()
    for start in range(0, len(where), _STRIDE):
        part = where[start : start + _STRIDE]
        for long in (False, True):
            chosen = [
                int(i) for n, i in enumerate(part, start=start) if (n % plan.sampled == 0) is long
            ]
            ahead = HORIZONS[1:] if long else ()
            pasts = [history.part(max(0, i - LOOK_BACK), i) for i in chosen]
            tested = (
                under_test.forecasts(pasts, ahead)
                if under_test is not None and pasts
                else [{} for _ in pasts]
            )
            for i, past, own in zip(chosen, pasts, tested, strict=True):
                found: dict[str, Predicted | None] = dict(own)
                for name, rival in known.items():
                    found[name] = rival(past, ahead, _generator(plan.seed, past, name))
                scores.add(history, i, past, found, plan.paths)
        tick(min(start + _STRIDE, len(where)))
    return scores.arrays()


def _generator(seed: int, past: History, name: str) -> np.random.Generator:
    return np.random.default_rng(_draw(f"{seed}:{past.name}:{int(past.closes_us[-1])}:{name}"))


def _draw(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


class _Scores:
    """Rows of one series, by forecaster and horizon."""

    def __init__(self) -> None:
        self._rows: dict[str, list[float | Floats]] = {}

    def add(
        self,
        history: History,
        origin: int,
        past: History,
        found: Mapping[str, Predicted | None],
        paths: int,
    ) -> None:
        recent = slice(-_PROXY_BARS, None)
        gain = float(np.mean(past.returns[recent] ** 2) / np.mean(past.proxy[recent]))
        proxy = float(history.proxy[origin]) * gain
        for horizon in HORIZONS:
            if origin + horizon > len(history.returns):
                continue
            value = float(history.returns[origin : origin + horizon].sum())
            day = int(history.closes_us[origin + 1]) // _DAY_US
            stamp = {"day": float(day), "origin": float(origin)}
            for name, forecast in found.items():
                if forecast is None or (horizon > 1 and horizon not in forecast.ends):
                    continue
                row = (
                    self._one(forecast, value, proxy, history, origin)
                    if horizon == 1
                    else (_sampled(forecast.ends[horizon], value, paths))
                )
                for measure, number in {**row, **stamp, "value": value}.items():
                    self._rows.setdefault(f"{name}/{horizon}/{measure}", []).append(number)

    def _one(
        self, forecast: Predicted, value: float, proxy: float, history: History, origin: int
    ) -> dict[str, float | Floats]:
        law = forecast.law
        var, shortfall = law.tail(TAIL)
        text = f"null:{history.name}:{int(history.closes_us[origin])}"
        rng = np.random.default_rng(_draw(text))
        drawn = law.quantiles(rng.random(NULL_DRAWS))
        return {
            "crps": law.crps(value),
            "log": law.log_score(value),
            "rank": law.rank(value),
            "variance": law.variance,
            "proxy": proxy,
            "var": var,
            "shortfall": shortfall,
            "fallback": float(forecast.fallback),
            "null": np.asarray(drawn * (drawn <= var) / (TAIL * shortfall)),
        }

    def arrays(self) -> dict[str, Floats]:
        """Return every measure in the order of its origins."""
        found = {}
        for name, rows in self._rows.items():
            order = np.argsort(
                np.asarray(self._rows[f"{name.rpartition('/')[0]}/origin"], dtype=np.float64)
            )
            found[name] = np.asarray(rows, dtype=np.float64)[order]
        return found


def _sampled(ends: Floats, value: float, paths: int) -> dict[str, float | Floats]:
    """Return a sample's scores; only the fair CRPS may use more paths than the others have."""
    return {
        "crps": sample_crps(ends, value),
        "log": sample_log_score(ends[:paths], value),
        "rank": sample_rank(ends[:paths], value),
    }


def null_p_value(values: Floats, var: Floats, shortfall: Floats, null: Floats) -> float:
    """Return the one-sided p-value that losses beyond VaR are not larger than forecast."""
    seen = acerbi_szekely(values, var, shortfall, TAIL)
    drawn = 1.0 - null.mean(axis=0)
    return float((1.0 + (drawn <= seen).sum()) / (1.0 + len(drawn)))
