"""Codec, placebo, seams: each choice that a reader would not see go wrong, worked out by hand."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum, log
from pathlib import Path
from typing import Any

import pytest

from inference.codec import vocabulary as words
from inference.codec.bins import bin_of, z_of
from inference.codec.codec import (
    LEVEL_EDGES,
    RATIO_STEP,
    ReturnCodec,
    clock_token,
    dither,
    encode_returns,
    log_returns,
    scale_tokens,
)
from inference.codec.narrative import narrative_tokens
from inference.codec.prompt import Prompt, prompt_document
from inference.engine.drafters import Drafter, NetworkDrafter, TableDrafter
from inference.engine.frames import MAX_BODY, MAX_HEADER, Frame, read_frame, write_frame
from inference.engine.port import MAX_ID_LENGTH, MAX_SPEC_K, MAX_TOKENS, MAX_TRAJECTORIES
from inference.engine.self_test import golden_snapshot
from inference.errors import CodecError, EngineRefusedError, FrameError, SnapshotError
from inference.forecast.forecast import ForecastSource
from inference.forecast.placebo import TableModel
from inference.forecast.trajectory import DropReason, TrajectoryPolicy
from inference.scale.ewma import BURN_IN, VARIANCE_FLOOR, Scale, first_scale
from inference.snapshot import (
    BAR_US,
    MAX_TICKS,
    Bar,
    Direction,
    EventType,
    Frequency,
    NewsItem,
    Strength,
)
from inference.speculation.rounds import DrafterKind, QTable, row_bytes
from inference.speculation.seeds import Purpose, dither_key, pick, token_draw, trajectory_seeds
from tests.doubles.market_cases import news_at, snapshot_of, walk_closes
from tests.doubles.reference_sampler import hashed_row, make_table, request_of

CODEC = ReturnCodec()
DAY_US = 86_400_000_000


@pytest.mark.parametrize(("day", "weekday"), [(0, 3), (3, 6), (4, 0), (10, 6), (17_598, 3)])
def test_a_daily_prompt_names_the_weekday_monday_first(day: int, weekday: int) -> None:
    """1970-01-01 was a Thursday, and so was 2018-03-08, 17,598 days later."""
    for us in (0, DAY_US - 1):
        token = clock_token(Frequency.DAILY, day * DAY_US + us)
        assert token == words.CLOCK_START + weekday


@pytest.mark.parametrize("hour", [0, 1, 23])
def test_an_hourly_prompt_names_the_hour_behind_the_weekdays(hour: int) -> None:
    for us in (0, 3_599_999_999):
        close = 5 * DAY_US + hour * 3_600_000_000 + us
        assert clock_token(Frequency.HOURLY, close) == words.CLOCK_START + 7 + hour


@pytest.mark.parametrize("level", range(8))
def test_the_level_names_the_edges_that_sigma_reached(level: int) -> None:
    edges = (0.0, *LEVEL_EDGES)
    for sigma in (edges[level] * (1 + 1e-9) + 1e-9, (*LEVEL_EDGES, 1.0)[level] * (1 - 1e-9)):
        scale = Scale(fast=sigma**2, slow=sigma**2, long=sigma**2)
        assert scale_tokens(scale) == (words.RATIO_START + 8, words.LEVEL_START + level)


@pytest.mark.parametrize(
    ("steps", "place"), [(-99, 0), (-8, 0), (-7.5, 0), (-0.5, 7), (0.5, 8), (7.5, 15), (99, 15)]
)
def test_the_ratio_names_its_bucket_and_stays_among_them(steps: float, place: int) -> None:
    sigma = 0.003
    long = (sigma / math.exp(steps * RATIO_STEP)) ** 2
    ratio, _ = scale_tokens(Scale(fast=sigma**2, slow=sigma**2, long=long))
    assert ratio == words.RATIO_START + place


def test_a_scale_forgets_at_three_speeds_and_holds_back_a_bad_print() -> None:
    scale = Scale(fast=4e-4, slow=1e-4, long=9e-4)
    assert scale.sigma == math.sqrt(0.75 * 4e-4 + 0.25 * 1e-4)
    assert scale.sigma_long == 0.03
    for move in (0.01, -0.01):
        after = scale.after(move)
        assert after.fast == pytest.approx(0.94 * 4e-4 + 0.06 * 1e-4, rel=1e-12)
        assert after.slow == pytest.approx(0.99 * 1e-4 + 0.01 * 1e-4, rel=1e-12)
        assert after.long == pytest.approx(0.995 * 9e-4 + 0.005 * 1e-4, rel=1e-12)
    limit = 8 * scale.sigma
    assert scale.after(limit * 50) == scale.after(-limit)
    assert scale.after(limit * 0.99) != scale.after(limit)
    flat = Scale(fast=0.0, slow=0.0, long=0.0).after(0.0)
    assert (flat.fast, flat.slow, flat.long) == (VARIANCE_FLOOR,) * 3


def test_a_scale_begins_with_the_mean_square_of_all_but_the_largest_move() -> None:
    moves = [0.01, -0.5, 0.02, -0.03]
    mean = fsum((0.01**2, 0.02**2, 0.03**2)) / 3
    assert first_scale(moves).fast == pytest.approx(mean, rel=1e-12)
    start = first_scale(moves)
    assert start.fast == start.slow == start.long
    assert first_scale([0.0, 0.0]).long == VARIANCE_FLOOR


def test_each_return_is_divided_by_the_scale_before_it() -> None:
    closes = walk_closes(60)
    returns = log_returns(snapshot_of(closes).bars)
    assert returns == [math.log(b / a) for a, b in pairwise(closes)]
    bins, scale = encode_returns(returns)
    running, wanted = first_scale(returns[:BURN_IN]), []
    for value in returns[BURN_IN:]:
        wanted.append(bin_of(value / running.sigma))
        running = running.after(value)
    assert (bins, scale) == (wanted, running)
    assert BURN_IN == 32


def test_a_path_is_decoded_by_its_own_dither_and_a_scale_that_moves() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(200)))
    scale = Scale(
        fast=float.fromhex(prompt.var_fast),
        slow=float.fromhex(prompt.var_slow),
        long=float.fromhex(prompt.var_long),
    )
    assert prompt.sigma == scale.sigma.hex()
    key, wanted = b"k" * 32, []
    tokens = (256, 383, 128, 300)
    for step, token in enumerate(tokens):
        wanted.append(z_of(token - 128, dither(key, step)) * scale.sigma)
        scale = scale.after(wanted[-1])
    assert CODEC.decode_path(prompt, tokens, key) == tuple(wanted)


@pytest.mark.parametrize("bad", ["", "one", "0x1p99999", "nothex"])
@pytest.mark.parametrize("field", ["var_fast", "var_slow", "var_long"])
def test_a_prompt_whose_scale_is_no_number_is_a_codec_error(field: str, bad: str) -> None:
    good = CODEC.encode(snapshot_of(walk_closes(200)))
    spoiled = Prompt(**{**prompt_document(good), field: bad})
    row = [1 / 256] * 256
    calls: tuple[Callable[[], object], ...] = (
        lambda: CODEC.decode_path(spoiled, [200], b"k" * 32),
        lambda: CODEC.step_distribution(spoiled, row),
    )
    for call in calls:
        with pytest.raises(CodecError, match="hex floats"):
            call()


def said(*items: NewsItem) -> list[tuple[int, ...]]:
    """What a prompt hears of some items, slot by slot."""
    quiet = snapshot_of(walk_closes(200))
    tokens = narrative_tokens(dataclasses.replace(quiet, news=items))
    slots = [tokens[i : i + 3] for i in range(0, 9, 3)]
    return [slot for slot in slots if slot != words.NO_NEWS]


def test_the_younger_then_the_stronger_then_the_signal_then_the_id_speaks_first() -> None:
    now = snapshot_of(walk_closes(200)).as_of_us
    kind = {
        "old": news_at(now - DAY_US, "a", event_type=EventType.MACRO, strength=Strength.STRONG),
        "weak": news_at(now, "b", event_type=EventType.LEGAL, strength=Strength.WEAK),
        "echo": news_at(now, "c", event_type=EventType.ECHO, strength=Strength.STRONG),
        "first": news_at(now, "d", event_type=EventType.MNA, strength=Strength.STRONG),
        "second": news_at(now, "e", event_type=EventType.RATING, strength=Strength.STRONG),
    }

    def heard(*names: str) -> list[str]:
        types = {words.TYPE_START + words.EVENT_TYPES.index(kind[n].event_type): n for n in kind}
        return [types[slot[0]] for slot in said(*(kind[n] for n in names))]

    assert heard("old", "weak", "echo") == ["echo", "weak", "old"]
    assert heard("second", "echo", "first", "old") == ["first", "second", "echo"]
    assert heard("old", "weak") == ["weak", "old"]
    silent = news_at(now, "a", event_type=EventType.NONE, strength=Strength.STRONG)
    assert said(silent, kind["old"]) == said(kind["old"])


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("strength", Strength)
def test_a_lean_is_direction_by_strength(direction: Direction, strength: Strength) -> None:
    now = snapshot_of(walk_closes(200)).as_of_us
    (slot,) = said(news_at(now, direction=direction, strength=strength))
    at = ("negative", "neutral", "positive").index(direction.value) * 2
    assert slot[1] == words.LEAN_START + at + (strength is Strength.STRONG)


def test_prices_fit_up_to_what_every_reader_sees() -> None:
    whole = {"close_time_us": 0, "open_ticks": 1, "high_ticks": MAX_TICKS, "low_ticks": 1}
    assert Bar(**whole, close_ticks=MAX_TICKS).high_ticks == MAX_TICKS
    for change in ({"high_ticks": MAX_TICKS + 1}, {"low_ticks": 0, "open_ticks": 0}):
        with pytest.raises(SnapshotError):
            Bar(**{**whole, **change}, close_ticks=1)
    quiet = snapshot_of(walk_closes(60))
    early = replace(quiet.bars[0], close_time_us=0)
    assert replace(quiet, bars=(early, *quiet.bars[1:])).bars[0].close_time_us == 0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much the placebo samples."""

    paths: int
    horizon: int


