"""The psycopg door of fsck: one snapshot of a ledger's database, read in ranges by several readers.

The first reader exports its snapshot and the others join it, so all see the same log while a
gateway goes on writing. The first chunk's range has no lower bound, and a chunk reads at most twice
its records: rows that a superuser inserted are found, and memory stays bounded.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import pq, sql
from psycopg.rows import dict_row

from audit.errors import LedgerWriteError
from audit.store.catalog import headless, strange_tables
from audit.store.tables import READER_ROLE, TupleConnection, connect
from audit.tlog.merkle import HASH_BYTES
from audit.tlog.tiles import TILE_HEIGHT
from audit.upkeep.fsck.chunk import CHUNK, Chunk, Finding, judge_payloads, tree_levels, tree_nodes
from audit.upkeep.fsck.columns import (
    COLUMNS,
    Columns,
    apart_sql,
    joined_sql,
    read_apart,
    read_joined,
)
from audit.upkeep.fsck.counts import miscounted
from audit.upkeep.fsck.headers import SPECIAL_KINDS, judge_chunk
from audit.upkeep.fsck.tiles import height_of, judge_part
from audit.verifier.verify import TAMPERED

ROWS_MAX = 2 * CHUNK
_PAYLOAD_ROWS = 256
BLOB_RANGES = 32
BLOCK = 1 << 13
"""Records per query: few enough to keep memory small, enough to hide the cost of a query."""
_PAYLOADS = "seq, leaf, header, payload, account, payload_digest"
_NOTES_SQL = """
SELECT size, coalesce(note, '\\x00') || coalesce((
    SELECT string_agg(rtrim(coalesce(line, ''), '\\x0a') || '\\x0a', '' ORDER BY name, key_id)
    FROM ledger.cosignature AS c WHERE c.size = t.size), '')
