"""The direct sampler: its tokens by hand, its forecast the target's, and a capture that decides."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.codec.bins import z_of
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.errors import CaptureError, CodecError, ForecastError
from inference.forecast.direct import DirectSample, judge_direct, sample_direct
from inference.forecast.forecast import ForecastLabel, ForecastSource, StepLaw, make_forecast
from inference.forecast.trajectory import DropReason, Trajectory, TrajectoryPolicy
from inference.snapshot import BAR_US
from inference.speculation.direct import step_draws
from inference.speculation.direct_bytes import decode_direct, encode_direct
from inference.speculation.rounds import QTable, row_values
from inference.speculation.seeds import pick
from tests.doubles.direct_cases import CODEC, SEED, Plan, table_of, told, wordless
from tests.doubles.reference_sampler import make_table

PAIRS = ("pair_v1", "pair_v4")  # rows that answer to each move, and the shipped ones


def sampled(
    paths: int = 40,
    horizon: int = 5,
    pair: str = "pair_v1",
    seed: bytes = SEED,
    policy: TrajectoryPolicy | None = None,
) -> DirectSample:
    snapshot, prompt = wordless()
    return sample_direct(
        codec=CODEC,
        prompt=prompt,
        snapshot=snapshot,
        seed=seed,
        plan=Plan(paths, horizon),
        table=table_of(pair),
        model_digest="m",
        policy=policy,
    )


def by_hand(
    prompt: Prompt, table: QTable, seed: bytes, paths: int, horizon: int
) -> list[tuple[list[int], list[float]]]:
    """Return tokens and log returns, one path after the other, with the scalar functions."""
    base, result = CODEC.table_base(prompt.token_ids), []
    for path in range(paths):
        state, scale = CODEC.table_state(prompt.token_ids), CODEC.scale_of(prompt)
        tokens, returns = list[int](), list[float]()
        for step in range(horizon):
            draws, places = step_draws(seed, step, paths)
            bin_ = pick(row_values(table.row(state)), float(draws[path]))
            tokens.append(CODEC.bin_start + bin_)
            returns.append(z_of(bin_, float(places[path])) * scale.sigma)
            scale = scale.after(returns[-1])
            state = CODEC.table_step(base, tokens[-1])
        result.append((tokens, returns))
    return result


def paths_of(trajectories: Sequence[Trajectory]) -> list[tuple[list[int], list[float]]]:
    return [(list(one.tokens), list(one.log_returns)) for one in trajectories]


@pytest.mark.parametrize("pair", PAIRS)
def test_every_token_and_return_is_that_of_the_scalar_rule(pair: str) -> None:
    found = sampled(pair=pair).sampled.trajectories
    assert paths_of(found) == by_hand(wordless()[1], table_of(pair), SEED, 40, 5)
    assert [one.index for one in found] == list(range(40))


@settings(max_examples=12)
@given(st.integers(2, 30), st.integers(1, 4), st.integers(0, 30), st.integers(0, 4))
def test_fewer_paths_and_a_shorter_horizon_are_a_prefix(
    paths: int, horizon: int, more: int, longer: int
) -> None:
    short = paths_of(sampled(paths, horizon).sampled.trajectories)
    long = paths_of(sampled(paths + more, horizon + longer).sampled.trajectories)[:paths]
    assert short == [(tokens[:horizon], returns[:horizon]) for tokens, returns in long]


def test_the_forecast_is_that_of_its_paths() -> None:
    snapshot, prompt = wordless()
    made = sampled()
    forecast, paths = made.sampled.forecast, made.sampled.trajectories
    row = row_values(table_of("pair_v1").row(CODEC.table_state(prompt.token_ids)))
    p_up, mean, sd = CODEC.step_distribution(prompt, row)
    label = ForecastLabel(
        instrument=snapshot.instrument,
        as_of_us=snapshot.as_of_us,
        bar_us=BAR_US[snapshot.frequency],
        source=ForecastSource.TARGET,
        codec_digest=CODEC.digest,
        model_digest="m",
        capture_digest=hashlib.sha256(made.capture).hexdigest(),
    )
    assert make_forecast(paths, StepLaw(p_up=p_up, mean=mean, sd=sd), label) == forecast


def test_paths_are_dropped_as_a_policy_says_and_counted() -> None:
    free = sampled(200).sampled
    ends = [abs(sum(one.log_returns)) for one in free.trajectories]
    limit = sorted(ends)[150]
    held = sampled(200, policy=TrajectoryPolicy(max_abs_log_return=limit)).sampled
    assert 0 < held.forecast.n_dropped < 200
    reasons = {one.reason for one in held.trajectories if not one.kept}
    assert reasons == {DropReason.MOVE_TOO_LARGE}
    assert paths_of(held.trajectories) == paths_of(free.trajectories)


def test_likelihoods_are_of_the_rows_that_were_drawn_from() -> None:
    base = CODEC.table_base(wordless()[1].token_ids)
    one = sampled().sampled.trajectories[7]
    state, likelihood = CODEC.table_state(wordless()[1].token_ids), 1.0
    for token in one.tokens:
        likelihood *= row_values(table_of("pair_v1").row(state))[token - CODEC.bin_start]
        state = CODEC.table_step(base, token)
    assert 2.718281828459045**one.loglik_target == pytest.approx(likelihood)
    assert one.loglik_drafter is None


@pytest.mark.parametrize("pair", PAIRS)
def test_a_capture_decides_every_token_in_8_kb_and_nothing_of_one_is_kept(pair: str) -> None:
    made = sampled(1024, 10, pair)
    assert len(made.capture) < 2_000
    assert judged(made.capture, pair) == ()
    said = decode_direct(made.capture)
    assert (said.paths, said.steps, said.seed) == (1024, 10, SEED)
    assert sum(one.tokens for one in said.states) == 10_240
    longer = sampled(2048, 20, pair)
    assert len(longer.capture) <= len(made.capture) + 16


def judged(data: bytes, pair: str = "pair_v1") -> tuple[str, ...]:
    return judge_direct(data, codec=CODEC, prompt=wordless()[1], table=table_of(pair))


def test_what_does_not_follow_is_named() -> None:
    said = decode_direct(sampled().capture)
    moved = [replace(one, tokens=one.tokens) for one in said.states]
    moved[0] = replace(moved[0], tokens=moved[0].tokens - 1)
    moved[-1] = replace(moved[-1], tokens=moved[-1].tokens + 1)
    other = replace(said.states[-1], row_digest=bytes(32))
    changes = {
        "tokens digest": {"tokens_digest": bytes(32)},
        "states": {"states": tuple(moved)},
        "table digest": {"table_digest": "00" * 32},
    }
    for name, change in changes.items():
        assert judged(encode_direct(replace(said, **change))) == (name,)  # type: ignore[arg-type]
    strange = encode_direct(replace(said, states=(*said.states[:-1], other)))
    assert judged(strange) == ("states",)
    chosen = encode_direct(replace(said, seed=SEED[::-1]))
    assert "tokens digest" in judged(chosen)
    assert set(judged(sampled().capture, "pair_v4")) >= {"table digest", "first row"}


def test_fewer_paths_told_than_drawn_are_named() -> None:
    said = decode_direct(sampled(40, 5).capture)
    counts = decode_direct(sampled(39, 5).capture).states
    assert judged(encode_direct(replace(said, paths=39, states=counts))) == ("tokens digest",)


def test_a_prompt_in_which_words_act_is_refused() -> None:
    snapshot, prompt = told()
    with pytest.raises(ForecastError, match="no word acts"):
        sample_direct(
            codec=CODEC,
            prompt=prompt,
            snapshot=snapshot,
            seed=SEED,
            plan=Plan(4, 2),
            table=table_of("pair_v4"),
            model_digest="m",
        )
    with pytest.raises(ForecastError, match="no word acts"):
        judge_direct(sampled().capture, codec=CODEC, prompt=prompt, table=table_of("pair_v1"))


def refused(prompt: Prompt, table: QTable, codec: ReturnCodec = CODEC) -> None:
    sample_direct(
        codec=codec,
        prompt=prompt,
        snapshot=wordless()[0],
        seed=SEED,
        plan=Plan(4, 2),
        table=table,
        model_digest="m",
    )


def test_another_codec_table_or_prompt_is_refused() -> None:
    prompt, table = wordless()[1], table_of("pair_v4")
    with pytest.raises(CaptureError, match="not this codec's"):
        refused(prompt, make_table([(0.5, 0.5)] * 3))
    with pytest.raises(CodecError, match="expected codec"):
        refused(prompt, table, ReturnCodec())
    with pytest.raises(ForecastError, match="no word acts"):
        refused(replace(prompt, token_ids=prompt.token_ids[:-1]), table)


def test_a_row_that_is_not_normalised_is_refused() -> None:
    table = table_of("pair_v4")
    state, width = CODEC.table_state(wordless()[1].token_ids), 4 * table.n_bins
    rows = bytearray(table.rows)
    rows[state * width : (state + 1) * width] = make_table([(0.5,) * 256]).rows
    with pytest.raises(CaptureError, match="sum of one"):
        refused(wordless()[1], replace(table, rows=bytes(rows)))
