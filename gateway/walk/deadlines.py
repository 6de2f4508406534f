"""Ends of holds, agreements and approvals on two clocks; the first clock to reach an end counts.

Records and persons use the wall clock, which can be set. The monotonic clock cannot be set, but it
means nothing after a reboot, so no record has it.

Rules:
- Only the process that began a deadline knows it; a deadline that is not known here is over.
- The monotonic clock is read first: a pause between the two readings shortens a life.
- A deadline that is over may be forgotten; no answer changes.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

KEPT_US: Final = 60_000_000
"""How long after its end a deadline is kept; `dispatch.LATE_US` must be less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One instant on both clocks, microseconds; also used as an end."""

    wall_us: int
    monotonic_us: int

    def after(self, life_us: int) -> "Moment":
        """Return the moment that comes `life_us` later."""
        return Moment(wall_us=self.wall_us + life_us, monotonic_us=self.monotonic_us + life_us)

    def earlier(self, other: "Moment") -> "Moment":
        """Return the earlier of two ends, on each clock."""
        return Moment(
            wall_us=min(self.wall_us, other.wall_us),
            monotonic_us=min(self.monotonic_us, other.monotonic_us),
        )

    def reached(self, now: "Moment") -> bool:
        """Return whether this end has come, on either clock."""
        return now.wall_us >= self.wall_us or now.monotonic_us >= self.monotonic_us


def now(wall_us: Callable[[], int], monotonic_us: Callable[[], int]) -> Moment:
    """Read both clocks."""
    monotonic = monotonic_us()
    return Moment(wall_us=wall_us(), monotonic_us=monotonic)


class Deadlines:
    """The deadlines that this process began; safe from any thread."""

    def __init__(self, monotonic_us: Callable[[], int]) -> None:
        """Start with none: the deadlines of an earlier process are over."""
        self._monotonic_us = monotonic_us
        self._ends: dict[str, Moment] = {}
        self._by_end: list[tuple[int, str]] = []  # a heap; ends that were replaced are in it too
        self._lock = threading.Lock()

    def keep(self, name: str, end: Moment) -> None:
        """Keep an end; it replaces an earlier one of the same name."""
        old_us = self._monotonic_us() - KEPT_US
        with self._lock:
            self._ends[name] = end
            heappush(self._by_end, (end.monotonic_us, name))
            while self._by_end and self._by_end[0][0] < old_us:
                ended_us, over = heappop(self._by_end)
                if over in self._ends and self._ends[over].monotonic_us == ended_us:
                    del self._ends[over]

    def end(self, name: str) -> Moment | None:
        """Return an end, or None if it is not known here and therefore over."""
        with self._lock:
            return self._ends.get(name)

    def over(self, name: str, wall_us: int, *, grace_us: int = 0) -> bool:
        """Return whether an end passed at least `grace_us` ago, on either clock."""
        end = self.end(name)
        at = Moment(wall_us=wall_us, monotonic_us=self._monotonic_us())
        return end is None or end.after(grace_us).reached(at)


def hold_of(decision_id: str) -> str:
    """Return the name of a hold's deadline."""
    return f"hold {decision_id}"


def agreement_of(decision_id: str) -> str:
    """Return the name of an agreement's deadline."""
    return f"agreement {decision_id}"


def sending_of(decision_id: str) -> str:
    """Return the name of an approved order's deadline."""
    return f"sending {decision_id}"


class SteadyWall:
    """A wall clock that never goes back while this process lives.

    An expired policy must not become valid again. A leap ahead is followed, and so is its
    correction, as far down as the start plus the time that has really passed.
    """

    def __init__(self, wall_us: Callable[[], int], monotonic_us: Callable[[], int]) -> None:
        """Begin at the wall clock's present time."""
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._start = now(wall_us, monotonic_us)

    def __call__(self) -> int:
        """Return the later of the wall clock and the start plus the time passed since."""
        passed_us = self._monotonic_us() - self._start.monotonic_us
        return max(self._wall_us(), self._start.wall_us + passed_us)
