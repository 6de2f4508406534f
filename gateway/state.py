"""The state folder: where each part keeps what it keeps, and the lock that one gateway holds."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gateway.errors import StateInUseError
from gateway.settings import Settings


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
        """Make the folder and its parts; the database's user must be able to pass through it."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o711)
        for name in ("fix", "ems", "runs", "logs", "engine"):
            (self.root / name).mkdir(exist_ok=True, mode=0o700)

    @property
    def kill_word(self) -> Path:
        """The mapped kill word."""
        return self.root / "kill.word"

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

        Raises:
            StateInUseError: another process has it.
        """
        handle = self.lock_file.open("a+")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            handle.close()
            raise StateInUseError(state=str(self.root), pid=holder) from None
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        return handle

    def say_address(self, address: str) -> None:
        """Say where this process, which has the folder, listens for the verbs of others."""
        self._address.write_text(f"{address} {os.getpid()}\n", encoding="ascii")

    def gateway_address(self) -> str | None:
        """Return where the gateway that has the folder now listens; None without one.

        The file outlives who wrote it, and a bearer key must not go to whoever listens there then:
        it counts while the same process holds the lock.
        """
        try:
            address, _, writer = self._address.read_text(encoding="ascii").strip().partition(" ")
            with self.lock_file.open() as handle:
                return address if writer == handle.read().strip() and _is_locked(handle) else None
        except (OSError, UnicodeDecodeError):
            return None

    @property
    def _address(self) -> Path:
        return self.root / "address"


def _is_locked(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
