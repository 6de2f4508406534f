"""The state folder: where each part keeps what it keeps, and the lock that one gateway holds."""

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gateway.errors import StateInUseError
from gateway.installation.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFolder:
    """Paths below one state folder."""

    root: Path
    keys: Path
    vault: Path

    @classmethod
    def of(cls, settings: Settings) -> "StateFolder":
        """Return the folder that the settings name, made absolute."""
        root = settings.state.resolve()
        return cls(
            root=root,
            keys=(settings.keys or root / "keys").resolve(),
            vault=(settings.vault or root / "vault").resolve(),
        )

    def create(self) -> None:
        """Make the folder and its parts; the database's user must be able to pass through it.

        Parts of an earlier version that were open to others are closed.
        """
        self.root.mkdir(parents=True, exist_ok=True, mode=0o711)
        for name in ("fix", "ems", "runs", "logs", "engine"):
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
    def fix_journal(self) -> Path:
        """The FIX child's own list of live orders."""
        return self.root / "fix" / "journal"

    @property
    def fix_logs(self) -> Path:
        """What the FIX engine logs."""
        return self.root / "fix" / "log"

    @property
    def logs(self) -> Path:
        """Operator logs of the children."""
        return self.root / "logs"

    @property
    def engine_logs(self) -> Path:
        """What the inference engine logs."""
        return self.root / "engine" / "logs"

    @property
    def cleaning(self) -> Path:
        """Which bytes of a log are being overwritten just now; there only after a crash."""
        return self.root / "cleaning.json"

    @property
    def ledger_key(self) -> Path:
        """The checkpoint signer's key; its public line lies beside it with the suffix .pub."""
        return self.keys / "ledger.key"

    @property
    def ledger_vkey(self) -> Path:
        """The public key line that a verifier is given."""
        return self.keys / "ledger.key.pub"

    @property
    def lock_file(self) -> Path:
        """There once somebody worked on the folder."""
        return self.root / "lock"

    def lock(self) -> IO[str]:
        """Take the folder for this process; released when the handle closes or the process ends.

        Nobody else may open the file, for even a shared lock of a stranger's would keep us out. One
        that an earlier version left open to others is replaced: somebody may have it open still.

        Raises:
            StateInUseError: another process has it.
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
        """Write down where this process listens, for whoever looks for the pages' port.

        No verb sends anything there: the file outlives who wrote it.
        """
        path = self.root / "address"
        path.unlink(missing_ok=True)  # an earlier version's was readable by others
        with _private(path) as file:
            file.write(f"{address} {os.getpid()}\n")

    @property
    def door(self) -> Path:
        """The folder of the socket that local verbs speak to; see `local_door`."""
        return self.root / "door"


def _private(path: Path) -> IO[str]:
    """Open a file for reading and appending that nobody else may open."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    return os.fdopen(handle, "a+", encoding="ascii")


def _is_at(handle: IO[str], path: Path) -> bool:
    """Say whether an open file is the one that a path names now."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False