FROM ledger.checkpoint AS t WHERE size >= %s AND size <= %s ORDER BY size
"""
_LOWEST = -(2**63)


class DatabaseSnapshot:
    """One connection in one read-only snapshot."""

    def __init__(self, dsn: str, name: str | None = None) -> None:
        """Begin a snapshot, or join the exported one of this name.

        Raises:
            LedgerWriteError: the database cannot be read.
        """
        try:
            self._connection = connect(dsn, role=READER_ROLE, name="countersign-fsck")
            self._connection.execute("SET client_encoding = 'UTF8'")
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if name is not None:
                quoted = sql.Literal(name)
                self._connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(quoted))
        except psycopg.Error as error:
            raise LedgerWriteError(f"cannot read the ledger: {error}") from error

    @property
    def connection(self) -> TupleConnection:
        """Return the connection, for other modules' queries."""
        return self._connection

    def close(self) -> None:
        """End the snapshot."""
        self._connection.close()

    def export(self) -> str:
        """Return the name by which other connections join."""
        return str(self._row("SELECT pg_export_snapshot()")[0])

    def strange(self) -> list[str]:
        """Return the differences between the tables and the migrations' (`strange_tables`).

        Raises:
            LedgerWriteError: the database cannot be read.
        """
        try:
            return strange_tables(self._connection)
        except psycopg.Error as error:
            raise LedgerWriteError(f"cannot read the ledger: {error}") from error

    def headless(self) -> str:
        """Return what is wrong with the head row; "" if nothing."""
        return headless(self._connection)

    def miscounted(self, *, keys: bool) -> Iterator[str]:
        """Yield the differences between tables and indexes (`counts`)."""
        return miscounted(self._connection, keys=keys)

    def head(self) -> dict[str, Any] | None:
        """Return the stored head; None unless there is exactly one."""
        with self._connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute("SELECT origin, size, root, frontier FROM ledger.head")
            rows = cursor.fetchmany(2)
            return rows[0] if len(rows) == 1 else None

    def log_name(self) -> str:
        """Return the log's name from its first record, for a log without a head."""
        row = self._row("SELECT header FROM ledger.entry ORDER BY seq LIMIT 1")
        try:
            return str(json.loads(row[0])["log"]) if row else ""
        except (ValueError, TypeError, KeyError, RecursionError):
            return ""

    def next_seq(self, seq: int) -> int | None:
        """Return the lowest record number from `seq` on."""
        value: int | None = self._row("SELECT min(seq) FROM ledger.entry WHERE seq >= %s", seq)[0]
        return value

    def notes(self, first: int, last: int) -> list[tuple[int, bytes]]:
        """Return the checkpoints with `first` <= size <= `last`, at most `ROWS_MAX`.

        A note contains the witnesses' lines, each ended by one newline, as the verifier reads them.
        """
        query = f"{_NOTES_SQL} LIMIT {ROWS_MAX}"
        return self._connection.execute(query.encode(), (first, last)).fetchall()

    def contents(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Yield header and payload of every record in order, a few in memory at a time."""
        with self._connection.cursor(name="fsck_contents", binary=True) as cursor:
            cursor.itersize = _PAYLOAD_ROWS
            query = b"SELECT header, payload FROM ledger.entry ORDER BY seq"
            yield from cursor.execute(query)

    def late_notes(self, ranges: Sequence[Sequence[int]]) -> Iterator[tuple[int, bytes]]:
        """Yield size and note of all checkpoints in these ranges, a few in memory at a time."""
        for first, last in ranges:
            with self._connection.cursor(name="fsck_notes", binary=True) as cursor:
                cursor.itersize = _PAYLOAD_ROWS
                yield from cursor.execute(_NOTES_SQL, (first, last))

    def tiles_beyond(self, size: int) -> list[tuple[int, int]]:
        """Return level and number of tiles that reach beyond a tree, at most a hundred."""
        return self._connection.execute(
            "SELECT level, n FROM ledger.tile WHERE level < 0 OR n < 0"
            " OR num_nulls(level, n, hashes) > 0"
            " OR n >= %s::bigint >> least(%s * (level::integer + 1), 63)"
            " ORDER BY level, n LIMIT 100",
            (size, TILE_HEIGHT),
        ).fetchall()

    def tile(self, level: int, n: int) -> list[bytes | None]:
        """Return the stored rows of a tile, at most two."""
        rows = self._connection.execute(
            "SELECT hashes FROM ledger.tile WHERE level = %s AND n = %s LIMIT 2", (level, n)
        )
        return [row[0] for row in rows]

    def judge(self, chunk: Chunk, log: str, sizes: Sequence[int], *, payloads: bool) -> None:
        """Read and judge one chunk into `chunk`; `sizes` are those of checkpoints kept outside."""
        first = chunk.first
        low = first or _LOWEST
        high = first + chunk.width
        special = self._connection.execute(
            "SELECT seq, payload FROM ledger.entry"
            " WHERE seq >= %s AND seq < %s AND kind = ANY(%s) ORDER BY seq LIMIT %s",
            (low, high, list(SPECIAL_KINDS), ROWS_MAX),
        ).fetchall()
        # the checkpoint of size `first` belongs to the chunk before
        stored = self.notes(first + 1 if first else _LOWEST, high)
        if len(stored) >= ROWS_MAX:
            chunk.findings.append((TAMPERED, "more checkpoints than records", first))
        seen = {size for size, _ in stored}
        notes: list[tuple[int, str | None]] = [(size, None) for size in sizes if size not in seen]
        notes += [(size, base64.b64encode(bytes(note)).decode()) for size, note in stored]
        blocks = self._blocks(low, first, high)
        levels = judge_chunk(chunk, blocks, log, dict(special), notes)
        chunk.findings += self._tiles(chunk, levels)
        if payloads:
            findings, chunk.blobs = judge_payloads(self._payloads(low, high), log)
            chunk.findings += findings
            self._keep_missing(chunk.blobs)

    def nodes(self, first: int, stop: int) -> list[str]:
        """Return the roots of the perfect subtrees of stored leaves, at most one chunk's."""
        rows = self._connection.execute(
            "SELECT encode(leaf, 'hex') FROM ledger.entry WHERE seq >= %s AND seq < %s"
            " ORDER BY seq LIMIT %s",
            (first, stop, stop - first),
        ).fetchall()
        levels = tree_levels([row[0].encode() for row in rows]) if rows else []
        return [node.hex() for node in tree_nodes(levels, len(rows))] if levels else []

    def blobs(self, first: int) -> tuple[int, list[str]]:
        """Return how many blobs one of `BLOB_RANGES` ranges has, and the digests of bad ones."""
        width = 256 // BLOB_RANGES
        low = bytes([first * width]) if first else b""
        high = bytes([(first + 1) * width]) if first + 1 < BLOB_RANGES else None
        count, bad = 0, []
        with self._connection.cursor(name="fsck_blobs", binary=True) as cursor:
            cursor.itersize = 8
            cursor.execute(
                "SELECT digest, data FROM ledger.blob"
                " WHERE digest >= %s AND (%s::bytea IS NULL OR digest < %s) ORDER BY digest",
                (low, high, high),
            )
            for digest, data in cursor:
                count += 1
                if data is None or hashlib.sha256(data).digest() != digest:
                    bad.append(bytes(digest).hex())
        return count, bad

    def _blocks(self, low: int, first: int, high: int) -> Iterator[Columns]:
        """Yield the range's columns through libpq, `BLOCK` records at a time."""
        for start in range(first, high, BLOCK):
            floor, stop = (low if start == first else start), min(start + BLOCK, high)
            source = (
                f"SELECT {', '.join(COLUMNS)} FROM ledger.entry"  # noqa: S608 - numbers
                f" WHERE seq >= {floor} AND seq < {stop} ORDER BY seq LIMIT {2 * BLOCK}"
            )
            columns = read_joined(self._values(joined_sql(source)))
            yield read_apart(self._values(apart_sql(source))) if columns is None else columns

    def _values(self, query: str) -> list[bytes | None]:
        """Return a query's one row as the server sends it."""
        binary = pq.Format.BINARY
        result = self._connection.pgconn.exec_params(query.encode(), [], result_format=binary)
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(result.error_message.decode(errors="replace"))
        return [result.get_value(0, place) for place in range(result.nfields)]

    def _payloads(self, low: int, high: int) -> Iterator[dict[str, Any]]:
        query = (
            f"SELECT {_PAYLOADS} FROM ledger.entry WHERE seq >= %s AND seq < %s"  # noqa: S608
            f" ORDER BY seq LIMIT {ROWS_MAX}"
        )
        with self._connection.cursor(
            name="fsck_payloads", row_factory=dict_row, binary=True
        ) as cursor:
            cursor.itersize = _PAYLOAD_ROWS
            yield from cursor.execute(query, (low, high))

    def _keep_missing(self, blobs: dict[str, int]) -> None:
        """Remove the digests that are stored; a malformed digest stays."""
        names = list(blobs)
        for start in range(0, len(names), _PAYLOAD_ROWS):
            rows = self._connection.execute(
                "SELECT encode(digest, 'hex') FROM ledger.blob WHERE digest = ANY(%s)",
                ([_digest(name) for name in names[start : start + _PAYLOAD_ROWS]],),
            )
            for row in rows:
                blobs.pop(row[0], None)

    def _tiles(self, chunk: Chunk, levels: Sequence[bytes]) -> Iterator[Finding]:
        """Compare the stored tiles with a chunk's tree, as far as each lies in it."""
        below = range(0, min(len(levels), height_of(chunk.width)), TILE_HEIGHT)
        for level, height in enumerate(below):
            hashes, start = levels[height], chunk.first >> height
            last = start + len(hashes) // HASH_BYTES - 1
            stored = self._connection.execute(
                "SELECT n, coalesce(hashes, '') FROM ledger.tile"
                " WHERE level = %s AND n BETWEEN %s AND %s ORDER BY n LIMIT 512",
                (level, start >> TILE_HEIGHT, last >> TILE_HEIGHT),
            )
            yield from judge_part(level, hashes, start, stored)

    def _row(self, query: str, *values: object) -> tuple[Any, ...]:
        row = self._connection.execute(query.encode(), values).fetchone()
        return () if row is None else tuple(row)


def _digest(name: str) -> bytes:
    try:
        return bytes.fromhex(name)
    except ValueError:
        return b""
