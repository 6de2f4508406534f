"""The only clock of the gateway; other modules take time as an argument.

Wall time is for evidence, monotonic time for deadlines, market time for rules.

Days that people write are read here too, for the API, the pages and the commands: a day is a UTC
date, `2026-11-20`. The last one is 9998-12-31, so that its end is a time too.
"""

import datetime as dt
import time
from dataclasses import dataclass
from typing import Final

from gateway.errors import RequestError

DAYS_MAX: Final = 3_660
"""Days in the longest range."""
LAST: Final = dt.date(9998, 12, 31)
_FIRST: Final = dt.date(1970, 1, 1)
_SECOND_US: Final = 1_000_000


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


def day_of(text: str) -> dt.date:
    """Return the day that a text names.

    Raises:
        RequestError: it is no day from 1970-01-01 to 9998-12-31 in the form 2026-11-20.
    """
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text or not _FIRST <= day <= LAST:
        raise RequestError(
            problem=f"{text[:24]!r} is not a day from {_FIRST} to {LAST}: write 2026-11-20"
        )
    return day


def days_between(first: str, last: str) -> tuple[dt.date, dt.date]:
    """Return the first and the last day of a range.

    Raises:
        RequestError: as in `day_of`, or the last is before the first.
    """
    begins, ends = day_of(first), day_of(last)
    if ends < begins:
        raise RequestError(problem=f"{first} is after {last}: write the earlier day first")
    return begins, ends


def range_us(first: str, last: str) -> tuple[int, int]:
    """Return the first microsecond of a range of days, and the first after it.

    Raises:
        RequestError: as in `days_between`, or the range is longer than `DAYS_MAX`.
    """
    begins, ends = days_between(first, last)
    if ends - begins >= dt.timedelta(days=DAYS_MAX):
        problem = f"{first} to {last} is no range of at most {DAYS_MAX} days"
        raise RequestError(problem=problem)
    return _midnight_us(begins), _midnight_us(ends + dt.timedelta(days=1))


def date_of(time_us: int) -> str:
    """Return the UTC date of a time in microseconds."""
    return dt.datetime.fromtimestamp(time_us // _SECOND_US, tz=dt.UTC).date().isoformat()


def _midnight_us(day: dt.date) -> int:
    midnight = dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)
    return int(midnight.timestamp()) * _SECOND_US
