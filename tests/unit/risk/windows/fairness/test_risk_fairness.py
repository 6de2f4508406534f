"""Window statistics find what is planted, and nothing where nothing is."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest

from risk.windows.fairness.cases import Fairness, FairnessCase
from risk.windows.fairness.disparity import disparity
from risk.windows.fairness.exposure import permutation
from risk.windows.fairness.holm import holm
from risk.windows.fairness.parity import parity
from risk.windows.fairness.selection import selection
from risk.windows.fairness.tables import fisher

REGIONS = ("africa", "asia", "europe", "latin", "us", "pacific")
SIGMA_BP = 1_000


def cases(count: int, seed: int, *, bias_bp: int = 0) -> list[FairnessCase]:
    """Honest cases; `bias_bp` is added to the exposures of one region."""
    draw = random.Random(seed)  # noqa: S311 - planted worlds, not keys
    found = []
    for number in range(count):
        region = REGIONS[number % len(REGIONS)]
        exposure = round(draw.gauss(0, SIGMA_BP)) + (bias_bp if region == "asia" else 0)
        found.append(
            FairnessCase(
                decision_id=f"d-{number:05d}",
                group=region,
                stratum=f"class-{draw.randrange(8)}",
                approved=draw.random() < 0.8,
                exposure_bp=exposure,
                hit=frozenset(),
            )
        )
    return found


def root(seed: int) -> bytes:
    return sha256(str(seed).encode()).digest()


def test_a_planted_bias_is_found_and_its_region_named() -> None:
    found = permutation(cases(2_000, 1, bias_bp=350), root(1), deals=199)
    assert (found.finding, found.group, found.at_least) == (Fairness.FLAGGED, "asia", 0)
    assert found.p_value == Fraction(1, 200)


def test_without_a_bias_nothing_is_found() -> None:
    found = permutation(cases(2_000, 2), root(2), deals=199)
    assert found.finding is Fairness.NOT_FLAGGED


def test_anybody_deals_the_same_again_and_another_root_deals_otherwise() -> None:
    honest = cases(300, 3)
    once, again = (permutation(honest, root(3), deals=99) for _ in range(2))
    assert once == again == permutation(list(reversed(honest)), root(3), deals=99)
    assert permutation(honest, root(4), deals=99).seed != once.seed


def test_a_difference_between_strata_is_no_finding() -> None:
    """All of one region is in a stratum of larger orders: explained, so not flagged."""
    explained = [
        replace(one, stratum=f"{one.stratum}-{one.group == 'asia'}") for one in cases(1_200, 5)
    ]
    moved = [
        replace(one, exposure_bp=one.exposure_bp + 5_000 * one.stratum.endswith("True"))
        for one in explained
    ]
    assert permutation(moved, root(5), deals=199).finding is Fairness.NOT_FLAGGED


@pytest.mark.parametrize("count", [0, 1, 6 * 30 - 1])
def test_too_few_cases_are_insufficient_and_never_passed(count: int) -> None:
    few = cases(count, 6)
    assert permutation(few, root(6), deals=9).finding is Fairness.INSUFFICIENT
    assert Fairness.NOT_FLAGGED not in {one.finding for one in selection(few[: 29 * 6])}


def test_cases_without_a_group_are_left_out() -> None:
    unknown = [replace(one, group="") for one in cases(600, 7)]
    assert permutation(unknown, root(7), deals=9).cases == 0
    assert [*selection(unknown), *disparity(unknown), *parity(unknown)] == []


def refused(region: str, share: float, found: Sequence[FairnessCase]) -> list[FairnessCase]:
    draw = random.Random(8)  # noqa: S311 - planted worlds, not keys
    return [
        replace(one, approved=False, hit=frozenset({"R15"}))
        if region in {one.group, "all"} and draw.random() < share
        else replace(one, approved=True)
        for one in found
    ]


def test_a_group_that_is_approved_far_less_often_is_flagged_by_three_tests() -> None:
    planted = refused("latin", 0.3, cases(1_200, 8))
    assert {o.group for o in selection(planted) if o.finding is Fairness.FLAGGED} == {"latin"}
    by_name = {one.group: one for one in disparity(planted)}
    assert by_name["latin"].finding is Fairness.FLAGGED
    assert (by_name["latin"].disparity_bp or 0) > 0 > (by_name["us"].disparity_bp or 0)
    hit = [(one.rule, one.group) for one in parity(planted) if one.finding is Fairness.FLAGGED]
    assert hit == [("R15", "latin")]


def test_a_few_refusals_are_no_finding() -> None:
    planted = refused("all", 0.02, cases(1_200, 9))
    assert {one.finding for one in selection(planted)} == {Fairness.NOT_FLAGGED}
    assert {one.finding for one in parity(planted)} == {Fairness.NOT_FLAGGED}


@pytest.mark.parametrize(
    ("table", "p_value"),
    [
        ((1, 10, 11, 14), Fraction(2759, 1000000)),
        ((3, 4, 1, 4), Fraction(485714, 1000000)),
        ((0, 5, 0, 5), Fraction(1)),
    ],
)
def test_fishers_test_agrees_with_published_values(
    table: tuple[int, int, int, int], p_value: Fraction
) -> None:
    assert abs(fisher(*table) - p_value) < Fraction(1, 10**6)


def test_holm_rejects_in_steps_and_stops() -> None:
    values = [Fraction(1, 100), Fraction(4, 100), Fraction(3, 100), Fraction(5, 1000)]
    assert holm(values) == (True, False, False, True)
    assert holm([]) == ()
