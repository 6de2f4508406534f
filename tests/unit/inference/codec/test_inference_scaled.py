"""Codec v2: v1's tokens on a fitted scale; the parameters come from the snapshot alone."""

import dataclasses
import json
import math
from collections.abc import Callable

import pytest

from inference.codec.bins import bin_of, z_of
from inference.codec.codec import MIN_BARS, ReturnCodec, dither, log_returns
from inference.codec.prompt import prompt_digest, prompt_document
from inference.codec.scaled import ScaledCodec, codec_named, codec_of, ranges_of
from inference.errors import CodecError, SnapshotError
from inference.scale.fitted import ScaleFit, data_digest, default_fit
from inference.scale.law import VarianceLaw
from inference.scale.moving import scales_of
from inference.scale.ranges import RangeLaw
from inference.scale.schedule import BURN_IN
from inference.snapshot import Snapshot, snapshot_document, snapshot_from_document
from tests.doubles.market_cases import news_at, snapshot_of, walk_closes

KEY = bytes(range(32))
CODEC = ScaledCodec()
PATH = [256, 255, 300, 190, 383, 128, 257, 270, 240, 256]


RANGED = RangeLaw(
    level=-0.8, day=0.2, week=0.4, month=0.3, fall=-0.15, spread=0.2, still=-0.2, moved=0.3
)


def with_ranges(snapshot: Snapshot) -> Snapshot:
    """The snapshot with highs and lows around its closes, and a range law."""
    bars = tuple(
        dataclasses.replace(
            bar,
            high_ticks=bar.close_ticks + 300 + 7 * (i % 90),
            low_ticks=bar.close_ticks - 200 - 11 * (i % 70),
            open_ticks=bar.close_ticks + 100 - (i % 50),
        )
        for i, bar in enumerate(snapshot.bars)
    )
    scale = dataclasses.replace(scale_of(snapshot), ranges=RANGED)
    return dataclasses.replace(snapshot, bars=bars, scale=scale)


def fitted(snapshot: Snapshot, gjr: VarianceLaw | None = None) -> Snapshot:
    """The snapshot with default laws of its own level, or a given GJR."""
    times = [bar.close_time_us for bar in snapshot.bars]
    returns = log_returns(snapshot.bars)
    found = ranges_of(snapshot.bars, returns)
    fit = default_fit(returns, fitted_us=times[0], digest=data_digest(times[1:], returns, found))
    return dataclasses.replace(snapshot, scale=dataclasses.replace(fit, gjr=gjr or fit.gjr))


def scale_of(snapshot: Snapshot) -> ScaleFit:
    assert snapshot.scale is not None
    return snapshot.scale


def test_bins_are_returns_over_the_scale_before_them() -> None:
    snapshot = fitted(snapshot_of(walk_closes(180, sd=0.02)))
    returns = log_returns(snapshot.bars)
    scales = scales_of(scale_of(snapshot), returns, ranges_of(snapshot.bars, returns))
    prompt = CODEC.encode(snapshot)
    bins = [t - CODEC.bin_start for t in prompt.token_ids if t >= CODEC.bin_start]
    by_hand = [
        bin_of(returns[i] / scales[i - BURN_IN].sigma)
        for i in range(len(returns) - len(bins), len(returns))
    ]
    assert bins == by_hand
    assert prompt.sigma == scales[-1].sigma.hex()


def test_another_last_bar_changes_no_earlier_token() -> None:
    snapshot = fitted(snapshot_of(walk_closes(150)))
    last = dataclasses.replace(snapshot.bars[-1], low_ticks=1, close_ticks=1)
    other = dataclasses.replace(snapshot, bars=(*snapshot.bars[:-1], last))
    one, two = (
        [t for t in CODEC.encode(s).token_ids if t >= CODEC.bin_start] for s in (snapshot, other)
    )
    assert one[:-1] == two[:-1]
    assert one[-1] != two[-1]


def test_a_path_moves_both_recursions_and_its_falls_raise_volatility_more() -> None:
    snapshot = fitted(snapshot_of(walk_closes(150)))
    prompt = CODEC.encode(snapshot)
    returns = log_returns(snapshot.bars)
    scale = scales_of(scale_of(snapshot), returns, ranges_of(snapshot.bars, returns))[-1]
    by_hand = []
    for step, token in enumerate(PATH):
        by_hand.append(z_of(token - CODEC.bin_start, dither(KEY, step)) * scale.sigma)
        scale = scale.after(by_hand[-1])
    assert list(CODEC.decode_path(prompt, PATH, KEY)) == by_hand
    middle = CODEC.bin_start + 128
    fall = CODEC.decode_path(prompt, [middle - 60, middle + 40], KEY)
    rise = CODEC.decode_path(prompt, [middle + 60, middle + 40], KEY)
    assert fall[1] > 1.02 * rise[1] > 0.0


def test_the_closed_form_step_has_the_joined_sigma() -> None:
    prompt = CODEC.encode(fitted(snapshot_of(walk_closes(150))))
    flat = [1.0 / CODEC.n_bins] * CODEC.n_bins
    _, _, spread = CODEC.step_distribution(prompt, flat)
    other = ReturnCodec()
    plain = other.encode(snapshot_of(walk_closes(150)))
    _, _, theirs = other.step_distribution(plain, flat)
    assert spread / float.fromhex(prompt.sigma) == pytest.approx(
        theirs / float.fromhex(plain.sigma)
    )


