"""Joint paths: each instrument keeps its law and its draws, and moves with the others as asked."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.forecast.draws import CodecLaw, Integers, moves_of, returns_of
from inference.forecast.joint import Member, exchanged
from inference.scale.correlation import (
    FEWEST,
    ONE,
    WARM_UP,
    PastCloses,
    correlation_of,
    factor_of,
)
from inference.scale.ewma import Scale

DAY_US = 86_400_000_000
STEPS = 4
LAW = CodecLaw(scale=Scale(fast=1e-4, slow=2e-4, long=1.5e-4))
SEEDS = st.integers(0, 2**32 - 1)


def sampled(seed: int, paths: int) -> Integers:
    """Paths whose draws depend on the size of the one before: the larger, the wider."""
    drawn, before = np.random.default_rng(seed), np.zeros(paths)
    draws = np.empty((paths, STEPS))
    for step in range(STEPS):
        before = drawn.standard_normal(paths) * (1 + (np.abs(before) > 1))
        draws[:, step] = before
    return moves_of(LAW.returns(draws))


def members(seed: int, paths: int, count: int = 2) -> list[Member]:
    return [
        Member(symbol=f"I{k}", moves_1e8=sampled(seed + k, paths), law=LAW) for k in range(count)
    ]


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 60), st.integers(-950_000, 950_000))
def test_of_each_step_and_state_the_draws_are_kept(seed: int, paths: int, rho: int) -> None:
    own = members(seed, paths)
    joined = exchanged(own, factor_of([rho], 2), bytes(32))
    for one, moves in zip(own, joined, strict=True):
        for step in range(STEPS):
            before, after = _drawn(one.moves_1e8, step), _drawn(moves, step)
            assert before.keys() == after.keys()
            for state, draws in before.items():
                assert np.allclose(draws, after[state], atol=1e-4), "rounded to 1e-8 twice"


def _drawn(moves: Integers, step: int) -> dict[int, list[float]]:
    """Return the sorted draws of a step by the state before it."""
    draws = LAW.draws(returns_of(moves))
    states = LAW.states(draws[:, step - 1]) if step else np.zeros(len(draws), dtype=np.int64)
    return {
        state: sorted(draws[states == state, step].tolist()) for state in Counter(states.tolist())
    }


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(2, 60))
def test_one_alone_is_unchanged_and_more_are_the_same_each_time(seed: int, paths: int) -> None:
    alone, *_ = own = members(seed, paths)
    (kept,) = exchanged([alone], factor_of([], 1), bytes(32))
    assert (kept == alone.moves_1e8).all()
    first, second = (exchanged(own, factor_of([500_000], 2), bytes(32)) for _ in range(2))
    assert all((one == other).all() for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("rho", [-900_000, 0, 500_000, 940_000])
def test_they_move_together_as_asked_from_day_to_day(rho: int) -> None:
    own = members(7, 4_096)
    first, second = (
        LAW.draws(returns_of(one)) for one in exchanged(own, factor_of([rho], 2), bytes(32))
    )
    for step in range(STEPS):
        found = np.corrcoef(first[:, step], second[:, step])[0, 1]
        assert abs(found - rho / ONE) < (0.05 if step == 0 else 0.12)


def test_of_more_paths_the_first_ones_count_and_lengths_must_agree() -> None:
    few, many = members(1, 8)[0], members(2, 32)[1]
    factor = factor_of([0], 2)
    assert [len(one) for one in exchanged([few, many], factor, bytes(32))] == [8, 8]
    short = Member(symbol="I9", moves_1e8=many.moves_1e8[:, :2], law=LAW)
    with pytest.raises(ValueError, match="length"):
        exchanged([few, short], factor, bytes(32))


def test_a_model_without_a_state_keeps_whole_paths() -> None:
    own = [Member(symbol=one.symbol, moves_1e8=one.moves_1e8, law=None) for one in members(3, 50)]
    for one, moves in zip(own, exchanged(own, factor_of([900_000], 2), bytes(32)), strict=True):
        assert sorted(map(tuple, moves.tolist())) == sorted(map(tuple, one.moves_1e8.tolist()))


@given(st.lists(st.integers(-ONE, ONE), min_size=6, max_size=6))
def test_pairs_that_do_not_fit_together_are_drawn_to_independence(pairs: list[int]) -> None:
    factor = factor_of(pairs, 4)
    rows = np.zeros((4, 4))
    for i, row in enumerate(factor.rows):
        rows[i, : i + 1] = row
    again = (rows @ rows.T / ONE**2)[np.tril_indices(4, -1)]
    assert np.allclose(again * ONE, factor.correlation, atol=2_000)
    assert np.allclose(np.diag(rows @ rows.T) / ONE**2, 1, atol=1e-4)
    kept = [one * (10_000 - factor.shrunk_bp) // 10_000 for one in pairs]
    assert list(factor.correlation) == kept


def closes(seed: int, days: int, later_us: int = 0) -> PastCloses:
    moves = np.random.default_rng(seed).integers(-200, 201, days)
    prices = tuple((100_000 + np.cumsum(moves)).tolist())
    times = tuple(day * DAY_US + DAY_US // 2 + later_us for day in range(days))
    return PastCloses(bar_us=DAY_US, times_us=times, closes=prices)


@given(SEEDS, st.integers(1, 3_600_000_000))
def test_closes_of_one_day_are_of_one_day_whatever_the_clock(seed: int, later_us: int) -> None:
    """Feeds that stamp one close some milliseconds apart are of one market."""
    days = 1 + WARM_UP + FEWEST
    assert correlation_of(closes(seed, days), closes(seed, days, later_us), 1) > 999_000
    fewer = closes(seed, days - 1, later_us)
    assert correlation_of(closes(seed, days), fewer, 123_456) == 123_456
