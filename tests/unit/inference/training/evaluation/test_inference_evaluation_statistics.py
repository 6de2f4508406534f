"""Scores, backtests and intervals against closed forms and other libraries."""

import importlib
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from inference.training.evaluation.statistics.backtests import (
    acerbi_szekely,
    christoffersen,
    fissler_ziegel,
    holm,
    kupiec,
    qlike,
    rank_distance,
)
from inference.training.evaluation.statistics.laws import (
    BinnedLaw,
    from_cdf,
    from_residuals,
    sample_crps,
    sample_log_score,
    sample_rank,
)
from inference.training.evaluation.statistics.ratios import ScorePair, month_weights, pooled
from scripts.research.scores import gaussian_crps

SIGMA = 0.013
STATS: Any = importlib.import_module("scipy.stats")


def gaussian() -> BinnedLaw:
    return from_cdf(lambda values: np.asarray(ndtr(values / SIGMA)), SIGMA)


@pytest.mark.parametrize("value", [-0.03, 0.0, 0.004, 0.02])
def test_a_binned_gaussian_scores_as_its_closed_form(value: float) -> None:
    law = gaussian()
    exact = float(gaussian_crps(np.asarray([value]), np.asarray([SIGMA]))[0])
    assert law.crps(value) == pytest.approx(exact, rel=2e-3)
    assert law.log_score(value) == pytest.approx(-STATS.norm.logpdf(value, 0, SIGMA), abs=0.08)
    assert law.rank(value) == pytest.approx(float(ndtr(value / SIGMA)), abs=1e-3)


def test_a_binned_gaussian_has_the_variance_and_tail_of_its_closed_form() -> None:
    law = gaussian()
    var, shortfall = law.tail(0.025)
    density = math.exp(-0.5 * float(ndtri(0.025)) ** 2) / math.sqrt(2 * math.pi)
    assert law.variance == pytest.approx(SIGMA**2, rel=2e-3)
    assert var == pytest.approx(SIGMA * float(ndtri(0.025)), rel=2e-3)
    assert shortfall == pytest.approx(-SIGMA * density / 0.025, rel=5e-3)


def test_residuals_give_their_own_law() -> None:
    drawn = np.random.default_rng(1).standard_normal(4000)
    assert from_residuals(drawn, SIGMA).crps(0.01) == pytest.approx(gaussian().crps(0.01), rel=0.03)


def test_a_sample_scores_as_its_law() -> None:
    ends = np.random.default_rng(2).standard_normal(20_000) * SIGMA
    assert sample_crps(ends, 0.01) == pytest.approx(gaussian().crps(0.01), rel=0.02)
    exact = -STATS.norm.logpdf(0.01, 0, SIGMA)
    assert sample_log_score(ends, 0.01) == pytest.approx(exact, abs=0.05)
    assert sample_rank(ends, 0.01) == pytest.approx(float(ndtr(0.01 / SIGMA)), abs=0.01)


@pytest.mark.parametrize(
    ("hits", "total", "level"), [(10, 250, 0.01), (5, 500, 0.025), (0, 99, 0.05)]
)
def test_kupiec_is_the_likelihood_ratio_of_two_binomials(
    hits: int, total: int, level: float
) -> None:
    series = np.zeros(total)
    series[:hits] = 1.0
    seen = STATS.binom.logpmf(hits, total, hits / total)
    ratio = 2 * (seen - STATS.binom.logpmf(hits, total, level))
    assert kupiec(series, level) == pytest.approx(STATS.chi2.sf(ratio, 1), rel=1e-6)


def test_christoffersen_finds_runs_that_kupiec_does_not() -> None:
    together = np.zeros(400)
    together[100:110] = 1.0
    spread = np.zeros(400)
    spread[::40] = 1.0
    assert kupiec(together, 0.025) == kupiec(spread, 0.025) > 0.9
    assert christoffersen(together, 0.025) < 1e-6
    assert christoffersen(spread, 0.025) > 0.5


