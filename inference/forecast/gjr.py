"""The GJR twin: the same forecast simulated from GJR(1,1) with Student-t errors.

Its parameters and its variance after the last bar are those of the snapshot's fitted scale, so a
replay fits nothing. Paths, steps, trajectory seeds and the summary are the target's. The difference
between the two forecasts is what the engine does to the best plain model of volatility.

Rules:
- The error of a step is a function of (trajectory seed, step). A longer forecast starts with the
  shorter one, and more paths with the fewer.
- A fit with a season has its law for returns without the sizes of their hours; each step gets the
  size of the hour in which it ends.
- Float64 in a fixed order, one number after the other: the same in every process of one machine,
  and up to the last digit of `pow`, `log` and `exp` on another.

Source: Glosten, Jagannathan and Runkle (1993), Journal of Finance 48(5); Bailey (1994),
Mathematics of Computation 62(206), for the polar draw of a Student-t.
"""

from math import exp, fsum, lgamma, log, log1p, pi, sqrt
from typing import Final

from inference.codec.prompt import Prompt
from inference.errors import ForecastError
from inference.forecast.forecast import (
    ForecastLabel,
    ForecastSource,
    Sampled,
    StepLaw,
    make_forecast,
)
from inference.forecast.placebo import PathPlan
from inference.forecast.trajectory import Trajectory, TrajectoryPolicy
from inference.scale.moving import VARIANCE_FLOOR, MovingScale
from inference.snapshot import BAR_US, Snapshot
from inference.speculation.seeds import Purpose, four_draws, trajectory_seeds

INTERVALS: Final = 128
"""Of Simpson's rule for the chance of a rise; the answer is kept in basis points."""


def sample_gjr(
    *,
    snapshot: Snapshot,
    prompt: Prompt,
    seed: bytes,
    plan: PathPlan,
    policy: TrajectoryPolicy | None = None,
) -> Sampled:
    """Return the simulation's forecast with its paths; without a capture, its digest is empty.

    `model_digest` is that of the fitted scale. `seed` is the decision's.

    Raises:
        ForecastError: as in `make_forecast`, or the prompt has no fitted scale.
    """
    scale = prompt.scale
    if scale is None:
        raise ForecastError("expected a prompt with a fitted scale, was none")
    label = ForecastLabel(
        instrument=snapshot.instrument,
        as_of_us=snapshot.as_of_us,
        bar_us=BAR_US[snapshot.frequency],
        source=ForecastSource.GJR,
        codec_digest=prompt.codec_digest,
        model_digest=scale.fit.digest,
        capture_digest="",
    )
    trajectories = simulated(scale, seed, plan, policy)
    forecast = make_forecast(trajectories, step_law(scale), label)
    return Sampled(forecast=forecast, trajectories=trajectories)


def simulated(
    scale: MovingScale, seed: bytes, plan: PathPlan, policy: TrajectoryPolicy | None = None
) -> tuple[Trajectory, ...]:
    """Return the simulation's paths; they have no tokens, and likelihoods are of densities."""
    law, rule = scale.fit.gjr, policy or TrajectoryPolicy()
    unit = sqrt((law.nu - 2.0) / law.nu)  # of a Student-t to one of variance 1
    peak = _log_peak(law.nu) - log(unit)
    sizes = scale.sizes(plan.horizon)
    result = []
    for index, own in enumerate(trajectory_seeds(seed, plan.paths)):
        variance, moves, densities = scale.gjr, [], []
        for step, size in enumerate(sizes):
            error = student_t(own, step, law.nu)
            sigma = sqrt(variance)
            flat = law.mean + sigma * unit * error
            moves.append(flat * size)
            tail = 0.5 * (law.nu + 1.0) * log1p(error * error / law.nu)
            densities.append(peak - log(sigma * size) - tail)
            variance = max(law.after(variance, flat), VARIANCE_FLOOR)
        reason = rule.judge(moves)
        result.append(
            Trajectory(
                index=index,
                seed=own,
                tokens=(),
                log_returns=tuple(moves),
                loglik_target=fsum(densities),
                loglik_drafter=None,
                loglik_target_drafted=None,
                kept=reason is None,
                reason=reason,
            )
        )
    return tuple(result)


def student_t(seed: int, step: int, nu: float) -> float:
    """Return the Student-t draw of one step of a trajectory, `nu` degrees of freedom."""
    tried = 0
    while True:
        a, b, c, d = four_draws(seed, Purpose.GJR, step, tried)
        for one, other in ((a, b), (c, d)):
            x, y = 2.0 * one - 1.0, 2.0 * other - 1.0
            inside = x * x + y * y
            if 0.0 < inside < 1.0:
                return float(x * sqrt(nu * (inside ** (-2.0 / nu) - 1.0) / inside))
        tried += 1


def step_law(scale: MovingScale) -> StepLaw:
    """Return the closed-form law of the next bar."""
    law = scale.fit.gjr
    sigma, (size,) = sqrt(scale.gjr), scale.sizes(1)
    upto = law.mean / (sigma * sqrt((law.nu - 2.0) / law.nu))
    p_up = 0.5 + _chance_between(upto, law.nu)
    return StepLaw(p_up=p_up, mean=law.mean * size, sd=sigma * size)


def _chance_between(upto: float, nu: float) -> float:
    """Return the chance of a Student-t between 0 and `upto`, signed, by Simpson's rule."""
    width, power = upto / INTERVALS, -0.5 * (nu + 1.0)
    heights = [(1.0 + (i * width) ** 2 / nu) ** power for i in range(INTERVALS + 1)]
    odd, even = fsum(heights[1:-1:2]), fsum(heights[2:-1:2])
    area = (heights[0] + 4.0 * odd + 2.0 * even + heights[-1]) * width / 3.0
    return min(max(float(area) * exp(_log_peak(nu)), -0.5), 0.5)


def _log_peak(nu: float) -> float:
    """Return the logarithm of a Student-t's density at 0."""
    return lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu) - 0.5 * log(nu * pi)
