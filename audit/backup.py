"""A backup: the whole ledger as one compressed file that says itself whether it is whole.

The file is gzip over JSON lines: what it is of; head, checkpoints, blobs, entries and disclosures
as they are stored, from one snapshot (a running gateway goes on); and last the number of lines and
the SHA-256 of all before. It ends at the snapshot's newest checkpoint: what nobody signed yet is
left to the next backup, for a restore believes nothing unsigned. Whether the content is a sound
log is not the file's to say: `restore` asks the verifier, with keys from outside.

Not in it: tiles, which are made from the leaves again; and subject keys, on purpose, for a backup
must not bring back what was erased. Disclosures are in it as they are stored: encrypted.
"""

import base64
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from audit.errors import BackupError, LedgerWriteError
from audit.merkle import Frontier
from audit.tables import READER_ROLE, connect

FORMAT = "countersign-backup/1"
ABOUT, DONE = "backup", "done"
Progress = Callable[[str, int, int], None]
LINE_MAX = 96 << 20
"""A blob of 64 MiB in base64, and what stands around it."""
TABLES: dict[str, tuple[str, ...]] = {
    "head": ("origin", "size", "root", "frontier"),
    "checkpoint": ("size", "note"),
    "cosignature": ("size", "name", "key_id", "line", "received_at_us"),
    "blob": ("digest", "data"),
    "entry": (
        *("seq", "stream", "stream_seq", "kind", "version", "recorded_at_us", "actor", "idem_key"),
        *("account", "prev", "payload_digest", "leaf", "header", "payload", "commitments"),
    ),
    "disclosure": ("seq", "position", "subject", "sealed"),
}
"""Every table of a ledger but tiles, with its columns; `head` without the fence of this server."""
ORDER_BY = {
    "head": "size",
    "checkpoint": "size",
    "cosignature": "size, name, key_id",
    "blob": "digest",
    "entry": "seq",
    "disclosure": "seq, position",
}
_UP_TO = {
    "checkpoint": "size <= {}",
    "cosignature": "size <= {}",
    "entry": "seq < {}",
    "disclosure": "seq < {}",
}
STAGES = ("head", "cosignature", "checkpoint", "blob", "entry", "disclosure")
"""The order in the file: what the verifier needs first comes first."""
_BATCH_ROWS = 500
_LEAVES = 10_000
_LEVEL = 3
_SHOWN_EVERY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a backup is of."""

    origin: str
    size: int
    taken_at_us: int


def backup(dsn: str, path: Path, taken_at_us: int, progress: Progress) -> About:
    """Write a backup: durable and whole, or not there.

    Args:
        dsn: of a user who may `SET ROLE countersign_reader`.
        path: of the file; an older one there is replaced at the end, in one step.
        taken_at_us: the time, for people; nothing is judged by it.
        progress: told how far it is.

    Raises:
        LedgerWriteError: the database cannot be read.
        BackupError: there is no ledger, or the file cannot be written.
    """
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with connect(dsn, role=READER_ROLE, name="countersign-backup") as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            head = _signed_head(connection)
            about = About(origin=head["origin"], size=head["size"], taken_at_us=taken_at_us)
            with scratch.open("xb") as file:
                with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                    _write(connection, packed, about, head, progress)
                file.flush()
                os.fsync(file.fileno())
        scratch.rename(path)
        _sync_folder(path.parent)
    except psycopg.Error as error:
        raise LedgerWriteError(f"cannot read the ledger: {error}") from error
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error}") from error
    finally:
        scratch.unlink(missing_ok=True)
    return about


def _signed_head(connection: "psycopg.Connection[Any]") -> dict[str, Any]:
    """Return the head at the newest checkpoint; the stored one may be some records further.

    Raises:
        BackupError: there is no ledger.
    """
    row = connection.execute("SELECT origin, size, root, frontier FROM ledger.head").fetchone()
    if row is None:
        raise BackupError("there is no ledger to back up")
    head = dict(zip(TABLES["head"], row, strict=True))
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
        "frontier": b"".join(frontier.nodes),
    }


def _write(
    connection: "psycopg.Connection[Any]",
    file: gzip.GzipFile,
    about: About,
    head: dict[str, Any],
    progress: Progress,
) -> None:
    """Write every line."""
    digest, lines = hashlib.sha256(), 0
    for kind, row in _rows(connection, about, head):
        line = _encoded({"type": kind, **row})
        digest.update(line)
        file.write(line)
        lines += 1
        if kind == "entry" and row["seq"] % _SHOWN_EVERY == 0:
            progress("records", row["seq"], about.size)
    file.write(_encoded({"type": DONE, "lines": lines, "sha256": digest.hexdigest()}))


def _rows(
    connection: "psycopg.Connection[Any]", about: About, head: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield ABOUT, {"format": FORMAT, **{n: getattr(about, n) for n in About.__slots__}}
    yield "head", head
    for table in STAGES[1:]:
        query = sql.SQL("SELECT {} FROM ledger.{} WHERE {} ORDER BY {}").format(
            sql.SQL(", ").join(map(sql.Identifier, TABLES[table])),
            sql.Identifier(table),
            sql.SQL(_UP_TO.get(table, "true")).format(sql.Literal(about.size)),
            sql.SQL(ORDER_BY[table]),
        )
        with connection.cursor(name=f"backup_{table}", row_factory=dict_row) as cursor:
            cursor.itersize = 1 if table == "blob" else _BATCH_ROWS
            for row in cursor.execute(query):
                yield table, row


def read_backup(file: IO[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of a backup with their types; the last one only once all is as announced.

    Raises:
        BackupError: the file is cut off, damaged, or no backup.
    """
    digest, lines, stage = hashlib.sha256(), 0, -1
    order = (ABOUT, *STAGES, DONE)
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as packed:
            while line := packed.readline(LINE_MAX):
                kind, row = _decoded(line)
                if order.index(kind) < stage or (stage < 0 and kind != ABOUT):
                    raise BackupError(f"a {kind} stands out of order")
                stage = order.index(kind)
                if kind == DONE:
                    _check_end(row, lines, digest.hexdigest(), packed.readline(1))
                    yield kind, row
                    return
                digest.update(line)
                lines += 1
                yield kind, row
    except (OSError, EOFError, zlib.error, ValueError, KeyError, RecursionError) as error:
        raise BackupError(f"the backup is damaged: {type(error).__name__}: {error}") from error
    raise BackupError("the backup is cut off")


