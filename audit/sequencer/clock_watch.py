"""What is known of the machine's clock, and when it must go on record.

A record's time is given where it is sequenced: `recorded_at_us` is read when its batch is built,
in the process that then commits it, and never decreases. How good that clock was is what the last
`clock_observed` record before it says: source, offset and error bound as the kernel keeps them.

One is written with the first records of a process, and again with the next records when

- the clock went back by more than `BACK_US`, at once or in many small steps: behind the latest time
  on record (also the one that the log had when it was opened), or behind the monotonic clock;
- the clock ran ahead of the monotonic clock by more than `AHEAD_US`, at once or in sum;
- the kernel's word on synchronisation changed, or its error bound is more than `WIDER` times the
  recorded one and above `ERROR_FLOOR_US` (asked every `ASK_EVERY_US`);
- the last one is `RENEW_US` old.

But there is at most one every `QUIET_US` after the first; what happened in between is counted in
it. Sums begin anew with each event. While records are written, a recorded bound is so at most
`ASK_EVERY_US` behind the kernel's, which grows by 500 us a second when nobody disciplines the clock
(MAXFREQ in the kernel's ntp.c).

Both clocks of Linux run at the same, disciplined rate: that one falls behind the other means steps.
The monotonic clock is read before and after the other, and only what is certain between the two
counts: a thread that slept in between sees no step.

Source: adjtimex(2), whose reading form every user may call.
"""

import ctypes
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from audit.records.canonical import JSON
from audit.records.kinds import LEDGER, Kind
from audit.records.record import Draft

