"""A backup: the whole ledger as one compressed file that shows whether it is complete.

It has the tables as stored, from one snapshot, in the lines of `form`; a running gateway goes on.
It ends at the snapshot's newest checkpoint, since a restore accepts nothing unsigned. `restore`
asks the verifier, with keys from outside, whether the content is a sound log.

Not in it: tiles, which are built from the leaves; and subject keys, since a backup must not bring
back erased values. Disclosures are in it as stored: encrypted.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from audit.errors import BackupError, LedgerWriteError, RowRefusedError
from audit.files import PRIVATE, appearing
from audit.records.kinds import Kind
from audit.records.row_key import RowKey
from audit.store.row_judge import RowJudge
from audit.store.tables import READER_ROLE, connect
from audit.tlog.merkle import Frontier
from audit.upkeep.backup.form import ABOUT, DONE, FORMAT, HEAD, KEYS, STAGES, TABLES, About, encoded

Progress = Callable[[str, int, int], None]
_UP_TO = {"entry": "seq < {}", "disclosure": "seq < {}"}
"""Checkpoints have no limit: one beyond the head tells a restore that the end was lost."""
_BATCH_ROWS = 500
_LEAVES = 10_000
_LEVEL = 3
_SHOWN_EVERY = 1000


def backup(
    dsn: str,
    path: Path,
    taken_at_us: int,
    progress: Progress,
    *,
    row_key: RowKey | None = None,
) -> About:
    """Write a backup: complete and durable, or not at all; an older one is replaced in one step.

    The user in `dsn` must be able to `SET ROLE countersign_reader`. `taken_at_us` is for people
    only. Every row is checked with `row_key` first, since the file has no MACs and after a restore
    all its rows count unless disavowed; None writes every row unchecked. `progress` gets the
    stage, the position and the total.

    Raises:
        LedgerWriteError: the database cannot be read.
        LedgerUnsafeError: the rows from before there was a key are not those accepted.
        BackupError: there is no ledger, an erasure in it is not signed yet, the gateway did not
            write a row, or the file cannot be written.
        FileError: the path exists and is not a file.
    """
    try:
        with connect(dsn, role=READER_ROLE, name="countersign-backup") as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            head = _signed_head(connection)
            about = About(origin=head["origin"], size=head["size"], taken_at_us=taken_at_us)
            _refuse_half_erased(connection, about.size)
            if row_key is not None:
                _refuse_strangers(connection, about.size, row_key, progress)
            with (
                appearing(path, PRIVATE) as file,
                gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed,
            ):
                _write(connection, packed, about, head, progress)
    except psycopg.Error as error:
        raise LedgerWriteError(f"cannot read the ledger: {error}") from error
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror or error}") from error
    return about


def _refuse_half_erased(connection: "psycopg.Connection[Any]", size: int) -> None:
    """Refuse if an erasure is not signed yet: its values may be gone, its record left out."""
    query = "SELECT min(seq) FROM ledger.entry WHERE kind = %s AND seq >= %s"
    row = connection.execute(query, (Kind.SUBJECT_ERASED, size)).fetchone()
    if row is not None and row[0] is not None:
        raise BackupError(
            f"record {row[0]}, an erasure, is signed by nobody yet: without it the backup could not"
            " show why values are missing; try again in a second (a stopped gateway signs at its"
            " start)"
        )


def _refuse_strangers(
    connection: "psycopg.Connection[Any]", size: int, row_key: RowKey, progress: Progress
) -> None:
    """Refuse a row that the gateway did not write, unless the backup has a disavowal of it."""

    def rows(query: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        return connection.execute(query.encode(), values).fetchall()

    judge = RowJudge(row_key, rows, below=size)
    with connection.cursor(name="backup_judged") as cursor:
        cursor.itersize = _LEAVES
        query = "SELECT seq, stream, leaf, mac FROM ledger.entry WHERE seq < %s ORDER BY seq"
        for seq, stream, leaf, mac in cursor.execute(query, (size,)):
            try:
                judge.stands(seq, stream, bytes(leaf), mac)
            except RowRefusedError as refused:
                raise BackupError(
                    f"no backup is written: a restore would accept a row that the gateway did not"
                    f" write: {refused}. If it is disavowed already, the disavowal is not signed"
                    " yet: try again in a second (a stopped gateway signs at its start)"
                ) from refused
            if seq % _SHOWN_EVERY == 0:
                progress("rows checked with the key", seq, size)


def _signed_head(connection: "psycopg.Connection[Any]") -> dict[str, Any]:
    """Return the head at the newest checkpoint; the stored head may be some records further."""
    row = connection.execute("SELECT origin, size, root, frontier FROM ledger.head").fetchone()
    if row is None:
        raise BackupError("there is no ledger to back up")
    head = dict(zip(TABLES[HEAD], row, strict=True))
    newest = connection.execute("SELECT coalesce(max(size), 0) FROM ledger.checkpoint").fetchone()
    if newest is None or newest[0] >= head["size"]:
        return head
    frontier = Frontier()
    with connection.cursor(name="backup_leaves") as cursor:
        cursor.itersize = _LEAVES
        query = "SELECT leaf FROM ledger.entry WHERE seq < %s ORDER BY seq"
        for (leaf,) in cursor.execute(query, newest):
            frontier = frontier.append(bytes(leaf))
    return {
        "origin": head["origin"],
        "size": newest[0],
        "root": frontier.root(),
        "frontier": frontier.to_bytes(),
    }


def _write(
    connection: "psycopg.Connection[Any]",
    file: gzip.GzipFile,
    about: About,
    head: dict[str, Any],
    progress: Progress,
) -> None:
    digest, lines = hashlib.sha256(), 0
    for kind, row in _rows(connection, about, head):
        line = encoded({"type": kind, **row})
        digest.update(line)
        file.write(line)
        lines += 1
        if kind == "entry" and row["seq"] % _SHOWN_EVERY == 0:
            progress("records", row["seq"], about.size)
    file.write(encoded({"type": DONE, "lines": lines, "sha256": digest.hexdigest()}))


def _rows(
    connection: "psycopg.Connection[Any]", about: About, head: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield ABOUT, {"format": FORMAT, **{n: getattr(about, n) for n in About.__slots__}}
    yield HEAD, head
    for table in STAGES[1:]:
        query = sql.SQL("SELECT {} FROM ledger.{} WHERE {} ORDER BY {}").format(
            sql.SQL(", ").join(map(sql.Identifier, TABLES[table])),
            sql.Identifier(table),
            sql.SQL(_UP_TO.get(table, "true")).format(sql.Literal(about.size)),
            sql.SQL(", ").join(map(sql.Identifier, KEYS[table])),
        )
        with connection.cursor(name=f"backup_{table}", row_factory=dict_row) as cursor:
            cursor.itersize = 1 if table == "blob" else _BATCH_ROWS
            for row in cursor.execute(query):
                yield table, row
