"""The key of the MACs beside the ledger's rows, in files of mode 0600.

In the key folder, which is only read:
    rows.key        the installation's secret, 32 bytes in hex

In the state folder, because they belong to one ledger:
    rows.accepted   by log: the ledger's random instance id, up to which root rows without a MAC
                    are accepted, and how many records it had when last opened or closed
    rows.restored   after a restore: the root up to which its rows, which have no MAC, are accepted

A ledger with fewer records than it had is refused. To begin another ledger in the same state
folder, remove `rows.accepted`; no earlier row is then accepted.
"""

import json
import secrets
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from audit.errors import LedgerUnsafeError
from audit.files import appearing, sync_folder
from audit.records.record_kind import Filing, RecordKind
from audit.records.row_key import Accepted, RowKey
from audit.sequencer.ledger import Draft, Ledger
from audit.signers.file import write_new
from gateway.errors import SettingsError
from gateway.installation.keys.keyring import officers_of
from gateway.installation.state import StateFolder

SECRET: Final = "rows.key"  # noqa: S105 - a file's name
MEMORY: Final = "rows.accepted"
PERMIT: Final = "rows.restored"
PRIVATE: Final = 0o600
_SECRET_BYTES: Final = 32
_INSTANCE_BYTES: Final = 16


def make_secret(folder: Path) -> Path:
    """Make the secret of an installation unless it has one; return its path."""
    path = folder / SECRET
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_new(path, secrets.token_hex(_SECRET_BYTES).encode() + b"\n", PRIVATE)
    return path


def read_secret(folder: Path) -> bytes:
    """Return the secret of an installation.

    Raises:
        SettingsError: it is missing, malformed, or readable by others.
    """
    path = folder / SECRET
    try:
        text, mode = path.read_text(encoding="ascii"), path.stat().st_mode
        secret = bytes.fromhex(text.strip())
    except FileNotFoundError:
        raise _wrong(f"no {SECRET} in {folder}: make it with `countersign row-key`") from None
    except OSError as error:
        raise _wrong(f"cannot read {path}: {error.strerror}") from error
    except ValueError:  # its text may hold a part of the key
        raise _wrong(f"{path} holds no key (64 hexadecimal digits)") from None
    if mode & 0o077:
        raise _wrong(f"{path} is readable by others: chmod 600 {path}")
    if len(secret) != _SECRET_BYTES:
        raise _wrong(f"{path} holds no key (64 hexadecimal digits)")
    return secret


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """The entry of one ledger in `rows.accepted`; `seen` is how many records the ledger had."""

    instance: bytes
    accepted: Accepted
    reason: str
    noted: bool = False
    seen: int = 0


