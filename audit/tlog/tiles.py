"""Tiles: the Merkle tree as static files, and proofs read from them. Pure.

A tile of level L holds 256 consecutive hashes of subtrees of 256**L leaves (8,192 bytes); the
rightmost one of a level may be partial. Entry bundles hold the entries under a level 0 tile.

Proofs need only hashes of perfect subtrees, so they are computed over a `HashReader`: a function
from (level, index) to the hash of leaves [index * 2**level, (index + 1) * 2**level). `TileReader`
reads them from tiles.

Not here: how tiles are stored and served.

Source: https://c2sp.org/tlog-tiles
"""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from audit.errors import ProofError
from audit.tlog.merkle import EMPTY_ROOT, HASH_BYTES, node_hash
from audit.tlog.treehead import SIZE_MAX

TILE_WIDTH = 256
TILE_HEIGHT = 8
TILE_BYTES = TILE_WIDTH * HASH_BYTES
LEVEL_MAX = 63
ENTRY_BYTES_MAX = 65_535
_PATH = re.compile(
    r"tile/(?P<level>entries|0|[1-9][0-9]?)/(?P<index>(?:x[0-9]{3}/)*[0-9]{3})"
    r"(?:\.p/(?P<width>[1-9][0-9]{0,2}))?",
    re.ASCII,
)


class HashReader(Protocol):
    """A function from (level, index) to the hash of a perfect subtree of 2**level leaves."""

    def __call__(self, level: int, index: int, /) -> bytes:
        """Return the 32-byte hash; raise `ProofError` if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A tile's place: its level (None for an entry bundle), index and width."""

    level: int | None
    index: int
    width: int = TILE_WIDTH

    @property
    def path(self) -> str:
        """The path under the log's prefix: `tile/<L or entries>/<N>[.p/<W>]`."""
        level = "entries" if self.level is None else str(self.level)
        suffix = "" if self.width == TILE_WIDTH else f".p/{self.width}"
        return f"tile/{level}/{_index_path(self.index)}{suffix}"


def parse_tile_path(path: str) -> Tile:
    """Read the path of a tile or an entry bundle; raise ProofError for anything else."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise ProofError(f"{path[:80]!r} is not a tile's path")
    level, width = match["level"], match["width"]
    tile = Tile(
        level=None if level == "entries" else int(level),
        index=int(match["index"].replace("/", "").replace("x", "")[-40:]),
        width=TILE_WIDTH if width is None else int(width),
    )
    if width is not None and tile.width >= TILE_WIDTH:
        raise ProofError(f"a partial tile has 1 to 255 hashes, not {width}")
    if (tile.level or 0) > LEVEL_MAX or tile.index > SIZE_MAX:
        raise ProofError(f"no tile at level {tile.level}, index {tile.index}")
    if tile.path != path:
        raise ProofError(f"{path[:80]!r} is not in its exact form")
    return tile


def tile_width(level: int, n: int, size: int) -> int:
    """Return how many hashes the tile has in a tree of `size` leaves (0 when it has none)."""
    return max(0, min(TILE_WIDTH, (size >> (TILE_HEIGHT * level)) - n * TILE_WIDTH))


def tiles_of(size: int, since: int = 0) -> Iterator[Tile]:
    """Yield the hash tiles, partial ones too, that a tree of `since` leaves does not have."""
    level = 0
    while size >> (TILE_HEIGHT * level):
        count = size >> (TILE_HEIGHT * level)
        first = (since >> (TILE_HEIGHT * level)) // TILE_WIDTH
        for n in range(first, -(-count // TILE_WIDTH)):
            width = tile_width(level, n, size)
            if width > tile_width(level, n, since):
                yield Tile(level=level, index=n, width=width)
        level += 1


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over hashes; raise ProofError unless their number is a power of two."""
    if not hashes or len(hashes) & (len(hashes) - 1):
        raise ProofError(f"{len(hashes)} hashes are no perfect subtree")
    row = hashes
    while len(row) > 1:
        row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
    return row[0]


def split_hashes(data: bytes, width: int) -> tuple[bytes, ...]:
    """Split a tile's bytes into hashes; raise ProofError unless they are exactly `width`."""
    if len(data) != width * HASH_BYTES:
        raise ProofError(f"tile of {len(data)} bytes; {width} hashes were asked for")
    return tuple(data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES))


