"""Scores agree with slow integrals; figures are taken where they should be."""

import dataclasses

import numpy as np
import pytest

from inference.codec.codec import ReturnCodec, dither
from inference.training.evaluation.score import EDGES, fair_crps, row_cdf, row_crps
from inference.training.series import Floats
from scripts.research.scores import decode_many, ewma_variances, gaussian_crps
from scripts.research.series import code_all
from tests.doubles.market_cases import snapshot_of, walk_closes
from tests.doubles.training_cases import raw_walk


class CodecDither:
    """A generator that gives the codec's own place inside a bin, step by step."""

    def __init__(self) -> None:
        self.step = -1

    def random(self, shape: tuple[int, int]) -> Floats:
        self.step += 1
        return np.full(shape, dither(bytes(32), self.step))


def test_the_score_of_a_row_is_the_integral_of_its_squared_distance() -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(256), 3)
    values = np.asarray([-2.3, 0.01, 4.4])
    grid = np.linspace(-16.0, 16.0, 400_001)
    for row, value, score in zip(rows, values, row_crps(rows, values), strict=True):
        law = np.interp(grid, EDGES, np.concatenate(([0.0], np.cumsum(row))))
        slow = np.trapezoid((law - (grid >= value)) ** 2, grid)
        assert score == pytest.approx(float(slow), abs=1e-4)


def test_a_value_beyond_the_bins_costs_its_distance() -> None:
    rows = np.full((1, 256), 1.0 / 256)
    near, far = row_crps(rows, np.asarray([16.0])), row_crps(rows, np.asarray([20.0]))
    assert far - near == pytest.approx(4.0)


def test_the_gaussian_score_is_the_limit_of_the_sampled_one() -> None:
    rng = np.random.default_rng(1)
    truth = np.asarray([0.3, -1.2])
    paths = rng.normal(0.0, 0.7, (2, 40_000))
    closed = gaussian_crps(truth, np.asarray([0.7, 0.7]))
    assert fair_crps(paths, truth) == pytest.approx(closed, rel=0.02)


def test_the_fair_score_is_unbiased_for_few_paths() -> None:
    rng = np.random.default_rng(2)
    few = fair_crps(rng.normal(size=(20_000, 4)), rng.normal(size=20_000)).mean()
    many = fair_crps(rng.normal(size=(20_000, 64)), rng.normal(size=20_000)).mean()
    assert few == pytest.approx(many, rel=0.03)


def test_the_cdf_of_an_outcome_is_uniform_when_the_row_is_right() -> None:
    rng = np.random.default_rng(3)
    row = rng.dirichlet(np.ones(256))
    bins = rng.choice(256, size=4000, p=row)
    values = EDGES[bins] + rng.random(4000) * np.diff(EDGES)[bins]
    ranks = row_cdf(np.tile(row, (4000, 1)), values)
    assert np.quantile(ranks, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.03)


def test_many_paths_decode_as_the_codec_decodes_one() -> None:
    codec = ReturnCodec()
    prompt = codec.encode(snapshot_of(walk_closes(200)))
    path = [256, 370, 200, 300, 255]
    low = codec.decode_path(prompt, path, bytes(32))
    scales = np.asarray(
        [[float.fromhex(v) for v in (prompt.var_fast, prompt.var_slow, prompt.var_long)]]
    )

    bins = np.asarray([[path]]) - codec.bin_start
    many = decode_many(bins, scales, CodecDither())  # type: ignore[arg-type]
    assert many[0, 0] == pytest.approx(low, rel=1e-12)


def test_the_rival_knows_nothing_of_the_day_it_judges() -> None:
    (series,), _ = code_all([raw_walk("walk", 500, seed=1)])
    changed = dataclasses.replace(series, returns=series.returns.copy())
    changed.returns[100] = 0.5
    before, after = ewma_variances(series), ewma_variances(changed)
    assert (before[:101] == after[:101]).all()
    assert after[101] > before[101]
