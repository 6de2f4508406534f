"""One commit on the wire, sent without waiting: the next batch is built meanwhile.

Below the driver's cursors on purpose: they wait, and adapt every value anew. A commit is one
prepared statement (for one row, or for up to `UNNEST_ROWS_MAX`), or one query string of an UPDATE
and a COPY, which the server runs as a single transaction. Each moves the head by compare-and-swap
and inserts the rows, or does neither. An overdue answer is an error, and the commit is in doubt.

Source: PostgreSQL 18 documentation, 32.4 "Asynchronous Command Processing" and 54.2.2.1
"Multiple Statements in a Simple Query".
"""

import select
import time
from collections.abc import Sequence
from enum import StrEnum
from struct import Struct

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus, Format
from psycopg.pq.abc import PGresult

from audit.records.row import Row
from audit.store.tables import TupleConnection
from audit.store.wire import (
    ARRAY_OIDS,
    COLUMNS,
    OIDS,
    array_parameters,
    copy_stream,
    disclosure_parameters,
    row_parameters,
)

UNNEST_ROWS_MAX = 128
_NAME = b"countersign_append"
_ONCE = b"entry_once"
_UNIQUE_VIOLATION = "23505"
_NAMES = ", ".join(COLUMNS)
_APPEND_SQL = " ".join(
    (
        "WITH moved AS (UPDATE ledger.head SET size = $1, root = $2, frontier = $3",
        "WHERE id = 1 AND size = $4 AND root = $5 AND fence = $6 RETURNING 1)",
        "INSERT INTO ledger.entry (",
        _NAMES,
        ") SELECT rows.* FROM unnest(",
        ", ".join(f"${place}" for place in range(7, 7 + len(COLUMNS))),
        ") AS rows, moved",
    )
)
_ONE_NAME = b"countersign_append_one"
_ONE_SQL = " ".join(
    (
        _APPEND_SQL.partition(" SELECT ")[0],
        "SELECT",
        ", ".join(f"${place}" for place in range(7, 7 + len(COLUMNS))),
        "FROM moved",
    )
)
"""The same for one row, the most frequent batch; without arrays both sides do less."""
_ONE_OIDS = (20, 17, 17, 20, 17, 20, *(OIDS[kind] for kind in COLUMNS.values()))
_APPEND_OIDS = (20, 17, 17, 20, 17, 20, *(ARRAY_OIDS[kind] for kind in COLUMNS.values()))
_SEALED_SQL = _APPEND_SQL.replace(
    ") INSERT INTO ledger.entry",
    "), kept AS (INSERT INTO ledger.disclosure (seq, position, subject, sealed)"
    " SELECT sealed.* FROM unnest($23, $24, $25, $26) AS sealed, moved) INSERT INTO ledger.entry",
)
"""The same commit for a batch with encrypted personal values; rare, so never prepared."""
_SEALED_OIDS = (*_APPEND_OIDS, *(ARRAY_OIDS[k] for k in ("bigint", "integer", "text", "bytea")))
_COPY_SQL = " ".join(
    (
        "UPDATE ledger.head SET size = {0}, root = decode('{1}', 'hex'),",
        "frontier = decode('{2}', 'hex')",
        "WHERE id = 1 AND size = {3} AND root = decode('{4}', 'hex') AND fence = {5};",
        f"COPY ledger.entry ({_NAMES}) FROM STDIN (FORMAT BINARY)",
    )
)
"""Filled with numbers and hexadecimal digits only, never with a caller's text."""
_INT8 = Struct(">q").pack
_BINARY_ROW = [Format.BINARY] * len(_ONE_OIDS)


class CommitOutcome(StrEnum):
    """The server's answer to a commit."""

    COMMITTED = "committed"
    NOT_OURS = "not ours"
    """The batch was built on another head than the stored one; nothing is written."""
    KEY_TAKEN = "key taken"
    """A key is on record already; nothing is written."""


Moved = tuple[int, bytes, bytes, int, bytes, int]
"""New size, root and frontier, old size and root, and the fence."""


