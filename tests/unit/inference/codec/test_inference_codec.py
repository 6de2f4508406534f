"""Codec v1: layout, causality, decoding, refusals."""

import dataclasses
import json
import math

import pytest

from inference.codec import vocabulary as words
from inference.codec.bins import bin_of, edge, z_of
from inference.codec.codec import MIN_BARS, ReturnCodec, dither, encode_returns, log_returns
from inference.codec.prompt import Prompt, prompt_digest, prompt_document
from inference.errors import CodecError
from inference.scale.ewma import BURN_IN
from inference.snapshot import Direction, EventType, Strength
from tests.doubles.market_cases import DAY_US, news_at, snapshot_of, walk_closes

KEY = bytes(range(32))
CODEC = ReturnCodec()
FLAT = [1.0 / words.N_BINS] * words.N_BINS


def test_the_vocabulary_is_small_aligned_and_its_bins_are_contiguous() -> None:
    assert CODEC.vocab_size <= 384
    assert CODEC.vocab_size % 64 == 0
    assert CODEC.bin_start + CODEC.n_bins == CODEC.vocab_size
    assert not CODEC.narrative_ids & {words.PAD, words.BOS, words.EOS}
    assert max(CODEC.narrative_ids) < CODEC.bin_start


def test_a_long_history_gives_the_full_prompt() -> None:
    ids = CODEC.encode(snapshot_of(walk_closes(400))).token_ids
    assert len(ids) == words.HEAD_LENGTH + words.MAX_CONTEXT + words.TAIL_LENGTH
    assert ids[0] == words.BOS
    assert sum(words.is_bin(i) for i in ids) == words.MAX_CONTEXT


def test_the_shortest_history_is_encoded_and_one_bar_less_is_refused() -> None:
    ids = CODEC.encode(snapshot_of(walk_closes(MIN_BARS))).token_ids
    assert sum(words.is_bin(i) for i in ids) == MIN_BARS - 1 - BURN_IN
    with pytest.raises(CodecError, match="at least 49 bars"):
        CODEC.encode(snapshot_of(walk_closes(MIN_BARS - 1)))


def test_no_token_of_the_past_changes_when_the_future_does() -> None:
    closes = walk_closes(120)
    calm, _ = encode_returns(log_returns(snapshot_of(closes).bars))
    crash, _ = encode_returns(log_returns(snapshot_of([*closes[:100], *([9] * 20)]).bars))
    assert calm[: 99 - BURN_IN] == crash[: 99 - BURN_IN]
    assert calm[99 - BURN_IN :] != crash[99 - BURN_IN :]


def test_news_changes_narrative_ids_only() -> None:
    closes = walk_closes(200)
    quiet = snapshot_of(closes)
    plain = CODEC.encode(quiet)
    told = CODEC.encode(dataclasses.replace(quiet, news=(news_at(quiet.as_of_us - 1),)))
    changed = [(a, b) for a, b in zip(plain.token_ids, told.token_ids, strict=True) if a != b]
    assert len(changed) == 3
    assert {i for pair in changed for i in pair} <= CODEC.narrative_ids
    assert told.sigma == plain.sigma


def test_at_most_three_items_speak_and_their_arrival_order_is_no_matter() -> None:
    quiet = snapshot_of(walk_closes(200))
    items = tuple(news_at(quiet.as_of_us - i * DAY_US, f"e{i}") for i in range(5))
    told = dataclasses.replace(quiet, news=items)
    turned = dataclasses.replace(quiet, news=items[::-1])
    assert CODEC.encode(told) == CODEC.encode(turned)
    assert len(CODEC.encode(told).token_ids) == len(CODEC.encode(quiet).token_ids)


@pytest.mark.parametrize(("bars_ago", "age"), [(0, 0), (1, 1), (2, 2), (5, 2), (6, 3), (20, 3)])
@pytest.mark.parametrize("later_us", [0, 1])
def test_age_counts_the_bars_that_closed_after_publication(
    bars_ago: int, age: int, later_us: int
) -> None:
    quiet = snapshot_of(walk_closes(200))
    quiet = dataclasses.replace(quiet, as_of_us=quiet.as_of_us + 5)
    item = news_at(quiet.as_of_us - 5 - bars_ago * DAY_US + later_us)
    told = CODEC.encode(dataclasses.replace(quiet, news=(item,)))
    assert told.token_ids[-words.TAIL_LENGTH + 2] == words.AGE_START + age


def test_an_item_older_than_twenty_bars_is_silent() -> None:
    quiet = snapshot_of(walk_closes(200))
    item = news_at(quiet.as_of_us - 21 * DAY_US)
    assert CODEC.encode(dataclasses.replace(quiet, news=(item,))) == CODEC.encode(quiet)


def test_every_word_of_an_item_is_heard() -> None:
    quiet = snapshot_of(walk_closes(200))
    seen = set()
    for kind in EventType:
        for direction in Direction:
            for strength in Strength:
                item = news_at(
                    quiet.as_of_us, event_type=kind, direction=direction, strength=strength
                )
                told = dataclasses.replace(quiet, news=(item,))
                seen.add(CODEC.encode(told).token_ids)
    assert len(seen) == 12 * 3 * 2 + 1  # type NONE is silence


def test_decoding_is_the_same_for_the_same_key_and_differs_for_another() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(200)))
    tokens = [256, 200, 300, 383, 128]
    once = CODEC.decode_path(prompt, tokens, KEY)
    assert once == CODEC.decode_path(prompt, tokens, KEY)
    assert once != CODEC.decode_path(prompt, tokens, KEY[::-1])
    assert once[:3] == CODEC.decode_path(prompt, tokens[:3], KEY)


