"""Which bars are scored, what one of n says of all, and that equal laws score equal."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.special import ndtr

from inference.snapshot import AssetClass, Frequency
from inference.training.evaluation.statistics.laws import from_cdf
from inference.training.evaluation.statistics.ratios import ScorePair, pooled
from inference.training.evaluation.walkforward.report import figures
from inference.training.evaluation.walkforward.rivals import Predicted
from inference.training.evaluation.walkforward.series import History
from inference.training.evaluation.walkforward.walk import WalkPlan, origins_of, walk
from tests.doubles.judged_forecasters import SIGMA

DAY_US = 86_400_000_000
START_US = int(datetime(2012, 1, 2, 21, tzinfo=UTC).timestamp()) * 1_000_000


def history(count: int = 900, seed: int = 3) -> History:
    returns = np.random.default_rng(seed).standard_normal(count) * SIGMA
    return History(
        name=f"daily/made-{seed}",
        asset_class=AssetClass.EQUITY,
        frequency=Frequency.DAILY,
        closes_us=START_US + np.arange(count + 1) * DAY_US,
        returns=returns,
        proxy=returns**2,
        has_range=False,
        dropped=0,
        digest=str(seed),
    )


def test_every_bar_is_forecast_by_default_and_else_one_of_each_n() -> None:
    made = history(700)
    plan = WalkPlan(from_us=0)
    assert origins_of(made, plan).tolist() == list(range(300, 700))
    fifth = origins_of(made, replace(plan, every=5))
    assert [(place - 300) // 5 for place in fifth.tolist()] == list(range(80))
    assert len({place % 5 for place in fifth.tolist()}) == 5, "not always the same weekday"


def test_one_of_five_bars_says_what_all_bars_say_where_weekdays_differ() -> None:
    """Each fifth bar alone is one weekday: its interval excluded the answer of all bars."""
    draw = np.random.default_rng(11)
    inside = 0
    for seed in range(60):
        made, plan = history(300 + 600), WalkPlan(from_us=0, seed=seed)
        own = draw.gamma(4.0, 0.25, 900)
        rival = own * (1.0 + 0.2 * (np.arange(900) % 5 == seed % 5)) + 0.1 * draw.standard_normal(
            900
        )
        pairs = []
        for every in (1, 5):
            at = origins_of(made, replace(plan, every=every))
            pairs.append({"made": ScorePair(months=at // 21, own=own[at], rival=rival[at])})
        whole = pooled(pairs[0], 1, seed, ratio=True).value
        part = pooled(pairs[1], 1, seed, ratio=True)
        assert part.low is not None
        assert part.high is not None
        inside += part.low <= whole <= part.high
    assert inside >= 54


class Twice:
    """The same law twice, once with 64 paths and once with 500, as the pair and its rivals have."""

    def forecasts(
        self, pasts: Sequence[History], horizons: tuple[int, ...]
    ) -> list[dict[str, Predicted]]:
        return [self._both(past, horizons) for past in pasts]

    @staticmethod
    def _both(past: History, horizons: tuple[int, ...]) -> dict[str, Predicted]:
        rng = np.random.default_rng(int(past.closes_us[-1]) % 2**32)
        found = {}
        for name, sigma, paths in (("model", SIGMA, 64), ("table", 1.7 * SIGMA, 500)):
            law = from_cdf(lambda values: np.asarray(ndtr(values / SIGMA)), sigma)
            ends = {h: rng.standard_normal(paths) * SIGMA * np.sqrt(h) for h in horizons}
            found[name] = Predicted(law=law, ends=ends, fallback=name == "table")
        return found


# half a minute alone, and several times that beside three other workers
@pytest.mark.timeout(400)
def test_equal_laws_score_equal_whatever_their_bins_and_number_of_paths() -> None:
    series = history(2300)
    scores = walk(series, Twice(), WalkPlan(from_us=0, sampled=1), lambda _: None)
    found = figures({series.name: scores}, 1, "model")["daily"]
    assert found["against"]["1"]["table"]["crps_ratio"]["value"] == pytest.approx(1.0, abs=1e-4)
    assert abs(found["against"]["1"]["table"]["log_score_difference"]["value"]) < 2e-3
    for horizon in ("5", "20"):
        low, high = found["against"][horizon]["table"]["crps_ratio"]["interval_90"]
        assert low <= 1.0 <= high
        low, high = found["against"][horizon]["table"]["log_score_difference"]["interval_90"]
        assert low <= 0.0 <= high
    sides = (scores[f"{name}/5/rank"] for name in ("model", "table"))
    assert [len(np.unique(ranks)) <= 65 for ranks in sides] == [True, True]
    assert [found["alone"]["1"][name]["fallback_share"] for name in ("model", "table")] == [
        0.0,
        1.0,
    ]