def test_a_placebos_path_follows_the_tables_rows_from_state_to_state() -> None:
    table = make_table(
        [
            tuple(2 * v for v in hashed_row("hand", s % 11, CODEC.n_bins, 3.0))
            for s in range(CODEC.n_table_states)
        ]
    )
    prompt, seed = CODEC.encode(golden_snapshot()), b"s" * 32
    found = TableModel(table, CODEC).trajectories(prompt, seed, Plan(paths=3, horizon=6))
    base = CODEC.table_base(prompt.token_ids)
    for index, own in enumerate(trajectory_seeds(seed, 3)):
        state, tokens, likelihood = CODEC.table_state(prompt.token_ids), [], []
        for step in range(6):
            row = hashed_row("hand", state % 11, CODEC.n_bins, 3.0)
            chosen = pick(row, token_draw(own, Purpose.PLACEBO, step))
            tokens.append(CODEC.bin_start + chosen)
            likelihood.append(log(row[chosen] / fsum(row)))
            state = CODEC.table_step(base, tokens[-1])
        path = found[index]
        assert (path.index, path.seed, path.tokens) == (index, own, tuple(tokens))
        assert path.loglik_target == pytest.approx(fsum(likelihood), rel=1e-9)
        assert path.log_returns == CODEC.decode_path(prompt, tokens, dither_key(seed, index))
        assert (path.kept, path.reason, path.loglik_drafter) == (True, None, None)
        assert path.loglik_target_drafted is None


