"""Errors of the order gateway.

FixError
├── MessageError          bytes or fields are not a FIX message of ours
├── ReportError           a message parses but is not the report that it claims to be
├── ProfileError          a broker profile is malformed
├── KillWordError         the kill word cannot be created, read or moved as asked
├── InboxError            the inbox is damaged before its end
├── JournalError          the journal of live orders does not chain
├── StoreInUseError       another child works on this session's store
└── ChildError            the FIX child is not there, or did not answer in time
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
        """Return `says` filled from the fields; without one, what was given."""
        return self.says.format(self=self) or super().__str__()


@dataclass(slots=True, kw_only=True)
class MessageError(FixError):
    """Bytes or fields that are not a FIX message of ours; `problem` names the first fault."""

    code: ClassVar[str] = "fix_message"
    says: ClassVar[str] = "not a usable FIX message: {self.problem}"
    problem: str


@dataclass(slots=True, kw_only=True)
class ReportError(FixError):
    """A well-formed message whose fields do not make the report that its type promises."""

    code: ClassVar[str] = "fix_report"
    says: ClassVar[str] = "message type {self.msg_type}: {self.problem}"
    msg_type: str
    problem: str


@dataclass(slots=True, kw_only=True)
class ProfileError(FixError):
    """A broker profile that does not parse."""

    code: ClassVar[str] = "fix_profile"
    says: ClassVar[str] = "broker profile refused: {self.problem}"
    problem: str


@dataclass(slots=True, kw_only=True)
class KillWordError(FixError):
    """The kill word could not be opened or moved."""

    code: ClassVar[str] = "kill_word"
    says: ClassVar[str] = "kill word {self.path}: {self.problem}"
    path: str
    problem: str


@dataclass(slots=True, kw_only=True)
class InboxError(FixError):
    """The inbox is damaged at an offset that was once durable."""

    code: ClassVar[str] = "fix_inbox"
    says: ClassVar[str] = "inbox {self.path} is damaged at byte {self.offset}"
    path: str
    offset: int


@dataclass(slots=True, kw_only=True)
class JournalError(FixError):
    """The journal of live orders does not chain at a line before its last."""

    code: ClassVar[str] = "fix_journal"
    says: ClassVar[str] = "journal {self.path} does not chain at line {self.line}"
    path: str
    line: int


@dataclass(slots=True, kw_only=True)
class StoreInUseError(FixError):
    """Another child holds the lock of this session's store."""

    code: ClassVar[str] = "fix_store_in_use"
    says: ClassVar[str] = "session store {self.path} is in use by another process"
    path: str


@dataclass(slots=True, kw_only=True)
class ChildError(FixError):
    """The FIX child is down or did not answer; what was asked may or may not have happened."""

    code: ClassVar[str] = "fix_child"
    says: ClassVar[str] = "FIX child: {self.problem}"
    problem: str
