"""Standard output that notices when it is lost: an unread verdict is not a verdict.

Rules:
- If output cannot be written (closed pipe, full disk, no standard output), the verb ends with
  `NOT_TOLD`, never with the exit code of a verdict.
- A closed pipe ends it quietly, as `| head` expects; any other loss is one line on standard error.
- A lost standard error loses no verdict.
"""

import contextlib
import errno
import io
import os
import sys
from typing import Final, TextIO

from typing_extensions import Buffer, override

NOT_TOLD: Final = 3
"""The verifier's NOT CHECKABLE."""


class LostOutputError(Exception):
    """Standard output takes no more.

    Not an OSError and not one of our own errors: no verifier may take it for a finding.
    """


class _Told(io.FileIO):
    """A descriptor that remembers its loss; raises once, if asked to, then discards."""

    def __init__(self, number: int, *, is_open: bool, raises: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self.lost = None if is_open else OSError(errno.EBADF, "it is closed")
        self._raises = raises

    @override
    def write(self, data: Buffer, /) -> int:
        if self.lost is None:
            try:
                return super().write(data) or 0
            except OSError as error:
                self.lost = error
        if self._raises:
            self._raises = False
            raise LostOutputError
        return memoryview(data).nbytes


class Output:
    """Takes the place of `sys.stdout` and `sys.stderr`."""

    def __init__(self) -> None:
        for number in range(3):
            _occupy(number)
        self._out = _Told(1, is_open=sys.stdout is not None, raises=True)
        error = _Told(2, is_open=sys.stderr is not None, raises=False)
        sys.stdout = _text(self._out, sys.stdout, line_buffering=self._out.isatty())
        sys.stderr = _text(error, sys.stderr, line_buffering=True)

    def settled(self, code: int) -> int:
        """Flush standard output; return `code`, or `NOT_TOLD` if output was lost."""
        with contextlib.suppress(LostOutputError):
            sys.stdout.flush()
        lost = self._out.lost
        if lost is None:
            return code
        if lost.errno != errno.EPIPE:
            sys.stderr.write(f"countersign: the output is lost: {lost.strerror}\n")
        return NOT_TOLD


def _occupy(number: int) -> None:
    """Open /dev/null on a closed standard stream, so that no later file gets its number."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def _text(raw: _Told, before: TextIO | None, *, line_buffering: bool) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if before is None else before.encoding,
        errors="backslashreplace" if before is None else before.errors,
        line_buffering=line_buffering,
    )
