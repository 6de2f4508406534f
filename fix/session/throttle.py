"""How many orders may leave in a second, as the broker's profile says. Pure.

Not here: the rate of cancels (`fix.orders.sweep`): a kill is never held back by orders.
"""

from collections import deque
from typing import Final

_SECOND_US: Final = 1_000_000


class Throttle:
    """At most `per_s` orders in any second, 0: no limit; for one thread."""

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._left_us: deque[int] = deque()

    def allows(self, now_us: int) -> bool:
        """Return whether one more order may leave at a monotonic time."""
        while self._left_us and now_us - self._left_us[0] >= _SECOND_US:
            self._left_us.popleft()
        return not self._per_s or len(self._left_us) < self._per_s

    def left(self, now_us: int) -> None:
        """Note that an order left."""
        if self._per_s:
            self._left_us.append(now_us)
