"""The psycopg door for writing: the fenced connection of the sequencer, and a small pool.

Not here: what is written and in which order (`sequencer`), and reading for people (`reader`).
"""

import contextlib
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, LifoQueue

import psycopg

from audit.errors import LedgerFencedError, LedgerUnsafeError
from audit.records.record import Record
from audit.records.row import Row
from audit.store.catalog import changed_schema
from audit.store.pipe import CommitOutcome, Pipe
from audit.store.tables import (
    RECORD_SQL,
    SCHEMA_REVISION,
    WRITER_ROLE,
    TupleConnection,
    connect,
    record_from_row,
    schema_revision,
)
from audit.store.watchdog import Watchdog
from audit.tlog.merkle import EMPTY_ROOT

SEQUENCER_LOCK = 4_369_022
_LOCK_POLL_S = 0.05
_OPEN_S = 5.0
_POOL_MAX = 4

_SETTINGS: Mapping[str, frozenset[str]] = {
    "fsync": frozenset({"on"}),
    "full_page_writes": frozenset({"on"}),
    "synchronous_commit": frozenset({"on", "remote_apply"}),
    "data_sync_retry": frozenset({"off"}),
    "data_checksums": frozenset({"on"}),
    "server_encoding": frozenset({"UTF8"}),
    "session_replication_role": frozenset({"origin"}),
    "ignore_checksum_failure": frozenset({"off"}),
    "zero_damaged_pages": frozenset({"off"}),
}


_HOW: Mapping[str, str] = {
    "data_checksums": "stop the server and run `pg_checksums --enable`",
    "server_encoding": "create the database with ENCODING 'UTF8'",
}
_SHOWN_MAX = 3
_PUT_BACK = (
    "somebody changed the ledger's tables; `pg_dump --schema-only --schema=ledger` of this database"
    " and of a new one shows what. Find out who and why, put them back as the migrations make them,"
    " or restore a backup into a new database; then check it with `countersign fsck`"
)


HEAD_SQL = "origin, size, root, frontier, fence"


@dataclass(frozen=True, slots=True)
class LogHead:
    """The log's head as stored: a row of `HEAD_SQL`."""

    origin: str
    size: int
    root: bytes
    frontier: bytes
    fence: int


def refuse_unsafe(connection: TupleConnection) -> None:
    """Refuse a server that may lose records, and a schema that is not this program's.

    Raises:
        LedgerUnsafeError: it is so.
        psycopg.Error: the database does not answer.
    """
    for name, allowed in _SETTINGS.items():
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        if row is None or row[0] not in allowed:
            how = _HOW.get(name, "set it in the server's configuration")
            found = None if row is None else row[0]
            raise LedgerUnsafeError(f"{name} is {found}; it must be {min(allowed)}: {how}")
    revision = schema_revision(connection)
    if revision != SCHEMA_REVISION:
        raise LedgerUnsafeError(f"schema is {revision}, expected {SCHEMA_REVISION}: migrate")
    if strange := changed_schema(connection):
        raise LedgerUnsafeError(f"{'; '.join(strange[:_SHOWN_MAX])}: {_PUT_BACK}")


