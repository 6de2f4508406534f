"""The one thread that orders, chains and commits.

It drains whatever waits (no timer: while one batch commits, the next one gathers), builds records
on the position in memory, writes them with a compare-and-swap on the stored head, and only then
tells the callers.

A commit whose answer did not come is *in doubt*: the sequencer takes a new connection and the
session lock (so the old back end is gone), raises the fence (so nothing late can land), and reads
the head: the new root means committed, the old root means not, anything else means that another
sequencer wrote, and this one stops for good. It never guesses.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.batch import Batch, Builder, Position
from audit.errors import (
    AuditError,
    LedgerError,
    LedgerFencedError,
    LedgerStoppedError,
    LedgerTimeoutError,
    LedgerWriteError,
)
from audit.lanes import Append, Lanes, Request, Resolve
from audit.record import Record
from audit.store import Head, Store
from audit.tables import DatabaseError
from audit.watchdog import Watchdog

LOG = logging.getLogger(__name__)
BEFORE_COMMIT = "ledger.before_commit"
AFTER_COMMIT = "ledger.after_commit"
_ATTEMPTS = 2
_RETRY_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencerConfig:
    """How patient the sequencer is.

    Attributes:
        batch_rows_max: rows of one commit.
        commit_deadline_s: a commit that takes longer is in doubt.
        in_doubt_s: how long to ask the database about a commit in doubt before stopping.
    """

    batch_rows_max: int = 1024
    commit_deadline_s: float = 10.0
    in_doubt_s: float = 30.0


class Sequencer:
    """Owns the position and the fenced store; everything else asks it through the lanes."""

    def __init__(  # noqa: PLR0913 - the composition of the ledger
        self,
        *,
        store: Store,
        reopen: Callable[[float], Store],
        position: Position,
        lanes: Lanes,
        watchdog: Watchdog,
        config: SequencerConfig,
        clock: Callable[[], int],
        on_step: Callable[[str], None],
        on_commit: Callable[[tuple[Record, ...]], None],
        on_stop: Callable[[], None],
    ) -> None:
        """Take over a store whose head is the position.

        Args:
            store: the fenced connection.
            reopen: makes a new one, waiting so many seconds for the lock.
            position: what `store.head` says, with streams and sections.
            lanes: where requests come from.
            watchdog: ends overdue commits.
            config: patience.
            clock: microseconds UTC.
            on_step: called at the named steps, for crash tests.
            on_commit: told each batch's records, in order, after its callers.
            on_stop: told once, when the sequencer will not write again.
        """
        self._store = store
        self._reopen = reopen
        self._position = position
        self._lanes = lanes
        self._watchdog = watchdog
        self._config = config
        self._clock = clock
        self._on_step = on_step
        self._on_commit = on_commit
        self._on_stop = on_stop
        self._thread = threading.Thread(target=self._run, name="ledger-sequencer", daemon=True)
        self.stopped: LedgerError | None = None

    @property
    def size(self) -> int:
        """The number of committed records."""
        return self._position.size

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread after the lanes were closed; say whether it ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        taken: Sequence[Request] = ()
        try:
            while taken := self._lanes.drain(self._config.batch_rows_max):
                self._turn([item for item in taken if item.done.set_running_or_notify_cancel()])
        except Exception as error:
            LOG.exception("sequencer_stopped")
            self._stop(taken, error)
        finally:
            self._store.close()

    def _turn(self, requests: Sequence[Request]) -> None:
        """Carry out some requests in one commit."""
        problem: DatabaseError | None = None
        for _ in range(_ATTEMPTS):
            builder = None
            try:
                builder = self._build(requests)
                self._write(builder)
            except DatabaseError as error:
                LOG.warning("commit_in_doubt error=%r", error)
                problem = error
                if not self._committed(builder) or builder is None:
                    continue
            self._position = builder.advance()
            self._release(builder.batch)
            return
        refusal = LedgerWriteError(f"the database refused: {problem}")
        for request in requests:
            request.done.set_exception(refusal)

    def _build(self, requests: Sequence[Request]) -> Builder:
        """Build the batch; streams that exist are asked for the requests' idempotency keys."""
        asked = [
            key for request in requests for key in _keys(request) if key[0] in self._position.heads
        ]
        with self._watchdog.within(self._store.connection, self._config.commit_deadline_s):
            existing = self._store.existing(asked) if asked else {}
        builder = Builder(self._position, existing, self._clock())
        for request in requests:
            builder.add(request)
        builder.finish()
        return builder

    def _write(self, builder: Builder) -> None:
        """Make the batch durable.

        Raises:
            LedgerFencedError: the stored head is not ours.
            DatabaseError: in doubt.
        """
        if not builder.batch.rows:
            return
        self._on_step(BEFORE_COMMIT)
        with self._watchdog.within(self._store.connection, self._config.commit_deadline_s):
            if not self._store.commit(builder.batch.rows, self._head_after(builder)):
                raise LedgerFencedError("the stored head is not this sequencer's")
        self._on_step(AFTER_COMMIT)

    def _release(self, batch: Batch) -> None:
        """Tell the callers, then the subscribers."""
        for request, error in batch.refused:
            request.done.set_exception(error)
        for append, records in batch.appended:
            append.done.set_result(records)
        for resolve, record in batch.resolved:
            resolve.done.set_result(record)
        for mapped in batch.mapped:
            mapped.done.set_result((self._position.size, self._position.frontier.root()))
        if batch.rows:
            self._on_commit(tuple(row.record for row in batch.rows))

    def _head_after(self, builder: Builder) -> Head:
        frontier = builder.frontier
        return Head(
            origin=self._store.head.origin,
            size=frontier.size,
            root=frontier.root(),
            frontier=frontier.to_bytes(),
            fence=self._store.head.fence,
        )

    def _committed(self, builder: Builder | None) -> bool:
        """Find out whether a batch in doubt was committed; None was never sent.

        Raises:
            LedgerTimeoutError: the database did not answer in time.
            LedgerFencedError: somebody else wrote.
        """
        self._store.close()
        deadline = time.monotonic() + self._config.in_doubt_s
        while True:
            try:
                self._store = self._reopen(max(0.0, deadline - time.monotonic()))
                break
            except (DatabaseError, LedgerFencedError) as error:
                if time.monotonic() > deadline:
                    raise LedgerTimeoutError(f"commit in doubt: {error}", written=None) from error
                time.sleep(_RETRY_S)
        found = (self._store.head.size, self._store.head.root)
        if found == (self._position.size, self._position.frontier.root()):
            return False
        if builder is not None and found == (builder.frontier.size, builder.frontier.root()):
            return True
        raise LedgerFencedError(f"head is at {found[0]}, which this sequencer did not write")

    def _stop(self, taken: Sequence[Request], error: Exception) -> None:
        """Stop for good: what was taken is in doubt, what waits was never written."""
        self.stopped = LedgerStoppedError(f"the sequencer stopped: {error}")
        doubt = LedgerTimeoutError(f"the sequencer stopped: {error}", written=None)
        for request in taken:
            _fail(request, doubt)
        for request in self._lanes.close():
            _fail(request, self.stopped)
        self._on_stop()


def _keys(request: Request) -> Sequence[tuple[str, str]]:
    match request:
        case Append():
            return [(item.draft.stream, item.draft.idem_key) for item in request.prepared]
        case Resolve():
            return [(request.stream, request.idem_key)]
        case _:
            return ()


def _fail(request: Request, error: AuditError) -> None:
    """Fail a request that is not done; nobody may be left waiting."""
    if not request.done.done():
        if not request.done.running():
            request.done.set_running_or_notify_cancel()
        if not request.done.cancelled():
            request.done.set_exception(error)
