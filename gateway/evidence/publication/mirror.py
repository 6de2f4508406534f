"""The log as static files: `countersign tiles DIR`, the layout of tlog-tiles.

Rules:
- Every tile and bundle is on disk before the checkpoint that needs it. Killed at any point, the
  folder shows the old checkpoint or the new one, with all its tiles.
- A second call writes only what is new, missing, or left half done by a crash.
- If a file under the folder's checkpoint is not what was signed, nothing is written. With `repair`
  the file is written anew and the changed one kept aside.
- The checkpoint is written only if the tiles lead to its root and it extends the folder's.

Source: https://c2sp.org/tlog-tiles
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from audit.errors import FileError
from audit.tlog.note import VerifierKey
from audit.tlog.tiles import TILE_WIDTH, Tile
from audit.verifier.verify import Report
from gateway.evidence.publication.mirror_check import (
    CHECKPOINT,
    SoundTiles,
    covered,
    judge_checkpoint,
    judge_file,
    resources,
)
from gateway.evidence.publication.policy import read_policy
from gateway.evidence.publication.published import LogFiles
from gateway.installation.place import Place
from gateway.telemetry.console import Progress

ASIDE = "differs"
"""The folder within a mirror where `repair` keeps changed files."""
_T = TypeVar("_T")


def published(place: Place) -> LogFiles:
    """Return what is published of a ledger, under the witness policy of its settings.

    Raises:
        SettingsError: when the policy cannot be read.
        NoteError: when the log's public key file holds no key.
    """
    _, policy = read_policy(place.settings.ledger)
    file = place.state.ledger_vkey
    keys = [VerifierKey.parse(file.read_text(encoding="utf-8"))] if file.is_file() else []
    return LogFiles(reader=place.reader, policy=policy, keys=keys)


def write_tree(log: LogFiles, folder: Path, *, check: bool = True, repair: bool = False) -> int:
    """Write the tree of the published checkpoint; return the exit code.

    `folder` may hold an older tree of this log. With `check` its files are compared with the log
    first; with `repair` changed files are replaced.

    Raises:
        LedgerUnsafeError: when tiles or records are not what was signed, or the folder holds a tree
            that this one does not extend.
        LedgerError: when the database does not answer.
        FileError: when `folder` is no folder.
    """
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is not a folder: name a folder, or one to create")
    progress = Progress(sys.stdout)
    shown = log.shown()
    if shown is None:
        progress.say("nothing to write: the ledger has no checkpoint yet")
        return 2
    checkpoint, note = shown
    sound = SoundTiles(log.reader.tiles.fetch, checkpoint)
    report = Report()
    whole = judge_checkpoint(report, log, folder, checkpoint)
    changed = [CHECKPOINT] if report.findings else []
    if check:
        there = _shown([*resources(whole)], "checking")
        changed += [t.path for t in there if not judge_file(report, sound, folder, t)]
    if changed and not repair:
        return _refused(report, progress)
    for name in changed:
        _set_aside(folder, name)
    wanted = [t for t in resources(checkpoint.size) if not _is_there(folder, t, whole, sound)]
    for tile in _shown(wanted, "writing"):
        _write(folder / tile.path, sound.data(tile))
    os.sync()
    _write(folder / CHECKPOINT, note, durable=True)
    for tile in wanted:
        _drop_partial(folder, tile)
    if changed:
        progress.say(f"{len(changed)} changed files are in {folder / ASIDE}")
    progress.say(
        f"{folder}: {checkpoint.size} records under the checkpoint, {len(wanted)} files written"
    )
    return 0


def _refused(report: Report, progress: Progress) -> int:
    """Print which files were changed, and what to do."""
    report.say("nothing was written; --repair replaces these files and keeps the changed ones")
    report.conclude()
    for line in report.lines:
        progress.say(line)
    return report.exit_code


def _shown(items: Sequence[_T], stage: str) -> Iterator[_T]:
    """Yield items under a progress bar."""
    bar = Progress(sys.stderr)
    try:
        for done, item in enumerate(items):
            bar.show(stage, done, len(items))
            yield item
    finally:
        bar.end()


def _is_there(folder: Path, tile: Tile, whole: int, sound: SoundTiles) -> bool:
    """Return whether a file need not be written; files under the old checkpoint were checked."""
    path = folder / tile.path
    if covered(tile, whole):
        return path.is_file()
    try:
        return sound.holds(tile, path.read_bytes())
    except FileNotFoundError:
        return False


def _set_aside(folder: Path, name: str) -> None:
    kept = folder / ASIDE / name
    kept.parent.mkdir(parents=True, exist_ok=True)
    (folder / name).replace(kept)


def _write(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file atomically; durable at once, or after `os.sync`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.part")
    scratch.write_bytes(data)
    if durable:
        _sync(scratch)
    scratch.replace(path)
    if durable:
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _drop_partial(folder: Path, tile: Tile) -> None:
    """Remove the partial forms of a full tile."""
    if tile.width == TILE_WIDTH:
        full = folder / tile.path
        shutil.rmtree(full.with_name(f"{full.name}.p"), ignore_errors=True)
