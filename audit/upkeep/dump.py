"""A database or a dump, streamed through the one-file verifier; and the dump itself.

Memory grows with streams, blobs, checkpoints and a digest of each record's key. The database is
read in one snapshot, so a running gateway does not disturb the result.
"""

import base64
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from audit.errors import LedgerWriteError
from audit.files import appearing
from audit.store.catalog import headless, strange_tables
from audit.store.tables import READER_ROLE, RECORD_COLUMNS, TupleConnection, connect
from audit.tlog.merkle import HASH_BYTES
from audit.upkeep.fsck.chunk import missing_values
from audit.upkeep.fsck.counts import miscounted
from audit.verifier.verify import INT_MAX, TAMPERED, LogVerifier, Outside, Report
from audit.verifier.verify import verify_dump as verify_lines

_BATCH_ROWS = 500
_HEAD = ("id", "origin", "size", "root", "frontier")
_TABLES: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("checkpoint", "checkpoint", ("size", "note"), "size"),
    ("blob", "blob", ("digest", "data"), "digest"),
    ("entry", "entry", (*RECORD_COLUMNS, "account", "commitments"), "seq"),
)
_NO_NOTE = b"\0"
_LINES = sql.SQL(
    ", ARRAY(SELECT CASE WHEN num_nulls(name, key_id) = 0 THEN line END"
    " FROM ledger.cosignature AS c WHERE c.size = t.size"
    " ORDER BY name, key_id) AS lines"
)


def verify_database(
    dsn: str,
    vkeys: Sequence[str],
    notes: Sequence[bytes] = (),
    now_us: int | None = None,
    outside: Outside | None = None,
    on_record: Callable[[int, int], None] | None = None,
) -> Report:
    """Return the verifier's report on every row of a ledger's database.

    The user in `dsn` must be able to `SET ROLE countersign_reader`. The tree must contain the
    checkpoints in `notes`. `now_us` is the time if a gateway may be writing (see
    `LogVerifier.finish`); None requires that all records are signed. `on_record` gets the records
    done and the records that the head states.

    Raises:
        LedgerWriteError: the database cannot be read.
    """
    log = LogVerifier(vkeys, notes, outside)
    stated = 0
    try:
        with _snapshot(dsn) as connection:
            strange = strange_tables(connection)
            for text in strange:
                log.report.find(TAMPERED, text)
            if not strange and (wrong := headless(connection)):
                log.report.find(TAMPERED, wrong)
            for kind, row in () if strange else _rows(connection):
                _take(log, kind, row)
                if kind == "head":
                    stated = row["size"]
                elif kind == "entry" and on_record is not None:
                    on_record(log.size, stated)
            for text in () if strange else miscounted(connection, keys=True):
                log.report.find(TAMPERED, text)
        return log.report if strange else log.finish(now_us=now_us)
    except psycopg.Error as error:
        raise LedgerWriteError(f"cannot read the ledger: {error}") from error
    except LedgerWriteError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the tables break is a finding
        log.report.caught(error)
        return log.report


def _take(log: LogVerifier, kind: str, row: dict[str, Any]) -> None:
    """Give a row to the verifier; a missing value is a finding."""
    match kind:
        case "head":
            log.head(row)
        case "checkpoint" if row["size"] > INT_MAX:
            log.report.find(TAMPERED, f"checkpoint of {row['size']}: no log has so many records")
        case "checkpoint":
            log.checkpoint(row["size"], row["note"])
        case "blob" if row["data"] is None:
            log.report.find(TAMPERED, f"blob {row['digest'].hex()} has no content")
        case "blob":
            log.blob(row["digest"], row["data"])
        case _ if missing := missing_values(row):
            log.report.find(TAMPERED, missing, row["seq"])
        case _:
            log.entry(row)


def verify_dump(
    path: Path,
    vkeys: Sequence[str],
    notes: Sequence[bytes] = (),
    outside: Outside | None = None,
) -> Report:
    """Return the verifier's report on a dump file."""
    with path.open("rb") as lines:
        return verify_lines(lines, vkeys, notes, outside)


def dump(dsn: str, path: Path, on_record: Callable[[int, int], None] = lambda *_: None) -> int:
    """Write a dump that `verify.py` reads; return how many records it has.

    The file appears complete and durable, or not at all. `dsn` and `on_record` are those of
    `verify_database`.

    Raises:
        LedgerWriteError: the database cannot be read.
        FileError: the path exists and is not a file.
    """
    entries = stated = 0
    try:
        with appearing(path) as file, _snapshot(dsn) as connection:
            for kind, row in _rows(connection):
                entries += kind == "entry"
                if kind == "entry" and _says(row["header"], row["commitments"]):
                    del row["commitments"]  # the header lists them; any others spoil the dump
                if kind == "head" and row["id"] == 1:
                    del row["id"]  # any other id spoils the dump
                if kind == "head":
                    stated = row["size"] or 0
                elif kind == "entry":
                    on_record(entries, stated)
                file.write(_line({"type": kind, **row}))
            file.write(_line({"type": "end", "entries": entries}))
    except psycopg.Error as error:
        raise LedgerWriteError(f"cannot read the ledger: {error}") from error
    return entries


@contextlib.contextmanager
def _snapshot(dsn: str) -> Iterator[TupleConnection]:
    with connect(dsn, role=READER_ROLE, name="countersign-fsck") as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection


def _rows(connection: TupleConnection) -> Iterator[tuple[str, dict[str, Any]]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        query = sql.SQL("SELECT {} FROM ledger.head").format(_columns(_HEAD))
        for row in cursor.execute(query):
            yield "head", row
    for kind, table, columns, order in _TABLES:
        query = sql.SQL("SELECT {}{} FROM ledger.{} AS t ORDER BY {}").format(
            _columns(columns),
            _LINES if kind == "checkpoint" else sql.SQL(""),
            sql.Identifier(table),
            sql.Identifier(order),
        )
        with connection.cursor(name=f"fsck_{table}", row_factory=dict_row) as cursor:
            cursor.itersize = _BATCH_ROWS
            for row in cursor.execute(query):
                yield kind, row if kind != "checkpoint" else _cosigned(row)


def _cosigned(row: dict[str, Any]) -> dict[str, Any]:
    """Return a checkpoint's row with the witnesses' lines in its note; NULL gives no valid note."""
    note = _NO_NOTE if row["note"] is None else row["note"]
    lines = ((line or b"").rstrip(b"\n") + b"\n" for line in row["lines"])
    return {"size": row["size"], "note": note + b"".join(lines)}


def _says(header: bytes | None, commitments: bytes | None) -> bool:
    """Return whether a header lists exactly these commitments.

    A text in a header has its quotes escaped, so it cannot contain the searched bytes.
    """
    if header is None or commitments is None:
        return False
    hashes = (commitments[at : at + HASH_BYTES] for at in range(0, len(commitments), HASH_BYTES))
    listed = ",".join(f'"{one.hex()}"' for one in hashes)
    return f'"commitments":[{listed}],'.encode() in header


def _columns(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _line(row: dict[str, Any]) -> bytes:
    plain = {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in row.items()
    }
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
