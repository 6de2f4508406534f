"""What can go wrong in the ledger.

AuditError
├── CanonicalError, DraftError, NoteError, ProofError, TrustPolicyError, WitnessError
├── KeyFileError, FileError, FsckStateError, BackupError
├── DisclosureError, ErasureRefusedError
├── VaultError
│   └── SubjectRetiredError
└── LedgerError
    ├── LedgerUnsafeError, LedgerFencedError, LedgerStoppedError
    └── LaneFullError, GuardMovedError, IdempotencyConflictError, BlobMissingError,
        RowRefusedError, LedgerWriteError, LedgerTimeoutError
"""

from dataclasses import dataclass, field
from typing import ClassVar

from typing_extensions import override


class AuditError(Exception):
    """Root of this package's errors."""

    code: ClassVar[str] = "audit"
    says: ClassVar[str] = ""

    @override
    def __str__(self) -> str:
        return self.says.format(self=self) or super().__str__()


class CanonicalError(AuditError):
    """A value or byte string outside the canonical profile."""

    code: ClassVar[str] = "canonical"


class DraftError(AuditError):
    """A draft that the closed list of kinds does not allow."""

    code: ClassVar[str] = "draft"


class NoteError(AuditError):
    """A signed note, verifier key or checkpoint that does not parse or verify."""

    code: ClassVar[str] = "note"


class ProofError(AuditError):
    """A Merkle proof that does not fit its tree."""

    code: ClassVar[str] = "proof"


class TrustPolicyError(AuditError):
    """A witness policy that does not parse, or a checkpoint that does not meet it."""

    code: ClassVar[str] = "witness_policy"


class WitnessError(AuditError):
    """A request to a witness, its memory or its answer cannot be used."""

    code: ClassVar[str] = "witness"


class KeyFileError(AuditError):
    """A key file that is missing, malformed or readable by others."""

    code: ClassVar[str] = "key_file"


class FsckStateError(AuditError):
    """A check's state file that cannot be used: missing, or of another check."""

    code: ClassVar[str] = "fsck_state"


class DisclosureError(AuditError):
    """A personal value that cannot be kept, or a disclosure that does not fit."""

    code: ClassVar[str] = "disclosure"


class VaultError(AuditError):
    """A subject's key is missing, damaged or refused by the disk; the message names no person."""

    code: ClassVar[str] = "vault"


class SubjectRetiredError(VaultError):
    """A value of a person who is being erased; nothing was written, and a retry succeeds."""

    code: ClassVar[str] = "subject_retired"


class ErasureRefusedError(AuditError):
    """A hold or an erasure is refused: a statute, a hold or an unknown subject."""

    code: ClassVar[str] = "erasure_refused"


class FileError(AuditError):
    """The name of a file to write is taken by something else than a regular file."""

    code: ClassVar[str] = "file"


class BackupError(AuditError):
    """A backup that cannot be written, is damaged or cut off, or a file that is no backup."""

    code: ClassVar[str] = "backup"


class LedgerError(AuditError):
    """Root of the store's errors."""

    code: ClassVar[str] = "ledger"


class LedgerUnsafeError(LedgerError):
    """The database's settings or content forbid starting."""

    code: ClassVar[str] = "ledger_unsafe"


class LedgerFencedError(LedgerError):
    """Another sequencer holds the log."""

    code: ClassVar[str] = "ledger_fenced"


class LaneFullError(LedgerError):
    """The lane is full; nothing was written."""

    code: ClassVar[str] = "lane_full"


@dataclass(slots=True, eq=False)
class GuardMovedError(LedgerError):
    """The guarded section moved after the basis; nothing was written."""

    code: ClassVar[str] = "guard_moved"

    says: ClassVar[str] = (
        "section {self.section} moved at {self.moved_seq}, after basis {self.basis_seq}"
    )
    section: str
    basis_seq: int
    moved_seq: int


@dataclass(slots=True, eq=False)
class IdempotencyConflictError(LedgerError):
    """The idempotency key is taken by another payload; nothing was written."""

    code: ClassVar[str] = "idempotency_conflict"

    says: ClassVar[str] = (
        "{self.stream}: key {self.idem_key!r} is record {self.seq} with other content"
    )
    stream: str
    idem_key: str
    seq: int


class BlobMissingError(LedgerError):
    """A payload names a blob that is not stored; nothing was written."""

    code: ClassVar[str] = "blob_missing"


@dataclass(slots=True, eq=False)
class RowRefusedError(LedgerError):
    """A row that the gateway did not write, or that was altered since; nothing relies on it.

    `disavowable` says whether two officers may disavow it.
    """

    code: ClassVar[str] = "row_refused"

    seq: int
    stream: str
    problem: str
    disavowable: bool = field(kw_only=True)

    @override
    def __str__(self) -> str:
        advice = (
            f"find out who wrote it; two officers may leave it out: countersign disavow {self.seq}"
            if self.disavowable
            else "run `countersign fsck`, and restore a backup"
        )
        return f"record {self.seq} in stream {self.stream} {self.problem}: {advice}"


class LedgerWriteError(LedgerError):
    """The database refused the write; nothing was written."""

    code: ClassVar[str] = "ledger_write"


class LedgerTimeoutError(LedgerError):
    """No answer in time.

    `written` is False if the drafts never reached the database, None if that is unknown: then
    call `Ledger.resolve` with the idempotency key, or append the same drafts again.
    """

    code: ClassVar[str] = "ledger_timeout"

    def __init__(self, message: str, *, written: bool | None) -> None:
        super().__init__(message)
        self.written = written


class LedgerStoppedError(LedgerError):
    """The sequencer stopped and will not write again in this process."""

    code: ClassVar[str] = "ledger_stopped"
