"""Lags of witnesses, quorums met and lost, and which checkpoint to ask for next. Pure.

A checkpoint's lag is the time until a quorum has cosigned it or a later one, which covers it. Times
are arguments, in seconds of one monotonic clock.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil

LAGS_KEPT = 1_000
WAITING_MAX = 10_000


class Quorum(StrEnum):
    """The state of a log's quorum of witnesses."""

    STARTING = "starting"
    MET = "met"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lags:
    """The lags of the last checkpoints, in seconds; None before the first."""

    count: int
    last_s: float | None
    p50_s: float | None
    p99_s: float | None
    max_s: float | None


@dataclass(slots=True)
class QuorumWatch:
    """The checkpoints that wait for a quorum, and the lags of those that had it.

    Attributes:
        lost_after_s: how long a checkpoint may wait before the quorum counts as lost.
        cosigned_size: the largest tree that a quorum has cosigned.
    """

    lost_after_s: float
    cosigned_size: int = 0
    _waiting: deque[tuple[int, float]] = field(default_factory=deque)
    _lags: deque[float] = field(default_factory=lambda: deque(maxlen=LAGS_KEPT))
    _count: int = 0

    def stored(self, size: int, at_s: float) -> None:
        """Record a checkpoint that waits for its quorum; the oldest is never dropped."""
        if size > self.cosigned_size:
            if len(self._waiting) >= WAITING_MAX:
                self._waiting.pop()
            self._waiting.append((size, at_s))

    def cosigned(self, size: int, at_s: float) -> None:
        """Record that a quorum cosigned a tree of this size."""
        self.cosigned_size = max(self.cosigned_size, size)
        while self._waiting and self._waiting[0][0] <= size:
            self._lags.append(at_s - self._waiting.popleft()[1])
            self._count += 1

    def state(self, at_s: float) -> Quorum:
        """Return the state of the quorum."""
        if self._waiting and at_s - self._waiting[0][1] > self.lost_after_s:
            return Quorum.LOST
        return Quorum.MET if self.cosigned_size else Quorum.STARTING

    def waiting_s(self, at_s: float) -> float:
        """Return how long the oldest waiting checkpoint has waited; 0 if none waits."""
        return at_s - self._waiting[0][1] if self._waiting else 0.0

    def lags(self) -> Lags:
        """Return the lags of the last checkpoints."""
        if not self._lags:
            return Lags(count=0, last_s=None, p50_s=None, p99_s=None, max_s=None)
        ordered = sorted(self._lags)
        return Lags(
            count=self._count,
            last_s=self._lags[-1],
            p50_s=percentile(ordered, 50),
            p99_s=percentile(ordered, 99),
            max_s=ordered[-1],
        )


def percentile(ordered: list[float], percent: int) -> float:
    """Return a percentile by the nearest-rank method."""
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def next_target(target: int, newest: int, quorum_size: int, healthy: Iterable[int]) -> int:
    """Return the size of the checkpoint that all witnesses are asked for.

    All get the same one: if each got the newest at its own pace, slow witnesses could cosign
    different checkpoints for ever, and none would have a quorum. The target moves on to the newest
    checkpoint once it has its quorum, or once every healthy witness has cosigned it. All arguments
    are sizes; `healthy` has the last one that each healthy witness cosigned.
    """
    settled = quorum_size >= target or all(size >= target for size in healthy)
    return newest if settled else target
