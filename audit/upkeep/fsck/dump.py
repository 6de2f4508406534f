"""fsck of a dump: line by line through the outsider's verifier, resumable, streams on disk.

A resumed check hashes the file's beginning again and builds its tree: both must be those checked,
and the checkpoints that the state claims must be of that tree. Somebody who can write the state's
file can still hide what a line says beside its leaf; see `run`. Memory grows with checkpoints only
(some hundred bytes each).
"""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any, BinaryIO

from audit.tlog.merkle import Frontier, push
from audit.upkeep.fsck.judge import ChunkVerifier
from audit.upkeep.fsck.plan import ChangedBelowError, FsckPlan, Progress, whole_or_again
from audit.upkeep.fsck.state import FsckState
from audit.verifier.verify import INCOMPLETE, TAMPERED, Bad, Report, take_line

SAVE_BYTES = 64 << 20
SHOW_BYTES = 1 << 20
_LEADING = frozenset({"head", "checkpoint"})
_NO_STATE = (ValueError, TypeError, KeyError, ArithmeticError, RecursionError)
"""The errors of a forged state, or of a dump that has changed."""


def fsck_dump(path: Path, plan: FsckPlan, progress: Progress) -> Report:
    """Return the report on a dump file; an interruption leaves the state for `resume`.

    Raises:
        FsckStateError: the state file cannot be used.
        Bad: a key or the policy is malformed.
        OSError: the file cannot be read.
    """
    path.open("rb").close()  # an unreadable file must not leave a state behind
    return whole_or_again(
        plan,
        f"dump {path.resolve()}",
        lambda state: _DumpCheck(path, plan, state, progress).run(),
    )


class _DumpCheck:
    def __init__(self, path: Path, plan: FsckPlan, state: FsckState, progress: Progress) -> None:
        self._path = path
        self._state = state
        self._progress = progress
        self._log = ChunkVerifier(plan.outside, state)
        self._hash = hashlib.sha256()
        self._at = self._saved_at = 0
        self._size = path.stat().st_size

    def run(self) -> Report:
        """Return the report after taking every line and judging the end."""
        log, expected = self._log, None
        with self._path.open("rb") as file:
            try:
                if self._state.saved is not None:
                    try:
                        self._skip(file, self._state.saved)
                    except _NO_STATE as error:
                        raise ChangedBelowError from error
                for line in file:
                    if expected is not None:
                        log.report.find(TAMPERED, "the dump goes on after its end")
                        break
                    expected = take_line(log, line)
                    self._moved(line)
            except Bad as error:
                log.report.find(TAMPERED, f"the dump is malformed: {error}")
            except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
                log.report.caught(error)
        if expected is None:
            log.report.find(INCOMPLETE, "the dump has no end")
        return log.finish(expected)

    def _moved(self, line: bytes) -> None:
        """Count a line; save every `SAVE_BYTES`, but not in the part that a resume reads again."""
        before = self._at
        self._at += len(line)
        self._hash.update(line)
        if before // SHOW_BYTES != self._at // SHOW_BYTES or self._at == self._size:
            self._progress("bytes", self._at, self._size)
        if self._at - self._saved_at >= SAVE_BYTES and not _leads(line) and self._log.sound:
            self._saved_at = self._at
            saved = {"at": self._at, "sha256": self._hash.hexdigest(), "log": self._log.to_state()}
            self._state.save(saved)

    def _skip(self, file: BinaryIO, saved: dict[str, Any]) -> None:
        """Read the part checked before: take its checkpoints, hash it, build its tree."""
        leading, nodes, size = True, list[bytes](), 0
        asked = {saved["log"][name] for name in ("_checked", "_witnessed")} - {0}
        roots: dict[int, bytes] = {}
        notes: dict[int, bytes] = {}
        while self._at < saved["at"] and (line := file.readline()):
            row = json.loads(line)
            leading = leading and row["type"] in _LEADING
            if leading:
                take_line(self._log, line)
            if row["type"] == "checkpoint" and row["size"] in asked:
                notes[row["size"]] = base64.b64decode(row["note"])
            elif row["type"] == "entry":
                size = push(nodes, size, base64.b64decode(row["leaf"]))
            if size in asked and size not in roots:
                roots[size] = Frontier(size=size, nodes=tuple(nodes)).root()
            self._hash.update(line)
            before, self._at = self._at, self._at + len(line)
            if before // SHOW_BYTES != self._at // SHOW_BYTES:
                self._progress("bytes read again", self._at, self._size)
        if self._at != saved["at"] or self._hash.hexdigest() != saved["sha256"]:
            raise ChangedBelowError
        self._saved_at = self._at
        self._log.restore(saved["log"])
        if (size, nodes) != (self._log.size, self._log.nodes) or not all(
            size in roots and self._log.vouched(size, roots[size], [notes[size]]) for size in asked
        ):
            raise ChangedBelowError


def _leads(line: bytes) -> bool:
    """Return whether a line belongs to the part before blobs and entries."""
    try:
        return json.loads(line)["type"] in _LEADING
    except (ValueError, TypeError, KeyError):
        return False
