"""The placebo twin: the same forecast from the table alone.

Codec, seeds, paths, steps and the summary are the same as the target's. The difference between the
two forecasts measures what the target adds.
"""

from collections.abc import Sequence
from math import fsum, log
from typing import Protocol

from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.errors import ForecastError
from inference.forecast.forecast import (
    Forecast,
    ForecastLabel,
    ForecastSource,
    Sampled,
    StepLaw,
    make_forecast,
)
from inference.forecast.trajectory import Trajectory, TrajectoryPolicy
from inference.snapshot import BAR_US, Snapshot
from inference.speculation.rounds import QTable, row_values
from inference.speculation.seeds import Purpose, dither_key, pick, token_draw, trajectory_seeds


class PathPlan(Protocol):
    """How much to sample."""

    @property
    def paths(self) -> int:
        """Number of trajectories."""
        ...

    @property
    def horizon(self) -> int:
        """Steps of each trajectory."""
        ...


class TableModel:
    """The distilled table as a forecast model. Thread-safe."""

    def __init__(self, table: QTable, codec: ReturnCodec) -> None:
        """Take a table; raise `ValueError` when it is of another codec."""
        if table.n_states != codec.n_table_states or table.n_bins != codec.n_bins:
            raise ValueError(f"a table of {table.n_states} x {table.n_bins} is not this codec's")
        self._table = table
        self._codec = codec
        self._rows: dict[int, tuple[float, ...]] = {}

    def trajectories(
        self, prompt: Prompt, seed: bytes, plan: PathPlan, policy: TrajectoryPolicy | None = None
    ) -> tuple[Trajectory, ...]:
        """Return paths from the decision's `seed`, with the same trajectory seeds as the target."""
        from inference.codec.paths import decoded  # noqa: PLC0415 - numpy, only where paths are made

        base = self._codec.table_base(prompt.token_ids)
        first = self._codec.table_state(prompt.token_ids)
        rule = policy or TrajectoryPolicy()
        seeds = trajectory_seeds(seed, plan.paths)
        drawn: list[tuple[list[int], float]] = []
        for own in seeds:
            state, tokens, likelihood = first, list[int](), list[float]()
            for step in range(self._codec.tokens_for(plan.horizon)):
                row = self._row(state)
                bin_ = pick(row, token_draw(own, Purpose.PLACEBO, step))
                tokens.append(self._codec.bin_start + bin_)
                likelihood.append(log(row[bin_]))
                state = self._codec.table_step(base, tokens[-1])
            drawn.append((tokens, fsum(likelihood)))
        keys = [dither_key(seed, index) for index in range(len(seeds))]
        log_returns = decoded(self._codec, prompt, [tokens for tokens, _ in drawn], keys)
        reasons = [rule.judge(path) for path in log_returns]
        return tuple(
            Trajectory(
                index=index,
                seed=own,
                tokens=tuple(tokens),
                log_returns=log_returns[index],
                loglik_target=likelihood,
                loglik_drafter=None,
                loglik_target_drafted=None,
                kept=reasons[index] is None,
                reason=reasons[index],
            )
            for index, (own, (tokens, likelihood)) in enumerate(zip(seeds, drawn, strict=True))
        )

    def step_law(self, prompt: Prompt, trajectories: Sequence[Trajectory] = ()) -> StepLaw:
        """Return the law of the first step, in closed form where the codec has one."""
        row = self._row(self._codec.table_state(prompt.token_ids))
        first = [one.log_returns[0] for one in trajectories if one.kept]
        p_up, mean, sd = self._codec.first_step(prompt, row, first)
        return StepLaw(p_up=p_up, mean=mean, sd=sd)

    def forecast(
        self, *, snapshot: Snapshot, prompt: Prompt, seed: bytes, plan: PathPlan
    ) -> Forecast:
        """Return the table's forecast; raises as `sample`."""
        return self.sample(snapshot=snapshot, prompt=prompt, seed=seed, plan=plan).forecast

    def sample(
        self,
        *,
        snapshot: Snapshot,
        prompt: Prompt,
        seed: bytes,
        plan: PathPlan,
        policy: TrajectoryPolicy | None = None,
    ) -> Sampled:
        """Return the table's forecast with its paths; without a capture, its digest is empty.

        Raises:
            ForecastError: as in `make_forecast`, or a path's scale overflows.
        """
        label = ForecastLabel(
            instrument=snapshot.instrument,
            as_of_us=snapshot.as_of_us,
            bar_us=BAR_US[snapshot.frequency],
            source=ForecastSource.TABLE,
            codec_digest=self._codec.digest,
            model_digest=self._table.digest,
            capture_digest="",
        )
        try:
            trajectories = self.trajectories(prompt, seed, plan, policy)
        except ArithmeticError as error:
            raise ForecastError(f"a trajectory leaves the numbers: {error}") from error
        forecast = make_forecast(trajectories, self.step_law(prompt, trajectories), label)
        return Sampled(forecast=forecast, trajectories=trajectories)

    def _row(self, state: int) -> tuple[float, ...]:
        row = self._rows.get(state)
        if row is None:
            raw = row_values(self._table.row(state))
            total = fsum(raw)
            row = tuple(value / total for value in raw)
            self._rows[state] = row
        return row
