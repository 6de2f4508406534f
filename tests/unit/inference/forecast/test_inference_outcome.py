"""A forecast against what came: scores, ranks, evidence."""

import random
from fractions import Fraction

import pytest

from inference.errors import ForecastError
from inference.forecast.outcome import TENTHS, Calibration, move_1e8, score_paths

SEED = 20261123


def crps_by_definition(moves: list[int], came: int) -> Fraction:
    """The mean distance from what came, less half the mean distance of two paths."""
    n = len(moves)
    apart = sum(abs(a - b) for a in moves for b in moves)
    return Fraction(sum(abs(a - came) for a in moves), n) - Fraction(apart, 2 * n * n)


def test_the_score_is_crps_rounded_down() -> None:
    draw = random.Random(SEED)  # noqa: S311 - a drawn test
    for _ in range(50):
        moves = [draw.randint(-(10**7), 10**7) for _ in range(draw.randint(1, 40))]
        came = draw.randint(-(10**7), 10**7)
        exact = crps_by_definition(moves, came)
        assert score_paths(moves, came, "x").crps_1e8 == exact.numerator // exact.denominator


def test_the_rank_counts_what_lies_below_and_splits_ties_by_the_name() -> None:
    assert score_paths([1, 2, 3, 4], 0, "x").rank == 0
    assert score_paths([1, 2, 3, 4], 9, "x").rank == 4
    ranks = {score_paths([5, 5, 5, 5], 5, f"decision {n}").rank for n in range(60)}
    assert ranks == {0, 1, 2, 3, 4}


def test_no_paths_and_no_price_have_no_score() -> None:
    with pytest.raises(ForecastError):
        score_paths([], 0, "x")
    for before, after in ((0, 1), (1, 0), (-1, 1)):
        with pytest.raises(ForecastError):
            move_1e8(before, after)
    with pytest.raises(ForecastError):
        Calibration().take("SPXN", 33, 32)


@pytest.mark.parametrize(
    ("before", "after", "move"),
    [(100, 101, 1_000_000), (3, 4, 33_333_333), (3, 2, -33_333_333), (7, 7, 0)],
)
def test_a_move_is_the_nearest_integer(before: int, after: int, move: int) -> None:
    assert move_1e8(before, after) == move


def test_even_ranks_seldom_become_evidence_and_uneven_ones_do() -> None:
    """Ville: of 200 calibrated models at most one in twenty ever reaches 20 to 1."""
    draw = random.Random(SEED)  # noqa: S311 - a drawn test
    reached = 0
    for _ in range(200):
        ranks = Calibration()
        for _ in range(250):
            ranks.take(draw.choice(("SPXN", "NDXN")), draw.randint(0, 32), 32)
        reached += ranks.peak_milli >= 20_000
    assert reached <= 10
    narrow = Calibration()
    for _ in range(120):
        narrow.take("SPXN", draw.choice((0, 1, 2, 16, 30, 31, 32)), 32)
    assert narrow.peak_milli >= 20_000
    assert narrow.shift_bp > 2_500


def test_evidence_is_the_stake_of_exact_odds() -> None:
    draw = random.Random(SEED)  # noqa: S311 - a drawn test
    ranks, exact, counts = Calibration(), Fraction(1), [0] * TENTHS
    for _ in range(60):
        rank = draw.randint(0, 100)
        tenth = rank * TENTHS // 101
        size = sum(one * TENTHS // 101 == tenth for one in range(101))
        exact *= Fraction(counts[tenth] + 1, sum(counts) + TENTHS) / Fraction(size, 101)
        counts[tenth] += 1
        ranks.take("SPXN", rank, 100)
    staked = (exact / 2 + Fraction(1, 2)) * 1_000
    assert ranks.evidence_milli == staked.numerator // staked.denominator
    assert list(ranks.counts) == counts
