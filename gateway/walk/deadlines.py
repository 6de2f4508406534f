"""How long an agreement lives, on two clocks: it is over as soon as either of them says so.

The wall clock is what a record states and what a person reads; it can be set. The monotonic clock
cannot, but means nothing outside this boot of the machine, so it stands in no record.

Rules it keeps:

- a deadline is known only to the process that began it: what is not known here is over;
- the monotonic clock is read first, so that the pause between two readings shortens a life;
- what is over may be forgotten, for that changes no answer.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

KEPT_US: Final = 60_000_000
"""How long after its end a deadline is remembered; see `dispatch.LATE_US`, which must be less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One instant on both clocks, microseconds; also the end of something that begins earlier."""

    wall_us: int
    monotonic_us: int

    def after(self, life_us: int) -> "Moment":
        """Return the moment that comes `life_us` later."""
        return Moment(wall_us=self.wall_us + life_us, monotonic_us=self.monotonic_us + life_us)

    def earlier(self, other: "Moment") -> "Moment":
        """Return the end of what ends with the first of two, on each clock."""
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
    """The ends of holds, agreements and approvals that this process began; safe from any thread."""

    def __init__(self, monotonic_us: Callable[[], int]) -> None:
        """Start with none: whatever an earlier process began is over."""
        self._monotonic_us = monotonic_us
        self._ends: dict[str, Moment] = {}
        self._lock = threading.Lock()

    def keep(self, name: str, end: Moment) -> None:
        """Remember an end, in place of an earlier one of this name."""
        old_us = self._monotonic_us() - KEPT_US
        with self._lock:
            self._ends[name] = end
            for over in [key for key, one in self._ends.items() if one.monotonic_us < old_us]:
                del self._ends[over]

    def end(self, name: str) -> Moment | None:
        """Return an end; None if it is not known here, and then it has come."""
        with self._lock:
            return self._ends.get(name)

    def over(self, name: str, wall_us: int, *, grace_us: int = 0) -> bool:
        """Return whether an end came `grace_us` ago, by a wall clock or the monotonic one."""
        end = self.end(name)
        at = Moment(wall_us=wall_us, monotonic_us=self._monotonic_us())
        return end is None or end.after(grace_us).reached(at)


def hold_of(decision_id: str) -> str:
    """Name the time in which a person may answer a hold."""
    return f"hold {decision_id}"


def agreement_of(decision_id: str) -> str:
    """Name the time for which a person's agreement stands."""
    return f"agreement {decision_id}"


def sending_of(decision_id: str) -> str:
    """Name the time in which an approved order may be sent."""
    return f"sending {decision_id}"


class SteadyWall:
    """A wall clock that does not go back while this process lives.

    For what must not become valid again: a policy that has expired. A leap ahead is followed, and
    its way back too, as far as the time that has really passed since the start.
    """

    def __init__(self, wall_us: Callable[[], int], monotonic_us: Callable[[], int]) -> None:
        """Begin with what the wall clock says now."""
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._start = now(wall_us, monotonic_us)

    def __call__(self) -> int:
        """Return the later of the wall clock and the start plus what has passed since."""
        passed_us = self._monotonic_us() - self._start.monotonic_us
        return max(self._wall_us(), self._start.wall_us + passed_us)
