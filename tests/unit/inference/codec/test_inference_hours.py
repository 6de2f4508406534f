"""Codec 2 with sizes of hours: each bar its own, along a path too; daily prompts are unchanged."""

import dataclasses
import hashlib
import json

import pytest

from inference.codec.bins import z_of
from inference.codec.codec import dither, log_returns
from inference.codec.prompt import prompt_digest, prompt_document
from inference.codec.scaled import ScaledCodec, ranges_of
from inference.errors import ScaleError
from inference.scale.fitted import data_digest, default_fit
from inference.scale.moving import MovingScale, scales_of
from inference.scale.ranges import RangeLaw
from inference.scale.season import Season, flattened
from inference.snapshot import Snapshot, snapshot_document, snapshot_from_document
from tests.doubles.hourly_cases import hourly_snapshot
from tests.doubles.market_cases import snapshot_of, walk_closes

KEY = bytes(range(32))
CODEC = ScaledCodec()
PATH = [256, 255, 300, 190, 383, 128, 257, 270, 240, 256]
RANGED = RangeLaw(
    level=-0.8, day=0.2, week=0.4, month=0.3, fall=-0.15, spread=0.2, still=-0.2, moved=0.3
)
DAILY = {
    False: (
        "949572132429b9df1a34f0e4ac654e0b",
        "fb73dc81ebe5c6518ea34610150651d8",
        "4c4517ae8a4b76c3ab52b03110ecd3a9",
    ),
    True: (
        "1885d59d204ec75a799c10788c526ac5",
        "cfc357d49ce3303c0ecb7c57f9e1ee9e",
        "5aa41beb763c6a251f086bc23dbf0ead",
    ),
}
"""Digests of snapshot, prompt and path, with and without ranges, by the code before seasons."""


def season_of(snapshot: Snapshot) -> Season:
    assert snapshot.scale is not None
    assert snapshot.scale.season is not None
    return snapshot.scale.season


def scales(snapshot: Snapshot) -> list[MovingScale]:
    assert snapshot.scale is not None
    returns = log_returns(snapshot.bars)
    closes = [bar.close_time_us for bar in snapshot.bars[1:]]
    return scales_of(snapshot.scale, returns, ranges_of(snapshot.bars, returns), closes)


@pytest.mark.parametrize("ranged", [False, True])
def test_a_daily_forecast_is_bit_for_bit_the_one_before_seasons(ranged: bool) -> None:  # noqa: FBT001
    snapshot = snapshot_of(walk_closes(180, sd=0.02))
    if ranged:
        bars = tuple(
            dataclasses.replace(
                bar,
                high_ticks=bar.close_ticks + 300 + 7 * (i % 90),
                low_ticks=bar.close_ticks - 200 - 11 * (i % 70),
                open_ticks=bar.close_ticks + 100 - (i % 50),
            )
            for i, bar in enumerate(snapshot.bars)
        )
        snapshot = dataclasses.replace(snapshot, bars=bars)
    times = [bar.close_time_us for bar in snapshot.bars]
    returns = log_returns(snapshot.bars)
    found = ranges_of(snapshot.bars, returns)
    fit = default_fit(returns, fitted_us=times[0], digest=data_digest(times[1:], returns, found))
    fit = dataclasses.replace(fit, ranges=RANGED if ranged else None)
    snapshot = dataclasses.replace(snapshot, scale=fit)
    prompt = CODEC.encode(snapshot)
    path = " ".join(value.hex() for value in CODEC.decode_path(prompt, PATH, KEY))
    document = json.dumps(snapshot_document(snapshot), sort_keys=True)
    snapshot_digest, prompt_said, path_digest = DAILY[ranged]
    assert hashlib.sha256(document.encode()).hexdigest()[:32] == snapshot_digest
    assert prompt_digest(prompt)[:32] == prompt_said
    assert hashlib.sha256(path.encode()).hexdigest()[:32] == path_digest


def test_sigma_is_that_of_flat_returns_times_the_size_of_the_hour_that_is_expected() -> None:
    snapshot = hourly_snapshot()
    season, fit = season_of(snapshot), snapshot.scale
    assert fit is not None
    returns = log_returns(snapshot.bars)
    closes = [bar.close_time_us for bar in snapshot.bars[1:]]
    none: list[float | None] = [None] * len(returns)
    flat, _ = flattened(season, closes, returns, none)
    plain = scales_of(dataclasses.replace(fit, season=None), flat, none)
    for one, other in zip(scales(snapshot), plain, strict=True):
        spread = season.spread(season.next(one.hour))
        assert one.sigma == other.sigma * spread
        assert one.sigma_long == other.sigma_long * spread


def test_every_bar_of_a_path_has_the_size_of_its_own_hour_over_nights_and_weekends() -> None:
    snapshot = hourly_snapshot()
    season, prompt = season_of(snapshot), CODEC.encode(snapshot)
    scale, hours, by_hand = scales(snapshot)[-1], [], []
    tokens = PATH * 4
    for step, token in enumerate(tokens):
        by_hand.append(z_of(token - CODEC.bin_start, dither(KEY, step)) * scale.sigma)
        scale = scale.after(by_hand[-1])
        hours.append(scale.hour)
    assert list(CODEC.decode_path(prompt, tokens, KEY)) == by_hand
    start = season.usual.index(season.hour(snapshot.bars[-1].close_time_us))
    expected = [season.usual[(start + 1 + step) % 35] for step in range(len(tokens))]
    assert hours == expected
    assert {hour // 24 for hour in hours} == {0, 1, 2, 3, 4}


def test_the_open_is_wider_than_noon_at_the_same_volatility() -> None:
    last = scales(hourly_snapshot())[-1]
    season = last.fit.season
    assert season is not None
    opened, noon = (dataclasses.replace(last, hour=season.usual[i]) for i in (6, 3))
    assert opened.sigma > 2.5 * noon.sigma
    assert opened.sigma / opened.sigma_long == pytest.approx(noon.sigma / noon.sigma_long)


def test_a_replay_reads_the_sizes_from_the_record() -> None:
    snapshot = hourly_snapshot()
    told = json.loads(json.dumps(snapshot_document(snapshot)))
    again = snapshot_from_document(told)
    assert again == snapshot
    assert CODEC.encode(again) == CODEC.encode(snapshot)
    assert prompt_document(CODEC.encode(again))["scale"]["hour"] == scales(snapshot)[-1].hour


def test_other_sizes_give_another_prompt() -> None:
    snapshot = hourly_snapshot()
    fit, season = snapshot.scale, season_of(snapshot)
    assert fit is not None
    sizes = tuple(size + 1 for size in season.sizes_1e4)
    other = dataclasses.replace(fit, season=dataclasses.replace(season, sizes_1e4=sizes))
    one, two = CODEC.encode(snapshot), CODEC.encode(dataclasses.replace(snapshot, scale=other))
    assert prompt_digest(one) != prompt_digest(two)


def test_a_season_without_the_times_of_its_bars_is_refused() -> None:
    snapshot = hourly_snapshot()
    assert snapshot.scale is not None
    returns = log_returns(snapshot.bars)
    with pytest.raises(ScaleError, match="close times"):
        scales_of(snapshot.scale, returns, ranges_of(snapshot.bars, returns))
