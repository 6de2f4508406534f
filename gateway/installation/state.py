"""Paths of the state folder, and its lock, which one process holds."""

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from gateway.errors import StateInUseError
from gateway.installation.settings import Settings

FIX: Final = "fix"
PAPER: Final = "paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFolder:
    """Paths below one state folder, which all modes of an installation share but the FIX store."""

    root: Path
    keys: Path
    vault: Path
    mode: str = PAPER

    @classmethod
    def of(cls, settings: Settings) -> "StateFolder":
        """Return the absolute paths that the settings name."""
        root = settings.state.resolve()
        return cls(
            root=root,
            keys=(settings.keys or root / "keys").resolve(),
            vault=(settings.vault or root / "vault").resolve(),
            mode=settings.mode,
        )

    def create(self) -> None:
        """Make the folder and its parts; close parts of an earlier version that others may use.

        The folder itself has mode 0711: the database's user must be able to traverse it.
        """
        self.root.mkdir(parents=True, exist_ok=True, mode=0o711)
        for name in (self.fix.name, "ems", "runs", "logs", "engine"):
            part = self.root / name
            part.mkdir(exist_ok=True, mode=0o700)
            if part.stat().st_uid == os.geteuid() and stat.S_IMODE(part.stat().st_mode) & 0o077:
                part.chmod(0o700)
        if self.kill_word.exists() and self.kill_word.stat().st_uid == os.geteuid():
            self.kill_word.chmod(0o600)

    @property
    def kill_word(self) -> Path:
        """The mapped kill word."""
        return self.root / "kill.word"

    @property
    def fix(self) -> Path:
        """The FIX store of this mode: sequence numbers, inbox, journal, logs."""
        return self.root / (FIX if self.mode == PAPER else f"{FIX}-{self.mode}")

    @property
    def fix_stores(self) -> tuple[Path, ...]:
        """The FIX stores of all modes that have one, and of this mode."""
        return tuple(sorted({self.fix, *self.root.glob(FIX), *self.root.glob(f"{FIX}-*")}))

    @property
    def fix_journal(self) -> Path:
        """The FIX child's journal of live orders."""
        return self.fix / "journal"

    @property
    def logs(self) -> Path:
        """Operator logs of the children."""
        return self.root / "logs"

    @property
    def engine_logs(self) -> Path:
        """Logs of the inference engine."""
        return self.root / "engine" / "logs"

    @property
    def cleaning(self) -> Path:
        """The note of which log bytes are being overwritten; it stays only after a crash."""
        return self.root / "cleaning.json"

    @property
    def ledger_key(self) -> Path:
        """The key that signs checkpoints."""
        return self.keys / "ledger.key"

    @property
    def ledger_vkey(self) -> Path:
        """The verifier key of the log, for outsiders."""
        return self.keys / "ledger.key.pub"

    @property
    def lock_file(self) -> Path:
        """The lock's file; it exists once a process has worked on the folder."""
        return self.root / "lock"

    def lock(self) -> IO[str]:
        """Lock the folder for this process until the handle closes or the process ends.

        The file is private, because another user's shared lock would block us. A file of an earlier
        version that others could open is replaced.

        Raises:
            StateInUseError: another process holds the lock.
        """
        while True:
            handle = _private(self.lock_file)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                handle.seek(0)
                holder = handle.read().strip() or "unknown"
                handle.close()
                raise StateInUseError(state=str(self.root), pid=holder) from None
            if not _is_at(handle, self.lock_file):  # replaced between opening and locking it
                handle.close()
            elif stat.S_IMODE(os.fstat(handle.fileno()).st_mode) & 0o077:
                self.lock_file.unlink()
                handle.close()
            else:
                break
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        return handle

    def say_address(self, address: str) -> None:
        """Write where this process listens, for people who look for the pages.

        No verb sends anything there: the file outlives its process.
        """
        path = self.root / "address"
        path.unlink(missing_ok=True)  # an earlier version's was readable by others
        with _private(path) as file:
            file.write(f"{address} {os.getpid()}\n")

    @property
    def door(self) -> Path:
        """The folder of the local socket; see `local.door`."""
        return self.root / "door"


def _private(path: Path) -> IO[str]:
    """Open a file with mode 0600 for reading and appending."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    return os.fdopen(handle, "a+", encoding="ascii")


def _is_at(handle: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False