class RowKeys:
    """The row key of one ledger: call `begin` before it is opened, `settle` once it is open."""

    def __init__(self, state: StateFolder, origin: str) -> None:
        """Read the secret and the ledger's entry.

        Raises:
            SettingsError: as of `read_secret`, or the entry cannot be read.
        """
        self._state = state
        self._origin = origin
        self._secret = read_secret(state.keys)
        self._memory = self._remembered()
        self._began_anew = False

    @property
    def key(self) -> RowKey:
        """The key that checks the ledger's rows.

        Raises:
            LedgerUnsafeError: the ledger was never opened with this key.
        """
        if self._memory is None:
            raise LedgerUnsafeError("the ledger was never opened with the key of its rows")
        return self._key_of(self._memory.instance, self._memory.accepted)

    @property
    def found(self) -> RowKey | None:
        """The key that checks rows before the ledger is opened; None if there is no entry.

        After a restore it accepts the restored rows only, which have no MACs.
        """
        permit = self._permit()
        if permit is not None:
            return self._key_of(b"", permit)
        return None if self._memory is None else self.key

    def begin(self) -> RowKey:
        """Return the key to open the ledger with; a new one after a restore or without an entry."""
        restored = self._permit() is not None
        if self._memory is None or restored:
            reason = "restored from a backup" if restored else "rows of before there was a key"
            self._memory = _Memory(
                instance=secrets.token_bytes(_INSTANCE_BYTES), accepted=Accepted(), reason=reason
            )
            self._began_anew = True
        return self.key

    def settle(self, ledger: Ledger) -> RowKey:
        """Fix and record, once and durably, up to which root rows without a MAC are accepted.

        Raises:
            LedgerUnsafeError: the rows are not the restored ones, or fewer than there were.
            AuditError: the ledger did not take the record; the next start tries again.
        """
        memory = self._memory
        if memory is None:
            raise AssertionError("settled before it began")
        size, root = ledger.found
        if size < memory.seen:
            raise LedgerUnsafeError(
                f"the ledger had {memory.seen} records here, and has {size} now: an older"
                " state of the database was put back. Use `countersign restore`, which is recorded;"
                " for another ledger use another state folder"
            )
        if self._began_anew:
            self._refuse_others(size, root)
            accepted = Accepted(size=size, root=root)
            memory = replace(memory, accepted=accepted, noted=size == 0)
            self._remember(memory)  # a crash before this: the next start accepts the rows
            self._began_anew = False
            (self._state.root / PERMIT).unlink(missing_ok=True)
            sync_folder(self._state.root)
        if not memory.noted:
            ledger.append(_accepted(memory))
        self._remember(replace(memory, noted=True, seen=ledger.size))
        return self.key

    def saw(self, size: int) -> None:
        """Remember the ledger's size at its close, if `settle` was called."""
        if self._memory is not None and not self._began_anew and size > self._memory.seen:
            self._remember(replace(self._memory, seen=size))

    def _key_of(self, instance: bytes, accepted: Accepted) -> RowKey:
        return RowKey.of(
            self._secret,
            self._origin,
            instance,
            accepted=accepted,
            officers=officers_of(self._state.keys),
        )

    def _refuse_others(self, size: int, root: bytes) -> None:
        """Refuse rows that were added between a restore and the first start."""
        permit = self._permit()
        if permit is not None and permit != Accepted(size=size, root=root):
            raise LedgerUnsafeError(
                f"{permit.size} records of root {permit.root.hex()} were restored, the database"
                f" holds {size} of root {root.hex()}: restore again, into a new state folder"
            )

    def _permit(self) -> Accepted | None:
        path = self._state.root / PERMIT
        return _accepted_of(_document(path)) if path.exists() else None

    def _remembered(self) -> _Memory | None:
        found = _document(self._state.root / MEMORY).get(self._origin)
        if found is None:
            return None
        return _Memory(
            instance=bytes.fromhex(found["instance"]),
            accepted=_accepted_of(found),
            reason=found["reason"],
            noted=found["noted"],
            seen=found["seen"],
        )

    def _remember(self, memory: _Memory) -> None:
        path = self._state.root / MEMORY
        document = _document(path)
        document[self._origin] = {
            "instance": memory.instance.hex(),
            **_document_of(memory.accepted),
            "reason": memory.reason,
            "noted": memory.noted,
            "seen": memory.seen,
        }
        _write(path, document)
        self._memory = memory


def permit_restored(state: StateFolder, size: int, root: bytes) -> None:
    """Accept the rows of a restore up to this root when the ledger is opened next.

    Raises:
        OSError: it cannot be written.
    """
    _write(state.root / PERMIT, _document_of(Accepted(size=size, root=root)))


def _accepted(memory: _Memory) -> Draft:
    size, root = memory.accepted.size, memory.accepted.root.hex()
    accepted = RowsAccepted(size=size, root=root, reason=memory.reason)
    return accepted.draft(instance=sha256(memory.instance).hexdigest()[:16])


class RowsAccepted(RecordKind, frozen=True, kw_only=True):
    """Rows without a MAC that count as the gateway's own."""

    filing = Filing("control", "rows_accepted:{size}:{instance}")

    size: int
    root: str
    reason: str


def _accepted_of(document: dict[str, Any]) -> Accepted:
    return Accepted(size=int(document["size"]), root=bytes.fromhex(document["root"]))


def _document_of(accepted: Accepted) -> dict[str, Any]:
    return {"size": accepted.size, "root": accepted.root.hex()}


def _document(path: Path) -> dict[str, Any]:
    """Return the document in one of our files; empty if there is no file."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _wrong(f"cannot read {path}: {error}") from error
    return found


def _write(path: Path, document: dict[str, Any]) -> None:
    with appearing(path, PRIVATE) as file:
        file.write(json.dumps(document, indent=1, sort_keys=True).encode("ascii") + b"\n")


def _wrong(problem: str) -> SettingsError:
    return SettingsError(name="COUNTERSIGN_KEYS", problem=problem)
