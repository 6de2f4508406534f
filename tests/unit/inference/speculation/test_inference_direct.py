"""The direct sampler's draws and capture: one form, prefixes, and any other bytes refused."""

import contextlib
import hashlib
import math
import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference.errors import CaptureError
from inference.speculation.direct import (
    TOKENS_MAX,
    DirectCapture,
    StateRow,
    StateUse,
    row_digest,
    step_draws,
    tokens_digest,
)
from inference.speculation.direct_bytes import decode_direct, encode_direct
from inference.speculation.fields import DIRECT_MAGIC, varint
from inference.speculation.rounds import row_values
from inference.speculation.seeds import pick

SEED = bytes(range(32))
FIRST = [[0.3737860405556582, 0.3778122967805083], [0.6273725691398372, 0.7546276179386723]]
"""Draws and places of two paths' first step, fixed for ever."""


def by_hand(seed: bytes, step: int, path: int) -> tuple[float, float]:
    """Return a path's draw and place as the module's docstring says them."""
    stream = hashlib.shake_256(b"countersign/direct/1" + seed + struct.pack(">I", step))
    one, other = struct.unpack_from(">2Q", stream.digest(16 * path + 16), 16 * path)
    return (2 * (one >> 12) + 1) / 2**53, (other >> 11) / 2**53


@given(st.binary(min_size=32, max_size=32), st.integers(0, 300), st.integers(1, 40))
def test_draws_are_what_the_rule_says(seed: bytes, step: int, paths: int) -> None:
    draws, places = step_draws(seed, step, paths)
    told = [by_hand(seed, step, path) for path in range(paths)]
    assert list(zip(draws.tolist(), places.tolist(), strict=True)) == told
    assert all(0.0 < draw < 1.0 for draw in draws)
    assert all(0.0 <= place < 1.0 for place in places)


@given(st.integers(0, 9), st.integers(1, 50), st.integers(1, 50))
def test_fewer_paths_take_the_first_draws_of_more(step: int, few: int, more: int) -> None:
    short, long = step_draws(SEED, step, few), step_draws(SEED, step, few + more)
    assert all(np.array_equal(a, b[:few]) for a, b in zip(short, long, strict=True))


def test_steps_and_seeds_share_no_draw() -> None:
    streams = [(SEED, 0), (SEED, 1), (SEED[::-1], 0)]
    found = [value for one in streams for part in step_draws(*one, 500) for value in part.tolist()]
    assert len(set(found)) == len(found)


def test_the_first_draws_are_fixed_for_ever() -> None:
    found = [list(pair) for pair in zip(*(a.tolist() for a in step_draws(SEED, 0, 2)), strict=True)]
    assert found == FIRST


def row_of(weights: list[int]) -> bytes:
    total = sum(weights)
    return np.array([weight / total for weight in weights], dtype="<f4").tobytes()


rows = st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any).map(row_of)
draws_of = st.lists(
    st.floats(0.0, 1.0, exclude_min=True, exclude_max=True), min_size=1, max_size=20
)


@example(row_of([1, 1, 0, 0]), [1.0 - 2.0**-53, 0.5, 2.0**-53])
@example(row_of([0, 3, 0, 7, 0]), [0.3, math.nextafter(0.3, 0.0), math.nextafter(0.3, 1.0)])
@given(rows, draws_of)
def test_a_token_is_the_one_that_pick_picks(row: bytes, draws: list[float]) -> None:
    found = StateRow(row).picked(np.array(draws)).tolist()
    assert found == [pick(row_values(row), draw) for draw in draws]


@given(rows, st.lists(st.sampled_from([1.0 - 5e-5, 1.0 + 5e-5]), min_size=1, max_size=1), draws_of)
def test_a_row_that_sums_to_nearly_one_is_normalised(
    row: bytes, by: list[float], draws: list[float]
) -> None:
    scaled = np.minimum(np.frombuffer(row, "<f4") * np.float32(by[0]), np.float32(1.0))
    found = StateRow(scaled.tobytes()).picked(np.array(draws)).tolist()
    assert found == [pick(row_values(scaled.tobytes()), draw) for draw in draws]


def test_a_draw_is_of_the_rows_whole_sum() -> None:
    short = np.array([0.5, 0.49995], dtype="<f4").tobytes()
    total = sum(row_values(short))
    inside = 0.5 / total  # just above one half
    draws = [math.nextafter(inside, 0.0), math.nextafter(inside, 1.0)]
    assert StateRow(short).picked(np.array(draws)).tolist() == [0, 1]


@pytest.mark.parametrize(
    "row",
    [
        [0.5, 0.4],
        [0.5, 0.6],
        [math.nan, 1.0],
        [math.inf, 0.0],
        [-0.5, 1.5],
        [0.0, 0.0],
        [],
    ],
)
def test_a_row_that_is_no_law_is_refused(row: list[float]) -> None:
    with pytest.raises(CaptureError):
        StateRow(np.array(row, dtype="<f4").tobytes())


