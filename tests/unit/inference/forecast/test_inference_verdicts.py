"""Verdicts on trajectories: one entry each, whole numbers, and quantiles of both sorts."""

import json
from math import inf, nan

import pytest

from inference.errors import ForecastError
from inference.forecast.trajectory import DropReason, Trajectory
from inference.forecast.verdicts import counted, end_quantiles, verdicts_document


def path(index: int, end: float, reason: DropReason | None = None) -> Trajectory:
    return Trajectory(
        index=index,
        seed=index,
        tokens=(1, 2),
        log_returns=(end / 2, end / 2),
        loglik_target=-1.2345,
        loglik_drafter=None if index else -inf,
        loglik_target_drafted=None,
        kept=reason is None,
        reason=reason,
    )


PATHS = (
    path(0, 0.01),
    path(1, -0.01),
    path(2, 0.5, DropReason.MOVE_TOO_LARGE),
    path(3, nan, DropReason.NOT_FINITE),
)


def test_each_trajectory_has_its_verdict_in_whole_numbers() -> None:
    document = verdicts_document(PATHS)
    assert document["verdicts"] == ["kept", "kept", "move_too_large", "not_finite"]
    assert document["ends_1e8"] == [1_000_000, -1_000_000, 50_000_000, None]
    assert document["target_mnat"] == [-1_234] * 4
    assert document["drafter_mnat"] == [None] * 4, "an impossible or missing likelihood is null"
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert counted(document) == {"kept": 2, "move_too_large": 1, "not_finite": 1}


def test_both_sorts_have_quantiles() -> None:
    document = verdicts_document(PATHS)
    assert end_quantiles(document, (0, 5_000, 10_000), kept=True) == (-1_000_000, 0, 1_000_000)
    assert end_quantiles(document, (5_000,), kept=False) == (50_000_000,)
    assert end_quantiles(verdicts_document(PATHS[:2]), (5_000,), kept=False) == ()


@pytest.mark.parametrize("spoilt", [{}, {"verdicts": ["kept"], "ends_1e8": []}, {"verdicts": 1}])
def test_malformed_verdicts_are_refused(spoilt: dict[str, object]) -> None:
    with pytest.raises(ForecastError):
        end_quantiles(spoilt, (5_000,), kept=True)