class Pipe:
    """Sends commits over a connection, one at a time; for one thread."""

    def __init__(self, connection: TupleConnection) -> None:
        """Prepare the statement; raises psycopg's errors."""
        connection.execute("SET plan_cache_mode = force_generic_plan")
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._poll = select.poll()
        self._rows = 0
        self._written: int | None = None
        self._deadline = 0.0
        self._error: psycopg.Error | None = None
        self._refused: CommitOutcome | None = None
        for name, sql, oids in (
            (_NAME, _APPEND_SQL, _APPEND_OIDS),
            (_ONE_NAME, _ONE_SQL, _ONE_OIDS),
        ):
            prepared = self._pg.prepare(name, sql.encode(), oids)
            if prepared.status != ExecStatus.COMMAND_OK:
                raise _error_of(prepared)

    def send(self, rows: Sequence[Row], moved: Moved, deadline_s: float) -> None:
        """Send a batch; `answer` returns its outcome. An error leaves it in doubt."""
        self._rows, self._written = len(rows), None
        self._error = self._refused = None
        self._deadline = time.monotonic() + deadline_s
        sealed = any(row.disclosures for row in rows)
        if len(rows) > UNNEST_ROWS_MAX and not sealed:
            self._send_copy(rows, moved)
            return
        size, root, frontier, old_size, old_root, fence = moved
        values: list[bytes | None] = [_INT8(size), root, frontier]
        values += [_INT8(old_size), old_root, _INT8(fence)]
        if len(rows) == 1 and not sealed:
            values += row_parameters(rows[0])
            self._pg.send_query_prepared(_ONE_NAME, values, _BINARY_ROW)
            self._pg.flush()
            return
        values += array_parameters(rows)
        if sealed:
            values += disclosure_parameters(rows)
            forms = [Format.BINARY] * len(values)
            self._pg.send_query_params(_SEALED_SQL.encode(), values, _SEALED_OIDS, forms)
            self._pg.flush()
            return
        self._pg.send_query_prepared(_NAME, values, [Format.BINARY] * len(values))
        self._pg.flush()

    def answer(self, timeout_s: float) -> CommitOutcome | None:
        """Wait for the outcome; None if it is not known yet.

        Raises:
            psycopg.Error: refused, overdue or in doubt.
        """
        until = min(time.monotonic() + timeout_s, self._deadline)
        while self._ready(until):
            result = self._pg.get_result()
            if result is None:
                return self._conclude()
            self._read(result)
        return None

    def _send_copy(self, rows: Sequence[Row], moved: Moved) -> None:
        size, root, frontier, old_size, old_root, fence = moved
        hexed = (root.hex(), frontier.hex(), old_root.hex())
        query = _COPY_SQL.format(size, hexed[0], hexed[1], old_size, hexed[2], fence)
        self._pg.send_query(query.encode())
        stream = copy_stream(rows)  # while the server moves the head
        ours = False
        while self._ready(self._deadline):
            result = self._pg.get_result()
            if result is None:
                return
            if result.status == ExecStatus.COPY_IN:
                if ours:
                    self._pg.put_copy_data(stream)
                self._pg.put_copy_end(None if ours else b"the head is not ours")
                self._pg.flush()
                return
            self._read(result)
            ours = self._error is None and self._written == 1
            self._refused = None if ours else CommitOutcome.NOT_OURS
        raise psycopg.OperationalError("the database does not take the batch")

    def _ready(self, until: float) -> bool:
        """Move bytes until the next result can be read; return False if that takes past `until`."""
        unsent = self._pg.flush()
        while self._pg.is_busy():
            now = time.monotonic()
            if now >= until:
                if now >= self._deadline:
                    raise psycopg.OperationalError("no answer before the deadline")
                return False
            events = select.POLLIN | (select.POLLOUT if unsent else 0)
            self._poll.register(self._pg.socket, events)
            if any(happened & ~select.POLLOUT for _, happened in self._poll.poll(_ms(until - now))):
                self._pg.consume_input()
            unsent = self._pg.flush() if unsent else 0
        return True

    def _read(self, result: PGresult) -> None:
        """Note one result; the last row count is the batch's."""
        if result.status == ExecStatus.COMMAND_OK:
            self._written = result.command_tuples
        elif self._error is None:
            self._error = _error_of(result)
            constraint = result.error_field(DiagnosticField.CONSTRAINT_NAME)
            if self._error.sqlstate == _UNIQUE_VIOLATION and constraint == _ONCE:
                self._refused = CommitOutcome.KEY_TAKEN

    def _conclude(self) -> CommitOutcome:
        if self._refused is not None:
            return self._refused
        if self._error is not None:
            raise self._error
        if self._written is None:
            raise psycopg.OperationalError("the database gave no result")
        all_written = self._written == self._rows
        return CommitOutcome.COMMITTED if all_written else CommitOutcome.NOT_OURS


def _error_of(result: PGresult) -> psycopg.Error:
    text = result.error_message.decode("utf-8", "replace").strip()
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode("ascii", "replace")
    try:
        return psycopg.errors.lookup(state)(text)
    except KeyError:
        return psycopg.OperationalError(text or f"{ExecStatus(result.status).name} {state}")


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