BACK_US = 10_000
AHEAD_US = 1_000_000
ASK_EVERY_US = 60_000_000
QUIET_US = 60_000_000
RENEW_US = 3_600_000_000
WIDER = 2
ERROR_FLOOR_US = 100
"""The finest accuracy that RTS 25 asks for (article 2, table 1)."""
UNKNOWN = "unknown"
_COUNTER = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_TIME_ERROR = 5
_STA_PLL, _STA_PPSTIME, _STA_FLL = 0x0001, 0x0004, 0x0008
_STA_UNSYNC, _STA_PPSSIGNAL = 0x0040, 0x0100
_STA_NANO = 0x2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What a machine says of its clock.

    Attributes:
        source: who says it.
        status: `synchronised`, `unsynchronised` or `unknown`.
        offset_us: how far the clock is still being moved towards UTC, None when unknown.
        error_us: the bound that its keeper gives for the distance from UTC, None when unknown.
        discipline: how the kernel is told to keep the clock, None when unknown.
        counter: the hardware that counts between two corrections, None when unknown.
    """

    source: str
    status: str
    host: str
    offset_us: int | None = None
    error_us: int | None = None
    discipline: str | None = None
    counter: str | None = None


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
        discipline=discipline_of(asked.status),
        counter=_counter(),
    )


def discipline_of(status: int) -> str:
    """Name what the kernel's status word says of the way its clock is kept.

    Which program feeds the kernel cannot be asked. One that sets the clock's frequency by itself,
    as chrony and phc2sys do, uses none of the kernel's loops.
    """
    if status & _STA_PPSTIME and status & _STA_PPSSIGNAL:
        return "pulse per second"
    if status & _STA_PLL:
        return "frequency-locked loop" if status & _STA_FLL else "phase-locked loop"
    return "no kernel loop"


def _counter() -> str | None:
    try:
        return _COUNTER.read_text(encoding="ascii").strip()[:50] or None
    except (OSError, ValueError):
        return None


class ClockWatch:
    """Reads the clock and notices what it does; for one thread."""

    def __init__(
        self,
        clock: Callable[[], int],
        read: Callable[[], ClockReading] | None,
        recorded_us: int,
        monotonic: Callable[[], int] = monotonic_us,
    ) -> None:
        """Watch from now on.

        Args:
            clock: microseconds UTC.
            read: asks about the clock; None writes nothing but leaps, of an unknown clock.
            recorded_us: the log's last time; 0 when it has none.
            monotonic: of the same process.
        """
        self._clock = clock
        self._read = read
        self._monotonic = monotonic
        self._asked_us = self._drafted_us = monotonic()
        self._reading = self._drafted = self._ask()
        self._recorded: ClockReading | None = None
        self._written_us: int | None = None
        self._due = "" if read is None else "opened"
        self._wall_us = 0
        self._latest_us = recorded_us
        self._lead: tuple[int, int] | None = None
        self._waiting = _Leaps()
        self._going = _Leaps()

    def now_us(self) -> int:
        """Return the clock's time, having held it against what it and its keeper said before."""
        before_us = self._monotonic()
        wall_us = self._wall_us = self._clock()
        after_us = self._monotonic()
        self._compare(wall_us, wall_us - after_us, wall_us - before_us)
        if self._read is not None and after_us - self._asked_us >= ASK_EVERY_US:
            self._asked_us = after_us
            self._reading = self._ask()
            self._due = self._due or self._outdated(after_us)
        return wall_us

    def draft(self, size: int) -> Draft | None:
        """Return what must go on record now, at this size of the log; None if nothing must."""
        if self._waiting.number:  # what was drafted with a batch that was lost has leaps as well
            self._going.join(self._waiting)
            self._waiting = _Leaps()
        if not (self._due or self._going.number):
            return None
        now_us = self._monotonic()
        if self._written_us is not None and now_us - self._written_us < QUIET_US:
            return None
        self._drafted_us = now_us
        reading = self._reading = self._drafted = self._ask()
        payload: dict[str, JSON] = {
            "reason": self._going.reason or self._due,
            "wall_us": self._wall_us,
            "source": reading.source,
            "status": reading.status,
            "offset_us": reading.offset_us,
            "error_us": reading.error_us,
            "host": reading.host[:200],
            "step_us": self._going.step_us,
            "omitted": max(0, self._going.number - 1),
        }
        if reading.discipline is not None:
            payload["discipline"] = reading.discipline
        if reading.counter is not None:
            payload["counter"] = reading.counter
        return Draft(
            stream="control",
            kind=Kind.CLOCK_OBSERVED,
            payload=payload,
            actor=LEDGER,
            idem_key=f"clock:{size}",
        )

    def recorded(self) -> None:
        """Take note that the last draft is committed; a leap since then still waits."""
        if self._due != "opened" or self._going.number:
            self._written_us = self._monotonic()
        self._due = ""
        self._going = _Leaps()
        self._recorded = self._drafted

    def _compare(self, wall_us: int, lead_min_us: int, lead_max_us: int) -> None:
        """Look for a leap, given how far the clock leads the monotonic one."""
        high, low = self._lead or (lead_min_us, lead_max_us)
        back_us = wall_us - self._latest_us
        if self._read is not None:
            back_us = min(back_us, lead_max_us - high)
        ahead_us = lead_min_us - low
        if back_us < -BACK_US or ahead_us > AHEAD_US:
            self._waiting.add(back_us if back_us < -BACK_US else ahead_us)
            self._latest_us, high, low = wall_us, lead_min_us, lead_max_us
        self._latest_us = max(self._latest_us, wall_us)
        if self._read is None:  # then it is nobody's clock, and may stand still
            low = lead_max_us
        self._lead = max(high, lead_min_us), min(low, lead_max_us)

    def _outdated(self, now_us: int) -> str:
        """Say what of the recorded answer does not hold any more."""
        last, error_us = self._recorded, self._reading.error_us
        if last is None:
            return ""
        if self._reading.status != last.status:
            return "status_changed"
        if (
            error_us is not None
            and last.error_us is not None
            and error_us > max(WIDER * last.error_us, ERROR_FLOOR_US)
        ):
            return "bound_widened"
        return "renewed" if now_us - self._drafted_us >= RENEW_US else ""

    def _ask(self) -> ClockReading:
        if self._read is None:
            return ClockReading(source=UNKNOWN, status=UNKNOWN, host=UNKNOWN)
        return self._read()


@dataclass(slots=True)
class _Leaps:
    """Leaps that are not on record: their sums, either way, and how many."""

    back_us: int = 0
    ahead_us: int = 0
    number: int = 0

    def add(self, step_us: int) -> None:
        self.join(_Leaps(min(step_us, 0), max(step_us, 0), 1))

    def join(self, others: "_Leaps") -> None:
        self.back_us += others.back_us
        self.ahead_us += others.ahead_us
        self.number += others.number

    @property
    def reason(self) -> str:
        """Name the worst: to go back is."""
        return "went_back" if self.back_us else "jumped_ahead" if self.ahead_us else ""

    @property
    def step_us(self) -> int:
        return self.back_us or self.ahead_us
