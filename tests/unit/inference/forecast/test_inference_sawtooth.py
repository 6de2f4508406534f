"""Sawtooths: a path that turns at every bar is dropped where the policy denies that shape."""

import pytest

from inference.forecast.trajectory import DropReason, Sawtooth, TrajectoryPolicy

DENIED = TrajectoryPolicy(denied=(Sawtooth(reversals=2, move=0.01),))


@pytest.mark.parametrize(
    ("path", "dropped"),
    [
        ((0.01, -0.01, 0.01), True),
        ((0.0, -0.02, 0.02, -0.02), True),
        ((0.01, -0.01, -0.01, 0.01), False),
        ((0.01, -0.0099, 0.01, -0.01), False),
        ((0.01, -0.01), False),
        ((0.02, 0.02, 0.02), False),
        ((), False),
    ],
)
def test_a_row_of_large_reversals_drops_a_path(path: tuple[float, ...], *, dropped: bool) -> None:
    assert (DENIED.judge(path) is DropReason.SAWTOOTH) == dropped
    assert TrajectoryPolicy().judge(path) is None, "by default nothing is dropped"


def test_any_denied_shape_drops_and_a_large_move_is_named_first() -> None:
    both = TrajectoryPolicy(
        max_abs_log_return=0.015,
        denied=(Sawtooth(reversals=9, move=0.01), Sawtooth(reversals=1, move=0.01)),
    )
    assert both.judge((0.01, -0.01)) is DropReason.SAWTOOTH
    assert both.judge((0.02, -0.02)) is DropReason.MOVE_TOO_LARGE
