"""The placebo: the distilled table alone as a forecaster, with the target's seeds and decoding.

What a forecast of the target is worth is measured against this: same prompt, same seeds, same codec and
dither, but every token drawn from the free table, so no words and no network. Pure.
"""

import hashlib
from typing import Protocol

from inference.codec import ReturnCodec
from inference.forecast import Forecast, ForecastLabel, ForecastSource, StepLaw, make_forecast
from inference.prompt import Prompt
from inference.rounds import QTable, row_values
from inference.seeds import Purpose, pick, token_draw, trajectory_seeds
from inference.snapshot import Frequency, Snapshot
from inference.trajectory import Trajectory

_BAR_US = {Frequency.DAILY: 86_400_000_000, Frequency.HOURLY: 3_600_000_000}


class PathPlan(Protocol):
    """How many paths of how many steps."""

    @property
    def paths(self) -> int:
        """Number of trajectories."""
        ...

    @property
    def horizon(self) -> int:
        """Steps per trajectory."""
        ...


class TableModel:
    """The table as a model of its own."""

    def __init__(self, table: QTable, codec: ReturnCodec) -> None:
        """Keep the table and the codec that gives its states."""
        self._table = table
        self._codec = codec
        self._rows: dict[int, tuple[float, ...]] = {}

    def forecast(
        self, *, snapshot: Snapshot, prompt: Prompt, seed: bytes, plan: PathPlan
    ) -> Forecast:
        """Sample the table and summarise.

        Args:
            seed: the decision's 32-byte seed; path i uses trajectory seed i.

        Raises:
            ForecastError: a number is not finite or does not fit.
        """
        seeds = trajectory_seeds(seed, plan.paths)
        paths = tuple(self._path(prompt, one, plan.horizon) for one in seeds)
        trajectories = tuple(
            Trajectory(
                index=index,
                seed=one,
                tokens=tokens,
                log_returns=self._codec.decode_path(prompt, tokens, seed + index.to_bytes(4, "big")),
                loglik_target=0.0,
                loglik_drafter=None,
                loglik_target_drafted=None,
                kept=True,
                reason=None,
            )
            for index, (one, tokens) in enumerate(zip(seeds, paths, strict=True))
        )
        first = self._row(self._codec.table_state(prompt.token_ids))
        p_up, mean, sd = self._codec.step_distribution(prompt, first)
        return make_forecast(
            trajectories,
            StepLaw(p_up=p_up, mean=mean, sd=sd),
            ForecastLabel(
                instrument=snapshot.instrument,
                as_of_us=snapshot.as_of_us,
                bar_us=_BAR_US[snapshot.frequency],
                source=ForecastSource.TABLE,
                codec_digest=self._codec.digest,
                model_digest=self._table.digest,
                capture_digest=hashlib.sha256(repr(paths).encode()).hexdigest(),
            ),
        )

    def _path(self, prompt: Prompt, seed: int, horizon: int) -> tuple[int, ...]:
        base = self._codec.table_base(prompt.token_ids)
        state = self._codec.table_state(prompt.token_ids)
        tokens: list[int] = []
        for position in range(horizon):
            draw = token_draw(seed, Purpose.PLACEBO, position)
            token = self._codec.bin_start + pick(self._row(state), draw)
            tokens.append(token)
            state = self._codec.table_step(base, token)
        return tuple(tokens)

    def _row(self, state: int) -> tuple[float, ...]:
        if state not in self._rows:
            self._rows[state] = row_values(self._table.row(state))
        return self._rows[state]
