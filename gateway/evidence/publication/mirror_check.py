"""Which files of a mirror are not what was signed.

Rules:
- Only the signed root counts. A tile is sound if the tile above it confirms it, up to the root; an
  entry bundle if its entries have the hashes of their tile. Neither database nor mirror is trusted.
- Checked is what the mirror's own checkpoint covers, as by `fsck --tiles`. An interrupted call may
  have left other files.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from audit.errors import LedgerUnsafeError, NoteError, ProofError
from audit.tlog.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint
from audit.tlog.merkle import HASH_BYTES, leaf_hash, verify_consistency
from audit.tlog.note import parse_note
from audit.tlog.tiles import (
    TILE_WIDTH,
    Tile,
    TileReader,
    decode_bundle,
    perfect_root,
    root_from,
    split_hashes,
    tile_width,
    tiles_of,
)
from audit.verifier.verify import TAMPERED, Report
from gateway.evidence.publication.published import LogFiles

CHECKPOINT = "checkpoint"


class SoundTiles:
    """The tiles and entry bundles under a checkpoint, each confirmed by its root."""

    def __init__(self, fetch: Callable[[Tile], bytes], checkpoint: Checkpoint) -> None:
        """Read through `fetch`.

        Raises:
            LedgerUnsafeError: when the tiles do not lead to the root.
        """
        self._fetch = fetch
        self._size = checkpoint.size
        self._last: dict[int, tuple[Tile, bytes]] = {}
        if root_from(TileReader(fetch, self._size), self._size) != checkpoint.root:
            raise LedgerUnsafeError(f"the tiles do not lead to the root of {self._size}")

    def data(self, tile: Tile) -> bytes:
        """Return the bytes of a tile or an entry bundle, also at an earlier width.

        Raises:
            LedgerUnsafeError: when they are not what was signed.
            LedgerError: when the database does not answer.
        """
        if tile.level is not None:
            return self._hashes(tile.level, tile.index)[: tile.width * HASH_BYTES]
        data = self._fetch(tile)
        if not self.holds(tile, data):
            raise LedgerUnsafeError(f"the records of {tile.path} do not have the signed hashes")
        return data

    def holds(self, tile: Tile, data: bytes) -> bool:
        """Return whether bytes from elsewhere are those of a tile or an entry bundle.

        Raises:
            LedgerUnsafeError: when the log's own tile is not what was signed.
            LedgerError: when the database does not answer.
        """
        hashes = self._hashes(tile.level or 0, tile.index)[: tile.width * HASH_BYTES]
        if tile.level is not None:
            return data == hashes
        try:
            return b"".join(map(leaf_hash, decode_bundle(data, tile.width))) == hashes
        except ProofError:
            return False

    def _hashes(self, level: int, n: int) -> bytes:
        """Return a tile's hashes; those of a partial tile led to the root."""
        tile = Tile(level=level, index=n, width=tile_width(level, n, self._size))
        last = self._last.get(level)
        if last is not None and last[0] == tile:
            return last[1]
        data = self._fetch(tile)
        if tile.width == TILE_WIDTH:
            above, place = divmod(n, TILE_WIDTH)
            said = self._hashes(level + 1, above)[place * HASH_BYTES : (place + 1) * HASH_BYTES]
            if perfect_root(split_hashes(data, TILE_WIDTH)) != said:
                raise LedgerUnsafeError(f"{tile.path} of the log is not what was signed")
        self._last[level] = tile, data
        return data


def resources(size: int) -> Iterator[Tile]:
    """Yield every tile and entry bundle of a tree."""
    for tile in tiles_of(size):
        yield tile
        if tile.level == 0:
            yield Tile(level=None, index=tile.index, width=tile.width)


def covered(tile: Tile, size: int) -> bool:
    """Return whether a tree of a size has a tile at just this width."""
    return tile_width(tile.level or 0, tile.index, size) == tile.width


def judge_checkpoint(report: Report, log: LogFiles, folder: Path, newest: Checkpoint) -> int:
    """Return the size of a folder's tree; 0 if it has no checkpoint, or a changed one.

    Raises:
        LedgerUnsafeError: when it is another log's, or the newest checkpoint does not extend it.
        LedgerError: when the database does not answer.
    """
    try:
        there = parse_checkpoint((folder / CHECKPOINT).read_bytes())
    except FileNotFoundError:
        return 0
    except NoteError as error:
        report.find(TAMPERED, f"{CHECKPOINT} is not what the log signed: {error}")
        return 0
    ours = any(line.name == newest.origin for line in parse_note(there.note).signatures)
    if there.origin != newest.origin and not ours:
        raise LedgerUnsafeError(f"{folder} holds the log {there.origin!r}")
    if there.origin != newest.origin or not _signed(log, there):
        report.find(TAMPERED, f"{CHECKPOINT} is not what the log signed")
        return 0
    try:
        path = log.reader.consistency_proof(there.size, newest.size)
        verify_consistency(there.size, there.root, newest.size, newest.root, path)
    except ProofError as error:
        raise LedgerUnsafeError(
            f"{folder} holds a tree of {there.size} records that this log does not extend"
        ) from error
    return there.size


def judge_file(report: Report, sound: SoundTiles, folder: Path, tile: Tile) -> bool:
    """Return whether a file is missing or sound; a changed one becomes a finding."""
    try:
        data = (folder / tile.path).read_bytes()
    except FileNotFoundError:
        return True
    if sound.holds(tile, data):
        return True
    report.find(TAMPERED, f"{tile.path} is not what the log signed")
    return False


def _signed(log: LogFiles, there: Checkpoint) -> bool:
    """Return whether the log signed a checkpoint: it is stored, or one of the keys verifies it.

    Without keys, one that is not stored counts as signed.
    """
    stored = log.reader.checkpoint_of(there.size)
    note = parse_note(there.note)
    if stored is not None:
        own = parse_note(stored.note)
        if own.text == note.text and set(own.signatures) <= set(note.signatures):
            return True
    try:
        return not log.keys or open_checkpoint(there.note, log.keys) == there
    except NoteError:
        return False
