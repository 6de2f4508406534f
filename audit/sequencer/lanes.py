"""The two bounded queues in front of the sequencer.

`URGENT` (kill, reports, sending) is drained before `DECISION`. A full decision lane refuses at
once. A full urgent lane makes the caller wait, because a report is never refused.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec import field as made

from audit.errors import LaneFullError, LedgerStoppedError, LedgerTimeoutError
from audit.records.record import Prepared, Record
from audit.sequencer.promise import Promise


class Lane(StrEnum):
    """Which queue a request waits in."""

    URGENT = "urgent"
    DECISION = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Refuse the append if a record of account `section`, or a firm-wide one, is after `basis_seq`.

    `basis_seq` is the last sequence number that the caller has seen.
    """

    section: str
    basis_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a caller does beside its append, on its own thread. Mistakes are its own.

    Attributes:
        meanwhile: called once while the commit is under way, whatever becomes of it, with the
            records as they will be if it lands; with none if another thread commits them.
        landed: called once the records are durable, before any subscriber hears of them, if the
            caller's own thread commits them; if another does, it is not called.
    """

    meanwhile: Callable[[tuple[Record, ...]], None] = lambda _: None
    landed: Callable[[tuple[Record, ...]], None] = lambda _: None


NO_HOOKS = Hooks()
HERE = Hooks()
"""Nothing beside; the caller's own thread commits, while the sequencer's has nothing to do."""


class Append(Struct, frozen=True, kw_only=True):
    """Write drafts in one commit; `check` raises to refuse it, on the sequencer's thread."""

    prepared: tuple[Prepared, ...]
    guard: Guard | None = None
    check: Callable[[], None] | None = None
    done: Promise[tuple[Record, ...]] = made(default_factory=Promise)

    @property
    def rows(self) -> int:
        """Return how many rows this may add to a batch."""
        return len(self.prepared)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapHeads:
    """Write a stream-head map as the last records of a batch.

    Attributes:
        alone_from: on the monotonic clock; until then the map waits for a request to share its
            commit, which then need not wait for the map's own.
    """

    alone_from: float = 0.0
    done: Promise[tuple[int, bytes]] = field(default_factory=Promise)
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Find the record that has an idempotency key."""

    stream: str
    idem_key: str
    done: Promise[Record | None] = field(default_factory=Promise)
    rows: int = 0


Request: TypeAlias = Append | MapHeads | Resolve


class Lanes:
    """Both queues; safe for many callers and one sequencer."""

    def __init__(self, *, urgent_max: int, decision_max: int) -> None:
        """Make the queues; sizes in requests."""
        self._room = {Lane.URGENT: urgent_max, Lane.DECISION: decision_max}
        self._queues: dict[Lane, deque[Request]] = {lane: deque() for lane in Lane}
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._space = threading.Condition(self._lock)
        self._idle = False
        self._nudged = False
        self._closed = False

    def put(self, request: Request, lane: Lane, deadline: float) -> None:
        """Queue a request; an urgent one may wait for room until `deadline` (monotonic clock).

        Raises:
            LaneFullError: the decision lane is full.
            LedgerTimeoutError: the urgent lane stayed full.
            LedgerStoppedError: the lanes are closed.
        """
        with self._space:
            while not self._offer(request, lane):
                if not self._space.wait(max(0.0, deadline - time.monotonic())):
                    raise LedgerTimeoutError("the urgent lane stayed full", written=False)

    def offer(self, request: Request, lane: Lane) -> bool:
        """Queue a request without waiting, raising as `put`; return False if urgent is full."""
        with self._lock:
            return self._offer(request, lane)

    def _offer(self, request: Request, lane: Lane) -> bool:
        if self._closed:
            raise LedgerStoppedError("the ledger is closed")
        queue = self._queues[lane]
        if len(queue) >= self._room[lane]:
            if lane is Lane.DECISION:
                raise LaneFullError(f"{len(queue)} decisions wait already")
            return False
        queue.append(request)
        if self._idle:
            self._work.notify()
        return True

    def drain(self, rows_max: int, *, wait: bool = True) -> list[Request]:
        """Take requests of up to `rows_max` rows, urgent first.

        With `wait`, return at least one; return none only when the lanes are closed and empty, or
        after a `nudge`.
        """
        urgent, decision = self._queues[Lane.URGENT], self._queues[Lane.DECISION]
        with self._work:
            while (left := self._company_s()) != 0:
                if self._nudged:
                    self._nudged = self._idle = False
                    return []
                if not wait:
                    return []
                self._idle = True
                self._work.wait(left)
            self._idle = False
            taken: list[Request] = []
            rows = 0
            for queue in (urgent, decision):
                while queue and (not taken or rows + queue[0].rows <= rows_max):
                    request = queue.popleft()
                    rows += request.rows
                    taken.append(request)
            if taken:
                self._space.notify_all()
            return taken

    @property
    def quiet(self) -> bool:
        """Whether nothing is queued and new requests are taken."""
        return not (self._closed or any(self._queues.values()))

    def nudge(self) -> None:
        """Let `drain` return without a request: a caller has left work behind."""
        with self._work:
            self._nudged = True
            self._work.notify()

    def _company_s(self) -> float | None:
        """Return how long the queued requests wait for more; None if nothing is queued."""
        urgent = self._queues[Lane.URGENT]
        if self._closed or self._queues[Lane.DECISION]:
            return 0.0
        if not urgent:
            return None
        alone_from = 0.0
        for request in urgent:
            if type(request) is not MapHeads:
                return 0.0
            alone_from = max(alone_from, request.alone_from)
        return max(0.0, alone_from - time.monotonic())

    @property
    def closed(self) -> bool:
        """Whether new requests are refused."""
        return self._closed

    def close(self) -> Sequence[Request]:
        """Refuse new requests; return those still queued, for when nobody will drain them."""
        with self._work:
            self._closed = True
            self._work.notify_all()
            self._space.notify_all()
            return [request for queue in self._queues.values() for request in queue]
