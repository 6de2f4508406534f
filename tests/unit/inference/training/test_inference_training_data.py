"""Cleaning, the calendar split, and training prompts that are the served ones."""

import gzip
import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from inference.codec import vocabulary as words
from inference.codec.codec import ReturnCodec
from inference.errors import TrainingDataError
from inference.snapshot import AssetClass, Direction, EventType, Frequency, Strength
from inference.training.data.series import clean, code_all, without_split
from inference.training.data.sources import TRAIN_END_US, VALIDATION_END_US, raw_series
from inference.training.data.synthetic import (
    TAGGED_TYPES,
    Tag,
    draw_tags,
    planted_effects,
    synthetic_returns,
)
from inference.training.data.windows import N_BARS, Mixture, Sampler, overlay, prompt_row
from tests.doubles.market_cases import news_at, snapshot_of, walk_closes
from tests.doubles.training_cases import DAY_US, START_US, raw_of, raw_walk

FILES = {
    "daily/wti.csv.gz": "time,close\n2017-12-28,50\n2017-12-29,51\n2018-01-02,99\n",
    "daily/lean-eurusd.csv.gz": "time,open,close\n2015-01-02T00:00:00,1,1.2\n",
    "daily/stocknet-x.csv.gz": ("time,close,adj_close\n2015-01-02,2,1.5\n2015-01-05,null,null\n"),
    "hourly/lean-spy.csv.gz": ("time,close\n2015-07-01T15:00:00,200\n2015-12-01T15:00:00,201\n"),
}


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


def test_the_split_falls_on_the_first_close_of_2016() -> None:
    raw = raw_walk("long", 2000, seed=1)
    (series,), (row,) = code_all([raw])
    closes = [t for t in raw.times_us if t < TRAIN_END_US]
    assert row.train_returns == series.first_validation == len(closes) - 1 - 32
    assert row.train_returns + row.validation_returns == len(series.bins)


@pytest.mark.parametrize("bad", [0.0, -3.0, math.nan, math.inf])
def test_a_price_without_a_logarithm_is_left_out(bad: float) -> None:
    _, returns, dropped = clean(raw_of([10.0, bad, 11.0]))
    assert dropped == 1
    assert returns == [math.log(1.1)]


def test_a_weekend_stub_of_a_currency_is_left_out() -> None:
    times = tuple(START_US + day * DAY_US for day in range(7))  # Monday to Sunday
    prices = [1.0, 1.1, 1.0, 1.1, 1.0, 1.5, 1.5]
    raw = raw_of(prices, times_us=times, asset_class=AssetClass.FX)
    kept, returns, dropped = clean(raw)
    assert dropped == 2
    assert len(returns) == 4
    assert len(kept) == 5


def test_a_split_is_taken_out_of_an_unadjusted_equity_only() -> None:
    prices = [100.0, 101.0, 50.5, 51.0]
    _, raw, _ = clean(raw_of(prices, split_adjusted=False))
    _, adjusted, _ = clean(raw_of(prices, split_adjusted=True))
    assert raw[1] == pytest.approx(0.0, abs=1e-12)
    assert adjusted[1] == pytest.approx(-math.log(2.0))
    assert without_split(-0.9) == -0.9


def test_a_bad_print_is_left_out() -> None:
    _, returns, dropped = clean(raw_of([10.0, 30.0, 10.0, 10.5]))
    assert dropped == 2
    assert returns == [pytest.approx(math.log(1.05))]


def test_a_folder_is_read_as_its_readme_says(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    found = {raw.name: raw for raw in raw_series(tmp_path)}
    wti = found["daily/wti"]
    assert wti.closes == (50.0, 51.0)
    assert max(wti.times_us) < VALIDATION_END_US
    assert found["daily/lean-eurusd"].asset_class is AssetClass.FX
    assert not found["daily/lean-eurusd"].split_adjusted
    assert found["daily/stocknet-x"].closes[0] == 1.5
    assert math.isnan(found["daily/stocknet-x"].closes[1])
    spy = found["hourly/lean-spy"]
    assert spy.frequency is Frequency.HOURLY
    hours = [datetime.fromtimestamp(t / 1e6, UTC).hour for t in spy.times_us]
    assert hours == [20, 21]  # 16:00 New York in summer and in winter


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingDataError, match="was nothing"):
        list(raw_series(tmp_path))


def test_the_series_of_arch_end_before_2018() -> None:
    raws = list(raw_series(None))
    assert {raw.name for raw in raws} >= {"arch/sp500", "arch/nasdaq"}
    assert all(max(raw.times_us) < VALIDATION_END_US for raw in raws)
    assert all(len(raw.closes) > 500 for raw in raws)


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
