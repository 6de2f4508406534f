"""Making checkpoints, one at a time: map the stream heads, sign the tree, store the note.

Rules:

- A committed map is signed and stored before a newer map is made, even if the answer to its commit
  came too late. So no unknown checkpoint turns up afterwards.
- "The largest checkpoint not above a record" has one answer for ever: a checkpoint in flight is
  waited for, and any later one is above the record.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from audit.errors import LedgerError, LedgerTimeoutError, LedgerWriteError
from audit.sequencer.lanes import MapHeads
from audit.signers.file import Signer
from audit.store.connection import Pool
from audit.store.tables import DatabaseError
from audit.tlog.checkpoint import Checkpoint, make_checkpoint, parse_checkpoint

LOG = logging.getLogger(__name__)
_COMPANY_S = 0.005
"""How long a stream-head map waits for an append to share its commit; see `MapHeads`."""
_REMEMBERED = 64

Put = Callable[[MapHeads, float], None]
"""Queues a map for the sequencer; the deadline is on the monotonic clock."""


class Checkpoints:
    """The checkpoints of one open ledger; safe from any thread."""

    def __init__(
        self,
        *,
        last: Checkpoint | None,
        signers: Sequence[Signer],
        pool: Pool,
        size: Callable[[], int],
        put: Put,
        tell: Callable[[Checkpoint], None],
    ) -> None:
        """Begin after the newest stored checkpoint.

        `size` returns the number of committed records. `tell` is called with each new checkpoint
        once it is stored, in order; its errors are logged.
        """
        self._known = deque([] if last is None else [last], _REMEMBERED)
        self._signers = signers
        self._pool = pool
        self._size = size
        self._put = put
        self._tell = tell
        self._lock = threading.Lock()
        self._asked: MapHeads | None = None
        self._signed: Checkpoint | None = None

    @property
    def last(self) -> Checkpoint | None:
        """The newest signed and stored checkpoint."""
        return self._known[-1] if self._known else None

    def now(self, timeout_s: float) -> Checkpoint | None:
        """Return a checkpoint of the whole log, None if it is empty; raise as `Ledger.append`."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            self._finish(deadline)
            if self._size() != (self.last.size if self.last else 0):
                request = MapHeads(alone_from=time.monotonic() + _COMPANY_S)
                self._put(request, deadline)
                self._asked = request
                self._finish(deadline)
            return self.last

    def not_above(self, seq: int, timeout_s: float) -> Checkpoint | None:
        """Return the largest checkpoint whose tree ends before a committed record.

        Raises:
            LedgerError: a checkpoint in flight cannot be finished, or the database does not answer.
        """
        deadline = time.monotonic() + timeout_s
        if not self._lock.acquire(timeout=timeout_s):
            raise LedgerTimeoutError("a checkpoint is being made", written=False)
        try:
            self._finish(deadline)
            known = tuple(self._known)
        finally:
            self._lock.release()
        found = next((one for one in reversed(known) if one.size <= seq), None)
        return found or self._stored(seq, deadline)

    def _finish(self, deadline: float) -> None:
        """Finish what was begun: a map that may be on record, a note that is not stored yet."""
        if self._asked is not None:
            try:
                size, root = self._asked.done.result(deadline - time.monotonic())
            except LedgerTimeoutError as error:
                if error.written is False:
                    self._asked = None
                raise  # else it may be on record: the next call waits for it again
            except LedgerError:
                self._asked = None
                raise
            self._signed, self._asked = make_checkpoint(size, root, *self._signers), None
            # a crash here leaves a map without a signed note; the next checkpoint covers it
        if self._signed is not None:
            self._store(self._signed, deadline)
            # a crash here leaves a stored note that was not passed on; the next start loads it
            self._known.append(self._signed)
            stored, self._signed = self._signed, None
            try:
                self._tell(stored)
            except Exception:
                LOG.exception("checkpoint_not_passed_on size=%d", stored.size)

    def _store(self, checkpoint: Checkpoint, deadline: float) -> None:
        """Store a note; an earlier attempt in doubt may have stored the same bytes."""
        try:
            with self._pool.connection(max(0.1, deadline - time.monotonic())) as connection:
                connection.execute(
                    "INSERT INTO ledger.checkpoint (size, note) VALUES (%b, %b)"
                    " ON CONFLICT DO NOTHING",
                    (checkpoint.size, checkpoint.note),
                )
        except DatabaseError as error:
            raise LedgerWriteError(f"checkpoint not stored: {error}") from error

    def _stored(self, seq: int, deadline: float) -> Checkpoint | None:
        try:
            with self._pool.connection(max(0.1, deadline - time.monotonic())) as connection:
                row = connection.execute(
                    "SELECT note FROM ledger.checkpoint WHERE size <= %s"
                    " ORDER BY size DESC LIMIT 1",
                    (seq,),
                ).fetchone()
        except DatabaseError as error:
            raise LedgerWriteError(f"checkpoints cannot be read: {error}") from error
        return None if row is None else parse_checkpoint(bytes(row[0]))
