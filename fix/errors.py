"""Errors of the order gateway.

FixError
├── MessageError          bytes or fields are not a usable FIX message
├── ReportError           a message parses but lacks what its type needs
├── ProfileError          a broker profile is malformed
├── KillWordError         the kill word cannot be created, read or changed
├── InboxError            the inbox is damaged before its last frame
├── JournalError          the hash chain of the journal of live orders is broken
├── StoreInUseError       another process uses this session's store
├── ChildError            the FIX child is down or did not answer in time
└── CertifyError          a certification case failed, or the run cannot begin
"""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override


class FixError(Exception):
    """Root of this package's errors; `code` is stable."""

    code: ClassVar[str] = "fix"
    says: ClassVar[str] = ""

    @override
    def __str__(self) -> str:
        """Return `says` filled from the fields, or the plain exception text."""
        return self.says.format(self=self) or super().__str__()


@dataclass(slots=True, kw_only=True)
class MessageError(FixError):
    """Bytes or fields are not a usable FIX message; `problem` names the first fault."""

    code: ClassVar[str] = "fix_message"
    says: ClassVar[str] = "not a usable FIX message: {self.problem}"
    problem: str


@dataclass(slots=True, kw_only=True)
class ReportError(FixError):
    """A well-formed message lacks or garbles a field that its type needs."""

    code: ClassVar[str] = "fix_report"
    says: ClassVar[str] = "message type {self.msg_type}: {self.problem}"
    msg_type: str
    problem: str


@dataclass(slots=True, kw_only=True)
class ProfileError(FixError):
    """A broker profile does not parse."""

    code: ClassVar[str] = "fix_profile"
    says: ClassVar[str] = "broker profile refused: {self.problem}"
    problem: str


@dataclass(slots=True, kw_only=True)
class KillWordError(FixError):
    """The kill word cannot be opened or changed."""

    code: ClassVar[str] = "kill_word"
    says: ClassVar[str] = "kill word {self.path}: {self.problem}"
    path: str
    problem: str


@dataclass(slots=True, kw_only=True)
class InboxError(FixError):
    """The inbox is damaged at an offset that was durable."""

    code: ClassVar[str] = "fix_inbox"
    says: ClassVar[str] = "inbox {self.path} is damaged at byte {self.offset}"
    path: str
    offset: int


@dataclass(slots=True, kw_only=True)
class JournalError(FixError):
    """The journal's hash chain is broken before its last line."""

    code: ClassVar[str] = "fix_journal"
    says: ClassVar[str] = "journal {self.path} does not chain at line {self.line}"
    path: str
    line: int


@dataclass(slots=True, kw_only=True)
class StoreInUseError(FixError):
    """Another process holds the lock of this session's store."""

    code: ClassVar[str] = "fix_store_in_use"
    says: ClassVar[str] = "session store {self.path} is in use by another process"
    path: str


@dataclass(slots=True, kw_only=True)
class ChildError(FixError):
    """The FIX child is down or did not answer; the command may have taken effect."""

    code: ClassVar[str] = "fix_child"
    says: ClassVar[str] = "FIX child: {self.problem}"
    problem: str


@dataclass(slots=True, kw_only=True)
class CertifyError(FixError):
    """A certification case failed, or the run cannot begin; `problem` says why."""

    code: ClassVar[str] = "fix_certify"
    says: ClassVar[str] = "certify: {self.problem}"
    problem: str
