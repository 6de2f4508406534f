"""Tiles over the database: full ones are stored, partial ones are made on request.

Rules:

- A stored tile is only a cache: without it the same bytes are made from the leaves.
- A stored tile is compared, never replaced; other content is an alarm.
- A proof reads one tile per level, not the log. Full tiles and their roots, which never change,
  are kept in memory in bounded numbers.
- Entry bundles are made from the header bytes, which are the tree's entries.

Not here: paths and the arithmetic of tiles (`audit.tlog.tiles`), and who may read (`gateway`).
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from audit.errors import LedgerError, LedgerUnsafeError, LedgerWriteError
from audit.store.connection import Pool
from audit.store.tables import DatabaseError, Rows
from audit.tlog.merkle import HASH_BYTES
from audit.tlog.tiles import (
    TILE_BYTES,
    TILE_HEIGHT,
    TILE_WIDTH,
    HashReader,
    Tile,
    TileReader,
    encode_bundle,
    perfect_root,
    split_hashes,
)

_TILES_KEPT = 256
_ROOTS_KEPT = 8_192
_FETCHED_AT_ONCE = 32
_WRITTEN_AT_ONCE = 64
_K = TypeVar("_K")


def pooled(pool: Pool, timeout_s: float) -> Rows:
    """Return `Rows` over a pool of connections."""

    def run(query: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        try:
            with pool.connection(timeout_s) as connection:
                return connection.execute(query.encode(), values, prepare=False).fetchall()
        except DatabaseError as error:
            raise LedgerWriteError(f"the ledger does not answer: {error}") from error

    return run


class TileStore:
    """Reads tiles and entry bundles; safe for many threads.

    Every read raises `LedgerError` if the log has fewer records or the database does not answer.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._lock = threading.Lock()
        self._tiles: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._roots: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def reader(self, size: int) -> HashReader:
        """Return the hashes of the tree of `size` leaves, for roots and proofs."""
        return TileReader(self.fetch, size)

    def fetch(self, tile: Tile) -> bytes:
        """Return the bytes of a tile or an entry bundle."""
        if tile.level is None:
            return self._bundle(tile.index, tile.width)
        return self._hashes(tile.level, tile.index, tile.width)

    def root_of(self, level: int, n: int) -> bytes:
        """Return the root of a full tile, which is a hash of the level above."""
        known = self._kept(self._roots, (level, n))
        if known is not None:
            return known
        data = self._hashes(level, n, TILE_WIDTH)
        return self._keep_root(level, n, data)

    def make(self, level: int, n: int, width: int = TILE_WIDTH) -> bytes:
        """Make a tile from the level below, whether it is stored or not."""
        first = n * TILE_WIDTH
        if level == 0:
            return self._leaves(first, width)
        self._fetch_below(level - 1, first, width)
        return b"".join(self.root_of(level - 1, first + i) for i in range(width))

    def make_full(self, level: int, batch: range) -> list[bytes]:
        """Make neighbouring full tiles, reading all their leaves at once."""
        if level:
            return [self.make(level, n) for n in batch]
        data = self._leaves(batch[0] * TILE_WIDTH, len(batch) * TILE_WIDTH)
        return [data[at : at + TILE_BYTES] for at in range(0, len(data), TILE_BYTES)]

    def _hashes(self, level: int, n: int, width: int) -> bytes:
        known = self._kept(self._tiles, (level, n))
        if known is None and (level or width == TILE_WIDTH):
            known = self._stored(level, n)
        if known is None:
            known = self.make(level, n, width)
            if width == TILE_WIDTH:
                self._keep_tile(level, n, known)
        return known[: width * HASH_BYTES]

    def _stored(self, level: int, n: int) -> bytes | None:
        rows = self._rows(
            "SELECT hashes FROM ledger.tile WHERE level = %(level)s AND n = %(n)s",
            {"level": level, "n": n},
        )
        if not rows:
            return None
        return self._keep_tile(level, n, bytes(rows[0][0]))

    def _fetch_below(self, level: int, first: int, count: int) -> None:
        """Fetch the stored tiles below a partial tile, many in one read."""
        missing = [
            n for n in range(first, first + count) if self._kept(self._roots, (level, n)) is None
        ]
        for start in range(0, len(missing), _FETCHED_AT_ONCE):
            rows = self._rows(
                "SELECT n, hashes FROM ledger.tile WHERE level = %(level)s AND n = ANY(%(asked)s)",
                {"level": level, "asked": missing[start : start + _FETCHED_AT_ONCE]},
            )
            for n, data in rows:
                self._keep_root(level, int(n), bytes(data))

    def _leaves(self, first: int, count: int) -> bytes:
        rows = self._rows(
            "SELECT string_agg(leaf, ''::bytea ORDER BY seq), count(*)::bigint FROM ledger.entry"
            " WHERE seq >= %(first)s AND seq < %(end)s",
            {"first": first, "end": first + count},
        )
        joined, found = rows[0]
        if found != count:
            raise LedgerError(f"the log has {first + found} records, not {first + count}")
        return bytes(joined)

    def _bundle(self, n: int, width: int) -> bytes:
        first = n * TILE_WIDTH
        rows = self._rows(
            "SELECT header FROM ledger.entry WHERE seq >= %(first)s AND seq < %(end)s ORDER BY seq",
            {"first": first, "end": first + width},
        )
        if len(rows) != width:
            raise LedgerError(f"the log has {first + len(rows)} records, not {first + width}")
        return encode_bundle([bytes(row[0]) for row in rows])

    def _keep_tile(self, level: int, n: int, data: bytes) -> bytes:
        with self._lock:
            _put(self._tiles, (level, n), data, _TILES_KEPT)
        return data

    def _keep_root(self, level: int, n: int, data: bytes) -> bytes:
        root = perfect_root(split_hashes(data, TILE_WIDTH))
        with self._lock:
            _put(self._roots, (level, n), root, _ROOTS_KEPT)
        return root

    def _kept(
        self, kept: "OrderedDict[tuple[int, int], bytes]", key: tuple[int, int]
    ) -> bytes | None:
        with self._lock:
            found = kept.get(key)
            if found is not None:
                kept.move_to_end(key)
            return found


