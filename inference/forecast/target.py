"""From evidence to the target's forecast.

`decide` and every replay call the same functions, so both give the same bytes: each number follows
from the evidence, the prompt and the decision's seed.

Not here: sampling.
"""

from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.errors import ForecastError
from inference.forecast.forecast import (
    ForecastLabel,
    ForecastSource,
    Sampled,
    StepLaw,
    make_forecast,
)
from inference.forecast.trajectory import TrajectoryPolicy, make_trajectories
from inference.snapshot import BAR_US, Snapshot
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import QTable
from inference.speculation.seeds import dither_key
from inference.speculation.totals import paths


def sample_target(  # noqa: PLR0913 - all that determines a forecast
    capture: Evidence,
    *,
    codec: ReturnCodec,
    prompt: Prompt,
    snapshot: Snapshot,
    seed: bytes,
    table: QTable | None,
    model_digest: str,
    capture_digest: str,
    policy: TrajectoryPolicy | None = None,
) -> Sampled:
    """Return the target's forecast with its paths; `policy` says which of them are dropped.

    Raises:
        ForecastError: as in `make_forecast`, or a path's scale overflows.
    """
    from inference.codec.paths import decoded  # noqa: PLC0415 - numpy, only where paths are made

    keys = [dither_key(seed, index) for index in range(len(capture.seeds))]
    try:
        log_returns = decoded(codec, prompt, paths(capture), keys)
        trajectories = make_trajectories(
            capture, lambda index, _: log_returns[index], table, policy
        )
    except ArithmeticError as error:
        raise ForecastError(f"a trajectory leaves the numbers: {error}") from error
    first = [one.log_returns[0] for one in trajectories if one.kept]
    p_up, mean, sd = codec.first_step(prompt, capture.first_row, first)
    forecast = make_forecast(
        trajectories,
        StepLaw(p_up=p_up, mean=mean, sd=sd),
        ForecastLabel(
            instrument=snapshot.instrument,
            as_of_us=snapshot.as_of_us,
            bar_us=BAR_US[snapshot.frequency],
            source=ForecastSource.TARGET,
            codec_digest=codec.digest,
            model_digest=model_digest,
            capture_digest=capture_digest,
        ),
    )
    return Sampled(forecast=forecast, trajectories=trajectories)
