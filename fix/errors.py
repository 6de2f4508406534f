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


@dataclass(slots=True, kw_only=True)
class MessageError(FixError):
    """Bytes or fields that are not a FIX message of ours; `problem` names the first fault."""

    code: ClassVar[str] = "fix_message"
    problem: str

    @override
    def __str__(self) -> str:
        """Return the first fault."""
        return f"not a usable FIX message: {self.problem}"


@dataclass(slots=True, kw_only=True)
class ReportError(FixError):
    """A well-formed message whose fields do not make the report that its type promises."""

    code: ClassVar[str] = "fix_report"
    msg_type: str
    problem: str

    @override
    def __str__(self) -> str:
        """Return type and fault."""
        return f"message type {self.msg_type}: {self.problem}"


@dataclass(slots=True, kw_only=True)
class ProfileError(FixError):
    """A broker profile that does not parse."""

    code: ClassVar[str] = "fix_profile"
    problem: str

    @override
    def __str__(self) -> str:
        """Return the fault."""
        return f"broker profile refused: {self.problem}"


@dataclass(slots=True, kw_only=True)
class KillWordError(FixError):
    """The kill word could not be opened or moved."""

    code: ClassVar[str] = "kill_word"
    path: str
    problem: str

    @override
    def __str__(self) -> str:
        """Return file and fault."""
        return f"kill word {self.path}: {self.problem}"


@dataclass(slots=True, kw_only=True)
class InboxError(FixError):
    """The inbox is damaged at an offset that was once durable."""

    code: ClassVar[str] = "fix_inbox"
    path: str
    offset: int

    @override
    def __str__(self) -> str:
        """Return file and offset."""
        return f"inbox {self.path} is damaged at byte {self.offset}"


@dataclass(slots=True, kw_only=True)
class JournalError(FixError):
    """The journal of live orders does not chain at a line before its last."""

    code: ClassVar[str] = "fix_journal"
    path: str
    line: int

    @override
    def __str__(self) -> str:
        """Return file and line."""
        return f"journal {self.path} does not chain at line {self.line}"


@dataclass(slots=True, kw_only=True)
class StoreInUseError(FixError):
    """Another child holds the lock of this session's store."""

    code: ClassVar[str] = "fix_store_in_use"
    path: str

    @override
    def __str__(self) -> str:
        """Return the locked file."""
        return f"session store {self.path} is in use by another process"


@dataclass(slots=True, kw_only=True)
class ChildError(FixError):
    """The FIX child is down or did not answer; what was asked may or may not have happened."""

    code: ClassVar[str] = "fix_child"
    problem: str

    @override
    def __str__(self) -> str:
        """Return the fault."""
        return f"FIX child: {self.problem}"