def test_a_decoded_move_lies_inside_its_bin() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(200)))
    sigma = float.fromhex(prompt.sigma)
    for token in range(128, 384, 5):
        (value,) = CODEC.decode_path(prompt, [token], KEY)
        low, high = edge(token - 128), edge(token - 127)
        assert low * sigma <= value <= high * sigma


def test_volatility_moves_along_a_path() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(200)))
    calm = CODEC.decode_path(prompt, [256, 350], KEY)
    wild = CODEC.decode_path(prompt, [370, 350], KEY)
    assert wild[1] > 1.2 * calm[1]


@pytest.mark.parametrize("token", [0, 3, 90, 127, 384, -1])
def test_a_token_that_is_no_bin_is_refused(token: int) -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(60)))
    with pytest.raises(CodecError, match="step 1"):
        CODEC.decode_path(prompt, [200, token], KEY)


def test_a_prompt_of_another_codec_is_refused() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(60)))
    other = dataclasses.replace(prompt, codec_digest="0" * 64)
    with pytest.raises(CodecError, match="expected codec"):
        CODEC.decode_path(other, [200], KEY)
    with pytest.raises(CodecError, match="expected codec"):
        CODEC.step_distribution(other, FLAT)


def test_the_closed_form_agrees_with_a_fine_sum() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(200)))
    raw = [math.exp(-0.5 * ((i - 140) / 25) ** 2) for i in range(256)]
    row = [value / sum(raw) for value in raw]
    p_up, mean, sd = CODEC.step_distribution(prompt, row)
    sigma = float.fromhex(prompt.sigma)
    points = [
        (p / 200, z_of(i, (j + 0.5) / 200) * sigma) for i, p in enumerate(row) for j in range(200)
    ]
    fine_mean = sum(p * r for p, r in points)
    fine_sd = math.sqrt(sum(p * r * r for p, r in points) - fine_mean**2)
    assert p_up == pytest.approx(sum(p for p, r in points if r > 0), abs=1e-9)
    assert mean == pytest.approx(fine_mean, rel=1e-5)
    assert sd == pytest.approx(fine_sd, rel=1e-5)


@pytest.mark.parametrize(
    "row",
    [FLAT[:-1], [*FLAT[:-1], math.nan], [*FLAT[:-1], -0.1], [*FLAT[:-1], math.inf], [0.0] * 256],
)
def test_a_malformed_row_is_refused(row: list[float]) -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(60)))
    with pytest.raises(CodecError):
        CODEC.step_distribution(prompt, row)


def test_the_tables_state_ignores_news_and_follows_the_last_move() -> None:
    quiet = snapshot_of(walk_closes(200))
    plain = CODEC.encode(quiet).token_ids
    told = CODEC.encode(
        dataclasses.replace(quiet, news=(news_at(quiet.as_of_us, event_type=EventType.MNA),))
    ).token_ids
    assert plain != told
    assert CODEC.table_state(plain) == CODEC.table_state(told) != 0
    newest = CODEC.last_bin(plain)
    assert newest == plain[-1 - words.TAIL_LENGTH] == CODEC.last_bin(told)
    assert CODEC.table_step(CODEC.table_base(plain), newest) == CODEC.table_state(plain)
    assert (CODEC.last_bin((*plain, 130)), CODEC.last_bin((1,) * 20)) == (130, 0)
    falls, rises = CODEC.table_state((*plain, 130)), CODEC.table_state((*plain, 380))
    assert falls != rises
    assert CODEC.table_step(CODEC.table_base(plain), 130) == falls


@pytest.mark.parametrize("ids", [(), (0,), (0,) * 143, (1,) * 160, tuple(range(150))])
def test_ids_that_are_no_prompt_have_the_unconditional_state(ids: tuple[int, ...]) -> None:
    assert CODEC.table_state(ids) == 0


def test_dither_stays_inside_a_bin_and_is_spread() -> None:
    draws = [dither(KEY, step) for step in range(2000)]
    assert all(0.0 <= u < 1.0 for u in draws)
    assert sum(draws) / len(draws) == pytest.approx(0.5, abs=0.03)
    assert len(set(draws)) == len(draws)


def test_zero_is_an_edge_so_a_rise_is_a_sum_of_bins() -> None:
    assert edge(128) == 0.0
    assert bin_of(0.0) == 128
    assert bin_of(-1e-12) == 127


def test_one_bad_print_does_not_blind_the_scale() -> None:
    closes = walk_closes(300)
    spiked = [*closes]
    spiked[250] *= 40
    normal = float.fromhex(CODEC.encode(snapshot_of(closes[:252])).sigma)
    shaken = float.fromhex(CODEC.encode(snapshot_of(spiked[:252])).sigma)
    assert shaken < 4.0 * normal


def test_a_flat_series_stays_finite() -> None:
    prompt = CODEC.encode(snapshot_of([1000] * 80))
    assert float.fromhex(prompt.sigma) == pytest.approx(1e-6)
    assert all(math.isfinite(r) for r in CODEC.decode_path(prompt, [128, 383], KEY))


def test_a_prompt_survives_its_document_and_its_digest_sees_every_field() -> None:
    prompt = CODEC.encode(snapshot_of(walk_closes(60)))
    document = json.loads(json.dumps(prompt_document(prompt)))
    again = Prompt(**{**document, "token_ids": tuple(document["token_ids"])})
    assert again == prompt
    others = [
        dataclasses.replace(prompt, token_ids=(*prompt.token_ids[:-1], 49)),
        dataclasses.replace(prompt, sigma="0x1.0p-3"),
        dataclasses.replace(prompt, template="other"),
    ]
    digests = {prompt_digest(p) for p in (prompt, *others)}
    assert len(digests) == 4
