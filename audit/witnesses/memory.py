"""The memory of a witness, on disk: the last tree of each log that it cosigned.

Rules:

- `remember` returns once the new tree survives a power cut: temporary file, fsync, rename, fsync
  of the folder. A crash leaves the old tree or the new one. The folders are durable before the
  first request.
- One update of a log at a time (`turn`); one process in a folder (a lock that ends with it).
- An unreadable file stops its log: a witness that forgot would cosign a second history.

A log's file holds the checkpoint cosigned last, as the caller passed it.
"""

import contextlib
import fcntl
import os
import re
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from audit.errors import NoteError, WitnessError
from audit.files import sync_folder
from audit.tlog.checkpoint import Checkpoint, parse_checkpoint
from audit.witnesses.witness import Seen

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_ORIGIN_HASH = re.compile(r"[0-9a-f]{64}")


class WitnessMemory:
    """The memory of one witness; thread-safe.

    A read raises `WitnessError` if the log's file cannot be read, or is another log's.
    """

    def __init__(self, folder: Path) -> None:
        """Lock the folder for this process; create it if it is missing.

        Raises:
            WitnessError: another process has it, or it cannot be used.
        """
        self._logs = folder / "logs"
        self._turns: dict[str, threading.Lock] = {}
        self._turns_lock = threading.Lock()
        try:
            _make_durable(self._logs)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, _FILE_MODE)
        except OSError as error:
            raise WitnessError(f"cannot use {folder}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise WitnessError(f"another witness works in {folder}; stop it first") from None

    @contextlib.contextmanager
    def turn(self, origin: str) -> Iterator[Seen]:
        """Lock a log for one request and yield its last tree."""
        with self._turns_lock:
            lock = self._turns.setdefault(origin, threading.Lock())
        with lock:
            yield self.seen(origin)

    def seen(self, origin: str) -> Seen:
        """Return the last tree of a log; the empty tree if none was cosigned."""
        path = self._path(origin)
        try:
            checkpoint = parse_checkpoint(path.read_bytes())
        except FileNotFoundError:
            return Seen()
        except (OSError, NoteError) as error:
            raise WitnessError(f"the memory of {origin!r} is damaged ({path.name})") from error
        if checkpoint.origin != origin:
            raise WitnessError(f"{path.name} is the memory of {checkpoint.origin!r}")
        return Seen(size=checkpoint.size, root=checkpoint.root)

    def latest(self, origin_hash: str) -> bytes | None:
        """Return a log's last cosigned note, by its origin's SHA-256 in lower-case hex, or None."""
        if not _ORIGIN_HASH.fullmatch(origin_hash):
            return None
        try:
            return (self._logs / f"{origin_hash}.checkpoint").read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WitnessError(f"cannot read a checkpoint: {error.strerror}") from error

    def remember(self, checkpoint: Checkpoint) -> None:
        """Store a tree as the last one of its log; durable on return. Call it inside `turn`.

        Raises:
            WitnessError: it could not be written; the witness must not answer then.
        """
        path = self._path(checkpoint.origin)
        scratch = path.with_suffix(".new")
        try:
            handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)
            with os.fdopen(handle, "wb") as file:
                file.write(checkpoint.note)
                file.flush()
                os.fsync(file.fileno())
            scratch.rename(path)
            sync_folder(self._logs)
        except OSError as error:
            raise WitnessError(f"cannot remember a checkpoint: {error.strerror}") from error

    def close(self) -> None:
        """Unlock the folder."""
        os.close(self._lock)

    def _path(self, origin: str) -> Path:
        return self._logs / f"{sha256(origin.encode()).hexdigest()}.checkpoint"


def _make_durable(folder: Path) -> None:
    """Create a folder durably: on return its entry in its parent is on disk.

    An existing folder may have been created just before a crash, so its parent is synced too.
    Unreadable parents are skipped: they hold keys and memory, so both would be lost together.
    """
    made = [one for one in folder.parents if not one.exists()]
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    sync_folder(folder.parent)
    for one in made or [folder.parent]:
        with contextlib.suppress(PermissionError):
            sync_folder(one.parent)
