"""What joint paths are measured with: the quick law, the way before, intervals, copulas."""

import numpy as np
import pytest

from inference.forecast.draws import CodecLaw
from inference.scale.correlation import PastCloses
from inference.scale.fitted import ScaleFit
from inference.scale.law import VarianceLaw
from inference.scale.moving import MovingScale
from inference.scale.ranges import MONTH, RangeLaw
from scripts.research.joint.ground import STEPS
from scripts.research.joint.intervals import of_days, of_means
from scripts.research.joint.memory import copula_score
from scripts.research.joint.sampling import QuickLaw, said
from scripts.research.joint.windows import matched

LAW = VarianceLaw(mean=1e-4, omega=2e-6, alpha=0.04, gamma=0.08, beta=0.9, nu=6.0)
RANGES = RangeLaw(
    level=-0.9, day=0.2, week=0.4, month=0.3, fall=-0.1, spread=0.2, still=-0.4, moved=0.5
)


@pytest.mark.parametrize("ranges", [RANGES, None])
def test_the_quick_law_is_the_codecs(ranges: RangeLaw | None) -> None:
    noise = np.random.default_rng(1)
    past = tuple(noise.normal(-9.0, 0.5, size=MONTH)) if ranges else ()
    fit = ScaleFit(
        fitter="made",
        fitted_us=1,
        n_returns=252,
        data_digest="d",
        garch=LAW,
        gjr=LAW,
        ranges=ranges,
    )
    scale = MovingScale(fit=fit, garch=1e-4, gjr=2e-4, long=1e-4, ranges=past, fall=-0.5)
    drawn = noise.standard_t(4, size=(64, STEPS))
    quick = QuickLaw(scale, drawn, by_move=True).returns(drawn)
    assert np.allclose(quick, CodecLaw(scale=scale).returns(drawn), rtol=1e-12)


def test_the_way_before_keeps_whole_paths_and_the_firsts_order() -> None:
    noise = np.random.default_rng(2)
    moves = [noise.integers(-(10**6), 10**6, size=(128, STEPS)) for _ in range(2)]
    times = tuple(86_400_000_000 * day for day in range(1, 301))
    closes = [
        np.rint(1e6 * np.exp(np.cumsum(noise.normal(0, 0.01, 300)))).astype(int) for _ in (0, 1)
    ]
    pasts = [
        PastCloses(bar_us=86_400_000_000, times_us=times, closes=tuple(c.tolist())) for c in closes
    ]
    joined = matched(moves, pasts)
    assert (joined[0] == moves[0]).all()
    assert sorted(map(tuple, joined[1])) == sorted(map(tuple, moves[1]))


def test_a_book_that_always_falls_is_said_to_fall() -> None:
    down = np.tile(-1_000_000 * np.arange(1, STEPS + 1), (100, 1))
    found = said((down, down), np.full((2, STEPS), -0.01))
    assert found["trip"].tolist() == [1.0, 1.0, 1.0]
    assert found["tripped"].tolist() == [1.0, 1.0, 1.0]
    assert found["shortfall"][0] == pytest.approx(0.01)


def test_an_interval_of_independent_values_is_that_of_their_mean() -> None:
    values = np.random.default_rng(3).normal(size=4_000)
    by_means = of_means((values,), lambda mean: mean)
    by_days = of_days(values, lambda drawn: float(drawn.mean()))
    for value, low, high in (by_means, by_days):
        assert low < value < high
        assert value == pytest.approx(values.mean())
        assert high - low == pytest.approx(2 * 1.96 / 4_000**0.5, rel=0.25)


def test_the_right_correlation_scores_best() -> None:
    noise = np.random.default_rng(4)
    first = noise.normal(size=20_000)
    scores = np.stack((first, 0.8 * first + 0.6 * noise.normal(size=20_000)))
    means = {r: copula_score(scores, np.full(20_000, r)).mean() for r in (0.6, 0.7, 0.8, 0.9)}
    assert max(means, key=lambda r: means[r]) == 0.8
