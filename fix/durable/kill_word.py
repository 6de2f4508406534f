"""The kill word: eight mapped bytes {kill_epoch, killed} that every process reads before a send.

Gateway, FIX child and ``countersign kill`` map the same file, so a press closes the gate in all of
them at once, even if none of them responds.

Rules:
- A press closes the mapping first, then makes it durable (msync and fsync), then returns.
- Every press raises the epoch, also while killed, so a release of an older press is refused.
- Fail closed: a missing, replaced, short or damaged file reads as killed.
- Writers lock the file, but a press closes before it waits for the lock. Readers never wait.
- A press draws 128 random bits, its press id, which a release must name: a signature for a press
  of another ledger, or from before a restore, fits no later press. The id never decides whether
  the gate is open.

Layout, 96 bytes little-endian: magic (8), value = kill_epoch * 2 + killed (8), first 8 bytes of
SHA-256 over magic and value (8), closing flag (1: a press has begun), zero (7); press id (16),
monotonic microseconds of the press (8), boot id (16), first 8 bytes of SHA-256 over magic, value
and these (8), zero (16). A word of an earlier version has 32 bytes; opening it extends it.
"""

import contextlib
import fcntl
import hashlib
import mmap
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fix.errors import KillWordError

MAGIC = b"CSKILL1\n"
SIZE = 96
OLD_SIZE = 32
CLOSING = 24
_PRESS = 32
_SEAL = 72
_ID_BYTES = 16
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LOCK_WAIT_S = 1.0
_READ_TRIES = 4


class KillWordState(NamedTuple):
    """State of the word; damage reads as killed."""

    kill_epoch: int
    killed: bool


class Press(NamedTuple):
    """The newest press.

    Attributes:
        press_id: 128 random bits in hex; empty if damaged.
        pressed_us: monotonic microseconds in the boot `boot_id`; 0 if there was no press yet.
    """

    kill_epoch: int
    killed: bool
    press_id: str
    pressed_us: int
    boot_id: str

    @property
    def is_of_this_boot(self) -> bool:
        """Whether `pressed_us` is comparable with the present monotonic clock."""
        return self.pressed_us > 0 and self.boot_id == boot_id().hex()


def monotonic_us() -> int:
    """Return monotonic microseconds; all processes of one boot share this clock."""
    return time.monotonic_ns() // 1000


def boot_id() -> bytes:
    """Return this boot's id; zero bytes if the system has none."""
    try:
        found = bytes.fromhex(_BOOT_ID.read_text(encoding="ascii").strip().replace("-", ""))
    except (OSError, ValueError):
        found = b""
    return found if len(found) == _ID_BYTES else bytes(_ID_BYTES)


def _encode(state: KillWordState, drawn: bytes) -> bytes:
    """Return the word: value with checksum, then `drawn` (see `_draw`) with its own checksum."""
    value = (state.kill_epoch * 2 + int(state.killed)).to_bytes(8, "little")
    head = MAGIC + value + hashlib.sha256(MAGIC + value).digest()[:8] + bytes(8)
    seal = hashlib.sha256(MAGIC + value + drawn).digest()[:8]
    return (head + drawn + seal).ljust(SIZE, b"\0")


def _draw() -> bytes:
    """Return a new press id, the time and the boot id."""
    return secrets.token_bytes(_ID_BYTES) + monotonic_us().to_bytes(8, "little") + boot_id()


def _decode(word: bytes) -> tuple[KillWordState, bool]:
    """Return the state and whether magic and checksum hold."""
    value = word[8:16]
    number = int.from_bytes(value, "little")
    sound = (
        word[:8] == MAGIC
        and word[16:24] == hashlib.sha256(MAGIC + value).digest()[:8]
        and len(word) == SIZE
    )
    closed = bool(number & 1) or not sound or any(word[CLOSING : CLOSING + 1])
    return KillWordState(number >> 1, closed), sound


def _drawn(word: bytes) -> bytes:
    """Return press id, time and boot id; empty if damaged or never drawn."""
    drawn = word[_PRESS:_SEAL]
    seal = hashlib.sha256(MAGIC + word[8:16] + drawn).digest()[:8]
    return drawn if any(drawn[:_ID_BYTES]) and word[_SEAL : _SEAL + 8] == seal else b""


def _has_begun(word: bytes, kill_epoch: int) -> bool:
    """Return whether a press has shut the gate and not yet stored its epoch."""
    state, sound = _decode(word)
    return sound and word[CLOSING] != 0 and state.kill_epoch == kill_epoch


def sync_folder(folder: Path) -> None:
    """Make creations, renames and removals in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_kill_word(path: Path) -> None:
    """Create the word with epoch 0, not killed, unless it exists; durable on return."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, _encode(KillWordState(0, killed=False), bytes(_SEAL - _PRESS)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    with contextlib.suppress(FileExistsError):
        os.link(fresh, path)
    fresh.unlink()
    sync_folder(path.parent)