class Store:
    """The sequencer's own connection; used by one thread at a time."""

    def __init__(self, dsn: str, origin: str, lock_wait_s: float, watchdog: Watchdog) -> None:
        """Connect, refuse an unsafe server, take the session lock and raise the fence.

        The watchdog ends the attempt if the server accepts the connection and then hangs.

        Raises:
            LedgerUnsafeError: settings, schema or origin are wrong.
            LedgerFencedError: another sequencer holds the lock.
            psycopg.Error: the database does not answer.
        """
        self._connection = connect(dsn, role=WRITER_ROLE, name="countersign-sequencer")
        try:
            with watchdog.within(self._connection, lock_wait_s + _OPEN_S):
                self._check(origin)
                self._lock(lock_wait_s)
                self.head = self._sent = self._fence(origin)
                self._pipe = Pipe(self._connection)
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> TupleConnection:
        """The connection, for a watchdog."""
        return self._connection

    def _check(self, origin: str) -> None:
        refuse_unsafe(self._connection)
        self._connection.execute(
            "INSERT INTO ledger.head VALUES (1, %s, 0, %s, '', 0) ON CONFLICT DO NOTHING",
            (origin, EMPTY_ROOT),
        )

    def _lock(self, wait_s: float) -> None:
        """Take the session lock, waiting `wait_s` for a dying predecessor's back end to end."""
        deadline = time.monotonic() + wait_s
        while True:
            row = self._connection.execute(
                "SELECT pg_try_advisory_lock(%s)", (SEQUENCER_LOCK,)
            ).fetchone()
            if row is not None and row[0]:
                return
            if time.monotonic() > deadline:
                raise LedgerFencedError("another sequencer holds this ledger")
            time.sleep(_LOCK_POLL_S)

    def _fence(self, origin: str) -> LogHead:
        """Raise the fence, so that an older sequencer's late commit does not find its head."""
        row = self._connection.execute(
            f"UPDATE ledger.head SET fence = fence + 1 WHERE id = 1 RETURNING {HEAD_SQL}"  # noqa: S608 - constants
        ).fetchone()
        if row is None:
            raise LedgerUnsafeError("the ledger has no head")
        head = LogHead(*row)
        if head.origin != origin:
            raise LedgerUnsafeError(f"the ledger is {head.origin!r}, not {origin!r}")
        return head

    def existing(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Record]:
        """Return the records that hold these (stream, idempotency key) pairs.

        A row outside the log holds its key, too, but is left out: an append under that key is
        refused, not answered with the row.
        """
        rows = self._connection.execute(
            f"SELECT {RECORD_SQL} FROM ledger.entry JOIN unnest(%s::text[], %s::text[])"  # noqa: S608
            " AS asked(stream, idem_key) USING (stream, idem_key)",
            ([key[0] for key in keys], [key[1] for key in keys]),
        )
        log = range(self.head.size)
        records = [record_from_row(row) for row in rows if row[0] in log]
        return {(record.stream, record.idem_key): record for record in records}

    def send(self, rows: Sequence[Row], head: LogHead, deadline_s: float) -> None:
        """Send rows and head as one durable commit; `answer` returns its outcome.

        Raises:
            psycopg.Error: in doubt; the caller must look.
        """
        old = self.head
        moved = (head.size, head.root, head.frontier, old.size, old.root, head.fence)
        self._sent = head
        self._pipe.send(rows, moved, deadline_s)

    def answer(self, timeout_s: float) -> CommitOutcome | None:
        """Wait for the outcome of the commit that was sent; None if it is not known yet.

        Raises:
            psycopg.Error: refused, overdue or in doubt; the caller must look.
        """
        outcome = self._pipe.answer(timeout_s)
        if outcome is CommitOutcome.COMMITTED:
            self.head = self._sent
        return outcome

    def commit(self, rows: Sequence[Row], head: LogHead, deadline_s: float = 60.0) -> bool:
        """Commit; return False if the head was not ours or a key is taken. Raises as `answer`."""
        self.send(rows, head, deadline_s)
        return self.answer(deadline_s) is CommitOutcome.COMMITTED

    def close(self) -> None:
        """Drop the connection and with it the lock."""
        with contextlib.suppress(psycopg.Error):
            self._connection.close()


class Pool:
    """A few writer connections for blobs and checkpoints; safe for many threads."""

    def __init__(self, dsn: str, watchdog: Watchdog, role: str = WRITER_ROLE) -> None:
        self._dsn = dsn
        self._role = role
        self._watchdog = watchdog
        self._idle: LifoQueue[TupleConnection] = LifoQueue(_POOL_MAX)

    @contextlib.contextmanager
    def connection(self, timeout_s: float) -> Iterator[TupleConnection]:
        """Lend a connection for at most `timeout_s`; a broken one is not lent again.

        Raises:
            psycopg.Error: the database does not answer or refuses.
        """
        lent = self._alive() or connect(self._dsn, role=self._role)
        try:
            with self._watchdog.within(lent, timeout_s):
                yield lent
        except BaseException:
            lent.close()
            raise
        if lent.closed or self._idle.full():
            lent.close()
        else:
            self._idle.put(lent)

    def _alive(self) -> TupleConnection | None:
        """Take an idle connection that the server has not closed; None if there is none.

        A server sends to an idle connection only to end it, so any byte means that it ended.
        """
        with contextlib.suppress(Empty):
            while True:
                idle = self._idle.get_nowait()
                poll = select.poll()
                poll.register(idle.fileno(), select.POLLIN)
                if not poll.poll(0):
                    return idle
                idle.close()
        return None

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(Empty):
            while True:
                self._idle.get_nowait().close()
