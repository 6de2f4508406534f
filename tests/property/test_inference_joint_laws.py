"""Joint paths: each member's own law is kept, and a correlation needs enough of a common past."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from inference.forecast.draws import CodecLaw, Floats, Integers, moves_of, returns_of
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
STILL = Scale(fast=1e-4, slow=1e-4, long=1e-4)
"""A volatility of 1 % a day."""
correlations = st.integers(-ONE, ONE)


def member(name: str, law: CodecLaw, moves: Integers) -> Member:
    return Member(symbol=name, moves_1e8=moves, law=law)


def test_draws_of_equal_rows_keep_the_correlation_on_every_step() -> None:
    paths, noise, rho = 1_024, np.random.default_rng(3), 940_000
    drawn = noise.standard_normal((2, paths, 10))
    found = {}
    for by_move in (True, False):
        law = CodecLaw(scale=STILL, by_move=by_move)
        moves = [moves_of(law.returns(one)) for one in drawn]
        joined = exchanged(
            [member("one", law, moves[0]), member("other", law, moves[1])],
            factor_of([rho], 2),
            bytes(32),
        )
        after = [law.draws(returns_of(one)) for one in joined]
        steps = [np.corrcoef(a, b)[0, 1] for a, b in zip(after[0].T, after[1].T, strict=True)]
        found[by_move] = min(steps)
    assert found[False] > 0.93
    assert 0.88 < found[True] < found[False]


def sampled(noise: np.random.Generator, paths: int, pull: float) -> Floats:
    """Return draws whose law depends on the move before: `pull` of it, by its state, comes back."""
    law = CodecLaw(scale=STILL)
    found = np.empty((paths, 4))
    state = np.full(paths, 3)
    for step in range(found.shape[1]):
        found[:, step] = noise.standard_normal(paths) - pull * (state - 3)
        state = law.states(found[:, step])
    return found


def ends(pull: float, *, by_move: bool, join: bool) -> Floats:
    """Return where the first member's paths end and turn, of 60 seeds."""
    found, noise = [], np.random.default_rng(11 if join else 12)
    for number in range(60):
        law = CodecLaw(scale=STILL, by_move=by_move)
        moves = [moves_of(law.returns(sampled(noise, 256, pull))) for _ in range(2)]
        if join:
            members = [member("one", law, moves[0]), member("other", law, moves[1])]
            moves = list(exchanged(members, factor_of([900_000], 2), bytes([number]) * 32))
        found.append(moves[0][:, -1])
    return np.concatenate(found).astype(np.float64)


@pytest.mark.parametrize(("pull", "by_move"), [(0.0, True), (0.0, False), (0.3, True)])
def test_a_members_own_law_is_kept(pull: float, by_move: bool) -> None:  # noqa: FBT001 - a case
    after = ends(pull, by_move=by_move, join=True)
    assert ks_2samp(after, ends(pull, by_move=by_move, join=False)).pvalue > 0.01


def test_exchange_across_states_would_break_a_law_that_has_them() -> None:
    after = ends(0.3, by_move=False, join=True)
    assert ks_2samp(after, ends(0.3, by_move=True, join=False)).pvalue < 1e-6


def closes_of(
    noise: int, days: int, late_us: int = 0, rho: float = 0.8
) -> tuple[PastCloses, PastCloses]:
    """Return the closes of two instruments; the second's stand a little later."""
    own = random.Random(noise)  # noqa: S311 - a test's market
    prices, levels = [[100_000_000], [50_000_000]], [1e8, 5e7]
    for _ in range(days - 1):
        first, second = own.gauss(0.0, 1.0), own.gauss(0.0, 1.0)
        moves = (first, rho * first + (1.0 - rho**2) ** 0.5 * second)
        for k, move in enumerate(moves):
            levels[k] *= 1.0 + 0.01 * max(min(move, 4.0), -4.0)
            prices[k].append(max(1, round(levels[k])))
    at = [21 * DAY_US // 24 + day * DAY_US for day in range(days)]
    later = [time + late_us for time in at]
    return (
        PastCloses(bar_us=DAY_US, times_us=tuple(at), closes=tuple(prices[0])),
        PastCloses(bar_us=DAY_US, times_us=tuple(later), closes=tuple(prices[1])),
    )


@given(st.integers(0, 2**32), correlations)
@settings(max_examples=20)
def test_too_short_a_common_past_gives_what_policy_says(noise: int, without: int) -> None:
    enough = FEWEST + WARM_UP + 1
    assert correlation_of(*closes_of(noise, enough - 1), without) == without
    one, other = closes_of(noise, enough)
    assert correlation_of(one, other, without) == correlation_of(one, other, -without)


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_the_correlation_is_symmetric_and_one_with_itself(noise: int) -> None:
    one, other = closes_of(noise, 300)
    assert correlation_of(one, other, 0) == correlation_of(other, one, 0)
    assert ONE - 2 <= correlation_of(one, one, 0) <= ONE


def test_the_correlation_of_a_long_past_is_found() -> None:
    found = [correlation_of(*closes_of(noise, 300), 0) / ONE for noise in range(40)]
    assert abs(sum(found) / len(found) - 0.8) < 0.03
