"""What can go wrong in the ledger.

AuditError
├── CanonicalError          bytes or values outside the canonical profile
├── DraftError              a draft that no kind allows
├── NoteError               a signed note, key or checkpoint that does not parse or verify
├── ProofError              a Merkle proof that does not fit
├── PolicyError             a witness policy that does not parse or is not met
├── WitnessError            a request to a witness, its memory or its answer is not usable
├── KeyFileError            a key file that is missing, malformed or readable by others
├── FsckStateError          a check that cannot be resumed
├── FileError               what is no file stands where one is to be written
├── BackupError             a backup that cannot be written, or is damaged or cut off
├── DisclosureError         a personal value or its disclosure that does not fit
├── VaultError              a subject's key that is missing, damaged or refused by the disk
├── ErasureRefusedError     a person's values that may not be erased, or not yet
└── LedgerError             the store and its sequencer
    ├── LedgerUnsafeError         the database's settings or content forbid starting
    ├── LedgerFencedError         another sequencer holds the log
    ├── LaneFullError             the lane is full; nothing was written
    ├── GuardMovedError           the section moved after the basis; nothing was written
    ├── IdempotencyConflictError  the key is taken by another payload; nothing was written
    ├── BlobMissingError          a payload names a blob that is not stored
    ├── RowRefusedError           a row that the gateway did not write, or that was altered since
    ├── LedgerWriteError          the database refused; nothing was written
    ├── LedgerTimeoutError        no answer in time; `written` says what is known
    └── LedgerStoppedError        the sequencer stopped and will not write again
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
        """Return `says` filled from the fields; without one, what was given."""
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
    """A request to a witness, a witness's memory, or its answer that cannot be used."""

    code: ClassVar[str] = "witness"


class KeyFileError(AuditError):
    """A key file that is missing, malformed or readable by others."""

    code: ClassVar[str] = "key_file"


class FsckStateError(AuditError):
    """A check's state file that cannot be used: nothing to resume, or of another check."""

    code: ClassVar[str] = "fsck_state"


class DisclosureError(AuditError):
    """A personal value that cannot be kept, or a disclosure that does not fit."""

    code: ClassVar[str] = "disclosure"


class VaultError(AuditError):
    """A subject's key that is missing, damaged, or that the disk refused; names no person."""

    code: ClassVar[str] = "vault"


class SubjectRetiredError(VaultError):
    """A value of a person who is being erased; nothing was written, and once more it will be."""

    code: ClassVar[str] = "subject_retired"


class ErasureRefusedError(AuditError):
    """A hold or erasure that is refused: a statute, a hold, or an unknown subject."""

    code: ClassVar[str] = "erasure_refused"


class FileError(AuditError):
    """Something that is no regular file has the name of a file to write."""

    code: ClassVar[str] = "file"


class BackupError(AuditError):
    """A backup that cannot be written, or that is damaged, cut off or none."""

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
    """A row in the log that the gateway did not write, or that was altered since.

    Nothing is done on its word; `disavowable` says whether two officers may disavow it.
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

    `written` is False when the drafts never reached the database, None when that is unknown:
    ask `Ledger.resolve` (or append the same drafts again) with the idempotency key.
    """

    code: ClassVar[str] = "ledger_timeout"

    def __init__(self, message: str, *, written: bool | None) -> None:
        """Keep what is known about the write."""
        super().__init__(message)
        self.written = written


class LedgerStoppedError(LedgerError):
    """The sequencer stopped and will not write again in this process."""

    code: ClassVar[str] = "ledger_stopped"