def _check_end(row: dict[str, Any], lines: int, digest: str, rest: bytes) -> None:
    if (row["lines"], row["sha256"]) != (lines, digest) or rest:
        raise BackupError("the backup is not what its last line says")


def _encoded(row: dict[str, Any]) -> bytes:
    """Write a row as a line; bytes as base64 behind a mark."""
    plain = {
        name: {"b": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in row.items()
    }
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _decoded(line: bytes) -> tuple[str, dict[str, Any]]:
    """Read `_encoded`, with exactly the columns of its type.

    Raises:
        BackupError: it is no such line.
        ValueError: it is no JSON or base64.
    """
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(kind := row.pop("type", None), str):
        raise BackupError("a line has no type")
    wanted = {
        ABOUT: ("format", *About.__slots__),
        DONE: ("lines", "sha256"),
        **TABLES,
    }.get(kind)
    if wanted is None or set(row) != set(wanted):
        raise BackupError(f"a line of type {kind[:40]!r} has other fields")
    if kind == ABOUT and row["format"] != FORMAT:
        raise BackupError(f"the backup's format is {row['format']!r:.60}, not {FORMAT}")
    if kind == ABOUT and [type(row[name]) for name in About.__slots__] != [str, int, int]:
        raise BackupError("what the backup says of itself is of other types")
    for name, value in row.items():
        if isinstance(value, dict):
            row[name] = base64.b64decode(value["b"], validate=True)
    return kind, row


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
