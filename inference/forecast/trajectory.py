"""Trajectories: sampled token paths as log returns, each kept or dropped as a whole.

By default only paths that are not finite are dropped: dropping by likelihood would cut tails. Both
kept and dropped paths are counted, and `path_quantiles` works on either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum, isfinite, log

from inference.speculation.evidence import Evidence, RoundEvidence
from inference.speculation.rounds import QTable, RoundOutcome, row_values


class DropReason(StrEnum):
    """Why a trajectory is dropped."""

    NOT_FINITE = "not_finite"
    MOVE_TOO_LARGE = "move_too_large"
    SAWTOOTH = "sawtooth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawtooth:
    """A denied shape: so many bars in a row that turn against the one before, each that large."""

    reversals: int
    move: float  # log return of each bar of the row, at least

    def is_in(self, log_returns: Sequence[float]) -> bool:
        """Return whether a path of these log returns has the shape."""
        row, before = 0, 0.0
        for value in log_returns:
            large = abs(value) >= self.move
            row = row + 1 if large and before * value < 0 else 0
            before = value if large else 0.0
            if row >= self.reversals:
                return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryPolicy:
    """When a trajectory is dropped; None, or no shape, switches a test off."""

    max_abs_log_return: float | None = None  # cumulative, at any step
    denied: tuple[Sawtooth, ...] = ()

    def judge(self, log_returns: Sequence[float]) -> DropReason | None:
        """Return why a trajectory of these log returns is dropped, or None."""
        total = 0.0
        for value in log_returns:
            total += value
            if not isfinite(total):
                return DropReason.NOT_FINITE
            if self.max_abs_log_return is not None and abs(total) > self.max_abs_log_return:
                return DropReason.MOVE_TOO_LARGE
        if any(shape.is_in(log_returns) for shape in self.denied):
            return DropReason.SAWTOOTH
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One sampled path."""

    index: int
    seed: int
    tokens: tuple[int, ...]
    log_returns: tuple[float, ...]  # one per step
    loglik_target: float  # nats, all tokens, under the target's recorded probabilities
    loglik_drafter: float | None  # nats, tokens at drafted positions; None when none was drafted
    loglik_target_drafted: float | None  # the target's at the same positions, to compare
    kept: bool
    reason: DropReason | None


def make_trajectories(
    capture: Evidence,
    decode: Callable[[int, tuple[int, ...]], tuple[float, ...]],
    table: QTable | None = None,
    policy: TrajectoryPolicy | None = None,
) -> tuple[Trajectory, ...]:
    """Return a capture's trajectories, in the order of its seeds.

    `decode` turns (trajectory index, tokens) into log returns; `table` is the table drafter's, for
    `loglik_drafter`.
    """
    rule = policy or TrajectoryPolicy()
    tokens: list[list[int]] = [[] for _ in capture.seeds]
    target: list[list[float]] = [[] for _ in capture.seeds]
    drafted: list[list[tuple[float, float]]] = [[] for _ in capture.seeds]
    for r in capture.rounds:
        tokens[r.trajectory].extend(r.emitted)
        for j, token in enumerate(r.emitted):
            p = _log(r.p[j] if j < r.accepted else r.token_p)
            target[r.trajectory].append(p)
            q = _drafters(r, j, token - capture.bin_start, table)
            if q is not None:
                drafted[r.trajectory].append((p, _log(q)))
    result = []
    for index, seed in enumerate(capture.seeds):
        path = tuple(tokens[index])
        log_returns = decode(index, path)
        reason = rule.judge(log_returns)
        both = drafted[index]
        result.append(
            Trajectory(
                index=index,
                seed=seed,
                tokens=path,
                log_returns=log_returns,
                loglik_target=fsum(target[index]),
                loglik_drafter=fsum(q for _, q in both) if both else None,
                loglik_target_drafted=fsum(p for p, _ in both) if both else None,
                kept=reason is None,
                reason=reason,
            )
        )
    return tuple(result)


def cumulative(log_returns: Sequence[float]) -> tuple[float, ...]:
    """Return the running sum of log returns."""
    total = 0.0
    sums = []
    for value in log_returns:
        total += value
        sums.append(total)
    return tuple(sums)


def path_quantiles(
    trajectories: Sequence[Trajectory], levels: Sequence[float]
) -> tuple[tuple[float, ...], ...]:
    """Return quantiles of the cumulative log return, shape [levels, steps].

    Source: linear interpolation between order statistics, Hyndman and Fan (1996), type 7.

    Raises:
        ValueError: when there are no trajectories or their lengths differ.
    """
    if not trajectories:
        raise ValueError("no trajectories")
    columns = list(zip(*(cumulative(t.log_returns) for t in trajectories), strict=True))
    ordered = [sorted(column) for column in columns]
    return tuple(tuple(quantile(column, level) for column in ordered) for level in levels)


def quantile(ordered: Sequence[float], level: float) -> float:
    """Return a quantile of ascending values, type 7; `level` is between 0 and 1."""
    place = level * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _drafters(r: RoundEvidence, j: int, bin_: int, table: QTable | None) -> float | None:
    """Return the drafter's probability of the token at place `j`, or None without a draft."""
    if r.q:
        if j < r.accepted:
            return r.q[j]
        return r.token_q if r.outcome is RoundOutcome.RECOVERED else None
    if table is not None and j < len(r.states):
        return row_values(table.row(r.states[j]))[bin_]
    return None


def _log(value: float) -> float:
    return log(value) if value > 0.0 else float("-inf")
