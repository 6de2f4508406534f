"""Cleaning, the calendar split, and training prompts that are the served ones."""

import numpy as np
import pytest

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.snapshot import AssetClass, Direction, EventType, Strength
from inference.training.sources import TRAIN_END_US
from scripts.research.pair_v1.synthetic import (
    TAGGED_TYPES,
    Tag,
    draw_tags,
    planted_effects,
    synthetic_returns,
)
from scripts.research.pair_v1.windows import N_BARS, Mixture, Sampler, overlay, prompt_row
from scripts.research.series import code_all
from tests.doubles.market_cases import news_at, snapshot_of, walk_closes
from tests.doubles.training_cases import DAY_US, raw_of, raw_walk


def test_a_training_prompt_is_the_prompt_that_is_served() -> None:
    closes = walk_closes(300)
    quiet = snapshot_of(closes)
    raw = raw_of(
        [float(c) for c in closes],
        asset_class=AssetClass.INDEX,
        times_us=tuple(bar.close_time_us for bar in quiet.bars),
    )
    (series,), _ = code_all([raw])
    tag = Tag(
        event_type=EventType.EARNINGS,
        direction=Direction.NEGATIVE,
        strength=Strength.WEAK,
        age_bars=1,
    )
    for last in (200, 260, 299):
        history = snapshot_of(closes[:last])
        item = news_at(
            history.as_of_us - DAY_US,
            event_type=tag.event_type,
            direction=tag.direction,
            strength=tag.strength,
        )
        told = snapshot_of(closes[:last], [item])
        origin = last - 1 - 32  # the return after the last close, behind the burn-in
        if origin < len(series.bins):
            assert (
                tuple(prompt_row(series, origin, 128, ()))
                == ReturnCodec().encode(history).token_ids
            )
            assert (
                tuple(prompt_row(series, origin, 128, (tag,)))
                == ReturnCodec().encode(told).token_ids
            )


def test_nothing_of_2016_reaches_a_training_batch() -> None:
    raw = raw_walk("long", 2200, seed=1)  # 2012 to 2018
    spiked = raw_of(
        [
            c * (1.0 if t < TRAIN_END_US else 1.0 + 0.5 * (i % 2))
            for i, (t, c) in enumerate(zip(raw.times_us, raw.closes, strict=True))
        ],
        times_us=raw.times_us,
    )
    (clean_series,), _ = code_all([raw])
    (odd_series,), _ = code_all([spiked])
    assert (clean_series.bins != odd_series.bins).any()
    mixture = Mixture(real=20, tagged=20, synthetic=0)
    for step in range(5):
        ours = Sampler([clean_series], 1).batch(step, mixture)
        theirs = Sampler([odd_series], 1).batch(step, mixture)
        assert (ours.tokens == theirs.tokens).all()


def test_an_echo_has_no_effect_whatever_it_says() -> None:
    for direction in Direction:
        for strength in Strength:
            tag = Tag(event_type=EventType.ECHO, direction=direction, strength=strength, age_bars=0)
            assert tag.effect() == (0.0, 1.0)


def test_effects_are_monotone_in_strength_and_fade_with_age() -> None:
    for kind in set(TAGGED_TYPES) - {EventType.ECHO}:

        def effect(strength: Strength, age: int, kind: EventType = kind) -> tuple[float, float]:
            return Tag(
                event_type=kind, direction=Direction.POSITIVE, strength=strength, age_bars=age
            ).effect()

        strong, weak, old = (
            effect(Strength.STRONG, 0),
            effect(Strength.WEAK, 0),
            effect(Strength.STRONG, 6),
        )
        assert strong[0] > weak[0] > old[0] > 0.0
        assert strong[1] > weak[1] > 1.0
        assert strong[1] > old[1] > 1.0


def test_an_overlay_without_effect_is_the_real_path() -> None:
    (series,), _ = code_all([raw_walk("walk", 600, seed=2)])
    same = overlay(series, 200, np.zeros(16), np.ones(16))
    assert (same == series.bins[200:216]).all()
    wide = overlay(series, 200, np.zeros(16), np.full(16, 2.0))
    assert abs(wide[0] - 128) > abs(int(series.bins[200]) - 128) - 1
    assert (wide != same).any()


def test_planted_effects_have_the_declared_mean() -> None:
    tag = Tag(
        event_type=EventType.EARNINGS,
        direction=Direction.POSITIVE,
        strength=Strength.STRONG,
        age_bars=0,
    )
    rng = np.random.default_rng(1)
    drawn = [planted_effects((tag,), 3, rng) for _ in range(3000)]
    drift = np.mean([d for d, _ in drawn], axis=0)
    gain = np.mean([g for _, g in drawn], axis=0)
    assert drift == pytest.approx([0.2, 0.12, 0.072], rel=0.06)
    assert gain - 1.0 == pytest.approx([0.48, 0.288, 0.173], rel=0.06)


def test_synthetic_worlds_are_finite_and_differ() -> None:
    rng = np.random.default_rng(4)
    worlds = [synthetic_returns(rng, 400) for _ in range(40)]
    assert all(len(world) == 400 and np.isfinite(world).all() for world in worlds)
    spreads = np.log([np.std(world) for world in worlds])
    assert spreads.std() > 0.5


def test_tags_come_youngest_first_and_fit_the_slots() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        tags = draw_tags(rng)
        assert 1 <= len(tags) <= words.N_SLOTS
        ages = [tag.age_bars for tag in tags]
        assert ages == sorted(ages)


def test_a_series_shorter_than_a_sequence_is_not_drawn() -> None:
    coded, _ = code_all([raw_walk("short", 33 + N_BARS - 1, seed=5), raw_walk("long", 500, seed=6)])
    assert [series.name for series in Sampler(coded, 1).series] == ["long"]
