"""The psycopg door for writing: the fenced connection of the sequencer, and a small pool.

Not here: what is written and in which order (sequencer), and reading for people (queries).

`synchronous_commit` is set per session, never trusted from the server's defaults.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, LifoQueue

import psycopg

from audit.batch import Row
from audit.chain import StreamHead
from audit.errors import LedgerFencedError, LedgerUnsafeError
from audit.kinds import KINDS, Kind
from audit.merkle import EMPTY_ROOT
from audit.record import Record, parse_payload
from audit.tables import (
    RECORD_SQL,
    SCHEMA_REVISION,
    WRITER_ROLE,
    TupleConnection,
    connect,
    record_from_row,
    schema_revision,
)
from audit.watchdog import Watchdog

SEQUENCER_LOCK = 4_369_022
UNNEST_ROWS_MAX = 128
_LOCK_POLL_S = 0.05
_OPEN_S = 5.0
_POOL_MAX = 4

_SETTINGS: Mapping[str, frozenset[str]] = {
    "fsync": frozenset({"on"}),
    "full_page_writes": frozenset({"on"}),
    "synchronous_commit": frozenset({"on", "remote_apply"}),
    "data_sync_retry": frozenset({"off"}),
    "server_encoding": frozenset({"UTF8"}),
}

_COLUMNS: Mapping[str, str] = {
    "seq": "bigint",
    "stream": "text",
    "stream_seq": "bigint",
    "kind": "text",
    "version": "integer",
    "recorded_at_us": "bigint",
    "actor": "text",
    "idem_key": "text",
    "account": "text",
    "prev": "bytea",
    "payload_digest": "bytea",
    "leaf": "bytea",
    "header": "bytea",
    "payload": "bytea",
    "commitments": "bytea",
}
_NAMES = ", ".join(_COLUMNS)
_COPY_TYPES = [
    "int4" if t == "integer" else "int8" if t == "bigint" else t for t in _COLUMNS.values()
]

_HEAD_SQL = (
    "UPDATE ledger.head SET size = %b, root = %b, frontier = %b"
    " WHERE id = 1 AND size = %b AND root = %b AND fence = %b RETURNING 1"
)
_UNNEST_SQL = " ".join(
    (
        "WITH moved AS (",
        _HEAD_SQL,
        ") INSERT INTO ledger.entry (",
        _NAMES,
        ") SELECT rows.* FROM unnest(",
        ", ".join(f"%b::{kind}[]" for kind in _COLUMNS.values()),
        ") AS rows, moved",
    )
)
_COPY_SQL = f"COPY ledger.entry ({_NAMES}) FROM STDIN (FORMAT BINARY)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The log's head as stored."""

    origin: str
    size: int
    root: bytes
    frontier: bytes
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the sequencer keeps in memory, as read at the start."""

    leaves: Sequence[bytes]
    heads: dict[str, StreamHead]
    changed: dict[str, StreamHead]
    sections: dict[str, int]
    firm_seq: int
    recorded_at_us: int
    checkpoint: bytes | None


class Store:
    """The sequencer's own connection; used by one thread at a time."""

    def __init__(self, dsn: str, origin: str, lock_wait_s: float, watchdog: Watchdog) -> None:
        """Connect, refuse an unsafe server, take the session lock and raise the fence.

        A server that accepts the connection and then hangs is given up by the watchdog.

        Raises:
            LedgerUnsafeError: settings, schema or origin are not what they must be.
            LedgerFencedError: another sequencer holds the lock.
            psycopg.Error: the database does not answer.
        """
        self._connection = connect(dsn, role=WRITER_ROLE, name="countersign-sequencer")
        try:
            with watchdog.within(self._connection, lock_wait_s + _OPEN_S):
                self._check(origin)
                self._lock(lock_wait_s)
                self.head = self._fence(origin)
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> TupleConnection:
        """The connection, for a watchdog."""
        return self._connection

    def _check(self, origin: str) -> None:
        for name, allowed in _SETTINGS.items():
            row = self._connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            if row is None or row[0] not in allowed:
                raise LedgerUnsafeError(f"{name} is {row and row[0]}; it must be {min(allowed)}")
        revision = schema_revision(self._connection)
        if revision != SCHEMA_REVISION:
            raise LedgerUnsafeError(f"schema is {revision}, expected {SCHEMA_REVISION}: migrate")
        self._connection.execute(
            "INSERT INTO ledger.head VALUES (1, %s, 0, %s, '', 0) ON CONFLICT DO NOTHING",
            (origin, EMPTY_ROOT),
        )

    def _lock(self, wait_s: float) -> None:
        """Take the session lock; a dying predecessor's back end gets `wait_s` to vanish."""
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

    def _fence(self, origin: str) -> Head:
        """Raise the fence: whatever an older sequencer still tries will not find its head."""
        row = self._connection.execute(
            "UPDATE ledger.head SET fence = fence + 1 WHERE id = 1"
            " RETURNING origin, size, root, frontier, fence"
        ).fetchone()
        if row is None:
            raise LedgerUnsafeError("the ledger has no head")
        head = Head(origin=row[0], size=row[1], root=row[2], frontier=row[3], fence=row[4])
        if head.origin != origin:
            raise LedgerUnsafeError(f"the ledger is {head.origin!r}, not {origin!r}")
        return head

    def load(self) -> Loaded:
        """Read what the sequencer needs: leaves, stream heads, sections, last times."""
        run = self._connection.execute
        leaves = [row[0] for row in run("SELECT leaf FROM ledger.entry ORDER BY seq")]
        heads = self._heads(0)
        mapped = run(
            "SELECT seq, payload FROM ledger.entry WHERE kind = %s ORDER BY seq DESC LIMIT 1",
            (Kind.STREAM_HEADS,),
        ).fetchone()
        since = 0
        if mapped is not None:
            since = int(mapped[0]) - int(str(parse_payload(mapped[1])["part"]))
        moving = [kind.value for kind, spec in KINDS.items() if spec.section and not spec.firm_wide]
        firm = [kind.value for kind, spec in KINDS.items() if spec.firm_wide]
        sections = run(
            "SELECT account, max(seq) FROM ledger.entry"
            " WHERE account IS NOT NULL AND kind = ANY(%s) GROUP BY account",
            (moving,),
        )
        firm_row = run(
            "SELECT coalesce(max(seq), -1) FROM ledger.entry WHERE kind = ANY(%s)", (firm,)
        ).fetchone()
        time_row = run(
            "SELECT recorded_at_us FROM ledger.entry ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        note = run("SELECT note FROM ledger.checkpoint ORDER BY size DESC LIMIT 1").fetchone()
        return Loaded(
            leaves=leaves,
            heads=heads,
            changed=self._heads(since),
            sections={row[0]: row[1] for row in sections},
            firm_seq=-1 if firm_row is None else firm_row[0],
            recorded_at_us=0 if time_row is None else time_row[0],
            checkpoint=None if note is None else note[0],
        )

    def _heads(self, since_seq: int) -> dict[str, StreamHead]:
        rows = self._connection.execute(
            "SELECT DISTINCT ON (stream) stream, stream_seq, leaf FROM ledger.entry"
            " WHERE seq >= %s ORDER BY stream, stream_seq DESC",
            (since_seq,),
        )
        return {row[0]: StreamHead(stream_seq=row[1], leaf=row[2]) for row in rows}

    def existing(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Record]:
        """Return the records that hold these (stream, idempotency key) pairs."""
        rows = self._connection.execute(
            f"SELECT {RECORD_SQL} FROM ledger.entry JOIN unnest(%s::text[], %s::text[])"  # noqa: S608
            " AS asked(stream, idem_key) USING (stream, idem_key)",
            ([key[0] for key in keys], [key[1] for key in keys]),
        )
        records = [record_from_row(row) for row in rows]
        return {(record.stream, record.idem_key): record for record in records}

    def commit(self, rows: Sequence[Row], head: Head) -> bool:
        """Write rows and head in one durable commit; say False if the head was not ours.

        Raises:
            psycopg.Error: refused or in doubt; the caller must look.
        """
        moved = (head.size, head.root, head.frontier, self.head.size, self.head.root, head.fence)
        if len(rows) <= UNNEST_ROWS_MAX:
            cursor = self._connection.execute(
                _UNNEST_SQL, (*moved, *_transpose(rows)), prepare=True
            )
            if cursor.rowcount != len(rows):
                return False
        elif not self._copy(rows, moved):
            return False
        self.head = head
        return True

    def _copy(self, rows: Sequence[Row], moved: Sequence[object]) -> bool:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            if cursor.execute(_HEAD_SQL, moved).rowcount != 1:
                return False
            with cursor.copy(_COPY_SQL) as copy:
                copy.set_types(_COPY_TYPES)
                for row in rows:
                    copy.write_row(_values(row))
        return True

    def close(self) -> None:
        """Drop the connection and with it the lock."""
        with contextlib.suppress(psycopg.Error):
            self._connection.close()


class Pool:
    """A few writer connections for blobs and checkpoints; safe for many threads."""

    def __init__(self, dsn: str, watchdog: Watchdog, role: str = WRITER_ROLE) -> None:
        """Keep where to connect; connections are made when needed."""
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
        try:
            lent = self._idle.get_nowait()
        except Empty:
            lent = connect(self._dsn, role=self._role)
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

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(Empty):
            while True:
                self._idle.get_nowait().close()


def _values(row: Row) -> tuple[object, ...]:
    record = row.record
    return (
        record.seq,
        record.stream,
        record.stream_seq,
        record.kind.value,
        record.version,
        record.recorded_at_us,
        record.actor,
        record.idem_key,
        row.account,
        record.prev,
        record.payload_digest,
        record.leaf,
        record.header,
        record.payload,
        row.commitments,
    )


def _transpose(rows: Sequence[Row]) -> list[list[object]]:
    return [list(column) for column in zip(*map(_values, rows), strict=True)]