class TileReader:
    """A `HashReader` over the tiles of a tree of `size` leaves; each tile is fetched once.

    `fetch` is not trusted: check the root before relying on the hashes.
    """

    def __init__(self, fetch: Callable[[Tile], bytes], size: int) -> None:
        self._fetch = fetch
        self._size = size
        self._tiles: dict[Tile, tuple[bytes, ...]] = {}

    def __call__(self, level: int, index: int, /) -> bytes:
        """Return a subtree's hash; raise ProofError outside the tree or for a bad tile's length."""
        if level < 0 or index < 0 or (index + 1) << level > self._size:
            raise ProofError(f"subtree {level}/{index} is outside a tree of {self._size}")
        row, inner = divmod(level, TILE_HEIGHT)
        first = index << inner
        n, offset = divmod(first, TILE_WIDTH)
        tile = Tile(level=row, index=n, width=tile_width(row, n, self._size))
        if tile not in self._tiles:
            self._tiles[tile] = split_hashes(self._fetch(tile), tile.width)
        return perfect_root(self._tiles[tile][offset : offset + (1 << inner)])


def root_from(reader: HashReader, size: int) -> bytes:
    """Return the root of the tree of `size` leaves."""
    return _range_root(reader, 0, size) if size else EMPTY_ROOT


def inclusion_from(reader: HashReader, index: int, size: int) -> tuple[bytes, ...]:
    """Return a leaf's inclusion path, nearest sibling first; raise ProofError outside the tree."""
    if not 0 <= index < size:
        raise ProofError(f"index {index} is outside a tree of {size}")
    path: list[bytes] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            path.append(_range_root(reader, middle, stop))
            stop = middle
        else:
            path.append(_range_root(reader, start, middle))
            start = middle
    return tuple(reversed(path))


def consistency_from(reader: HashReader, old_size: int, size: int) -> tuple[bytes, ...]:
    """Return the consistency path between trees; raise ProofError if the old one is larger."""
    if not 0 <= old_size <= size:
        raise ProofError(f"old size {old_size} is outside a tree of {size}")
    if old_size in (0, size):
        return ()
    path: list[bytes] = []
    start, stop, whole = 0, size, True
    while old_size != stop:
        middle = start + _split(stop - start)
        if old_size <= middle:
            path.append(_range_root(reader, middle, stop))
            stop = middle
        else:
            path.append(_range_root(reader, start, middle))
            start, whole = middle, False
    if not whole:
        path.append(_range_root(reader, start, stop))
    return tuple(reversed(path))


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """Return an entry bundle: each entry behind its length as a big-endian u16.

    Raises:
        ProofError: no entry, more than 256, or one longer than 65,535 bytes.
    """
    if not 0 < len(entries) <= TILE_WIDTH:
        raise ProofError(f"a bundle has 1 to 256 entries, not {len(entries)}")
    if any(len(entry) > ENTRY_BYTES_MAX for entry in entries):
        raise ProofError(f"an entry is longer than {ENTRY_BYTES_MAX} bytes")
    return b"".join(struct.pack(">H", len(entry)) + entry for entry in entries)


def decode_bundle(data: bytes, width: int | None = None) -> tuple[bytes, ...]:
    """Split an entry bundle; with `width`, it must have exactly that many entries.

    Raises:
        ProofError: it is cut off, or has another number of entries.
    """
    entries: list[bytes] = []
    at = 0
    while at < len(data):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise ProofError("entry bundle is cut off")
        entries.append(data[start:at])
    if not 0 < len(entries) <= TILE_WIDTH or (width is not None and len(entries) != width):
        raise ProofError(f"entry bundle has {len(entries)} entries, expected {width or '1 to 256'}")
    return tuple(entries)


def _range_root(reader: HashReader, start: int, stop: int) -> bytes:
    """Return the root over leaves [start, stop), where `start` is aligned as in RFC 6962."""
    nodes: list[bytes] = []
    while start < stop:
        level = (stop - start).bit_length() - 1
        nodes.append(reader(level, start >> level))
        start += 1 << level
    result = nodes.pop()
    while nodes:
        result = node_hash(nodes.pop(), result)
    return result


def _split(size: int) -> int:
    """Return the largest power of two below `size` (at least 2)."""
    return 1 << ((size - 1).bit_length() - 1)


def _index_path(n: int) -> str:
    digits = str(n)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    parts = [digits[i : i + 3] for i in range(0, len(digits), 3)]
    return "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