def test_a_placebos_forecast_is_labelled_as_one() -> None:
    snapshot = golden_snapshot()
    row = row_bytes(hashed_row("label", 1, CODEC.n_bins, 3.0))
    table = QTable(digest="of-table", n_bins=CODEC.n_bins, rows=row * CODEC.n_table_states)
    forecast = TableModel(table, CODEC).forecast(
        snapshot=snapshot,
        prompt=CODEC.encode(snapshot),
        seed=bytes(32),
        plan=Plan(paths=4, horizon=3),
    )
    assert (forecast.source, forecast.instrument) == (ForecastSource.TABLE, "GOLDEN")
    assert (forecast.as_of_us, forecast.bar_us) == (snapshot.as_of_us, DAY_US)
    assert (forecast.codec_digest, forecast.model_digest) == (CODEC.digest, "of-table")
    assert (forecast.capture_digest, forecast.n_paths, forecast.n_dropped) == ("", 4, 0)


def test_a_path_is_judged_at_every_step_by_where_it_stands() -> None:
    rule = TrajectoryPolicy(max_abs_log_return=0.5)
    assert rule.judge([0.5, -1.0, 0.5]) is None
    assert rule.judge([0.25, 0.375, -0.5]) is DropReason.MOVE_TOO_LARGE
    assert rule.judge([-0.25, -0.375]) is DropReason.MOVE_TOO_LARGE
    assert rule.judge([0.1, float("nan")]) is DropReason.NOT_FINITE
    assert TrajectoryPolicy().judge([1e300, -1e300]) is None
    assert TrajectoryPolicy().judge([1e308, 1e308]) is DropReason.NOT_FINITE


