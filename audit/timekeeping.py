"""What is known of the machine's clock, and when it must go on record.

A record's time is given where it is sequenced: `recorded_at_us` is read when its batch is built,
in the process that then commits it, and never decreases. How good that clock was is what the last
`clock_observed` record before it says: source, offset and error bound as the kernel keeps them.

One is written with the first records of a process, and again when

- the clock went back by more than `BACK_US` (the records' times stand still until it is past),
- the clock ran ahead of the monotonic clock by more than `AHEAD_US`,
- the kernel's word on synchronisation changed (asked every `STATUS_EVERY_US`),

but at most one every `QUIET_US` after the first; what happened in between is counted in it.

Source: adjtimex(2), whose reading form every user may call.
"""

import ctypes
import platform
from collections.abc import Callable
from dataclasses import dataclass

from audit.canonical import JSON
from audit.kinds import LEDGER, Kind
from audit.record import Draft

BACK_US = 10_000
AHEAD_US = 1_000_000
STATUS_EVERY_US = 60_000_000
QUIET_US = 60_000_000
UNKNOWN = "unknown"
_TIME_ERROR = 5
_STA_UNSYNC = 0x0040
_STA_NANO = 0x2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What a machine says of its clock.

    Attributes:
        source: who says it.
        status: `synchronised`, `unsynchronised` or `unknown`.
        offset_us: how far the clock is still being moved towards UTC, None when unknown.
        error_us: the bound that its keeper gives for the distance from UTC, None when unknown.
    """

    source: str
    status: str
    host: str
    offset_us: int | None = None
    error_us: int | None = None


class _Timex(ctypes.Structure):
    _fields_ = [  # type: ignore[mutable-override]  # ctypes' own way
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    ]


def read_clock() -> ClockReading:
    """Ask the kernel about its clock; every field is unknown where it has no such call."""
    host = platform.node() or UNKNOWN
    asked = _Timex()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(asked))
    except (OSError, AttributeError):
        state = -1
    if state < 0:
        return ClockReading(source=UNKNOWN, status=UNKNOWN, host=host)
    lost = state == _TIME_ERROR or asked.status & _STA_UNSYNC
    offset = asked.offset // 1000 if asked.status & _STA_NANO else asked.offset
    return ClockReading(
        source="adjtimex",
        status="unsynchronised" if lost else "synchronised",
        host=host,
        offset_us=int(offset),
        error_us=int(asked.maxerror),
    )


class ClockWatch:
    """Notices what the clock does; for one thread."""

    def __init__(
        self, read: Callable[[], ClockReading] | None, monotonic_us: Callable[[], int]
    ) -> None:
        """Watch from now on.

        Args:
            read: asks about the clock; None writes nothing but leaps, of an unknown clock.
            monotonic_us: of the same process.
        """
        self._read = read
        self._monotonic_us = monotonic_us
        self._reading = self._ask()
        self._last: tuple[int, int] | None = None
        self._asked_us = monotonic_us()
        self._written_us: int | None = None
        self._reason = "" if read is None else "opened"
        self._step_us = 0
        self._wall_us = 0
        self._omitted = 0

    def see(self, wall_us: int) -> None:
        """Look at the clock's time and hold it against the last one."""
        now_us = self._monotonic_us()
        if self._last is not None:
            last_wall_us, last_us = self._last
            step_us = wall_us - last_wall_us
            if step_us < -BACK_US:
                self._happened("went_back", step_us)
            elif (ahead_us := step_us - (now_us - last_us)) > AHEAD_US:
                self._happened("jumped_ahead", ahead_us)
        self._last = (wall_us, now_us)
        self._wall_us = wall_us
        if self._read is not None and now_us - self._asked_us >= STATUS_EVERY_US:
            self._asked_us = now_us
            before, self._reading = self._reading.status, self._ask()
            if self._reading.status != before:
                self._happened("status_changed", 0)

    def draft(self, size: int) -> Draft | None:
        """Return what must go on record now, at this size of the log; None if nothing must."""
        if not self._reason:
            return None
        now_us = self._monotonic_us()
        if self._written_us is not None and now_us - self._written_us < QUIET_US:
            return None
        reading = self._reading = self._ask()
        payload: dict[str, JSON] = {
            "reason": self._reason,
            "wall_us": self._wall_us,
            "source": reading.source,
            "status": reading.status,
            "offset_us": reading.offset_us,
            "error_us": reading.error_us,
            "host": reading.host[:200],
            "step_us": self._step_us,
            "omitted": self._omitted,
        }
        return Draft(
            stream="control",
            kind=Kind.CLOCK_OBSERVED,
            payload=payload,
            actor=LEDGER,
            idem_key=f"clock:{size}",
        )

    def recorded(self) -> None:
        """Take note that the last draft is committed."""
        if self._reason != "opened":
            self._written_us = self._monotonic_us()
        self._reason, self._step_us, self._omitted = "", 0, 0

    def _happened(self, reason: str, step_us: int) -> None:
        if self._reason:
            self._omitted += 1
        else:
            self._reason, self._step_us = reason, step_us

    def _ask(self) -> ClockReading:
        if self._read is None:
            return ClockReading(source=UNKNOWN, status=UNKNOWN, host=UNKNOWN)
        return self._read()
