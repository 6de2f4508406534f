"""Names are exchanged together, and the exact test counts every sign."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.codec.codec import ReturnCodec
from inference.engine.self_test import golden_snapshot
from inference.errors import ForecastError
from inference.forecast.attributes import Attribute
from inference.forecast.swaps import (
    Moved,
    Swap,
    bound_1e8,
    flagged,
    floor_of,
    median,
    moved,
    quartile_range,
    sign_flip_p,
    swapped,
)
from inference.snapshot import Snapshot
from tests.doubles.market_cases import news_at
from tests.doubles.risk_cases import FORECAST

REGION = Swap(
    attribute=Attribute.REGION,
    terms=(("Germany", "France"), ("Frankfurt", "Paris"), ("EUR", "CHF")),
)
STILL = Moved(distance_1e8=0, flips=False, p_value=Fraction(1))


def told(text: str) -> Snapshot:
    usual = golden_snapshot()
    return replace(usual, news=(news_at(usual.as_of_us, headline=text),))


def headline(snapshot: Snapshot | None) -> str:
    assert snapshot is not None
    return snapshot.news[0].headline


def test_all_terms_of_a_swap_are_exchanged_at_once_and_both_ways() -> None:
    text = "Germany lends to France in Paris, EUR falls; germany waits in Frankfurt"
    other = "France lends to Germany in Frankfurt, CHF falls; France waits in Paris"
    assert headline(swapped(told(text), REGION)) == other
    assert headline(swapped(told(other), REGION)) == text.replace("germany", "Germany")


def test_parts_of_words_stay_and_nothing_to_exchange_is_none() -> None:
    assert swapped(told("Germanys parisian European"), REGION) is None
    assert swapped(golden_snapshot(), REGION) is None


def test_the_longer_term_is_taken_first() -> None:
    swap = Swap(attribute=Attribute.ISSUER, terms=(("Bank", "Firm"), ("Bank of X", "Y Corp")))
    assert headline(swapped(told("Bank of X and Bank"), swap)) == "Y Corp and Firm"


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=8))
def test_the_exact_p_value_is_the_share_of_all_signs(differences: list[int]) -> None:
    found = abs(sum(differences))
    signs = list(product((1, -1), repeat=len(differences)))
    far = sum(
        abs(sum(s * d for s, d in zip(one, differences, strict=True))) >= found for one in signs
    )
    assert sign_flip_p(differences) == Fraction(far, len(signs))


def test_the_test_enumerates_sixteen_at_most() -> None:
    assert sign_flip_p([1] * 16) == Fraction(2, 1 << 16)
    assert sign_flip_p([0] * 16) == 1
    with pytest.raises(ValueError, match="at most 16"):
        sign_flip_p([1] * 17)


def test_a_swap_says_distance_sign_and_p() -> None:
    own = list(range(-10, 11))
    assert moved(own, own) == Moved(distance_1e8=0, flips=False, p_value=Fraction(1))
    up = moved([-5] * 20, [7] * 20)
    assert (up.distance_1e8, up.flips, up.p_value) == (12, True, Fraction(2, 1 << 16))
    with pytest.raises(ValueError, match="paired"):
        moved([1], [1, 2])


def test_only_what_exceeds_floor_and_spread_is_flagged() -> None:
    far = Moved(distance_1e8=150_000, flips=False, p_value=Fraction(1))
    assert flagged(far, floor_1e8=49_999, placebo=STILL, iqr_1e8=0)
    assert not flagged(far, floor_1e8=50_000, placebo=STILL, iqr_1e8=0)
    assert not flagged(far, floor_1e8=0, placebo=STILL, iqr_1e8=600_000)
    turned = replace(STILL, flips=True)
    assert flagged(turned, floor_1e8=0, placebo=STILL, iqr_1e8=0)
    assert not flagged(turned, floor_1e8=0, placebo=turned, iqr_1e8=0)
    assert median([3, 1, 2, 4]) == 2


@pytest.mark.parametrize(("iqr", "widest"), [(0, 100_000), (400_000, 100_000), (800_000, 200_000)])
def test_a_placebo_at_most_doubles_the_bound(iqr: int, widest: int) -> None:
    def floor(distance: int) -> int:
        return floor_of(STILL, replace(STILL, distance_1e8=distance), iqr)

    assert (floor(7), floor(widest), floor(10**12)) == (7, widest, widest)
    assert bound_1e8(floor(10**12), iqr) == 2 * widest
    assert floor_of(replace(STILL, distance_1e8=9), STILL, iqr) == 9


def test_the_quartiles_are_those_at_the_horizon() -> None:
    rows = ((-9, -90), (-2, -30), (0, 1), (3, 20), (8, 70))
    given = replace(FORECAST, horizon=2, quantiles_1e8=rows)
    assert quartile_range(given) == 50
    with pytest.raises(ForecastError, match="no quartiles"):
        quartile_range(replace(given, levels_bp=(500, 5000), quantiles_1e8=rows[:2]))


def test_no_swap_changes_a_prompt_of_the_bundled_vocabulary() -> None:
    """The return codecs read words of a closed list: none names a region, issuer or client."""
    own, other = told("Germany waits"), swapped(told("Germany waits"), REGION)
    assert other is not None
    assert ReturnCodec().encode(own) == ReturnCodec().encode(other)