def test_a_frame_is_written_up_to_its_limits_and_not_beyond() -> None:
    room = MAX_HEADER - len(b'{"op":"a","x":""}')
    data = write_frame(Frame(op="a", fields={"x": "y" * room}))
    places = iter((data[:12], data[12:]))
    assert read_frame(lambda _n: next(places)) == Frame(op="a", fields={"x": "y" * room})
    with pytest.raises(FrameError, match="too long"):
        write_frame(Frame(op="a", fields={"x": "y" * (room + 1)}))
    with pytest.raises(FrameError, match="too long"):
        write_frame(Frame(op="a", body=bytes(MAX_BODY + 1)))


@pytest.mark.parametrize(
    "change",
    [
        {"request_id": "r" * MAX_ID_LENGTH},
        {"prompt_ids": (0,)},
        {"n_tokens": MAX_TOKENS},
        {"n_tokens": 1},
        {"seeds": (0,)},
        {"seeds": ((1 << 63) - 1,) * MAX_TRAJECTORIES},
        {"spec_k": 0},
        {"spec_k": MAX_SPEC_K},
        {"allowed_range": (0, 1)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_request_at_its_limits_can_be_made(change: dict[str, Any]) -> None:
    request = replace(request_of(), **change)
    assert {name: getattr(request, name) for name in change} == change
    assert (MAX_ID_LENGTH, MAX_TOKENS, MAX_TRAJECTORIES, MAX_SPEC_K) == (128, 256, 2_048, 16)


@pytest.mark.parametrize("prompt", [(), (-1,), (-1, 5), (5, -1)])
def test_a_prompt_with_a_token_below_zero_is_no_request(prompt: tuple[int, ...]) -> None:
    with pytest.raises(EngineRefusedError, match="prompt_ids"):
        replace(request_of(), prompt_ids=prompt)


def test_a_bar_is_a_day_or_an_hour_to_the_microsecond() -> None:
    lengths = {one: int(length_us) for one, length_us in BAR_US.items()}
    assert lengths == {Frequency.DAILY: 24 * 3_600 * 10**6, Frequency.HOURLY: 3_600 * 10**6}


def test_each_drafter_asks_the_engine_for_exactly_its_own_kind_of_drafts() -> None:
    table = make_table([hashed_row("t", 0, CODEC.n_bins, 1.0)] * CODEC.n_table_states)
    drawn = {"num_speculative_tokens": 3, "rejection_sample_method": "standard"}
    assert TableDrafter(table, CODEC).engine_settings(3) == {
        "method": "custom_class",
        "model": "inference.engine.capture_adapter.TableProposer",
        **drawn,
    }
    assert NetworkDrafter(Path("/models/draft")).engine_settings(3) == {
        "method": "draft_model",
        "model": "/models/draft",
        "draft_sample_method": "probabilistic",
        **drawn,
    }
    assert Drafter().engine_settings(3) is None
    kinds = (TableDrafter(table, CODEC).kind, NetworkDrafter(Path("x")).kind, Drafter().kind)
    assert kinds == (DrafterKind.TABLE, DrafterKind.NETWORK, DrafterKind.NONE)
    prompt = CODEC.encode(golden_snapshot()).token_ids
    assert TableDrafter(table, CODEC).begin(prompt) == CODEC.table_base(prompt) > 0
    assert (Drafter().begin(prompt), NetworkDrafter(Path("x")).begin(prompt)) == (0, 0)
    for short in (table.rows[:-1024], table.rows + table.rows[:1024]):
        with pytest.raises(ValueError, match="not this codec"):
            TableDrafter(replace(table, rows=short), CODEC)
