"""How often one key has asked, against what its scope allows; told the time. Pure.

Rules:
- `intents_per_minute` alone: never more in any minute.
  What led to no record is given back: a refusal for another reason costs nothing.
- With `intents_at_once`: a bucket of so many, which `intents_per_minute` refill evenly. Who asks at
  the even pace is not refused because one request came a little early. Every request counts,
  whatever becomes of it: otherwise one who asks five times too often is told `busy` by a full line
  again and again, and keeps the desk at work.

Not here: who refuses (`gateway.desk.intake.scope`), times on record
(`gateway.walk.projections.mandates`).
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from gateway.installation.keys.scopes import PER_MINUTE_MAX, KeyScope

MINUTE_US: Final = 60_000_000


class KeyPace:
    """What one key has asked for lately; not safe from threads."""

    def __init__(self, times_us: Iterable[int], scope: KeyScope) -> None:
        """Begin with the times at which the key asked before, oldest first, microseconds."""
        self._times: deque[int] = deque(maxlen=PER_MINUTE_MAX)
        self._full_us = 0  # when the bucket is full again
        for one in times_us:
            self.take(scope, one, 1)

    def lately(self, now_us: int) -> int:
        """Return how many were asked for in the last minute."""
        return sum(one > now_us - MINUTE_US for one in self._times)

    def wait_us(self, scope: KeyScope, now_us: int, count: int) -> int | None:
        """Return how long to wait until so many may be asked for at once; None if never."""
        if count > (scope.intents_at_once or scope.intents_per_minute):
            return None
        if scope.intents_at_once is None:
            left = scope.intents_per_minute - count
            frees = 0 if len(self._times) <= left else self._times[-1 - left] + MINUTE_US
            return max(0, frees - now_us)
        empties_us = max(self._full_us, now_us) + count * _each_us(scope)
        return max(0, empties_us - now_us - scope.intents_at_once * _each_us(scope))

    def take(self, scope: KeyScope, now_us: int, count: int) -> None:
        """Count so many as asked for now."""
        self._times.extend([now_us] * count)
        self._full_us = max(self._full_us, now_us) + count * _each_us(scope)

    def give_back(self, scope: KeyScope, taken_us: int, count: int) -> None:
        """Count so many, which were taken at a time, as never asked for, where records count."""
        if scope.intents_at_once is not None:
            return
        for _ in range(count):
            if taken_us in self._times:
                self._times.remove(taken_us)


def _each_us(scope: KeyScope) -> int:
    """Return how long the bucket takes to refill for one."""
    return MINUTE_US // scope.intents_per_minute
