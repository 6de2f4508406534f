"""Stored tiles compared with the tree: within a chunk, and above all chunks. Pure.

A chunk knows its part of the tiles below its root. Tiles whose hashes cover whole chunks or more
are built here from the chunks' roots; a level costs one tile of memory.
"""

from collections.abc import Iterable, Iterator

from audit.tlog.merkle import HASH_BYTES
from audit.tlog.tiles import TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, perfect_root
from audit.upkeep.fsck.chunk import Finding
from audit.verifier.verify import TAMPERED

Stored = tuple[int, bytes]
"""A stored tile's number and hashes."""


class TileFold:
    """Builds full tiles, from the level where a hash covers a chunk or more."""

    def __init__(self, width: int) -> None:
        """Start before the first chunk; a chunk has `width` records, a power of two."""
        self._height = height_of(width)
        self._level = -(-self._height // TILE_HEIGHT)
        self._first = [1 << (TILE_HEIGHT * self._level - self._height)]
        self._rows: list[list[bytes]] = [[]]
        self._made = [0]
        self._chunks = 0

    def add(self, first: int, root: bytes | None) -> Iterator[tuple[int, int, bytes]]:
        """Take a chunk; yield level, number and hashes of every tile that it completes.

        `root` is None for an incomplete chunk. After one of these, or a chunk out of order, no
        further tile is yielded.
        """
        if root is None or first != self._chunks << self._height:
            self._chunks = -1
            return
        self._chunks += 1
        yield from self._put(0, root)

    def _put(self, place: int, node: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Add a hash to a row; a full row gives a hash of the next."""
        if place == len(self._rows):
            self._rows.append([])
            self._made.append(0)
        row = self._rows[place]
        row.append(node)
        if len(row) < (TILE_WIDTH if place else self._first[0]):
            return
        if place:
            yield self._level + place - 1, self._made[place], b"".join(row)
            self._made[place] += 1
        self._rows[place] = []
        yield from self._put(place + 1, perfect_root(row))


def height_of(width: int) -> int:
    """Return the height of a chunk's tree."""
    return width.bit_length() - 1


def judge_tile(
    level: int, n: int, made: bytes, stored: Iterable[bytes | None]
) -> Iterator[Finding]:
    """Compare the stored rows of a tile, at most one, with the tile of the tree."""
    first = n << TILE_HEIGHT * (level + 1)
    for number, hashes in enumerate(stored):
        if number:
            yield TAMPERED, f"tile {level}/{n} is stored twice", first
        if hashes != made:
            yield TAMPERED, f"tile {level}/{n} is not that of the tree", first


def judge_part(
    level: int, hashes: bytes, start: int, stored: Iterable[Stored]
) -> Iterator[Finding]:
    """Compare stored tiles, in order, with the part of their level that a chunk knows.

    `start` is the place of the first of these hashes in the level.
    """
    stop, before = start + len(hashes) // HASH_BYTES, None
    for n, tile in stored:
        begin = n << TILE_HEIGHT
        low, high = max(start, begin), min(stop, begin + TILE_WIDTH)
        here = hashes[(low - start) * HASH_BYTES : (high - start) * HASH_BYTES]
        there = tile[(low - begin) * HASH_BYTES : (high - begin) * HASH_BYTES]
        if here != there or len(tile) != TILE_BYTES:
            yield TAMPERED, f"tile {level}/{n} is not that of the tree", low << TILE_HEIGHT * level
        if n == before:
            yield TAMPERED, f"tile {level}/{n} is stored twice", low << TILE_HEIGHT * level
        before = n
