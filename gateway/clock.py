"""The only clock of the gateway; other modules take time as an argument.

Wall time is for evidence, monotonic time for deadlines, market time for rules.
"""

import time
from dataclasses import dataclass


def wall_us() -> int:
    """Return UTC wall time in microseconds since the epoch; no rule reads it in playback."""
    return time.time_ns() // 1_000


def monotonic_us() -> int:
    """Return monotonic time in microseconds; only differences mean anything."""
    return time.monotonic_ns() // 1_000


def pause(seconds: float) -> None:
    """Sleep for `seconds` of wall time; the only sleep of the gateway."""
    time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketInstant:
    """A tick's market time (UTC) and the monotonic time at which it arrived, in microseconds."""

    tick_us: int
    seen_us: int

    def now_us(self) -> int:
        """Return market time now: the tick's time plus the time elapsed since it arrived."""
        return self.tick_us + (monotonic_us() - self.seen_us)