class KillWord:
    """One process's mapping of the kill word; safe to read from any thread."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Map the word; only the gateway lets it `create` a missing file (epoch 0, open).

        Raises:
            KillWordError: the file is missing or has the wrong size.
        """
        if create:
            create_kill_word(path)
        self._path, self._text = path, str(path)
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise self._error(error.strerror or "cannot be opened") from error
        status = os.fstat(self._descriptor)
        if status.st_size not in {SIZE, OLD_SIZE}:
            os.close(self._descriptor)
            raise self._error(f"has {status.st_size} bytes, not {SIZE}")
        if status.st_size == OLD_SIZE:
            os.ftruncate(self._descriptor, SIZE)  # adds zeros; another process may do the same
        self._identity = (status.st_dev, status.st_ino)
        self._lock = threading.Lock()
        self._map = mmap.mmap(self._descriptor, SIZE)
        self._checked = b"", KillWordState(0, killed=True)

    def read(self) -> KillWordState:
        """Return the present state; a damaged or replaced word reads as killed."""
        word = self._map[:]
        seen, state = self._checked  # the checksum of the same bytes is not made again
        sound = word == seen
        if not sound:
            state, sound = _decode(word)
            if sound:
                self._checked = word, state
        for _ in range(_READ_TRIES):
            if sound:
                break
            state, sound = _decode(self._map[:])
        if state.killed:
            return state
        try:
            status = os.stat(self._text)  # noqa: PTH116 - asked before every send: a Path is slower
        except OSError:
            return state._replace(killed=True)
        here = (status.st_dev, status.st_ino) == self._identity
        return state if here and status.st_size == SIZE else state._replace(killed=True)

    def in_force(self) -> KillWordState:
        """Return the state, with the epoch of a press that has begun but is not yet stored."""
        state = self.read()
        begun = all(_has_begun(self._map[:], state.kill_epoch) for _ in range(2))
        return state._replace(kill_epoch=state.kill_epoch + 1) if begun else state

    def newest_press(self) -> Press:
        """Return the newest press; its id is empty while it is being written, or if damaged."""
        word = self._map[:]
        for _ in range(_READ_TRIES):
            if _drawn(word):
                break
            word = self._map[:]
        state, drawn = self.read(), _drawn(word)
        if not drawn or _decode(word)[0].kill_epoch != state.kill_epoch:
            return Press(*state, press_id="", pressed_us=0, boot_id="")
        return Press(
            *state,
            press_id=drawn[:_ID_BYTES].hex(),
            pressed_us=int.from_bytes(drawn[16:24], "little"),
            boot_id=drawn[24:].hex(),
        )

    def name_press(self) -> Press:
        """Return the newest press; draws a new id if it is missing or damaged.

        Raises:
            KillWordError: the disk refused, or another writer hangs while it holds the lock.
        """
        press = self.newest_press()
        if press.killed and not press.press_id:
            with self._writing():
                state, sound = _decode(self._map[:])
                if sound and not self._map[CLOSING] and not _drawn(self._map[:]):
                    self._store(state)
            press = self.newest_press()
        return press

    def press(self) -> int:
        """Close the gate and return the new kill epoch; durable on return.

        The mapping closes before any step that may wait or fail.

        Raises:
            KillWordError: the gate is shut in every process, but a power cut may open it: the disk
                refused, or another writer hangs while it holds the lock.
        """
        self._map[CLOSING] = 1
        with self._writing():
            state, _ = _decode(self._map[:])
            pressed = KillWordState(state.kill_epoch + 1, killed=True)
            self._store(pressed)
        return pressed.kill_epoch

    def release(self, kill_epoch: int, press_id: str = "") -> None:
        """Open the gate; durable on return. The caller has checked both signatures.

        Without a `press_id` any press of the epoch is released.

        Raises:
            KillWordError: not killed, a later press, or a damaged word.
        """
        with self._writing():
            state, sound = _decode(self._map[:])
            if not sound:
                raise self._error("is damaged; restore it from the ledger")
            if not state.killed:
                raise self._error("is not pressed")
            if self._map[CLOSING]:
                raise self._error(
                    "a press has begun; wait for it, or press again if it was interrupted"
                )
            if state.kill_epoch != kill_epoch:
                raise self._error(
                    f"release names epoch {kill_epoch}, pressed is {state.kill_epoch}"
                )
            drawn = _drawn(self._map[:])
            if press_id and drawn[:_ID_BYTES].hex() != press_id:
                raise self._error("release names another press")
            self._store(KillWordState(kill_epoch, killed=False), drawn or _draw())

    def restore(self, kill_epoch: int, *, killed: bool) -> KillWordState:
        """Reconcile the word with the ledger's state and return the state that now holds.

        If they differ, killed wins: a new word does not reopen a gate that the ledger has closed, a
        word that is ahead (pressed while the ledger was down) stays, and a killed word stays killed
        although the ledger has a release. A killed word behind such a release, or a damaged one, is
        rewritten as pressed, one epoch above the ledger's, so that no recorded release opens it.
        """
        with self._writing():
            state, sound = _decode(self._map[:])
            behind = state.kill_epoch < kill_epoch
            pressed = state.killed and not self._map[CLOSING]  # as a completed press leaves it
            if not sound or (behind and state.killed and not killed):
                self._store(KillWordState(kill_epoch + 1, killed=True))
            elif behind or (killed and state.kill_epoch == kill_epoch and not pressed):
                self._store(KillWordState(kill_epoch, killed=killed))
        return self.read()

    def rehearse(self) -> None:
        """Do what makes a press durable (lock, msync, fsync) and change no byte.

        Raises:
            KillWordError: another process holds the lock, or the disk refuses.
        """
        with self._writing():
            try:
                self._map.flush()
                os.fsync(self._descriptor)
            except OSError as error:
                raise self._error(f"cannot be made durable: {error.strerror}") from error

    def close(self) -> None:
        """Unmap the word without changing it."""
        self._map.close()
        os.close(self._descriptor)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the writers' lock, which is waited for with a timeout: its holder may hang."""
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
                    raise self._error(f"is {shut}, but another process holds its lock") from None
                time.sleep(0.001)
            else:
                return

    def _store(self, state: KillWordState, drawn: bytes = b"") -> None:
        """Write the word, with new random bits unless `drawn` is given."""
        self._map[:] = _encode(state, drawn or _draw())
        try:
            self._map.flush()
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._error(f"is set in memory but not durable: {error.strerror}") from error

    def _error(self, problem: str) -> KillWordError:
        return KillWordError(path=str(self._path), problem=problem)
