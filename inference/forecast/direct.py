"""The direct sampler: the target's forecast without an engine, where its rows are known by state.

A target's row is a function of the state of the codec's table alone when two things hold:

    the pair      its target is a table in the form of a network, and `table.safetensors` has the
                  rows as served: bundled pairs 2, 3 and 4 (`KNOWN_BY_STATE`), not 1.
                  `weights/by_state.py` computes the target's rows from its weights and says how far
                  they lie from the table's: a test holds each named pair to it.
    the prompt    no word acts: every narrative slot is blank (`is_wordless`). Words enter the
                  network only by slots that tell something, so without them nothing is added.

Of the shipped pair the state's class and frequency matter and the last move does not, but nothing
here relies on that: each token moves the state, and the next is picked from that state's row.

Every token recomputes from the capture and the table's file, exactly: `judge_direct`. That file's
rows are the weights' in float64 to 1e-9; the engine serves them in float32, equal but for last bits
(docs/measured/direct.md).

Rules:
    - The forecast is `make_forecast`'s of the same trajectories as a capture of rounds would give;
      only their draws differ. A path has no seed of its own, and no draft.
    - Rule, order and form of the draws: `inference/speculation/direct.py`.
"""

import hashlib
from dataclasses import dataclass
from math import fsum, log
from typing import Final

import numpy as np

from inference.codec.codec import ReturnCodec
from inference.codec.narrative import is_wordless
from inference.codec.paths import Doubles, Ints, decode_bins
from inference.codec.prompt import Prompt
from inference.codec.scaled import reads_numbers_only
from inference.errors import CaptureError, ForecastError
from inference.forecast.forecast import (
    ForecastLabel,
    ForecastSource,
    Sampled,
    StepLaw,
    make_forecast,
)
from inference.forecast.placebo import PathPlan
from inference.forecast.trajectory import Trajectory, TrajectoryPolicy
from inference.snapshot import BAR_US, Snapshot
from inference.speculation.direct import (
    DirectCapture,
    StateRow,
    StateUse,
    step_draws,
    tokens_digest,
)
from inference.speculation.direct_bytes import decode_direct, encode_direct
from inference.speculation.rounds import QTable

KNOWN_BY_STATE: Final = frozenset(
    {
        "63926b76f8fc03740c683f1f40d87a644a8371570caa68c881025878a0b90189",  # pair 2
        "c54a0f17404681fb49e4d36355a2ada4f46c2004e7089ccad151ef114e1da7cd",  # pair 3
        "c9080b279fa2f7eaa473a6fef942657a574049f6b1a690e07e848a9c09475dea",  # pair 4
    }
)
"""Manifests of the pairs whose target's rows are those of their table, state by state."""