def test_other_parameters_give_another_prompt_digest() -> None:
    snapshot = fitted(snapshot_of(walk_closes(150)))
    fit = scale_of(snapshot)
    gjr = dataclasses.replace(fit.gjr, nu=5.0)  # the tails: no token depends on them
    one = CODEC.encode(snapshot)
    two = CODEC.encode(dataclasses.replace(snapshot, scale=dataclasses.replace(fit, gjr=gjr)))
    assert one.token_ids == two.token_ids
    assert prompt_digest(one) != prompt_digest(two)
    document = prompt_document(one)
    assert document["scale"]["fit"] == fit.digest
    assert "var_fast" not in document
    json.dumps(document, allow_nan=False)
    assert not [v for v in document["scale"].values() if isinstance(v, float)]


def test_highs_and_lows_move_the_scale_only_with_a_range_law() -> None:
    snapshot = with_ranges(fitted(snapshot_of(walk_closes(150))))
    wider = [dataclasses.replace(b, high_ticks=b.high_ticks + 4_000) for b in snapshot.bars[-5:]]
    other = dataclasses.replace(snapshot, bars=(*snapshot.bars[:-5], *wider))
    one, two = (float.fromhex(CODEC.encode(s).sigma) for s in (snapshot, other))
    assert two > 1.05 * one
    assert len(prompt_document(CODEC.encode(snapshot))["scale"]["ranges"]) == 22
    bare = dataclasses.replace(scale_of(snapshot), ranges=None)
    same = {CODEC.encode(dataclasses.replace(s, scale=bare)).sigma for s in (snapshot, other)}
    assert len(same) == 1


def test_without_a_fit_or_with_few_bars_it_refuses() -> None:
    with pytest.raises(CodecError, match="fitted scale"):
        CODEC.encode(snapshot_of(walk_closes(150)))
    with pytest.raises(CodecError, match="at least 49 bars"):
        CODEC.encode(fitted(snapshot_of(walk_closes(MIN_BARS - 1))))
    assert CODEC.encode(fitted(snapshot_of(walk_closes(MIN_BARS)))).scale is not None


def test_a_fit_that_saw_a_later_bar_is_refused() -> None:
    snapshot = fitted(snapshot_of(walk_closes(60)))
    late = dataclasses.replace(scale_of(snapshot), fitted_us=snapshot.bars[-1].close_time_us + 1)
    with pytest.raises(SnapshotError, match="scale fitted up to"):
        dataclasses.replace(snapshot, scale=late)


def test_the_snapshot_brings_the_same_parameters_back() -> None:
    snapshot = fitted(snapshot_of(walk_closes(60)))
    document = json.loads(json.dumps(snapshot_document(snapshot)))
    assert snapshot_from_document(document) == snapshot
    assert "scale" not in snapshot_document(dataclasses.replace(snapshot, scale=None))
    with pytest.raises(SnapshotError):
        snapshot_from_document(document | {"scale": None})
    with pytest.raises(SnapshotError):
        snapshot_from_document(document | {"scale": {**document["scale"], "gjr": ["0x1p-3"]}})


def test_each_codec_takes_its_own_prompts_only() -> None:
    snapshot = fitted(snapshot_of(walk_closes(150)))
    first = ReturnCodec()
    for codec, other in ((first, CODEC), (CODEC, first)):
        with pytest.raises(CodecError, match="expected codec"):
            codec.decode_path(other.encode(snapshot), PATH, KEY)
    with pytest.raises(CodecError, match="with its scale"):
        CODEC.decode_path(dataclasses.replace(CODEC.encode(snapshot), scale=None), PATH, KEY)


def test_a_codec_is_found_by_its_digest_and_by_its_snapshot() -> None:
    snapshot = snapshot_of(walk_closes(60))
    assert type(codec_named(ReturnCodec().digest)) is type(codec_of(snapshot)) is ReturnCodec
    assert type(codec_named(CODEC.digest)) is type(codec_of(fitted(snapshot))) is ScaledCodec
    with pytest.raises(CodecError, match="this version"):
        codec_named("0" * 64)


def test_codec_v2_gives_the_frozen_tokens(golden: Callable[[str, bytes], None]) -> None:
    law = VarianceLaw(mean=3e-4, omega=1.5e-6, alpha=0.01, gamma=0.15, beta=0.9, nu=6.5)
    calm = fitted(snapshot_of(walk_closes(240, seed=1, sd=0.004)), gjr=law)
    wild = fitted(snapshot_of(walk_closes(70, seed=2, sd=0.05)))
    wide = with_ranges(calm)
    told = dataclasses.replace(calm, news=(news_at(calm.as_of_us - 1),))
    vectors = []
    for snapshot in (calm, wild, told, wide):
        prompt = CODEC.encode(snapshot)
        document = prompt_document(prompt)
        state = {name: document["scale"][name] for name in ("garch", "gjr", "long", "fall")}
        vectors.append(
            {
                "token_ids": document["token_ids"],
                "fit": document["scale"]["fit"],
                "state": {name: f"{float.fromhex(v):.12g}" for name, v in state.items()},
                "sigma": f"{float.fromhex(prompt.sigma):.12g}",
                "table_state": CODEC.table_state(prompt.token_ids),
                "decoded": [f"{v:.12g}" for v in CODEC.decode_path(prompt, PATH, bytes(32))],
            }
        )
    assert all(math.isfinite(float(v["sigma"])) for v in vectors)
    text = json.dumps({"digest": CODEC.digest, "vectors": vectors}, indent=1, sort_keys=True)
    golden("codec_v2.json", text.encode() + b"\n")
