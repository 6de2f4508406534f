"""Trees over leaf hashes in memory, as the specifications write them: the oracle of tiles."""

from collections.abc import Sequence

from audit.errors import ProofError
from audit.tlog.merkle import root_of
from audit.tlog.tiles import TILE_WIDTH, HashReader, Tile, perfect_root


def inclusion_path(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Return PATH(index, D[n]) over the leaf hashes, nearest sibling first.

    Raises:
        ProofError: the index is outside the tree.
    """
    if not 0 <= index < len(leaves):
        raise ProofError(f"index {index} is outside a tree of {len(leaves)}")
    path: list[bytes] = []
    start, stop = 0, len(leaves)
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            path.append(root_of(leaves[middle:stop]))
            stop = middle
        else:
            path.append(root_of(leaves[start:middle]))
            start = middle
    return tuple(reversed(path))


def consistency_path(leaves: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """Return PROOF(old_size, D[n]) over the leaf hashes.

    Raises:
        ProofError: the old size is outside the tree.
    """
    if not 0 <= old_size <= len(leaves):
        raise ProofError(f"old size {old_size} is outside a tree of {len(leaves)}")
    if old_size in (0, len(leaves)):
        return ()
    path: list[bytes] = []
    start, stop, old, whole = 0, len(leaves), old_size, True
    while old != stop - start:
        middle = _split(stop - start)
        if old <= middle:
            path.append(root_of(leaves[start + middle : stop]))
            stop = start + middle
        else:
            path.append(root_of(leaves[start : start + middle]))
            start, old, whole = start + middle, old - middle, False
    if not whole:
        path.append(root_of(leaves[start:stop]))
    return tuple(reversed(path))


def tile_hashes(leaves: Sequence[bytes]) -> dict[Tile, bytes]:
    """Return every tile of the tree over leaf hashes, full and partial, with its bytes."""
    tiles: dict[Tile, bytes] = {}
    hashes, level = list(leaves), 0
    while hashes:
        above: list[bytes] = []
        for n, start in enumerate(range(0, len(hashes), TILE_WIDTH)):
            part = hashes[start : start + TILE_WIDTH]
            tiles[Tile(level=level, index=n, width=len(part))] = b"".join(part)
            if len(part) == TILE_WIDTH:
                above.append(perfect_root(part))
        hashes, level = above, level + 1
    return tiles


def list_reader(leaves: Sequence[bytes]) -> HashReader:
    """Read hashes of perfect subtrees from leaf hashes in memory."""

    def read(level: int, index: int, /) -> bytes:
        start = index << level
        if level < 0 or index < 0 or start + (1 << level) > len(leaves):
            raise ProofError(f"subtree {level}/{index} is outside a tree of {len(leaves)}")
        return perfect_root(leaves[start : start + (1 << level)])

    return read


def _split(size: int) -> int:
    """Return the largest power of two below `size` (at least 2)."""
    return 1 << ((size - 1).bit_length() - 1)
