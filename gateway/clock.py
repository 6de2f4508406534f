"""The one clock of the gateway.

Wall time for evidence, monotonic time for deadlines, market time for rules.

Not here: any decision. Every other module takes time as an argument or as a `Clock`.
"""

import time
from dataclasses import dataclass


def wall_us() -> int:
    """Return UTC wall time in microseconds since the epoch.

    Evidence, never a rule's input in playback.
    """
    return time.time_ns() // 1_000


def monotonic_us() -> int:
    """Return monotonic time in microseconds; only differences mean anything."""
    return time.monotonic_ns() // 1_000


def pause(seconds: float) -> None:
    """Sleep for `seconds` of wall time; the only sleep of the gateway."""
    time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketInstant:
    """A tick's own time together with the monotonic instant at which it reached us.

    Attributes:
        tick_us: the tick's market time, microseconds UTC.
        seen_us: `monotonic_us()` when the tick arrived.
    """

    tick_us: int
    seen_us: int

    def now_us(self) -> int:
        """Return market time now: the tick's time plus what has elapsed since it arrived."""
        return self.tick_us + (monotonic_us() - self.seen_us)