def capture_of(paths: int = 3, steps: int = 2, states: tuple[int, ...] = (4, 9)) -> DirectCapture:
    row = row_of([1, 2, 3, 4])
    uses = [StateUse(state=s, row_digest=row_digest(row + s.to_bytes(4)), tokens=1) for s in states]
    left = paths * steps - len(states) + 1
    uses[0] = StateUse(state=states[0], row_digest=row_digest(row), tokens=left)
    return DirectCapture(
        seed=SEED,
        table_digest="ab" * 32,
        bin_start=128,
        n_bins=4,
        paths=paths,
        steps=steps,
        first_state=states[0],
        first_row=row_values(row),
        states=tuple(uses),
        tokens_digest=tokens_digest(np.zeros((paths, steps), np.int64)),
    )


GOOD = encode_direct(capture_of())


def test_the_form_keeps_its_bytes(golden: Callable[[str, bytes], None]) -> None:
    lines = [GOOD[i : i + 48].hex().encode() for i in range(0, len(GOOD), 48)]
    golden("capture_direct.txt", b"\n".join(lines))


@given(
    st.integers(1, 2048),
    st.integers(2, 60),
    st.sets(st.integers(0, 1 << 20), min_size=1, max_size=9),
)
def test_any_capture_comes_back_the_same(paths: int, steps: int, states: set[int]) -> None:
    capture = capture_of(paths + len(states), steps, tuple(sorted(states)))
    data = encode_direct(capture)
    assert decode_direct(data) == capture
    assert encode_direct(decode_direct(data)) == data


def test_a_number_written_longer_than_it_is_is_refused() -> None:
    start = len(DIRECT_MAGIC)
    assert GOOD[start] == 8  # bytes of the rule's name
    with pytest.raises(CaptureError, match="canonical"):
        decode_direct(GOOD[:start] + b"\x88\x00" + GOOD[start + 1 :])


def only_its_own_error(data: bytes) -> None:
    with contextlib.suppress(CaptureError):
        assert encode_direct(decode_direct(data)) == data


@given(st.binary(max_size=400))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError):
        decode_direct(data)
    only_its_own_error(DIRECT_MAGIC + data)


@given(st.integers(0, len(GOOD) - 1))
def test_what_is_cut_short_or_continued_is_refused(cut: int) -> None:
    with pytest.raises(CaptureError):
        decode_direct(GOOD[:cut])
    with pytest.raises(CaptureError):
        decode_direct(GOOD + GOOD[cut:])


@settings(max_examples=300)
@given(st.integers(len(DIRECT_MAGIC), len(GOOD) - 1), st.integers(1, 255))
def test_a_changed_byte_is_another_capture_or_none(at: int, by: int) -> None:
    data = bytes((*GOOD[:at], GOOD[at] ^ by, *GOOD[at + 1 :]))
    try:
        found = decode_direct(data)
    except CaptureError:
        return
    assert found != capture_of()
    assert encode_direct(found) == data


@given(st.integers(0, 8), st.integers(1, (1 << 70) - 1))
def test_a_huge_number_asks_for_nothing(field: int, number: int) -> None:
    head = DIRECT_MAGIC + varint(8) + b"direct-1" + SEED + bytes(32)
    numbers = [128, 4, 3, 2, 4, 1, 4]
    if field < len(numbers):
        numbers[field] = number
    body = head + b"".join(map(varint, numbers[:5])) + row_of([1, 2, 3, 4])
    body += varint(numbers[5]) + varint(numbers[6]) + bytes(32) + varint(6) + bytes(32)
    only_its_own_error(body)


@pytest.mark.parametrize(
    "row", [[math.nan, 1, 0, 0], [math.inf, 0, 0, 0], [-1, 2, 0, 0], [0.2, 0.2, 0.2, 0.2]]
)
def test_a_first_row_that_is_no_law_is_refused(row: list[float]) -> None:
    at = GOOD.index(row_of([1, 2, 3, 4]))
    data = GOOD[:at] + struct.pack("<4f", *row) + GOOD[at + 16 :]
    with pytest.raises(CaptureError):
        decode_direct(data)
    with pytest.raises(CaptureError):
        replace(capture_of(), first_row=tuple(row))


USES = capture_of().states


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "direct-2"},
        {"rule": "direct-1 and more of it"},
        {"seed": SEED[1:]},
        {"table_digest": "ab" * 31},
        {"table_digest": "AB" * 32},
        {"bin_start": -1},
        {"n_bins": 3},
        {"paths": 0},
        {"steps": 0},
        {"paths": 4},
        {"paths": TOKENS_MAX, "steps": TOKENS_MAX},
        {"first_state": 5},
        {"first_state": 9},
        {"first_row": (0.1, 0.2, 0.3, 0.4)},
        {"first_row": (0.25, 0.25, 0.25, 0.25)},
        {"states": USES[::-1]},
        {"states": (USES[0], USES[0])},
        {"states": (USES[0], replace(USES[1], tokens=0))},
        {"states": (replace(USES[0], state=-1), USES[1])},
        {"states": (replace(USES[0], row_digest=b""), USES[1])},
        {"tokens_digest": bytes(31)},
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(CaptureError):
        replace(capture_of(), **change)  # type: ignore[arg-type]
