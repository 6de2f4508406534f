"""The fields of one message by tag, each in the form that a reader asks for. Pure.

Not here: what a message of one type needs (`reports`).

Rules:
- Of a tag that comes twice the first counts.
- A value that is garbled counts as not given, unless the caller cannot do without it.
"""

import re
from collections.abc import Sequence

from fix.errors import ReportError
from fix.wire.fields import MSG_TYPE

DECIMAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
INTEGER = re.compile(r"[0-9]{1,18}")
_TIME = re.compile(r"[0-9]{8}(?:-[\x21-\x7e]{0,40})?")


class FieldReader:
    """The first value of each tag; `torn` are the tags that come again with another one."""

    def __init__(self, pairs: Sequence[tuple[int, str]]) -> None:
        """Take the fields of a message, which has a MsgType (35)."""
        self.first = dict(reversed(pairs))
        self.torn = {tag for tag, value in pairs if self.first[tag] != value}

    def fault(self, problem: str) -> ReportError:
        """Return the error of this message."""
        return ReportError(msg_type=self.first[MSG_TYPE][:24], problem=problem)

    def optional(self, tag: int) -> str:
        """Return a field's text; empty if it is missing."""
        return self.first.get(tag, "")

    def text(self, tag: int) -> str:
        """Return a field's text.

        Raises:
            ReportError: it is missing.
        """
        value = self.optional(tag)
        if not value:
            raise self.fault(f"has no tag {tag}")
        return value

    def number(self, tag: int, *, default: int | None = None) -> int:
        """Return a count.

        Raises:
            ReportError: it is missing and has no default, or is no count.
        """
        value = self.optional(tag)
        if not value and default is not None:
            return default
        if not INTEGER.fullmatch(value):
            raise self.fault(f"tag {tag} is not a count")
        return int(value)

    def decimal(self, tag: int) -> str:
        """Return decimal text; empty if it is missing or garbled."""
        value = self.optional(tag)
        return value if DECIMAL.fullmatch(value) else ""

    def time(self, tag: int) -> str:
        """Return a timestamp or date; empty if it is missing or garbled."""
        value = self.optional(tag)
        return value if _TIME.fullmatch(value) else ""
