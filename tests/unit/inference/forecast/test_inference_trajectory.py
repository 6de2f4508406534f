"""Rounds become trajectories with both models' likelihoods; the placebo has the same shape."""

from dataclasses import dataclass
from math import fsum, log

import pytest

from inference.codec.codec import ReturnCodec
from inference.engine.self_test import golden_snapshot
from inference.forecast.forecast import ForecastSource
from inference.forecast.placebo import TableModel
from inference.forecast.trajectory import make_trajectories, path_quantiles
from inference.speculation.condense import condense
from inference.speculation.rounds import QTable, row_values
from inference.speculation.seeds import trajectory_seeds
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    draft_model,
    hashed_row,
    hopeless_row,
    make_table,
    request_of,
    target_model,
)

BINS = 32


def _decode(_index: int, tokens: tuple[int, ...]) -> tuple[float, ...]:
    return tuple((token - 128 - BINS / 2) / 1000 for token in tokens)


def test_likelihoods_are_those_of_the_recorded_rows() -> None:
    target = target_model(BINS)
    sampler = ReferenceSampler(target=target, draft=draft_model(BINS))
    request = request_of(8, 9)
    capture = sampler.capture(request)
    for trajectory in make_trajectories(condense(capture), _decode):
        before = (request.prompt_ids[-1], *trajectory.tokens[:-1])
        expected = fsum(
            log(target(b)[token - 128]) for b, token in zip(before, trajectory.tokens, strict=True)
        )
        assert trajectory.loglik_target == pytest.approx(expected, abs=1e-12)
        assert trajectory.kept
        assert trajectory.log_returns == _decode(0, trajectory.tokens)
        drafted = [r for r in capture.rounds if r.trajectory == trajectory.index and r.drafts]
        at = {r.step + j for r in drafted for j in range(len(r.draws))}
        both = trajectory.loglik_target_drafted
        assert both == pytest.approx(
            fsum(log(target(before[i])[trajectory.tokens[i] - 128]) for i in at), abs=1e-12
        )


def test_a_table_gives_the_drafters_likelihood_only_when_it_is_there() -> None:
    table = make_table([draft_model(BINS)(t) for t in range(4)])
    capture = ReferenceSampler(target=target_model(BINS), table=table).capture(request_of(3))
    evidence = condense(capture, table)
    with_table = make_trajectories(evidence, _decode, table)
    without = make_trajectories(evidence, _decode)
    assert all(t.loglik_drafter is not None and t.loglik_drafter < 0 for t in with_table)
    assert all(t.loglik_drafter is None for t in without)


def test_a_token_the_drafter_cannot_make_has_no_likelihood_there() -> None:
    table = make_table([hopeless_row(BINS)])
    capture = ReferenceSampler(target=target_model(BINS), table=table).capture(request_of(3))
    evidence = condense(capture, table)
    likelihoods = [t.loglik_drafter for t in make_trajectories(evidence, _decode, table)]
    assert float("-inf") in likelihoods


def test_quantiles_interpolate_between_paths() -> None:
    capture = ReferenceSampler(target=target_model(BINS)).capture(request_of(5, 2, spec_k=0))
    values = iter([0.0, 0.25, 0.5, 0.75, 1.0])
    trajectories = make_trajectories(condense(capture), lambda _i, _t: (next(values), 0.0))
    assert path_quantiles(trajectories, (0.0, 0.125, 0.5, 1.0)) == (
        (0.0, 0.0),
        (0.125, 0.125),
        (0.5, 0.5),
        (1.0, 1.0),
    )
    with pytest.raises(ValueError, match="no trajectories"):
        path_quantiles([], (0.5,))


@dataclass(frozen=True, kw_only=True)
class Plan:
    paths: int
    horizon: int


@pytest.fixture(scope="module")
def codec_table() -> QTable:
    codec = ReturnCodec()
    return make_table(
        [hashed_row("placebo", s % 7, codec.n_bins, 3.0) for s in range(codec.n_table_states)]
    )


def test_the_placebo_is_repeatable_and_only_the_table_speaks(codec_table: QTable) -> None:
    codec = ReturnCodec()
    model = TableModel(codec_table, codec)
    snapshot = golden_snapshot()
    prompt = codec.encode(snapshot)
    seed = bytes(32)
    first = model.trajectories(prompt, seed, Plan(paths=40, horizon=10))
    assert first == model.trajectories(prompt, seed, Plan(paths=40, horizon=10))
    assert model.trajectories(prompt, seed, Plan(paths=3, horizon=10)) == first[:3]
    assert len({t.tokens for t in first}) == 40
    assert tuple(t.seed for t in first) == trajectory_seeds(seed, 40)
    forecast = model.forecast(
        snapshot=snapshot, prompt=prompt, seed=seed, plan=Plan(paths=40, horizon=10)
    )
    assert forecast.source is ForecastSource.TABLE
    assert (forecast.n_paths, forecast.horizon) == (40, 10)
    assert forecast.model_digest == codec_table.digest
    row = row_values(codec_table.row(codec.table_state(prompt.token_ids)))
    total = fsum(row)
    law = model.step_law(prompt)
    direct = codec.step_distribution(prompt, tuple(v / total for v in row))
    assert (law.p_up, law.mean, law.sd) == direct


def test_a_table_of_another_codec_is_refused() -> None:
    with pytest.raises(ValueError, match="not this codec"):
        TableModel(make_table([hopeless_row(8)]), ReturnCodec())
