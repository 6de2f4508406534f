"""Paths and what is read of them: prices above zero, shortfall and bound of a share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.errors import PathsError
from risk.state.paths.losses import proportion_bound, shortfall_of
from risk.state.paths.marginal import ONE_1E8, Marginal

BAR_US = 86_400_000_000


def test_a_path_below_a_price_of_zero_is_refused() -> None:
    with pytest.raises(PathsError, match="below zero"):
        Marginal(
            instrument="I0",
            as_of_us=1,
            bar_us=BAR_US,
            times_us=(),
            closes_ticks=(),
            moves_1e8=((-ONE_1E8 - 1,),),
        )


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=200))
def test_a_shortfall_lies_between_the_mean_and_the_worst(losses: list[int]) -> None:
    shortfall, error = shortfall_of(losses)
    assert sum(losses) <= shortfall * len(losses)
    assert shortfall <= max(losses)
    assert error >= 0


@given(st.integers(1, 2_000), st.data())
def test_the_bound_of_a_share_is_above_it_and_grows_with_it(n: int, data: st.DataObject) -> None:
    found = data.draw(st.integers(0, n - 1))
    low, high = (proportion_bound(one, n, 16_449) for one in (found, found + 1))
    assert 0 < found * 10_000 / n <= low <= high <= 10_000 or found == 0 < low <= high
    assert proportion_bound(found, n, 0) <= low