class TileWriter:
    """Stores full tiles as the log grows; one thread at a time."""

    def __init__(self, rows: Rows, store: TileStore) -> None:
        """Write what `store` makes through `rows`, as the writer role."""
        self._rows = rows
        self._store = store
        self._next: dict[int, int] | None = None

    def write(self, size: int) -> int:
        """Store every missing full tile of the tree of `size` leaves; return how many.

        A crash leaves whole tiles, lower levels first; the next call goes on from there.

        Raises:
            LedgerUnsafeError: a stored tile does not match the leaves.
            LedgerError: the database does not answer, or has fewer leaves.
        """
        if self._next is None:
            self._next = self._resume()
        written, level = 0, 0
        while full := size >> (TILE_HEIGHT * (level + 1)):
            for batch in _batches(self._next.get(level, 0), full):
                self._insert(level, batch)
                written += len(batch)
                self._next[level] = batch[-1] + 1
            level += 1
        return written

    def _resume(self) -> dict[int, int]:
        """Return the first missing tile of each level; a level with a gap starts again at 0."""
        rows = self._rows(
            "SELECT level, count(*)::bigint, max(n) + 1 FROM ledger.tile GROUP BY level", {}
        )
        return {int(level): int(end) if count == end else 0 for level, count, end in rows}

    def _insert(self, level: int, batch: range) -> None:
        made = self._store.make_full(level, batch)
        values = {"level": level, "ns": list(batch), "made": made}
        self._rows(
            "INSERT INTO ledger.tile (level, n, hashes)"
            " SELECT %(level)s, n, hashes FROM unnest(%(ns)s::bigint[], %(made)s::bytea[])"
            " AS made(n, hashes) ON CONFLICT (level, n) DO NOTHING RETURNING n",
            values,
        )
        same = self._rows(
            "SELECT count(*)::bigint FROM unnest(%(ns)s::bigint[], %(made)s::bytea[])"
            " AS made(n, hashes) JOIN ledger.tile AS kept"
            " ON kept.level = %(level)s AND kept.n = made.n AND kept.hashes = made.hashes",
            values,
        )
        if same[0][0] != len(batch):
            raise LedgerUnsafeError(
                f"a stored tile of level {level}, {batch[0]} to {batch[-1]}, does not match the"
                " leaves"
            )


def _batches(start: int, end: int) -> Iterator[range]:
    for first in range(start, end, _WRITTEN_AT_ONCE):
        yield range(first, min(end, first + _WRITTEN_AT_ONCE))


def _put(kept: "OrderedDict[_K, bytes]", key: _K, value: bytes, limit: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > limit:
        kept.popitem(last=False)
