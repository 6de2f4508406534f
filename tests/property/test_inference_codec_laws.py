"""Codec v1 for any series: round trips, causality, one state per situation."""

import dataclasses
import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inference.codec import vocabulary as words
from inference.codec.bins import Z_MAX, bin_of, edge, row_law, z_of
from inference.codec.codec import MIN_BARS, ReturnCodec, encode_returns
from inference.scale.ewma import BURN_IN
from inference.snapshot import (
    Direction,
    EventType,
    Strength,
    snapshot_document,
    snapshot_from_document,
)
from tests.doubles.market_cases import DAY_US, news_at, snapshot_of

CODEC = ReturnCodec()
closes = st.lists(st.integers(1, 10**9), min_size=MIN_BARS, max_size=180)
returns = st.lists(st.floats(-2.0, 2.0), min_size=MIN_BARS, max_size=200)
bins = st.integers(0, words.N_BINS - 1)
events = st.tuples(
    st.sampled_from(EventType),
    st.sampled_from(Direction),
    st.sampled_from(Strength),
    st.integers(0, 30 * DAY_US),
)


@given(st.floats(-Z_MAX, Z_MAX))
def test_a_scaled_return_lies_in_its_bin(z: float) -> None:
    index = bin_of(z)
    slack = 1e-9
    assert edge(index) - slack <= z <= edge(index + 1) + slack


@given(bins, st.floats(1e-6, 1.0 - 1e-6))
def test_encoding_inverts_decoding(index: int, place: float) -> None:
    assert bin_of(z_of(index, place)) == index


@given(closes, st.lists(bins, max_size=12), st.binary(min_size=32, max_size=32))
def test_a_decoded_path_encodes_to_the_tokens_it_came_from(
    prices: list[int], path: list[int], key: bytes
) -> None:
    history = [math.log(b / a) for a, b in pairwise(prices)]
    prompt = CODEC.encode(snapshot_of(prices))
    tokens = [words.BIN_START + index for index in path]
    decoded = CODEC.decode_path(prompt, tokens, key)
    again, _ = encode_returns([*history, *decoded])
    misses = sum(a != b for a, b in zip(again[len(history) - BURN_IN :], path, strict=True))
    # a dither within rounding of an edge may fall to the neighbour; 2^-40 of all draws do
    assert misses == 0


@given(returns, st.floats(-2.0, 2.0))
def test_the_future_never_changes_past_tokens(series: list[float], later: float) -> None:
    before, _ = encode_returns(series)
    after, _ = encode_returns([*series, later])
    assert after[:-1] == before


@given(closes)
def test_every_prompt_has_the_declared_form(prices: list[int]) -> None:
    ids = CODEC.encode(snapshot_of(prices)).token_ids
    context = ids[words.HEAD_LENGTH : -words.TAIL_LENGTH]
    assert all(words.is_bin(i) for i in context)
    assert len(context) == min(len(prices) - 1 - BURN_IN, words.MAX_CONTEXT)
    assert not any(words.is_bin(i) for i in ids[-words.TAIL_LENGTH :])
    assert all(0 <= i < words.VOCAB_SIZE for i in ids)


@given(closes, st.lists(events, max_size=5), bins)
def test_news_never_moves_the_tables_state(
    prices: list[int], told: list[tuple[EventType, Direction, Strength, int]], last: int
) -> None:
    quiet = snapshot_of(prices)
    items = tuple(
        news_at(quiet.as_of_us - ago, f"e{i}", event_type=kind, direction=lean, strength=weight)
        for i, (kind, lean, weight, ago) in enumerate(told)
    )
    loud = dataclasses.replace(quiet, news=items)
    plain, spoken = CODEC.encode(quiet).token_ids, CODEC.encode(loud).token_ids
    token = words.BIN_START + last
    assert CODEC.table_state(plain) == CODEC.table_state(spoken)
    assert CODEC.table_state((*plain, token)) == CODEC.table_state((*spoken, token))
    assert 0 < CODEC.table_state((*plain, token)) < CODEC.n_table_states


@given(st.lists(st.integers(0, words.VOCAB_SIZE - 1), max_size=160))
def test_any_ids_have_some_state(ids: list[int]) -> None:
    assert 0 <= CODEC.table_state(ids) < CODEC.n_table_states


@given(closes, st.lists(events, max_size=4))
def test_a_snapshot_survives_its_document(
    prices: list[int], told: list[tuple[EventType, Direction, Strength, int]]
) -> None:
    quiet = snapshot_of(prices)
    items = tuple(
        news_at(quiet.as_of_us - ago, f"e{i}", event_type=kind, direction=lean, strength=weight)
        for i, (kind, lean, weight, ago) in enumerate(told)
    )
    loud = dataclasses.replace(quiet, news=items)
    assert snapshot_from_document(snapshot_document(loud)) == loud


@given(st.lists(st.floats(0.0, 1.0), min_size=256, max_size=256).filter(lambda r: sum(r) > 1e-3))
def test_a_rows_law_is_a_law(raw: list[float]) -> None:
    total = math.fsum(raw)
    p_up, mean, sd = row_law([value / total for value in raw])
    assert 0.0 <= p_up <= 1.0
    assert -Z_MAX <= mean <= Z_MAX
    assert 0.0 <= sd <= Z_MAX
