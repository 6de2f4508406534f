import struct

import pytest

from inference.speculation.seeds import (
    Purpose,
    accept_draw,
    decision_seed,
    pick,
    token_draw,
    trajectory_seeds,
)

ROOT = bytes(range(32))


def test_seeds_are_fixed_for_ever() -> None:
    seed = decision_seed(ROOT, "decision-1", 0)
    assert seed.hex() == "211466daac197edcb67bdadaeb476def3dc9d04b8613a885c48093bfe9e394b8"
    assert trajectory_seeds(seed, 2) == (8701270018827402162, 4379375790478055678)
    assert accept_draw(1, 2, 3).hex() == "0x1.7d8c5c0000000p-2"
    assert token_draw(1, Purpose.DRAFT, 2, 3).hex() == "0x1.b19b884b9c7cbp-1"


def test_root_decision_and_attempt_each_change_the_seed() -> None:
    seeds = {
        decision_seed(ROOT, "a", 0),
        decision_seed(ROOT, "a", 1),
        decision_seed(ROOT, "b", 0),
        decision_seed(bytes(32), "a", 0),
    }
    assert len(seeds) == 4


def test_more_trajectories_keep_the_first_seeds() -> None:
    assert trajectory_seeds(ROOT, 32)[:5] == trajectory_seeds(ROOT, 5)
    assert all(0 <= seed < 1 << 63 for seed in trajectory_seeds(ROOT, 100))


@pytest.mark.parametrize("attempt", [-1, 1 << 32])
def test_attempt_outside_32_bits_is_refused(attempt: int) -> None:
    with pytest.raises(ValueError, match="attempt"):
        decision_seed(ROOT, "a", attempt)


def test_accept_draws_are_inside_zero_and_one_and_exact_in_float32() -> None:
    for seed in range(2000):
        u = accept_draw(seed, 3, 1)
        assert 0.0 < u < 1.0
        assert struct.unpack("<f", struct.pack("<f", u))[0] == u


def test_draws_are_uniform_over_seeds_positions_and_purposes() -> None:
    for purpose in Purpose:
        draws = [token_draw(s, purpose, p, i) for s in range(50) for p in range(10) for i in (0, 1)]
        assert abs(sum(draws) / len(draws) - 0.5) < 0.04
        assert len(set(draws)) == len(draws)


@pytest.mark.parametrize(
    ("row", "draw", "index"),
    [
        ((0.25, 0.25, 0.5), 0.1, 0),
        ((0.25, 0.25, 0.5), 0.25, 1),
        ((0.0, 1.0, 0.0), 1e-17, 1),
        ((0.0, 1.0, 0.0), 1.0, 1),
        ((2.0, 6.0), 0.24, 0),
        ((2.0, 6.0), 0.26, 1),
    ],
)
def test_pick_inverts_the_cumulative_sum(row: tuple[float, ...], draw: float, index: int) -> None:
    assert pick(row, draw) == index


@pytest.mark.parametrize("row", [(), (0.0, 0.0), (float("nan"),), (float("inf"), 1.0), (-1.0,)])
def test_pick_refuses_a_row_without_mass(row: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="positive finite sum"):
        pick(row, 0.5)
