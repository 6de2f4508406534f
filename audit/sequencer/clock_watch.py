"""How good the machine's clock is, and when that goes on record.

`recorded_at_us` is read when a record's batch is built, in the process that commits it, and never
decreases. The last `clock_observed` record before it has that clock's source, status, offset and
error bound, as the kernel keeps them. One is written with the first records of a process, and with
the next records when

- the clock went back by more than `BACK_US`: behind the latest time on record (also from before
  the start), or behind the monotonic clock;
- the clock ran ahead of the monotonic clock by more than `AHEAD_US`;
- the last one is `RENEW_US` old. A lost synchronisation shows then.

Linux runs both clocks at the same, disciplined rate, so only a step sets them apart. The monotonic
clock is read before and after the wall clock, and a step counts only as far as both readings prove
it: a thread that slept in between sees none. Steps are measured from the highest and the lowest
lead since the last record, so small ones add up. At most one record is written every `QUIET_US`,
with the largest distance in that time.

Source: adjtimex(2), whose reading form every user may call.
"""

import ctypes
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

from audit.records.kinds import LEDGER
from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind

BACK_US = 10_000
AHEAD_US = 1_000_000
QUIET_US = 60_000_000
RENEW_US = 3_600_000_000
UNKNOWN = "unknown"
_TIME_ERROR = 5
_STA_PLL, _STA_PPSTIME, _STA_FLL = 0x0001, 0x0004, 0x0008
_STA_UNSYNC, _STA_PPSSIGNAL = 0x0040, 0x0100
_STA_NANO = 0x2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """The state of a machine's clock; None is unknown.

    Attributes:
        source: of this reading.
        status: `synchronised`, `unsynchronised` or `unknown`.
        offset_us: how far the clock is still being moved towards UTC.
        error_us: bound on the distance from UTC.
        discipline: the kernel's loop that keeps the clock.
    """

    source: str
    status: str
    host: str
    offset_us: int | None = None
    error_us: int | None = None
    discipline: str | None = None


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


def monotonic_us() -> int:
    """Return monotonic time in microseconds; only differences mean anything."""
    return time.monotonic_ns() // 1_000


def read_clock() -> ClockReading:
    """Return the kernel's reading of its clock; all unknown where the kernel has no such call."""
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
        discipline=discipline_of(asked.status),
    )


def discipline_of(status: int) -> str:
    """Return the name of the kernel's loop that keeps the clock.

    chrony and phc2sys set the clock's frequency themselves and use no kernel loop.
    """
    if status & _STA_PPSTIME and status & _STA_PPSSIGNAL:
        return "pulse per second"
    if status & _STA_PLL:
        return "frequency-locked loop" if status & _STA_FLL else "phase-locked loop"
    return "no kernel loop"


class ClockObserved(RecordKind, frozen=True, kw_only=True):
    """What the clock is synchronised to, and by how much it went another way than it should."""

    filing = Filing("control", "clock:{size}", LEDGER, ledger_only=True)

    reason: str
    wall_us: int
    source: str
    status: str
    offset_us: int | None
    error_us: int | None
    host: str
    step_us: int
    discipline: str | None = None


class ClockWatch:
    """Reads the clock and notices its steps; for one thread."""

    def __init__(
        self,
        clock: Callable[[], int],
        read: Callable[[], ClockReading] | None,
        recorded_us: int,
        monotonic: Callable[[], int] = monotonic_us,
    ) -> None:
        """Watch from now on.

        `clock` gives microseconds UTC; `recorded_us` is the log's last time, or 0. Without `read`
        only steps are written, with an unknown clock.
        """
        self._clock = clock
        self._read = read
        self._monotonic = monotonic
        self._wall_us = self._now_us = 0
        self._latest_us = recorded_us
        self._look = (0, 0)
        self._lead: tuple[int, int] | None = None
        self._step_us = self._going_us = 0
        self._evidence_us: int | None = None
        self._leapt_us: int | None = None

    def now_us(self) -> int:
        """Return the clock's time, after a comparison with its latest and the monotonic clock."""
        before_us = self._monotonic()
        wall_us = self._wall_us = self._clock()
        after_us = self._now_us = self._monotonic()
        lead_min_us, lead_max_us = self._look = wall_us - after_us, wall_us - before_us
        high, low = self._lead or (lead_min_us, lead_max_us)
        back_us, ahead_us = wall_us - self._latest_us, lead_min_us - low
        if self._read is None:  # a caller's own clock may stand still
            low = lead_max_us
        else:
            back_us = min(back_us, lead_max_us - high)
        if back_us < -BACK_US:
            self._step_us = min(self._step_us, back_us)
        elif ahead_us > AHEAD_US and self._step_us >= 0:
            self._step_us = max(self._step_us, ahead_us)
        self._latest_us = max(self._latest_us, wall_us)
        self._lead = max(high, lead_min_us), min(low, lead_max_us)
        return wall_us

    def draft(self, size: int) -> Draft | None:
        """Return the record that is due now, at this size of the log; None if none is."""
        quiet = self._leapt_us is not None and self._now_us - self._leapt_us < QUIET_US
        if self._step_us and not quiet:
            going_us, step_us = self._going_us, self._step_us
            self._going_us = min(going_us, 0) + min(step_us, 0) or going_us + step_us
            self._step_us, self._latest_us, self._lead = 0, self._wall_us, self._look
        reason = self._reason()
        if not reason:
            return None
        nobody = ClockReading(source=UNKNOWN, status=UNKNOWN, host=UNKNOWN)
        reading = nobody if self._read is None else self._read()
        return ClockObserved(
            reason=reason,
            wall_us=self._wall_us,
            source=reading.source,
            status=reading.status,
            offset_us=reading.offset_us,
            error_us=reading.error_us,
            host=reading.host[:200],
            step_us=self._going_us,
            discipline=reading.discipline,
        ).draft(size=size)

    def recorded(self) -> None:
        """Note that the last draft is committed; a step since then stays due."""
        self._evidence_us = self._now_us
        if self._going_us:
            self._leapt_us, self._going_us = self._now_us, 0

    def _reason(self) -> str:
        if self._going_us:
            return "went_back" if self._going_us < 0 else "jumped_ahead"
        if self._read is None:
            return ""
        if self._evidence_us is None:
            return "opened"
        return "renewed" if self._now_us - self._evidence_us >= RENEW_US else ""
