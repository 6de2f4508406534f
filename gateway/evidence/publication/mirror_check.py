"""A mirror of the log held against the log: which of its files are not what was signed.

Rules kept here:
- What counts is the signed root: a tile is sound if the tile above it, up to the root, says so, and
  an entry bundle if its entries have the hashes of their tile. Neither the database nor the mirror
  is believed.
- Judged is what the mirror's own checkpoint covers, as `fsck --tiles` does; what is beside it, a
  call that was cut off left there.
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
    """The tiles and entry bundles under a checkpoint, none of which its root does not confirm."""

    def __init__(self, fetch: Callable[[Tile], bytes], checkpoint: Checkpoint) -> None:
        """Read through `fetch`.

        Raises:
            LedgerUnsafeError: the tiles do not lead to the root.
        """
        self._fetch = fetch
        self._size = checkpoint.size
        self._last: dict[int, tuple[Tile, bytes]] = {}
        if root_from(TileReader(fetch, self._size), self._size) != checkpoint.root:
            raise LedgerUnsafeError(f"the tiles do not lead to the root of {self._size}")

    def data(self, tile: Tile) -> bytes:
        """Return the bytes of a tile or an entry bundle, of a width that it has had so far.

        Raises:
            LedgerUnsafeError: they are not what was signed.
            LedgerError: the database does not answer.
        """
        if tile.level is not None:
            return self._hashes(tile.level, tile.index)[: tile.width * HASH_BYTES]
        data = self._fetch(tile)
        if not self.holds(tile, data):
            raise LedgerUnsafeError(f"the records of {tile.path} do not have the hashes signed")
        return data

    def holds(self, tile: Tile, data: bytes) -> bool:
        """Say whether bytes from elsewhere are those of a tile or an entry bundle.

        Raises:
            LedgerUnsafeError: the log's own tile is not what was signed.
            LedgerError: the database does not answer.
        """
        hashes = self._hashes(tile.level or 0, tile.index)[: tile.width * HASH_BYTES]
        if tile.level is not None:
            return data == hashes
        try:
            return b"".join(map(leaf_hash, decode_bundle(data, tile.width))) == hashes
        except ProofError:
            return False

    def _hashes(self, level: int, n: int) -> bytes:
        """Return a tile's hashes; a partial one is of those that led to the root."""
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
    """Say whether a tree has a tile, in just this width."""
    return tile_width(tile.level or 0, tile.index, size) == tile.width


def judge_checkpoint(report: Report, log: LogFiles, folder: Path, newest: Checkpoint) -> int:
    """Return the size of the tree whose checkpoint a folder holds; 0 if none, or a changed one.

    Raises:
        LedgerUnsafeError: it is another log's, or one that the newest does not extend.
        LedgerError: the database does not answer.
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
    """Say whether a file is missing or what was signed; one that was changed is a finding."""
    try:
        data = (folder / tile.path).read_bytes()
    except FileNotFoundError:
        return True
    if sound.holds(tile, data):
        return True
    report.find(TAMPERED, f"{tile.path} is not what the log signed")
    return False


def _signed(log: LogFiles, there: Checkpoint) -> bool:
    """Say whether the log signed a checkpoint: with a key it has, or as it is stored.

    Without a key it cannot be said of one that is not stored.
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