def test_acerbi_szekely_is_zero_under_the_law_and_negative_beyond_it() -> None:
    drawn = np.random.default_rng(3).standard_normal(200_000)
    var, shortfall = np.full(200_000, -1.95996), np.full(200_000, -2.33780)
    assert acerbi_szekely(drawn, var, shortfall, 0.025) == pytest.approx(0.0, abs=0.05)
    assert acerbi_szekely(1.5 * drawn, var, shortfall, 0.025) < -1.0


def test_the_joint_tail_loss_is_least_at_the_true_tail() -> None:
    drawn = np.random.default_rng(4).standard_normal(200_000)

    def loss(var: float, shortfall: float) -> float:
        sides = (np.full(200_000, var), np.full(200_000, shortfall))
        return float(fissler_ziegel(drawn, *sides, 0.025).mean())

    best = loss(-1.95996, -2.33780)
    for var, shortfall in ((-1.6, -2.3378), (-2.4, -2.5), (-1.96, -2.0), (-1.96, -2.9)):
        assert loss(var, shortfall) > best


def test_qlike_is_least_at_the_true_variance() -> None:
    proxy = np.random.default_rng(5).standard_normal(100_000) ** 2
    losses = [float(qlike(np.full(100_000, v), proxy).mean()) for v in (0.8, 1.0, 1.25)]
    assert losses[1] < min(losses[0], losses[2])


def test_ranks_and_holm_agree_with_other_libraries() -> None:
    ranks = np.random.default_rng(6).random(500) ** 1.1
    gap, p = rank_distance(ranks)
    known = STATS.kstest(ranks, "uniform", mode="asymp")
    assert (gap, p) == pytest.approx((known.statistic, known.pvalue))
    multitest: Any = importlib.import_module("statsmodels.stats.multitest")
    raw = [0.01, 0.2, 0.03, 0.04, 0.5]
    assert holm(raw) == pytest.approx(list(multitest.multipletests(raw, method="holm")[1]))
    assert math.isnan(holm([0.01, math.nan])[1])


def test_a_ratio_and_its_interval_are_those_that_were_planted() -> None:
    draw = np.random.default_rng(7)
    months = np.repeat(np.arange(36), 10)
    rival = draw.gamma(2.0, 1.0, (2, 360))
    parts = {
        "a": ScorePair(months=months, own=0.8 * rival[0], rival=rival[0]),
        "b": ScorePair(months=months, own=0.5 * rival[1], rival=rival[1]),
    }
    found = pooled(parts, 20, 1, ratio=True)
    ends = (found.value, found.low, found.high)
    assert ends == pytest.approx((math.sqrt(0.4),) * 3)
    difference = pooled(parts, 1, 1, ratio=False)
    assert difference.low is not None
    assert difference.high is not None
    assert difference.low < difference.value < difference.high < 0.0


def test_two_equal_forecasters_are_not_told_apart_more_often_than_stated() -> None:
    draw = np.random.default_rng(8)
    months = np.repeat(np.arange(48), 5)
    outside = 0
    for trial in range(60):
        common = np.repeat(draw.normal(0.0, 0.3, 48), 5)  # a month's shock, for every series
        parts = {
            str(i): ScorePair(
                months=months,
                own=np.exp(common + draw.normal(0.0, 0.2, 240)),
                rival=np.exp(draw.normal(0.0, 0.2, 240) + np.repeat(draw.normal(0.0, 0.3, 48), 5)),
            )
            for i in range(3)
        }
        found = pooled(parts, 1, trial, ratio=True)
        assert found.low is not None
        assert found.high is not None
        outside += not found.low <= 1.0 <= found.high
    assert outside <= 15  # 10 % are expected


def test_months_are_drawn_in_runs_and_too_few_give_no_interval() -> None:
    weights = month_weights(12, 3, 1)
    assert weights.sum(axis=1).tolist() == [12.0] * len(weights)
    part = ScorePair(months=np.arange(6), own=np.ones(6), rival=np.ones(6))
    assert pooled({"a": part}, 20, 1, ratio=True).low is None
