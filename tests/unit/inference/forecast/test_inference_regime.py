"""The regime of a snapshot: a labelled switch is found within n bars, and a calm market is calm."""

import random
from statistics import median

import pytest

from inference.forecast.regime import ADOPTED_BARS, BURN_IN, Regime, read_regime

THRESHOLD_BP = 50_000
CALM = 0.01


def drawn(rng: random.Random, count: int, sigma: float) -> list[float]:
    """Student's law with 4 degrees, scaled to a standard deviation."""
    return [
        sigma * rng.gauss(0, 1) / (rng.gammavariate(2, 2) / 4) ** 0.5 * 0.5**0.5
        for _ in range(count)
    ]


def first(returns: list[float], after: int, regime: Regime) -> int:
    """Bars after a switch until a regime is read; 999 if it never is."""
    ends = range(after + 1, len(returns) + 1)
    found = (k - after for k in ends if read_regime(returns[:k], THRESHOLD_BP).regime is regime)
    return next(found, 999)


def test_a_labelled_switch_is_found_both_ways() -> None:
    rng, up, down = random.Random(7), [], []  # noqa: S311 - a labelled world, not a secret
    for _ in range(60):
        returns = drawn(rng, 120, CALM) + drawn(rng, 40, 2.5 * CALM) + drawn(rng, 40, CALM)
        up.append(first(returns[:160], 120, Regime.TURBULENT))
        down.append(first(returns, 160, Regime.CALM))
    assert median(up) <= 10
    assert sum(bars <= 20 for bars in up) >= 0.8 * 60
    assert median(down) <= 12
    assert sum(bars <= 20 for bars in down) >= 0.95 * 60


def test_a_calm_market_is_seldom_called_turbulent() -> None:
    rng, called, asked = random.Random(8), 0, 0  # noqa: S311 - as above
    for _ in range(60):
        returns = drawn(rng, 200, CALM)
        for k in range(60, 200, 10):
            called += read_regime(returns[:k], THRESHOLD_BP).regime is Regime.TURBULENT
            asked += 1
    assert called <= 0.05 * asked


def test_one_jump_is_no_regime() -> None:
    returns = [CALM, -CALM] * 40 + [50 * CALM]
    assert read_regime(returns, THRESHOLD_BP).regime is Regime.CALM


def test_what_lasts_becomes_the_new_normal() -> None:
    returns = [CALM, -CALM] * 40 + [3 * CALM, -3 * CALM] * ADOPTED_BARS
    reading = read_regime(returns, THRESHOLD_BP)
    assert reading.regime is Regime.CALM
    assert reading.sigma_1e8 == pytest.approx(3 * CALM * 1e8, rel=0.02)


@pytest.mark.parametrize("count", [0, 1, BURN_IN])
def test_too_few_returns_are_calm(count: int) -> None:
    assert read_regime([CALM] * count, THRESHOLD_BP).regime is Regime.CALM


def test_a_market_that_stands_still_is_calm() -> None:
    assert read_regime([0.0] * 200, THRESHOLD_BP).regime is Regime.CALM
