"""The log as static files: `countersign tiles DIR`, the layout of tlog-tiles.

Rules kept here:
- Every tile and bundle is on disk before the checkpoint that needs it; killed at any point, the
  folder shows the old checkpoint or the new one, and all its tiles.
- A second call writes only what is new; a file that a crash cut off is written again.
- The checkpoint is written only if the tiles lead to its root, and only over one that it extends.

Source: https://c2sp.org/tlog-tiles
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from audit.checkpoint import Checkpoint, parse_checkpoint
from audit.errors import LedgerUnsafeError, NoteError, ProofError
from audit.merkle import HASH_BYTES, verify_consistency
from audit.note import VerifierKey
from audit.queries import LedgerReader
from audit.tiles import TILE_WIDTH, Tile, decode_bundle, root_from, tiles_of
from gateway.attach import Place
from gateway.log_files import LogFiles
from gateway.progress import Progress
from gateway.witness_policy import read_policy

CHECKPOINT = "checkpoint"
_SHOWN_EVERY = 64


def published(place: Place) -> LogFiles:
    """Return what is published of a ledger, under the witness policy of its settings.

    Raises:
        SettingsError: the policy cannot be read.
        NoteError: the log's public key file holds no key.
    """
    _, policy = read_policy(place.settings.ledger)
    file = place.state.ledger_vkey
    keys = [VerifierKey.parse(file.read_text(encoding="utf-8"))] if file.is_file() else []
    return LogFiles(reader=place.reader, policy=policy, keys=keys)


def write_tree(log: LogFiles, folder: Path) -> int:
    """Write the tree of the checkpoint that is shown to outsiders; return the exit code.

    Raises:
        LedgerUnsafeError: the tiles do not lead to the signed root, or the folder holds a tree that
            this one does not extend.
        LedgerError: the database does not answer.
    """
    progress = Progress(sys.stdout)
    reader, shown = log.reader, log.shown()
    if shown is None:
        progress.say("nothing to write: the ledger has no checkpoint yet")
        return 2
    checkpoint, note = shown
    if root_from(reader.tiles.reader(checkpoint.size), checkpoint.size) != checkpoint.root:
        raise LedgerUnsafeError(f"the tiles do not lead to the root of {checkpoint.size}")
    whole = _whole_until(folder, reader, checkpoint)
    wanted = [t for t in _resources(checkpoint.size) if not _is_there(folder, t, whole)]
    for done, tile in enumerate(wanted):
        if done % _SHOWN_EVERY == 0:
            progress.line(f"tiles      {done}/{len(wanted)}")
        _write(folder / tile.path, reader.tiles.fetch(tile))
    os.sync()
    _write(folder / CHECKPOINT, note)
    _sync(folder / CHECKPOINT)
    _sync(folder)
    for tile in wanted:
        _drop_partial(folder, tile)
    progress.end()
    progress.say(
        f"{folder}: {checkpoint.size} records under the checkpoint, {len(wanted)} files written"
    )
    return 0


def _whole_until(folder: Path, reader: LedgerReader, checkpoint: Checkpoint) -> int:
    """Return the size of the tree that the folder holds whole, 0 if none.

    Raises:
        LedgerUnsafeError: it is another log's, or one that this checkpoint does not extend.
    """
    try:
        there = parse_checkpoint((folder / CHECKPOINT).read_bytes())
    except (FileNotFoundError, NoteError):
        return 0
    if there.origin != checkpoint.origin:
        raise LedgerUnsafeError(f"{folder} holds the log {there.origin!r}")
    try:
        path = reader.consistency_proof(there.size, checkpoint.size)
        verify_consistency(there.size, there.root, checkpoint.size, checkpoint.root, path)
    except ProofError as error:
        raise LedgerUnsafeError(
            f"{folder} holds a tree of {there.size} records that this log does not extend"
        ) from error
    return there.size


def _resources(size: int) -> Iterator[Tile]:
    """Yield every tile and entry bundle of a tree."""
    for tile in tiles_of(size):
        yield tile
        if tile.level == 0:
            yield Tile(level=None, index=tile.index, width=tile.width)


def _is_there(folder: Path, tile: Tile, whole: int) -> bool:
    """Say whether a file is there, whole; what the old checkpoint covers was made durable then."""
    path = folder / tile.path
    try:
        if tile.level is not None:
            return path.stat().st_size == tile.width * HASH_BYTES
        if (tile.index + 1) * TILE_WIDTH <= whole:
            return path.stat().st_size > 0
        decode_bundle(path.read_bytes(), tile.width)
    except (OSError, ProofError):
        return False
    return True


def _write(path: Path, data: bytes) -> None:
    """Put a file in place whole; durable only after `os.sync` or `_sync`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.part")
    scratch.write_bytes(data)
    scratch.rename(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _drop_partial(folder: Path, tile: Tile) -> None:
    """Remove the partial forms of a tile that is full now."""
    if tile.width == TILE_WIDTH:
        full = folder / tile.path
        shutil.rmtree(full.with_name(f"{full.name}.p"), ignore_errors=True)
