"""The kill word: eight mapped bytes {kill_epoch, killed} that every process reads before a send.

Gateway, FIX child and ``countersign kill`` map the same file, so a press closes the gate in all of
them at once, without any of them answering. Rules:

- Press: close in the mapping first, make it durable next (msync and fsync), return last.
- Every press raises the epoch, also while killed, so a release of an older press is refused.
- Fail closed: a missing, replaced, short or damaged file reads as killed.
- Writers take a lock on the file, but a press closes before it waits for that lock; readers take
  none and never wait.

Layout, 32 bytes little-endian: magic (8), value = kill_epoch * 2 + killed (8), first 8 bytes of
SHA-256 over magic and value (8), closing flag (1: a press has begun), zero (7).
"""

import contextlib
import fcntl
import hashlib
import mmap
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fix.errors import KillWordError

MAGIC = b"CSKILL1\n"
SIZE = 32
CLOSING = 24
LOCK_WAIT_S = 1.0
_READ_TRIES = 4


class KillState(NamedTuple):
    """What the word says; damage reads as killed."""

    kill_epoch: int
    killed: bool


def _encode(state: KillState) -> bytes:
    value = (state.kill_epoch * 2 + int(state.killed)).to_bytes(8, "little")
    return MAGIC + value + hashlib.sha256(MAGIC + value).digest()[:8] + bytes(8)


def _decode(word: bytes) -> tuple[KillState, bool]:
    """Return the state and whether magic and checksum hold."""
    value = word[8:16]
    number = int.from_bytes(value, "little")
    sound = (
        word[:8] == MAGIC
        and word[16:24] == hashlib.sha256(MAGIC + value).digest()[:8]
        and len(word) == SIZE
    )
    closed = bool(number & 1) or not sound or any(word[CLOSING : CLOSING + 1])
    return KillState(number >> 1, closed), sound


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_kill_word(path: Path) -> None:
    """Create the word as epoch 0, not killed, durably, unless the file exists already."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, _encode(KillState(0, killed=False)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    with contextlib.suppress(FileExistsError):
        os.link(fresh, path)
    fresh.unlink()
    _sync_folder(path.parent)


class KillWord:
    """One process's mapping of the kill word; safe to read from any thread."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Map the word at `path`.

        Args:
            path: the shared file.
            create: create it (epoch 0, open) when it does not exist; only the gateway does this.

        Raises:
            KillWordError: the file is missing or has the wrong size.
        """
        if create:
            create_kill_word(path)
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            problem = error.strerror or "cannot be opened"
            raise KillWordError(path=str(path), problem=problem) from error
        status = os.fstat(self._descriptor)
        if status.st_size != SIZE:
            os.close(self._descriptor)
            raise KillWordError(path=str(path), problem=f"has {status.st_size} bytes, not {SIZE}")
        self._identity = (status.st_dev, status.st_ino)
        self._lock = threading.Lock()
        self._map = mmap.mmap(self._descriptor, SIZE)

    def read(self) -> KillState:
        """Return the state now; anything but a sound, unreplaced word reads as killed."""
        state, sound = _decode(self._map[:])
        for _ in range(_READ_TRIES):
            if sound:
                break
            state, sound = _decode(self._map[:])
        if state.killed:
            return state
        try:
            status = self._path.stat()
        except OSError:
            return state._replace(killed=True)
        here = (status.st_dev, status.st_ino) == self._identity
        return state if here and status.st_size == SIZE else state._replace(killed=True)

    def press(self) -> int:
        """Close the gate and return the new kill epoch; durable on return.

        The mapping is closed before anything that may wait or fail: when the disk refuses, the
        gate is shut in every process all the same, but the error says that a power cut may open it.

        Raises:
            KillWordError: the gate is shut, but not durably: the disk refused, or another writer
                hangs with the lock.
        """
        self._map[CLOSING] = 1
        with self._writing():
            state, _ = _decode(self._map[:])
            pressed = KillState(state.kill_epoch + 1, killed=True)
            self._store(pressed)
        return pressed.kill_epoch

    def release(self, kill_epoch: int) -> None:
        """Open the gate again; durable on return. The caller has checked both releasing keys.

        Args:
            kill_epoch: the epoch that the releasing persons signed.

        Raises:
            KillWordError: not killed, a later press came in between, or the word is damaged.
        """
        with self._writing():
            state, sound = _decode(self._map[:])
            if not sound:
                problem = "is damaged; restore it from the ledger"
                raise KillWordError(path=str(self._path), problem=problem)
            if not state.killed:
                raise KillWordError(path=str(self._path), problem="is not pressed")
            if self._map[CLOSING]:
                problem = "a press has begun; wait for it, or press again if it was interrupted"
                raise KillWordError(path=str(self._path), problem=problem)
            if state.kill_epoch != kill_epoch:
                problem = f"release names epoch {kill_epoch}, pressed is {state.kill_epoch}"
                raise KillWordError(path=str(self._path), problem=problem)
            self._store(KillState(kill_epoch, killed=False))

    def restore(self, kill_epoch: int, *, killed: bool) -> KillState:
        """Bring the word at least to what the ledger says and return the state that now holds.

        Where the two differ, the stop wins. A fresh word after a lost file must not reopen a gate
        that the ledger has closed; a word that is ahead (pressed while the ledger was away) stays
        as it is; a word that says killed stays so, whatever release the ledger holds. Where it is
        behind the ledger besides, or damaged, it is rewritten as pressed, one epoch above the
        ledger's, so that no release on record is its own.
        """
        with self._writing():
            state, sound = _decode(self._map[:])
            behind = state.kill_epoch < kill_epoch
            if not sound or (behind and state.killed and not killed):
                self._store(KillState(kill_epoch + 1, killed=True))
            elif behind or (killed and state.kill_epoch == kill_epoch):
                self._store(KillState(kill_epoch, killed=killed))
        return self.read()

    def close(self) -> None:
        """Unmap; the word stays as it is."""
        self._map.close()
        os.close(self._descriptor)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the writers' lock; a writer that hangs with it must not hang this one."""
        with self._lock:
            self._wait_for_lock()
            try:
                yield
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _wait_for_lock(self) -> None:
        until = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    shut = "shut" if self.read().killed else "unchanged"
                    problem = f"is {shut}, but another process holds its lock"
                    raise KillWordError(path=str(self._path), problem=problem) from None
                time.sleep(0.001)
            else:
                return

    def _store(self, state: KillState) -> None:
        self._map[:] = _encode(state)
        try:
            self._map.flush()
            os.fsync(self._descriptor)
        except OSError as error:
            problem = f"is set in memory but not durable: {error.strerror}"
            raise KillWordError(path=str(self._path), problem=problem) from error
