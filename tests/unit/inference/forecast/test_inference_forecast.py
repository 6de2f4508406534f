"""Forecasts are whole numbers, or there is none."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.errors import ForecastError
from inference.forecast.forecast import (
    LOG_MOVE_MAX,
    MIN_PATHS,
    Forecast,
    ForecastLabel,
    ForecastSource,
    Sampled,
    StepLaw,
    forecast_document,
    forecast_from_document,
    make_forecast,
    paired_error_1e8,
    to_1e8,
)
from inference.forecast.trajectory import DropReason, Trajectory, TrajectoryPolicy, cumulative

LABEL = ForecastLabel(
    instrument="SPXN",
    as_of_us=1,
    bar_us=86_400_000_000,
    source=ForecastSource.TARGET,
    codec_digest="c",
    model_digest="m",
    capture_digest="x",
)
STEP = StepLaw(p_up=0.53125, mean=0.0004, sd=0.01)


def _paths(
    rows: Sequence[tuple[float, ...]], policy: TrajectoryPolicy | None = None
) -> list[Trajectory]:
    rule = policy or TrajectoryPolicy()
    return [
        Trajectory(
            index=i,
            seed=i,
            tokens=(),
            log_returns=row,
            loglik_target=0.0,
            loglik_drafter=None,
            loglik_target_drafted=None,
            kept=rule.judge(row) is None,
            reason=rule.judge(row),
        )
        for i, row in enumerate(rows)
    ]


@given(
    path=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5),
    extreme=st.sampled_from((1.0, 1e3, 1e300)),
)
def test_what_was_made_can_be_stated_to_the_last_number(path: list[float], extreme: float) -> None:
    paths = _paths([tuple(value * extreme for value in path), (0.01,) * len(path)])
    try:
        made = Sampled(forecast=make_forecast(paths, STEP, LABEL), trajectories=tuple(paths))
    except ForecastError:
        assert any(abs(value) > LOG_MOVE_MAX for value in cumulative(paths[0].log_returns))
        return
    assert all(-(10**8) <= move < 1 << 63 for row in made.moves_1e8() for move in row)
    assert paired_error_1e8(made, made) == 0


@pytest.mark.parametrize(("end", "stated"), [(20.0, True), (-20.0, True), (20.1, False)])
def test_the_largest_move_of_a_path_is_a_factor_of_its_price(end: float, *, stated: bool) -> None:
    paths = _paths([(0.5, end - 0.5, 0.0), (0.0, 0.0, 0.0)])
    if stated:
        make_forecast(paths, STEP, LABEL)
        return
    with pytest.raises(ForecastError, match=r"trajectory 0 is extreme: .* by bar 2"):
        make_forecast(paths, STEP, LABEL)


def _forecast() -> Forecast:
    return make_forecast(_paths([(0.01 * i, -0.005) for i in range(-5, 6)]), STEP, LABEL)


def test_numbers_of_a_known_set_of_paths() -> None:
    forecast = _forecast()
    assert forecast.expected_1e8 == -500_000
    assert forecast.step_vol_1e8 == 1_000_000
    assert forecast.p_up_bp == 5312  # 5312.5 rounds to even
    assert forecast.horizon_vol_1e8 == 3_316_625
    assert (forecast.interval_low_1e8, forecast.interval_high_1e8) == (-5_000_000, 4_000_000)
    assert forecast.quantiles_1e8[2] == (0, -500_000)
    assert (forecast.n_paths, forecast.n_dropped, forecast.horizon) == (11, 0, 2)


def test_dropped_paths_are_counted_and_leave_the_numbers() -> None:
    rows = [(0.01,), (-0.01,), (0.9,)]
    policy = TrajectoryPolicy(max_abs_log_return=0.5)
    paths = _paths(rows, policy)
    assert [p.reason for p in paths] == [None, None, DropReason.MOVE_TOO_LARGE]
    forecast = make_forecast(paths, STEP, LABEL)
    assert (forecast.n_paths, forecast.n_dropped, forecast.expected_1e8) == (2, 1, 0)
    assert make_forecast(_paths(rows), STEP, LABEL).n_dropped == 0


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(0.1,)],
        [(0.1,), (0.1, 0.2)],
        [(), ()],
        [(float("nan"),), (0.1,)],
        [(float("inf"),), (0.1,)],
        [(1e308, 1e308), (-0.1, 0.1)],
        [(1e12,), (-0.1,)],
    ],
    ids=str,
)
def test_paths_that_make_no_forecast(rows: list[tuple[float, ...]]) -> None:
    with pytest.raises(ForecastError):
        make_forecast(_paths(rows), STEP, LABEL)


@pytest.mark.parametrize(
    "step",
    [
        StepLaw(p_up=float("nan"), mean=0.0, sd=0.01),
        StepLaw(p_up=1.1, mean=0.0, sd=0.01),
        StepLaw(p_up=0.5, mean=0.0, sd=0.0),
        StepLaw(p_up=0.5, mean=0.0, sd=float("inf")),
        StepLaw(p_up=0.5, mean=0.0, sd=1e12),
    ],
    ids=str,
)
def test_step_laws_that_make_no_forecast(step: StepLaw) -> None:
    with pytest.raises(ForecastError):
        make_forecast(_paths([(0.1,), (0.2,)]), step, LABEL)


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (2.0**-9, 195_312),  # exactly 195312.5: half to even
        (3 * 2.0**-9, 585_938),  # exactly 585937.5
        (-(2.0**-9), -195_312),
        (0.5e-8, 1),  # the nearest double is a little above the half
        (1.0, 100_000_000),
        (-1e-9, 0),
    ],
)
def test_rounding_is_half_even_on_the_exact_value(value: float, whole: int) -> None:
    assert to_1e8(value) == whole


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=2, max_size=40))
def test_any_finite_paths_give_ordered_integers_that_survive_a_document(
    rows: list[list[float]],
) -> None:
    forecast = make_forecast(_paths([tuple(row) for row in rows]), STEP, LABEL)
    assert forecast.interval_low_1e8 <= forecast.interval_high_1e8
    assert forecast_from_document(forecast_document(forecast)) == forecast


def _bad_documents() -> dict[str, dict[str, Any]]:
    good = forecast_document(_forecast())
    return {
        "a field missing": {k: v for k, v in good.items() if k != "n_paths"},
        "a field too many": {**good, "extra": 1},
        "a float": {**good, "expected_1e8": 1.0},
        "a bool": {**good, "n_dropped": False},
        "a number for text": {**good, "instrument": 7},
        "an unknown source": {**good, "source": "oracle"},
        "crossing quantiles": {**good, "quantiles_1e8": good["quantiles_1e8"][::-1]},
        "another shape": {**good, "quantiles_1e8": good["quantiles_1e8"][:-1]},
        "quantiles that are no list": {**good, "quantiles_1e8": 5},
        "levels that repeat": {**good, "levels_bp": [500] * 5},
        "a probability above one": {**good, "p_up_bp": 10_001},
        "a volatility of zero": {**good, "step_vol_1e8": 0},
        "too large": {**good, "expected_1e8": 1 << 63},
        "an interval upside down": {**good, "interval_low_1e8": good["interval_high_1e8"] + 1},
        "one path": {**good, "n_paths": 1},
    }


@pytest.mark.parametrize("name", sorted(_bad_documents()))
def test_documents_that_are_no_forecast_are_refused(name: str) -> None:
    with pytest.raises(ForecastError):
        forecast_from_document(_bad_documents()[name])


def test_a_forecast_cannot_be_edited_into_nonsense() -> None:
    with pytest.raises(ForecastError, match="shape"):
        replace(_forecast(), horizon=3)


GOOD: dict[str, Any] = {
    "expected_1e8": 0,
    "step_vol_1e8": 1,
    "horizon_vol_1e8": 0,
    "p_up_bp": 5_000,
    "n_paths": MIN_PATHS,
    "n_dropped": 0,
    "horizon": 2,
    "bar_us": 1,
    "levels_bp": (500, 9_500),
    "quantiles_1e8": ((-1, -1), (1, 1)),
    "interval_low_1e8": -1,
    "interval_high_1e8": 1,
}


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("p_up_bp", 0, -1),
        ("p_up_bp", 10_000, 10_001),
        ("step_vol_1e8", 1, 0),
        ("horizon_vol_1e8", 0, -1),
        ("n_paths", MIN_PATHS, MIN_PATHS - 1),
        ("n_dropped", 0, -1),
        ("bar_us", 1, 0),
        ("expected_1e8", 2**63 - 1, 2**63),
        ("expected_1e8", -(2**63), -(2**63) - 1),
        ("step_vol_1e8", 2**63 - 1, 2**63),
        ("horizon_vol_1e8", 2**63 - 1, 2**63),
        ("interval_low_1e8", -(2**63), -(2**63) - 1),
        ("interval_high_1e8", 2**63 - 1, 2**63),
        ("interval_low_1e8", 1, 2),
        ("interval_high_1e8", -1, -2),
        ("levels_bp", (1, 2), (2, 1)),
        ("levels_bp", (1, 2), (1, 1)),
        ("levels_bp", (1, 2), (1, 2, 3)),
        ("levels_bp", (1, 2), ()),
        ("quantiles_1e8", ((1, 1), (1, 1)), ((1, 2), (1, 1))),
        ("quantiles_1e8", ((0, 0), (0, 2**63 - 1)), ((0, 0), (0, 2**63))),
        ("quantiles_1e8", ((0, 0), (0, 0)), ((0,), (0,))),
        ("quantiles_1e8", ((0, 0), (0, 0)), ((0, 0, 0), (0, 0, 0))),
        ("quantiles_1e8", ((0, 0), (0, 0)), ((0, 0),)),
    ],
)
def test_a_forecast_is_valid_up_to_each_border_and_not_beyond(
    field: str,
    good: Any,  # noqa: ANN401 - any field's value
    bad: Any,  # noqa: ANN401 - as above
) -> None:
    base = replace(_forecast(), **GOOD)
    assert getattr(replace(base, **{field: good}), field) == good
    with pytest.raises(ForecastError):
        replace(base, **{field: bad})


def test_a_forecast_of_no_steps_is_none() -> None:
    base = replace(_forecast(), **GOOD)
    with pytest.raises(ForecastError, match="horizon"):
        replace(base, horizon=0, quantiles_1e8=((), ()))
