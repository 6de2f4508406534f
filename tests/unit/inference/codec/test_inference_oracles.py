"""Bins, seeds, states and quantiles against second implementations that share no code."""

import hashlib
import hmac
import math
from itertools import pairwise

import numpy as np
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from inference.codec import vocabulary as words
from inference.codec.bins import FIRST_MOMENTS, SECOND_MOMENTS, bin_of, edge, row_law, z_of
from inference.codec.codec import ReturnCodec
from inference.errors import CaptureError, CodecError
from inference.forecast.trajectory import DropReason, Trajectory, TrajectoryPolicy, path_quantiles
from inference.speculation.rounds import QTable, accepts, entropy, residual, row_bytes, row_values
from inference.speculation.seeds import (
    Purpose,
    accept_draw,
    decision_seed,
    dither_key,
    token_draw,
    trajectory_seeds,
)

N = words.N_BINS
TOP = math.asinh(16.0 / 0.9)


def middle(index: int, steps: int = 400) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns at evenly spaced places inside a bin, in asinh."""
    places = (index + (np.arange(steps) + 0.5) / steps) / N
    return np.asarray(0.9 * np.sinh(-TOP + 2.0 * TOP * places))


def test_moments_of_every_bin_are_those_of_a_fine_sum() -> None:
    for index in range(N):
        values = middle(index)
        assert FIRST_MOMENTS[index] == pytest.approx(values.mean(), rel=1e-4, abs=1e-6)
        assert SECOND_MOMENTS[index] == pytest.approx((values**2).mean(), rel=1e-4, abs=1e-9)


def test_edges_ascend_from_end_to_end_and_bins_lie_between_them() -> None:
    edges = [edge(index) for index in range(N + 1)]
    assert edges[0] == pytest.approx(-16.0)
    assert edges[-1] == pytest.approx(16.0)
    assert edges[N // 2] == pytest.approx(0.0, abs=1e-12)
    assert all(low < high for low, high in pairwise(edges))
    for index in range(N):
        assert bin_of(z_of(index, 0.5)) == index
        assert edges[index] < z_of(index, 0.25) < z_of(index, 0.75) < edges[index + 1]
        assert z_of(index, 0.0) == edges[index]
    assert (bin_of(-99.0), bin_of(99.0)) == (0, N - 1)


@pytest.mark.parametrize("seed", range(5))
def test_the_law_of_a_row_is_that_of_a_fine_sum(seed: int) -> None:
    row = np.random.default_rng(seed).dirichlet(np.full(N, 0.1))
    p_up, mean, deviation = row_law(row.tolist())
    values = np.array([middle(index) for index in range(N)])
    expected = float((row * values.mean(axis=1)).sum())
    square = float((row * (values**2).mean(axis=1)).sum())
    assert p_up == pytest.approx(row[N // 2 :].sum())
    assert mean == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert deviation == pytest.approx(math.sqrt(square - expected**2), rel=1e-3)


@pytest.mark.parametrize("off", [0.0, 9e-4, -9e-4])
def test_a_row_may_miss_one_by_a_little_and_is_scaled(off: float) -> None:
    row = [0.0] * N
    row[N // 2] = 1.0 + off
    p_up, mean, _ = row_law(row)
    assert p_up == 1.0
    assert mean == pytest.approx(FIRST_MOMENTS[N // 2])


@pytest.mark.parametrize(
    "row",
    [
        [1.0 / (N - 1)] * (N - 1),
        [1.0 / (N + 1)] * (N + 1),
        [1.002 / N] * N,
        [0.998 / N] * N,
        [-0.5, 1.5, *[0.0] * (N - 2)],
        [math.nan, 1.0, *[0.0] * (N - 2)],
        [math.inf, *[0.0] * (N - 1)],
    ],
)
def test_a_row_that_is_no_law_is_refused(row: list[float]) -> None:
    with pytest.raises(CodecError):
        row_law(row)


# seeds


@pytest.mark.parametrize("attempt", [0, 1, (1 << 32) - 1])
def test_a_decisions_seed_is_hkdf(attempt: int) -> None:
    root = bytes(range(32))
    info = b"d-1\x00" + attempt.to_bytes(4, "big")
    kdf = HKDF(algorithm=SHA256(), length=32, salt=b"countersign/decision-seed/v1", info=info)
    assert decision_seed(root, "d-1", attempt) == kdf.derive(root)


@pytest.mark.parametrize("attempt", [-1, 1 << 32])
def test_an_attempt_is_a_32_bit_counter(attempt: int) -> None:
    with pytest.raises(ValueError, match="32-bit"):
        decision_seed(bytes(32), "d-1", attempt)


def test_a_trajectorys_seed_has_63_bits_of_its_own_mac() -> None:
    seed = bytes(range(32))
    for index, found in enumerate(trajectory_seeds(seed, 5)):
        label = b"countersign/trajectory/v1" + index.to_bytes(4, "big")
        mac = hmac.new(seed, label, hashlib.sha256).digest()
        assert found == int.from_bytes(mac[:8], "big") // 2
        assert dither_key(seed, index) == seed + index.to_bytes(4, "big")


@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize(
    ("seed", "position", "index"), [(1, 0, 0), (2**62, 7, 3), (5, 600, 65_535)]
)
def test_draws_are_bits_of_a_digest(purpose: Purpose, seed: int, position: int, index: int) -> None:
    message = b"countersign/draw/v1" + seed.to_bytes(8, "big") + bytes([purpose])
    message += position.to_bytes(4, "big") + index.to_bytes(2, "big")
    bits = int.from_bytes(hashlib.sha256(message).digest()[:8], "big")
    assert token_draw(seed, purpose, position, index) == ((bits >> 12) + 0.5) / 2**52
    if purpose is Purpose.ACCEPT:
        assert accept_draw(seed, position, index) == ((bits >> 41) + 0.5) / 2**23


# the table's state

GOOD = (
    words.BOS,
    words.CLASS_START + 1,
    words.FREQUENCY_START,
    *(words.BIN_START + 128,) * 40,
    *words.NO_NEWS * words.N_SLOTS,
    words.CLOCK_START,
    words.RATIO_START + 8,
    words.LEVEL_START + 3,
)


def test_each_part_of_a_prompt_moves_the_state_to_one_of_its_own() -> None:
    codec = ReturnCodec()
    bases: dict[int, tuple[int, int, int]] = {}
    for kind in range(words.N_CLASSES):
        for frequency in range(words.N_FREQUENCIES):
            for ratio in range(words.N_RATIOS):
                ids = list(GOOD)
                ids[1], ids[2] = words.CLASS_START + kind, words.FREQUENCY_START + frequency
                ids[-2] = words.RATIO_START + ratio
                base = codec.table_base(ids)
                assert 1 <= base < codec.n_table_states
                seen = bases.setdefault(base, (kind, frequency, ratio))
                assert seen[:2] == (kind, frequency)
    assert min(bases) == 1
    gaps = {high - low for low, high in pairwise(sorted(bases))}
    assert len(gaps) == 1, "each base has room for every move"
    assert max(bases) + gaps.pop() == codec.n_table_states


@pytest.mark.parametrize(
    ("place", "token"),
    [
        (1, words.CLASS_START - 1),
        (1, words.CLASS_START + words.N_CLASSES),
        (2, words.FREQUENCY_START - 1),
        (2, words.FREQUENCY_START + words.N_FREQUENCIES),
        (-2, words.RATIO_START - 2),
        (-2, words.RATIO_START + words.N_RATIOS),
        (-1, words.LEVEL_START - 1),
        (-1, words.LEVEL_START + words.N_LEVELS),
    ],
)
def test_a_prompt_with_one_odd_word_has_no_state(place: int, token: int) -> None:
    codec = ReturnCodec()
    assert codec.table_base(GOOD) > 0
    ids = list(GOOD)
    ids[place] = token
    assert codec.table_base(ids) == 0
    assert codec.table_state(ids) == 0


def test_the_state_follows_the_last_move() -> None:
    codec = ReturnCodec()
    base = codec.table_base(GOOD)
    moves = [codec.table_step(base, words.BIN_START + b) - base for b in range(N)]
    assert moves == sorted(moves)
    assert moves[0] == 0
    assert set(moves) == set(range(moves[-1] + 1))
    assert codec.table_state(GOOD) == codec.table_step(base, words.BIN_START + 128)
    for b in (0, 255):
        assert codec.table_state((*GOOD, words.BIN_START + b)) == base + moves[b]
    assert codec.table_step(base, words.BIN_START - 1) == 0
    assert codec.table_step(0, words.BIN_START) == 0
    assert {codec.table_step(0, words.BIN_START + b) for b in range(N)} == {0}, "no base: no state"


# rows and paths


def test_a_tables_row_is_its_own_bytes() -> None:
    rows = [(0.25, 0.75), (0.5, 0.5), (1.0, 0.0)]
    table = QTable(digest="t", n_bins=2, rows=b"".join(map(row_bytes, rows)))
    assert table.n_states == 3
    assert [row_values(table.row(state)) for state in range(3)] == rows
    for state in (-1, 3):
        with pytest.raises(CaptureError, match="no state"):
            table.row(state)
    with pytest.raises(CaptureError, match="whole float32"):
        row_values(b"12345")


@pytest.mark.parametrize("seed", range(20))
def test_acceptance_and_residual_are_those_of_float32(seed: int) -> None:
    draw = np.random.default_rng(seed)
    p, q = (draw.dirichlet(np.ones(6)).astype(np.float32) for _ in range(2))
    u = float(np.float32(draw.random()))
    for a, b in zip(p, q, strict=True):
        assert accepts(float(a), float(b), u) is bool(a >= b or np.float32(a / b) >= u)
    rest = np.maximum(p - q, np.float32(0))
    assert residual(tuple(p.tolist()), tuple(q.tolist())) == tuple(rest.tolist())
    exact = -sum(float(a) * math.log(float(a)) for a in p)
    assert entropy(tuple(p.tolist())) == pytest.approx(exact)


def path(*returns: float) -> Trajectory:
    return Trajectory(
        index=0,
        seed=0,
        tokens=(),
        log_returns=returns,
        loglik_target=0.0,
        loglik_drafter=None,
        loglik_target_drafted=None,
        kept=True,
        reason=None,
    )


@pytest.mark.parametrize("n", [1, 2, 7])
def test_quantiles_are_those_of_another_library(n: int) -> None:
    returns = np.random.default_rng(n).normal(size=(n, 4))
    levels = [0.0, 0.05, 0.25, 0.5, 0.95, 1.0]
    found = path_quantiles([path(*row) for row in returns.tolist()], levels)
    expected = np.quantile(returns.cumsum(axis=1), levels, axis=0)
    assert np.allclose(np.array(found), expected)


@pytest.mark.parametrize(
    ("limit", "returns", "reason"),
    [
        (None, (9.0, 9.0), None),
        (0.5, (0.25, 0.25), None),
        (0.5, (-0.25, -0.25), None),
        (0.5, (0.25, 0.2500001), DropReason.MOVE_TOO_LARGE),
        (0.5, (-0.6, 0.6), DropReason.MOVE_TOO_LARGE),
        (0.5, (0.4, math.nan), DropReason.NOT_FINITE),
        (None, (math.inf,), DropReason.NOT_FINITE),
        (0.5, (), None),
    ],
)
def test_a_path_is_dropped_at_its_first_fault(
    limit: float | None, returns: tuple[float, ...], reason: DropReason | None
) -> None:
    assert TrajectoryPolicy(max_abs_log_return=limit).judge(returns) is reason