def rows_known(model_digest: str, prompt: Prompt) -> bool:
    """Return whether a pair's rows after a prompt are known by state: no word acts in it."""
    return (
        model_digest in KNOWN_BY_STATE
        and reads_numbers_only(prompt.codec_digest)
        and is_wordless(prompt.token_ids)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectSample:
    """A forecast with its paths, and the bytes of its capture."""

    sampled: Sampled
    capture: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """The paths of a forecast before they are decoded; arrays are [paths, steps]."""

    bins: Ints
    places: Doubles
    states: Ints
    rows: dict[int, StateRow]


def sample_direct(  # noqa: PLR0913 - all that determines a forecast
    *,
    codec: ReturnCodec,
    prompt: Prompt,
    snapshot: Snapshot,
    seed: bytes,
    plan: PathPlan,
    table: QTable,
    model_digest: str,
    policy: TrajectoryPolicy | None = None,
) -> DirectSample:
    """Return the target's forecast of a prompt in which no word acts.

    `table` has the target's rows by state; `policy` says which paths are dropped.

    Raises:
        CaptureError: the table is not this codec's, or a row of it is not one.
        CodecError: the prompt is of another codec.
        ForecastError: words act, or as in `make_forecast`, or a path's scale overflows.
    """
    drawn = _drawn(codec, prompt, seed, plan, table)
    capture = _captured(codec, prompt, seed, table, drawn)
    kept = encode_direct(capture)
    try:
        log_returns = decode_bins(codec, prompt, drawn.bins, drawn.places)
    except (ArithmeticError, ValueError) as error:
        raise ForecastError(f"a trajectory leaves the numbers: {error}") from error
    trajectories = _trajectories(codec, drawn, log_returns, policy or TrajectoryPolicy())
    first = [one.log_returns[0] for one in trajectories if one.kept]
    p_up, mean, sd = codec.first_step(prompt, capture.first_row, first)
    label = ForecastLabel(
        instrument=snapshot.instrument,
        as_of_us=snapshot.as_of_us,
        bar_us=BAR_US[snapshot.frequency],
        source=ForecastSource.TARGET,
        codec_digest=codec.digest,
        model_digest=model_digest,
        capture_digest=hashlib.sha256(kept).hexdigest(),
    )
    forecast = make_forecast(trajectories, StepLaw(p_up=p_up, mean=mean, sd=sd), label)
    return DirectSample(sampled=Sampled(forecast=forecast, trajectories=trajectories), capture=kept)


def judge_direct(
    data: bytes, *, codec: ReturnCodec, prompt: Prompt, table: QTable
) -> tuple[str, ...]:
    """Return the names of what in a capture does not follow from its seed, prompt and table.

    Raises:
        CaptureError: the bytes are no direct capture, or the table is not this codec's.
        ForecastError: words act in the prompt.
    """
    said = decode_direct(data)
    drawn = _drawn(codec, prompt, said.seed, _Size(paths=said.paths, horizon=said.steps), table)
    again = _captured(codec, prompt, said.seed, table, drawn)
    names = ("table_digest", "bin_start", "n_bins", "first_state", "first_row", "states")
    return tuple(
        name.replace("_", " ")
        for name in (*names, "tokens_digest")
        if getattr(said, name) != getattr(again, name)
    )


def direct_tokens(
    data: bytes, *, codec: ReturnCodec, prompt: Prompt, table: QTable
) -> list[list[int]]:
    """Return the tokens of a capture, path by path, drawn again.

    Raises:
        CaptureError: as in `judge_direct`.
        ForecastError: as in `judge_direct`.
    """
    said = decode_direct(data)
    drawn = _drawn(codec, prompt, said.seed, _Size(paths=said.paths, horizon=said.steps), table)
    tokens: list[list[int]] = (drawn.bins + codec.bin_start).tolist()
    return tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """A `PathPlan`."""

    paths: int
    horizon: int


def _drawn(
    codec: ReturnCodec, prompt: Prompt, seed: bytes, plan: PathPlan, table: QTable
) -> _Drawn:
    """Pick every token, step by step."""
    base = codec.table_base(prompt.token_ids)
    if not reads_numbers_only(codec.digest) or base == 0 or not is_wordless(prompt.token_ids):
        raise ForecastError("a direct forecast needs a prompt of numbers in which no word acts")
    if (table.n_states, table.n_bins) != (codec.n_table_states, codec.n_bins):
        raise CaptureError(f"a table of {table.n_states} x {table.n_bins} is not this codec's")
    after = np.array([codec.table_step(base, codec.bin_start + b) for b in range(codec.n_bins)])
    shape = (plan.paths, plan.horizon)
    bins, states, places = np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape)
    now = np.full(plan.paths, codec.table_state(prompt.token_ids), np.int64)
    rows: dict[int, StateRow] = {}
    for step in range(plan.horizon):
        draws, places[:, step] = step_draws(seed, step, plan.paths)
        states[:, step] = now
        for state in np.unique(now).tolist():
            if state not in rows:
                rows[state] = StateRow(table.row(state))
            here = now == state
            bins[here, step] = rows[state].picked(draws[here])
        now = after[bins[:, step]]
    return _Drawn(bins=bins, places=places, states=states, rows=rows)


def _captured(
    codec: ReturnCodec, prompt: Prompt, seed: bytes, table: QTable, drawn: _Drawn
) -> DirectCapture:
    paths, steps = drawn.bins.shape
    used, counts = np.unique(drawn.states, return_counts=True)
    first = codec.table_state(prompt.token_ids)
    return DirectCapture(
        seed=seed,
        table_digest=table.digest,
        bin_start=codec.bin_start,
        n_bins=codec.n_bins,
        paths=paths,
        steps=steps,
        first_state=first,
        first_row=drawn.rows[first].values,
        states=tuple(
            StateUse(state=state, row_digest=drawn.rows[state].digest, tokens=count)
            for state, count in zip(used.tolist(), counts.tolist(), strict=True)
        ),
        tokens_digest=tokens_digest(drawn.bins),
    )


def _trajectories(
    codec: ReturnCodec, drawn: _Drawn, log_returns: Doubles, rule: TrajectoryPolicy
) -> tuple[Trajectory, ...]:
    logs: Doubles = np.empty(drawn.bins.shape)
    for state, row in drawn.rows.items():
        own = np.array([log(value) if value > 0.0 else -np.inf for value in row.values])
        here = drawn.states == state
        logs[here] = own[drawn.bins[here]]
    tokens: list[list[int]] = (drawn.bins + codec.bin_start).tolist()
    moves: list[list[float]] = log_returns.tolist()
    likelihoods = [fsum(path) for path in logs.tolist()]
    result = []
    for index, (path, returns) in enumerate(zip(tokens, moves, strict=True)):
        reason = rule.judge(returns)
        result.append(
            Trajectory(
                index=index,
                seed=0,
                tokens=tuple(path),
                log_returns=tuple(returns),
                loglik_target=likelihoods[index],
                loglik_drafter=None,
                loglik_target_drafted=None,
                kept=reason is None,
                reason=reason,
            )
        )
    return tuple(result)
