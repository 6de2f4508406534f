"""GJR simulated: the law of its draws, the same numbers each time, and what it refuses."""

from dataclasses import dataclass, replace
from math import log, sqrt

import pytest
from scipy import stats

from inference.errors import ForecastError
from inference.forecast.forecast import ForecastSource
from inference.forecast.gjr import sample_gjr, simulated, step_law, student_t
from inference.forecast.trajectory import DropReason, TrajectoryPolicy
from inference.scale.fitted import ScaleFit, default_fit
from inference.scale.moving import MovingScale, first_moving
from inference.scale.season import Clock, Season
from inference.speculation.seeds import Purpose, four_draws, token_draw, trajectory_seeds
from tests.doubles.gjr_cases import snapshot_and_prompt

SEED = bytes(range(32))
KNOWN = [[935693153, 6710732950, -14965385127], [5814961802, -39157195, 6707293354]]
"""The first log returns of SEED, in 1e-12."""
NU = 5.0


@dataclass(frozen=True)
class Plan:
    """How much is simulated."""

    paths: int
    horizon: int


def scale_of(**changes: float) -> MovingScale:
    fit: ScaleFit = default_fit([0.01, -0.01] * 50, fitted_us=1, digest="d")
    fit = replace(fit, gjr=replace(fit.gjr, **{"mean": 0.0005, "nu": NU, **changes}))
    return first_moving(fit, [0.01, -0.011, 0.012])


def test_the_first_step_is_student_t_around_the_mean_with_the_recorded_variance() -> None:
    scale = scale_of()
    unit = sqrt(scale.gjr) * sqrt((NU - 2.0) / NU)
    paths = simulated(scale, SEED, Plan(20_000, 1))
    errors = [(one.log_returns[0] - 0.0005) / unit for one in paths]
    assert stats.kstest(errors, stats.t(NU).cdf).pvalue > 0.01
    tail = sum(abs(one) > 4.0 for one in errors) / len(errors)
    assert tail == pytest.approx(2 * stats.t(NU).sf(4.0), rel=0.25)
    density = stats.t.pdf(errors[0], NU) / unit
    assert paths[0].loglik_target == pytest.approx(log(density))


def test_the_second_steps_variance_answers_to_the_first_and_to_a_fall_more() -> None:
    scale = scale_of()
    law = scale.fit.gjr
    for path in simulated(scale, SEED, Plan(40, 2)):
        first, second = path.log_returns
        sigma = sqrt(law.after(scale.gjr, first))
        error = student_t(path.seed, 1, NU) * sqrt((NU - 2.0) / NU)
        assert second == pytest.approx(law.mean + sigma * error, rel=1e-12)
    fall = law.after(scale.gjr, law.mean - 0.02)
    assert fall > law.after(scale.gjr, law.mean + 0.02)


def test_a_fit_with_a_season_gives_each_step_the_size_of_its_hour() -> None:
    flat = scale_of()
    sizes = tuple(20_000 if hour == 15 else 5_000 for hour in range(168))
    season = Season(clock=Clock.NONE, sizes_1e4=sizes, usual=(14, 15, 16))
    seasonal = replace(flat, fit=replace(flat.fit, season=season), hour=14)
    assert seasonal.sizes(4) == (2.0, 0.5, 0.5, 2.0)
    pairs = zip(
        simulated(flat, SEED, Plan(8, 4)), simulated(seasonal, SEED, Plan(8, 4)), strict=True
    )
    for plain, sized in pairs:
        moves = zip(plain.log_returns, (2.0, 0.5, 0.5, 2.0), strict=True)
        assert sized.log_returns == tuple(move * size for move, size in moves)
        assert sized.loglik_target == pytest.approx(plain.loglik_target)
    assert step_law(seasonal).sd == 2.0 * step_law(flat).sd
    assert step_law(seasonal).p_up == step_law(flat).p_up


def test_more_paths_and_longer_ones_begin_with_the_fewer_and_the_shorter() -> None:
    few = simulated(scale_of(), SEED, Plan(8, 3))
    many = simulated(scale_of(), SEED, Plan(16, 10))
    assert [one.log_returns for one in few] == [one.log_returns[:3] for one in many[:8]]
    assert [one.seed for one in many] == list(trajectory_seeds(SEED, 16))


def test_a_step_draws_from_its_own_hash_of_which_the_first_number_is_the_tokens_draw() -> None:
    four = four_draws(7, Purpose.GJR, 3, 1)
    assert four[0] == token_draw(7, Purpose.GJR, 3, 1)
    assert len(set(four)) == 4
    assert all(0.0 < one < 1.0 for one in four)


@pytest.mark.parametrize(("mean", "nu"), [(0.0005, 5.0), (-0.004, 2.4), (0.0, 8.0), (0.2, 30.0)])
def test_the_chance_of_a_rise_is_that_of_the_closed_form(mean: float, nu: float) -> None:
    scale = scale_of(mean=mean, nu=nu)
    law = step_law(scale)
    upto = mean / (sqrt(scale.gjr) * sqrt((nu - 2.0) / nu))
    assert law.p_up == pytest.approx(stats.t.cdf(upto, nu), abs=1e-5)
    assert (law.mean, law.sd) == (mean, sqrt(scale.gjr))


def test_a_policy_drops_the_paths_that_move_too_far() -> None:
    paths = simulated(scale_of(), SEED, Plan(64, 5), TrajectoryPolicy(max_abs_log_return=0.02))
    dropped = [one for one in paths if not one.kept]
    assert dropped
    assert {one.reason for one in dropped} == {DropReason.MOVE_TOO_LARGE}


def test_a_forecast_says_what_made_it_and_is_the_same_each_time() -> None:
    snapshot, prompt = snapshot_and_prompt()
    made, again = (
        sample_gjr(snapshot=snapshot, prompt=prompt, seed=SEED, plan=Plan(32, 10)) for _ in "12"
    )
    assert made == again
    assert prompt.scale is not None
    forecast = made.forecast
    assert forecast.source is ForecastSource.GJR
    assert forecast.model_digest == prompt.scale.fit.digest
    assert (forecast.n_paths, forecast.horizon, forecast.capture_digest) == (32, 10, "")
    assert forecast.step_vol_1e8 == round(sqrt(prompt.scale.gjr) * 1e8)


def test_a_prompt_without_a_fitted_scale_has_none() -> None:
    snapshot, prompt = snapshot_and_prompt()
    with pytest.raises(ForecastError, match="fitted scale"):
        sample_gjr(
            snapshot=snapshot, prompt=replace(prompt, scale=None), seed=SEED, plan=Plan(4, 2)
        )


def test_a_fixed_seed_gives_these_numbers_for_ever() -> None:
    paths = simulated(scale_of(), SEED, Plan(2, 3))
    assert [[round(value * 1e12) for value in one.log_returns] for one in paths] == KNOWN
