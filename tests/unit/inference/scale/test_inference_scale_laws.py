"""The scale's recursions: causal, exact in a document, and never negative."""

import dataclasses
import json
import math
import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.errors import ScaleError
from inference.scale.fitted import (
    NO_FIT,
    data_digest,
    default_fit,
    fit_document,
    fit_from_document,
)
from inference.scale.law import VarianceLaw, conditional_variances
from inference.scale.moving import VARIANCE_FLOOR, first_moving, scales_of
from inference.scale.schedule import BURN_IN, FIT_MAX, fit_window, quarter_start_us
from tests.doubles.market_cases import DAY_US

LAW = VarianceLaw(mean=0.001, omega=2e-6, alpha=0.04, gamma=0.1, beta=0.88, nu=6.0)


def noise(count: int, seed: int = 5, sd: float = 0.01) -> list[float]:
    draw = random.Random(seed)  # noqa: S311 - a test's market
    return [draw.gauss(0.0, sd) for _ in range(count)]


def nothing(returns: list[float]) -> list[float | None]:
    """No bar has a range."""
    return [None] * len(returns)


def test_a_fall_raises_variance_more_than_a_rise_of_the_same_size() -> None:
    fall, rise = LAW.after(1e-4, LAW.mean - 0.02), LAW.after(1e-4, LAW.mean + 0.02)
    assert fall - rise == pytest.approx(LAW.gamma * 0.02**2)
    assert rise == pytest.approx(LAW.omega + 0.04 * 0.02**2 + 0.88e-4)


def test_variance_returns_to_the_long_run_at_the_laws_persistence() -> None:
    law = dataclasses.replace(LAW, gamma=0.0, mean=0.0)
    level = law.omega / (1.0 - law.persistence)
    typical = [math.sqrt(level)] * 400
    assert conditional_variances(law, typical, 9.0 * level)[-1] == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"omega": -1e-9},
        {"alpha": -0.01},
        {"beta": -0.01},
        {"gamma": -0.05},
        {"beta": 0.95},
        {"nu": 2.0},
        {"mean": math.nan},
        {"omega": math.inf},
    ],
)
def test_a_law_that_could_explode_or_turn_negative_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ScaleError):
        dataclasses.replace(LAW, **change)


def test_the_future_changes_no_earlier_scale() -> None:
    returns = noise(200)
    fit = default_fit(returns[:100], fitted_us=1, digest="d")
    before = scales_of(fit, returns, nothing(returns))
    for cut in (BURN_IN, 60, 199):
        changed = [*returns[:cut], *(-5.0 * r + 0.1 for r in returns[cut:])]
        after = scales_of(fit, changed, nothing(changed))
        assert after[: cut - BURN_IN + 1] == before[: cut - BURN_IN + 1]
        assert after[cut - BURN_IN + 1] != before[cut - BURN_IN + 1]


def test_sigma_is_the_geometric_mean_of_both_volatilities() -> None:
    fit = default_fit(noise(100), fitted_us=1, digest="d")
    scale = scales_of(fit, noise(90), nothing(noise(90)))[-1]
    middle = 0.5 * (0.5 * math.log(scale.garch) + 0.5 * math.log(scale.gjr))
    assert scale.sigma == pytest.approx(math.exp(middle), rel=1e-13)
    assert scale.garch != scale.gjr


def test_a_bad_print_counts_as_eight_sigma() -> None:
    fit = default_fit(noise(100), fitted_us=1, digest="d")
    scale = scales_of(fit, noise(90), nothing(noise(90)))[-1]
    assert scale.after(-1.10) == scale.after(-8.0 * scale.sigma)
    assert scale.after(-7.9 * scale.sigma) != scale.after(-8.0 * scale.sigma)


def test_a_flat_series_keeps_a_scale() -> None:
    fit = default_fit([0.0] * 50, fitted_us=1, digest="d")
    last = scales_of(fit, [0.0] * 50, [0.0] * 50)[-1]
    assert (last.garch, last.gjr) == (VARIANCE_FLOOR, VARIANCE_FLOOR)
    assert last.sigma == pytest.approx(1e-6)


