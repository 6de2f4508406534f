"""The two bounded queues in front of the sequencer.

`URGENT` (kill, reports, sending) is drained before `DECISION`. A full decision lane refuses at
once; a full urgent lane makes the caller wait, because a report is never refused.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from audit.errors import LaneFullError, LedgerStoppedError, LedgerTimeoutError
from audit.record import Prepared, Record


class Lane(StrEnum):
    """Which queue a request waits in."""

    URGENT = "urgent"
    DECISION = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Refuse the append if the section moved after `basis_seq`.

    Attributes:
        section: the account whose records, with all firm-wide ones, count.
        basis_seq: the last sequence number that the caller has seen.
    """

    section: str
    basis_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Write these drafts in one commit."""

    prepared: tuple[Prepared, ...]
    guard: Guard | None = None
    done: Future[tuple[Record, ...]] = field(default_factory=Future)

    @property
    def rows(self) -> int:
        """Return how many rows it may add to a batch."""
        return len(self.prepared)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapHeads:
    """Write a stream-head map as the last records of a batch."""

    done: Future[tuple[int, bytes]] = field(default_factory=Future)
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Say which record, if any, an idempotency key has."""

    stream: str
    idem_key: str
    done: Future[Record | None] = field(default_factory=Future)
    rows: int = 0


Request: TypeAlias = Append | MapHeads | Resolve


class Lanes:
    """Both queues; safe for many callers and one sequencer."""

    def __init__(self, *, urgent_max: int, decision_max: int) -> None:
        """Set the queues' sizes, in requests."""
        self._room = {Lane.URGENT: urgent_max, Lane.DECISION: decision_max}
        self._queues: dict[Lane, deque[Request]] = {lane: deque() for lane in Lane}
        self._changed = threading.Condition()
        self._closed = False

    def put(self, request: Request, lane: Lane, deadline: float) -> None:
        """Queue a request.

        Args:
            request: what to do.
            lane: which queue.
            deadline: on the monotonic clock; how long an urgent request may wait for room.

        Raises:
            LaneFullError: the decision lane is full.
            LedgerTimeoutError: the urgent lane stayed full.
            LedgerStoppedError: the lanes are closed.
        """
        with self._changed:
            queue = self._queues[lane]
            while len(queue) >= self._room[lane] and not self._closed:
                if lane is Lane.DECISION:
                    raise LaneFullError(f"{len(queue)} decisions wait already")
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise LedgerTimeoutError("the urgent lane stayed full", written=False)
            if self._closed:
                raise LedgerStoppedError("the ledger is closed")
            queue.append(request)
            self._changed.notify_all()

    def drain(self, rows_max: int) -> Sequence[Request]:
        """Wait for requests and take up to `rows_max` rows, urgent first; empty once closed."""
        with self._changed:
            while not self._closed and not any(self._queues.values()):
                self._changed.wait()
            taken: list[Request] = []
            rows = 0
            for lane in Lane:
                queue = self._queues[lane]
                while queue and (not taken or rows + queue[0].rows <= rows_max):
                    rows += queue[0].rows
                    taken.append(queue.popleft())
            self._changed.notify_all()
            return taken

    def close(self) -> Sequence[Request]:
        """Refuse further requests and return those still waiting when nobody will drain them."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            return [request for queue in self._queues.values() for request in queue]
