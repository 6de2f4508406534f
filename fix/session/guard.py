"""The final check of every outbound application message.

`fix.session.initiator` asks this gate inside ``toApp``, under the session's own lock and before a
sequence number is used.

Not here: quickfix.

Rules:
- New orders and replaces (D, G) leave only if logged on and reconciled, egress open, not killed,
  handed in under the current kill epoch, before ``send_before`` (wall clock) and ``send_until``
  (monotonic clock), once, and not PossDup.
- Cancels, mass cancels and status requests (F, q, H, AF) pass while logged on, but a cancel is
  never resent: a ResendRequest is answered with a gap fill.
- Everything else is refused. The kill word is read last, directly before the send.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fix.durable.kill_word import KillWordState
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import (
    CANCEL,
    CANCEL_REPLACE,
    CL_ORD_ID,
    MASS_CANCEL,
    MASS_STATUS_REQUEST,
    NEW_ORDER,
    STATUS_REQUEST,
)

POSS_DUP = 43
_GUARDED = frozenset({NEW_ORDER, CANCEL_REPLACE})
_PASSING = frozenset({CANCEL, MASS_CANCEL, STATUS_REQUEST, MASS_STATUS_REQUEST})
_NEVER_RESENT = _GUARDED | {CANCEL, MASS_CANCEL}


class Refusal(StrEnum):
    """Why a message did not leave."""

    NOT_LOGGED_ON = "NOT_LOGGED_ON"
    NOT_RECONCILED = "NOT_RECONCILED"
    EGRESS_CLOSED = "EGRESS_CLOSED"
    KILLED = "KILLED"
    KILL_EPOCH_OLD = "KILL_EPOCH_OLD"
    SEND_BEFORE_PASSED = "SEND_BEFORE_PASSED"
    NOT_HANDED = "NOT_HANDED"
    ALREADY_USED = "ALREADY_USED"
    POSS_DUP = "POSS_DUP"
    NOT_ALLOWED = "NOT_ALLOWED"
    MALFORMED = "MALFORMED"
    THROTTLED = "THROTTLED"
    JOURNAL = "JOURNAL"
    FAULT = "FAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """The conditions under which an order may leave.

    Attributes:
        kill_epoch: epoch under which the order was approved.
        send_before_us: wall clock, microseconds; refused from then on.
        send_until_us: the same on CLOCK_MONOTONIC, which all processes of one boot share.
    """

    cl_ord_id: str
    kill_epoch: int
    send_before_us: int
    send_until_us: int


class Gate:
    """Holds the tickets of this process; after a restart there are none, so orders are refused.

    Begins with egress open and not reconciled. Safe from any thread.
    """

    def __init__(
        self,
        kill: Callable[[], KillWordState],
        wall_us: Callable[[], int],
        monotonic_us: Callable[[], int],
    ) -> None:
        self._kill = kill
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._lock = threading.Lock()
        self._tickets: dict[str, Ticket] = {}
        self._used: set[str] = set()
        self._closed: str = ""
        self._logon_no = 0
        self._reconciled = False

    @property
    def closed(self) -> str:
        """Why egress is closed; empty while it is open."""
        return self._closed

    @property
    def logon_no(self) -> int:
        """Number of the newest logon, from 1; 0 before the first."""
        return self._logon_no

    def close(self, why: str) -> None:
        """Close egress for new orders until this process ends."""
        self._closed = self._closed or why

    def begin_logon(self) -> int:
        """Count a logon; until it is reconciled, no new order leaves."""
        with self._lock:
            self._logon_no += 1
            self._reconciled = False
            return self._logon_no

    def end_logon(self) -> None:
        """Note that the session is down."""
        with self._lock:
            self._reconciled = False

    def reconciled(self, logon_no: int) -> bool:
        """Note that this logon is reconciled; return False if the logon is over."""
        with self._lock:
            self._reconciled = logon_no == self._logon_no
            return self._reconciled

    def hand(self, ticket: Ticket) -> Refusal | None:
        """Take a ticket, once ever per ClOrdID; return why it is refused, or None."""
        with self._lock:
            if ticket.cl_ord_id in self._tickets or ticket.cl_ord_id in self._used:
                return Refusal.ALREADY_USED
            self._tickets[ticket.cl_ord_id] = ticket
            return None

    def spend(self, cl_ord_id: str) -> None:
        """Mark the order's ticket as used, so that it never leaves later."""
        with self._lock:
            self._tickets.pop(cl_ord_id, None)
            self._used.add(cl_ord_id)

    def judge(self, fields: Mapping[int, str], *, logged_on: bool) -> Refusal | None:
        """Return why a message must not leave, or None; passing uses up its ticket.

        `logged_on`: both logons were exchanged and no logout has begun.
        """
        msg_type = fields.get(MSG_TYPE, "")
        if fields.get(POSS_DUP) == "Y" and msg_type in _NEVER_RESENT:
            return Refusal.POSS_DUP
        if not logged_on:
            return Refusal.NOT_LOGGED_ON
        if msg_type in _PASSING:
            return None
        if msg_type not in _GUARDED:
            return Refusal.NOT_ALLOWED
        if self._closed:
            return Refusal.EGRESS_CLOSED
        if not self._reconciled:
            return Refusal.NOT_RECONCILED
        return self._judge_order(fields.get(CL_ORD_ID, ""))

    def _judge_order(self, cl_ord_id: str) -> Refusal | None:
        with self._lock:
            ticket = self._tickets.pop(cl_ord_id, None)
            if ticket is None:
                return Refusal.ALREADY_USED if cl_ord_id in self._used else Refusal.NOT_HANDED
            self._used.add(cl_ord_id)
        late = self._monotonic_us() >= ticket.send_until_us
        if late or self._wall_us() >= ticket.send_before_us:
            return Refusal.SEND_BEFORE_PASSED
        word = self._kill()
        if word.killed:
            return Refusal.KILLED
        if word.kill_epoch != ticket.kill_epoch:
            return Refusal.KILL_EPOCH_OLD
        return None