def test_a_scale_needs_returns() -> None:
    with pytest.raises(ScaleError):
        default_fit([], fitted_us=1, digest="d")
    with pytest.raises(ScaleError):
        first_moving(default_fit([0.01], fitted_us=1, digest="d"), [0.01])


def test_the_default_laws_have_the_series_own_level() -> None:
    returns = noise(300, sd=0.02)
    fit = default_fit(returns, fitted_us=7, digest="d")
    square = math.fsum(r * r for r in returns) / 300
    for law in (fit.garch, fit.gjr):
        assert law.omega / (1.0 - law.persistence) == pytest.approx(square)
    assert (fit.fitter, fit.n_returns, fit.garch.gamma) == (NO_FIT, 300, 0.0)


numbers = st.floats(0.0, 0.3)


@given(numbers, numbers, numbers, st.floats(1e-9, 1e-3), st.floats(2.1, 60.0))
def test_a_fit_is_the_same_after_its_document(
    alpha: float, gamma: float, beta: float, omega: float, nu: float
) -> None:
    law = VarianceLaw(mean=-0.0003, omega=omega, alpha=alpha, gamma=gamma, beta=beta, nu=nu)
    fit = dataclasses.replace(default_fit([0.01], fitted_us=9, digest="d"), gjr=law)
    again = fit_from_document(json.loads(json.dumps(fit_document(fit))))
    assert again == fit
    assert again.digest == fit.digest
    assert dataclasses.replace(fit, fitted_us=10).digest != fit.digest


@pytest.mark.parametrize(
    "change",
    [
        {"gjr": ["0x1p-3"]},
        {"gjr": None},
        {"garch": ["1"] * 5 + ["x"]},
        {"fitted_us": True},
        {"fitter": 3},
        {"ranges": ["0x1p-3"]},
        {"ranges": 0},
        {"extra": 1},
    ],
)
def test_a_malformed_document_is_refused(change: dict[str, object]) -> None:
    document = fit_document(default_fit([0.01], fitted_us=9, digest="d"))
    with pytest.raises(ScaleError):
        fit_from_document(document | change)
    with pytest.raises(ScaleError):
        fit_from_document([])


def us(year: int, month: int, day: int, hour: int = 0) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp()) * 1_000_000


def test_a_quarter_starts_at_midnight_of_its_first_day() -> None:
    for month, first in ((1, 1), (3, 1), (4, 4), (6, 4), (9, 7), (10, 10), (12, 10)):
        assert quarter_start_us(us(2014, month, 27, 21)) == us(2014, first, 1)
    assert quarter_start_us(us(2014, 4, 1)) == us(2014, 4, 1)
    assert quarter_start_us(us(2014, 4, 1) - 1) == us(2014, 1, 1)


def test_a_fit_uses_the_bars_before_the_quarter_of_the_last_bar() -> None:
    closes = [us(2005, 1, 3, 21) + index * DAY_US for index in range(4000)]
    for last in (0, 5, 100, 251, 1000, 3999):
        window = fit_window(closes, last)
        used = closes[window]
        assert all(close < quarter_start_us(closes[last]) for close in used)
        assert len(used) == min(window.stop, FIT_MAX + 1)
        assert closes[window.stop] >= quarter_start_us(closes[last])
    assert fit_window(closes, 0) == slice(0, 0)
    later = [closes[3999] + DAY_US * k for k in range(1, 9)]
    assert fit_window([*closes, *later], 3999) == fit_window(closes, 3999)


def test_the_data_digest_names_times_returns_and_ranges() -> None:
    base = data_digest([1, 2], [0.1, 0.2], [None, 0.01])
    assert data_digest([1, 2], [0.1, math.nextafter(0.2, 1.0)], [None, 0.01]) != base
    assert data_digest([1, 3], [0.1, 0.2], [None, 0.01]) != base
    assert data_digest([1, 2], [0.1, 0.2], [0.01, 0.01]) != base
