"""Where the session's callbacks report, what was sent, and what went over the session lately.

`Traffic` is kept in memory for the people who watch: the inbox, the engine's log and the ledger are
the evidence. It keeps no text, name or price, so that a page may show it.

Not here: quickfix, and what a message means.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fix.durable.inbox import Entry
from fix.durable.resets import Reset
from fix.session.link import Frame, Json

RECENT_MAX = 20
GAPS_MAX = 10
_SECOND_US = 1_000_000
_TYPE, _NUMBER, _DUP, _CL_ORD_ID, _EXEC, _STATUS = 35, 34, 43, 11, 150, 39
_LOGON, _RESEND, _GAP_FILL = "A", "2", "4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Event handlers; each must be quick, thread-safe and never wait.

    Attributes:
        received: an application message or reject is in the inbox.
        logged_on: both logons were exchanged; the logon's number, from 1.
        logged_off: the session ended; the broker's reason, if it gave one.
        fault: a callback raised; where and what.
        reset: the numbers were reset, or a reset was refused and the session ended.
        heartbeat: the broker answered a TestRequest; its TestReqID (112).
    """

    received: Callable[[Entry], None]
    logged_on: Callable[[int], None]
    logged_off: Callable[[str], None]
    fault: Callable[[str, str], None]
    reset: Callable[[Reset], None]
    heartbeat: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that ``toApp`` let pass, with its epoch, MsgSeqNum and text."""

    msg_seq_num: int
    raw: str
    epoch: int


def wire_view(text: str) -> str:
    """Return quickfix's text, which it decoded as UTF-8, as one character per wire byte."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


class Passed(NamedTuple):
    """One message; `about` is its ClOrdID, with the ExecType and state of a report."""

    at_us: int
    direction: str
    msg_type: str
    number: int
    again: bool
    about: str


class Traffic:
    """Notes each message as it passes. Safe from any thread; times are monotonic microseconds."""

    def __init__(self, monotonic_us: Callable[[], int]) -> None:
        """Begin with nothing seen."""
        self._now_us = monotonic_us
        self._lock = threading.Lock()
        self._recent: deque[Passed] = deque(maxlen=RECENT_MAX)
        self._gaps: deque[Json] = deque(maxlen=GAPS_MAX)
        self._last_us = {"in": 0, "out": 0}
        self._counts = {"in": 0, "out": 0}
        self._sent: deque[tuple[int, str]] = deque()
        self._most: Counter[str] = Counter()
        self._highest_in = 0
        self._leaving: deque[tuple[int, Mapping[int, str]]] = deque()

    def leaves(self, fields: Mapping[int, str]) -> None:
        """Note a message that leaves now; it is read with the next one, not on its way out."""
        self._leaving.append((self._now_us(), fields))

    def note(self, direction: str, fields: Mapping[int, str]) -> None:
        """Note a message, ``in`` or ``out``; one without a readable number is only counted."""
        with self._lock:
            self._read_left()
            self._note(self._now_us(), direction, fields)

    def _read_left(self) -> None:
        while self._leaving:
            at_us, fields = self._leaving.popleft()
            self._note(at_us, "out", fields)

    def _note(self, now_us: int, direction: str, fields: Mapping[int, str]) -> None:
        msg_type = fields.get(_TYPE, "")
        digits = fields.get(_NUMBER, "")
        number = int(digits) if digits.isascii() and digits.isdecimal() else 0
        words = (fields.get(_CL_ORD_ID, ""), fields.get(_EXEC, ""), fields.get(_STATUS, ""))
        self._last_us[direction] = now_us
        self._counts[direction] += 1
        again = fields.get(_DUP) == "Y"
        about = " ".join(word for word in words if word)
        self._recent.append(Passed(now_us, direction, msg_type, number, again, about))
        if direction == "in" and msg_type == _LOGON:
            self._highest_in = number  # its numbers may have been reset
        elif direction == "in":
            self._highest_in = max(self._highest_in, number)
        if direction == "out":
            self._count(now_us, msg_type)
        if msg_type in {_RESEND, _GAP_FILL}:
            self._gaps.append(_gap(now_us, direction, fields, number))

    def frame(self) -> Frame:
        """Return what the gateway is told: see ``vitals`` in `fix.session.link`."""
        with self._lock:
            self._read_left()
            now_us = self._now_us()
            self._forget(now_us)
            last_s = Counter(msg_type for _, msg_type in self._sent)
            return {
                "at_us": now_us,
                "in_us": self._last_us["in"],
                "out_us": self._last_us["out"],
                "received": self._counts["in"],
                "sent": self._counts["out"],
                "highest_in": self._highest_in,
                "last_s": dict(last_s),
                "most": dict(self._most),
                "gaps": list(self._gaps),
                "recent": [list(one) for one in self._recent],
            }

    def _count(self, now_us: int, msg_type: str) -> None:
        self._forget(now_us)
        self._sent.append((now_us, msg_type))
        in_second = sum(kind == msg_type for _, kind in self._sent)
        self._most[msg_type] = max(self._most[msg_type], in_second)

    def _forget(self, now_us: int) -> None:
        while self._sent and now_us - self._sent[0][0] >= _SECOND_US:
            self._sent.popleft()


def _gap(now_us: int, direction: str, fields: Mapping[int, str], number: int) -> Json:
    """Return a resend or gap fill: time, direction, type, first and last number (0: open)."""
    if fields.get(_TYPE) == _RESEND:
        return [now_us, direction, _RESEND, fields.get(7, ""), fields.get(16, "")]
    return [now_us, direction, _GAP_FILL, str(number), fields.get(36, "")]
