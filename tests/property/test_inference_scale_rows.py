"""Scales of many paths at once are the scalar's, to the last bit, and refuse what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.errors import ScaleError
from inference.scale.ewma import Scale
from inference.scale.moving import MovingScale
from inference.scale.rows import ScaleRows
from tests.doubles.drawn_scales import scales

moves = st.floats(-0.5, 0.5) | st.sampled_from([0.0, -0.0, 1e-300, -1e-300, 20.0, -20.0])
plans = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(moves, min_size=n, max_size=n), min_size=1, max_size=8)
)
anything = st.lists(
    st.lists(st.floats(), min_size=2, max_size=2), min_size=1, max_size=6
)  # NaN, infinities and the largest floats too
Outcome = list[list[str]] | None


def one_by_one(scale: Scale | MovingScale, steps: list[list[float]]) -> Outcome:
    """Return each path's sigmas as hex, [steps + 1, paths], or None where one is refused."""
    columns = []
    for path in zip(*steps, strict=True):
        at, column = scale, []
        try:
            column.append(at.sigma.hex())
            for value in path:
                at = at.after(value)
                column.append(at.sigma.hex())
        except (ArithmeticError, ValueError):
            return None
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def together(scale: Scale | MovingScale, steps: list[list[float]]) -> Outcome:
    """Return the same of all paths at once."""
    try:
        rows = ScaleRows.of(scale, len(steps[0]))
        found = [[value.hex() for value in rows.sigma.tolist()]]
        for values in steps:
            rows = rows.after(np.array(values))
            found.append([value.hex() for value in rows.sigma.tolist()])
    except (ArithmeticError, ValueError):
        return None
    return found


@given(scales, plans)
def test_sigmas_of_all_paths_are_the_scalars_to_the_last_bit(
    scale: Scale | MovingScale, steps: list[list[float]]
) -> None:
    assert together(scale, steps) == one_by_one(scale, steps)


@given(scales, anything)
def test_what_is_no_number_gives_what_the_scalar_gives(
    scale: Scale | MovingScale, steps: list[list[float]]
) -> None:
    assert together(scale, steps) == one_by_one(scale, steps)


@settings(max_examples=20)
@given(scales, plans)
def test_a_state_is_not_changed_by_what_follows(
    scale: Scale | MovingScale, steps: list[list[float]]
) -> None:
    rows = ScaleRows.of(scale, len(steps[0]))
    before = rows.sigma.copy()
    for values in steps:
        rows.after(np.array(values))
    assert np.array_equal(rows.sigma, before)


def test_paths_without_a_number_are_refused_as_one_path_is() -> None:
    scale = Scale(fast=-1.0, slow=-1.0, long=1.0)
    with pytest.raises(ValueError, match="math domain error"):
        _ = ScaleRows.of(scale, 3).sigma
    with pytest.raises(ValueError, match="math domain error"):
        _ = scale.sigma


class Constant:
    """A scale of neither codec."""

    sigma = sigma_long = 0.01

    def after(self, log_return: float) -> "Constant":
        del log_return
        return self


def test_a_scale_of_no_codec_is_refused() -> None:
    assert math.isclose(Constant().after(0.1).sigma, 0.01)
    with pytest.raises(ScaleError, match="codec 1 or 2, was Constant"):
        ScaleRows.of(Constant(), 3)
