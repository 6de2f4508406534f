"""The GJR twin: a simulation of GJR with Student-t errors through the same sizing and policy.

It needs the snapshot, the seeds and the fitted scale only, so it is simulated while the engine
samples. It is never sent. `four_books` compares the account with it.

Rules:
- A prompt without a fitted scale (codec 1) has no parameters of GJR: the record says so.
- A simulation that fails costs the forecast nothing: its record says what is missing.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from audit.records.record import Draft
from gateway.walk.journal import decision as journal
from gateway.walk.journal.forecast import marginal_bytes, marginal_of
from gateway.walk.ports import Forecasting, SamplingPlan
from gateway.walk.sampled.planning import trajectory_policy
from inference.codec.prompt import Prompt
from inference.errors import ForecastError
from inference.forecast.forecast import Forecast
from inference.forecast.gjr import sample_gjr
from risk.policy.policy import Policy
from risk.state.paths.marginal import Marginal

NO_FITTED_SCALE: Final = "no_fitted_scale"
"""Why there is no twin of a forecast whose codec fits no parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GjrTwin:
    """A forecast's GJR twin, or why there is none; `forecast` is None then.

    Attributes:
        record: What stands on record of it.
        paths: Its paths as canonical bytes; empty under a policy of format 1.
    """

    record: Draft
    forecast: Forecast | None = None
    marginal: Marginal | None = None
    paths: bytes = b""


def gjr_twin(
    asked: Forecasting,
    prompt: Prompt,
    seed: bytes,
    plan: SamplingPlan,
    policy: Policy,
) -> GjrTwin:
    """Return the twin that follows from a request; pure, and a replay calls it too."""
    if prompt.scale is None:
        said = f"does not apply, because {prompt.template} has no fitted parameters of GJR"
        return GjrTwin(record=journal.gjr_missing(asked, reason=NO_FITTED_SCALE, detail=said))
    try:
        sampled = sample_gjr(
            snapshot=asked.snapshot,
            prompt=prompt,
            seed=seed,
            plan=plan,
            policy=trajectory_policy(policy),
        )
        recorded = policy.families is not None
        marginal = marginal_of(asked.snapshot, sampled) if recorded else None
    except (ForecastError, ArithmeticError, ValueError) as error:
        code = ForecastError.code
        return GjrTwin(record=journal.gjr_missing(asked, reason=code, detail=str(error)))
    paths = b"" if marginal is None else marginal_bytes(marginal)
    named = sha256(paths).hexdigest() if paths else ""
    return GjrTwin(
        record=journal.gjr_made(asked, sampled.forecast, prompt.scale.fit.fitter, named),
        forecast=sampled.forecast,
        marginal=marginal,
        paths=paths,
    )
