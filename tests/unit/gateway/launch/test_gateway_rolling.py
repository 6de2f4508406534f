"""Rolling volatility against its target: what a window says, and how sure it is."""

import random
from math import sqrt
from statistics import fmean, stdev

import pytest

from gateway.launch.paper.rolling import TRADING_DAYS, interval, rolling


def equity_of(daily: list[float]) -> list[int]:
    found = [100_000_000]
    for one in daily:
        found.append(round(found[-1] * (1.0 + one)))
    return found


def test_a_target_that_is_met_in_every_window_has_no_error() -> None:
    move = 0.10 / sqrt(TRADING_DAYS)
    daily = [move if day % 2 else -move for day in range(252)]
    found = rolling(equity_of(daily), 1_000)
    assert found["63"]["error"] == pytest.approx(0.0, abs=0.01)
    assert found["63"]["error_low"] is not None
    half = rolling(equity_of(daily[:126]), 1_000)
    assert (half["63"]["error_low"], half["63"]["error_high"]) == (None, None)
    assert found["21"]["windows"] == 252 - 20
    assert found["21"]["error_high"] < 0.01


def test_a_year_that_is_right_on_the_whole_and_wrong_in_each_half_is_seen() -> None:
    """A whole-year figure would say that the target was met."""
    wild, calm = (0.10 * times / sqrt(TRADING_DAYS) for times in (sqrt(1.75), sqrt(0.25)))
    daily = [(wild if day < 126 else calm) * (1 if day % 2 else -1) for day in range(252)]
    assert stdev(daily) * sqrt(TRADING_DAYS) == pytest.approx(0.10, rel=0.01)
    assert rolling(equity_of(daily), 1_000)["21"]["error"] > 0.3


def test_the_worst_window_is_the_worst_return() -> None:
    daily = [0.0] * 50 + [-0.01] * 5 + [0.0] * 50
    found = rolling(equity_of(daily), 1_000)
    assert found["21"]["worst_return"] == pytest.approx(0.99**5 - 1, abs=1e-4)
    assert "63" not in found


def test_the_interval_of_a_mean_covers_what_depends_on_its_neighbours() -> None:
    draw = random.Random(5)  # noqa: S311 - repeatable draws, not keys
    covered = 0
    for _ in range(100):
        values, level = [], 0.0
        for _ in range(250):
            level = 0.9 * level + draw.gauss(0.0, 1.0)
            values.append(level)
        low, high = interval(values, 21)
        covered += low <= 0.0 <= high
    assert covered >= 70
    alone = interval([draw.gauss(0.0, 1.0) for _ in range(250)], 1)
    assert fmean(alone) == pytest.approx(0.0, abs=0.25)
