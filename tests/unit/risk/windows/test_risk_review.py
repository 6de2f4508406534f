"""The sample of a blind review and the agreement of two judges."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.windows.review import ReviewAnswer, agreement, drawn

ANSWERS = st.sampled_from(list(ReviewAnswer))
BUY, SELL, NONE = ReviewAnswer.BUY, ReviewAnswer.SELL, ReviewAnswer.NONE


def test_kappa_of_a_table_worked_by_hand() -> None:
    # 20 both buy, 5 buy and sell, 10 sell and buy, 15 both sell: po 0.7, pe 0.5.
    pairs = [(BUY, BUY)] * 20 + [(BUY, SELL)] * 5 + [(SELL, BUY)] * 10 + [(SELL, SELL)] * 15
    found = agreement(pairs)
    assert (found.cases, found.agreed, found.kappa_ppm) == (50, 35, 400_000)


@pytest.mark.parametrize("pairs", [[], [(BUY, BUY)], [(NONE, NONE)] * 3])
def test_kappa_is_not_defined_where_chance_explains_all(
    pairs: list[tuple[ReviewAnswer, ReviewAnswer]],
) -> None:
    assert agreement(pairs).kappa_ppm is None


@given(st.lists(st.tuples(ANSWERS, ANSWERS), max_size=40))
def test_kappa_is_at_most_one_and_one_only_if_all_agree(
    pairs: list[tuple[ReviewAnswer, ReviewAnswer]],
) -> None:
    found = agreement(pairs)
    if found.kappa_ppm is None:
        return
    assert found.kappa_ppm <= 1_000_000
    assert (found.kappa_ppm == 1_000_000) == (found.agreed == found.cases)
    swapped = agreement([(other, mine) for mine, other in pairs])
    assert swapped == found


@given(st.binary(min_size=32, max_size=32), st.sets(st.text(min_size=1), max_size=30))
def test_a_draw_is_a_subset_that_order_and_repeats_do_not_change(
    root: bytes, ids: set[str]
) -> None:
    found = drawn(root, ids, 5)
    assert len(found) == min(5, len(ids))
    assert set(found) <= ids
    assert drawn(root, [*sorted(ids, reverse=True), *ids], 5) == found
    assert drawn(root, ids, 3) == found[:3]


def test_each_decision_is_drawn_about_equally_often() -> None:
    counts = dict.fromkeys("abcdefghij", 0)
    for number in range(2_000):
        for one in drawn(number.to_bytes(32, "big"), counts, 2):
            counts[one] += 1
    assert all(
        abs(Fraction(count, 2_000) - Fraction(1, 5)) < Fraction(1, 25) for count in counts.values()
    )


def test_a_negative_count_draws_nothing() -> None:
    assert drawn(b"\0" * 32, ["a"], -1) == ()
