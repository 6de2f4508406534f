"""Status requests for orders without a report, whose cancel was too late, or that ended unheard.

Rules:
- The pause between two questions about an order doubles, up to a minute: a silent broker is not
  flooded, and one that returns is asked soon.
- All questions of a session, also a reconciliation's, share one budget a second.
- Time is monotonic: setting the wall clock neither stops nor releases questions.
"""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from audit.records.record import Record
from fix.durable.resets import DAY_US, Reset, ResetCause
from fix.session.link import HandResult, SessionState
from fix.wire.messages import Fields, status_request
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import fields_of

FIRST_US: Final = 500_000
LONGEST_US: Final = 60_000_000
_SECOND_US: Final = 1_000_000
_LAG_US: Final = 60_000_000
"""A word that went on record so soon after a reset may have been said before it."""


class AskedPort(Protocol):
    """The part of the FIX child's supervisor that asking needs."""

    @property
    def state(self) -> SessionState:
        """The session's state."""
        ...

    def status_request(self, fields: Fields) -> HandResult:
        """Send an OrderStatusRequest."""
        ...


class LivePort(Protocol):
    """The part of the orders' projection that asking needs."""

    def live(self) -> Sequence[Standing]:
        """Orders that may be working at the broker."""
        ...


class Budget:
    """At most so many questions in any second, from all callers; safe from any thread."""

    def __init__(self, per_s: int) -> None:
        """Start unspent."""
        self._per_s = per_s
        self._spent_us: deque[int] = deque()
        self._lock = threading.Lock()

    def take(self, now_us: int) -> bool:
        """Count one more question if the budget allows it; return whether it does."""
        with self._lock:
            while self._spent_us and now_us - self._spent_us[0] >= _SECOND_US:
                self._spent_us.popleft()
            if len(self._spent_us) >= self._per_s:
                return False
            self._spent_us.append(now_us)
            return True

    def time_for_us(self, questions: int) -> int:
        """Return how long that many questions take, microseconds."""
        return questions * _SECOND_US // self._per_s


class Chaser:
    """Asks for each order without a report, ever less often; for one thread."""

    def __init__(self, fix: AskedPort, orders: LivePort, budget: Budget) -> None:
        """Start with nothing asked."""
        self._fix = fix
        self._orders = orders
        self._budget = budget
        # decision id -> when to ask next, and the pause after that
        self._next: dict[str, tuple[int, int]] = {}

    def ask(self, now_us: int) -> int:
        """Send the status requests that are due at a monotonic time; return how many."""
        live = self._orders.live()
        silent = [s for s in live if _in_doubt(s) and s.sending]
        self._next = {
            s.decision_id: self._next.get(s.decision_id, (now_us + FIRST_US, 2 * FIRST_US))
            for s in silent
        }
        asked = 0
        for standing in sorted(silent, key=lambda s: self._next[s.decision_id]):
            due_us, pause_us = self._next[standing.decision_id]
            if due_us > now_us or self._fix.state is not SessionState.READY:
                break
            if not self._budget.take(now_us):
                break
            self._next[standing.decision_id] = (now_us + pause_us, min(2 * pause_us, LONGEST_US))
            if standing.sending is not None:
                self._fix.status_request(status_request(fields_of(standing)))
            asked += 1
        return asked


def ended_unheard(placed: Iterable[Standing], resets: Iterable[Reset]) -> tuple[Standing, ...]:
    """Return the ended orders whose last word came before the numbers began anew, oldest first.

    A broker that lost its numbers does not send a bust or a correction again. Only orders of the
    day before that count; a nightly reset begins another trading day.
    """
    lossy = (one for one in resets if one.allowed and one.cause is not ResetCause.NIGHTLY)
    reset_us = max((one.at_us for one in lossy), default=0)
    return tuple(
        one
        for one in placed
        if not one.is_live and one.said_us and -_LAG_US < reset_us - one.said_us <= DAY_US
    )


def _in_doubt(standing: Standing) -> bool:
    """Return whether an order is without a report, or without the answer to its replace."""
    waits = standing.open_replace is not None and standing.order_state != "PENDING_REPLACE"
    return standing.report_status is None or standing.is_doubted or waits


def sent_fields(sending: Record) -> tuple[tuple[int, str], ...]:
    """Return an order's fields as they were announced."""
    return OrderSending.of(sending).fields
