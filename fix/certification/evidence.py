"""What a certification run sends, on disk before it leaves; the ids follow from the lines.

One JSON line for each order or request, fsynced; each names the SHA-256 of the line before it, and
its own gives the ClOrdID, as a ledger record's leaf does for the desk.

A crash after a line leaves a message that may be on the wire or not; no id is ever used again.
"""

import hashlib
import json
import os
from pathlib import Path

from fix.durable.kill_word import sync_folder
from fix.errors import CertifyError
from fix.wire.identity import cl_ord_id

_FIRST = "0" * 64


class SentLines:
    """The chained lines of a folder; a later run continues them."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; a line that a crash cut off goes: its message never left.

        Raises:
            CertifyError: its lines do not chain.
        """
        self._path = path
        self._number, self.head = 0, _FIRST
        for line in _whole_lines(path):
            row = _row(line)
            if row.get("before") != self.head or row.get("number") != self._number + 1:
                problem = f"{path} line {self._number + 1} does not follow the line before it"
                raise CertifyError(problem=f"{problem}: take another folder")
            self._number, self.head = self._number + 1, hashlib.sha256(line).hexdigest()

    def add(self, case: str, wish: dict[str, str], at_us: int) -> str:
        """Record what a case is about to send; return the ClOrdID. Durable on return."""
        row = {
            "number": self._number + 1,
            "before": self.head,
            "case": case,
            "at_us": at_us,
            "wish": wish,
        }
        line = json.dumps(row, sort_keys=True, separators=(",", ":")).encode("ascii")
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self._path.parent)
        digest = hashlib.sha256(line)
        self._number, self.head = self._number + 1, digest.hexdigest()
        return cl_ord_id(digest.digest())


def _whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, after the end of the last whole one was made its end."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return whole.splitlines()


def _row(line: bytes) -> dict[str, object]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    return row if isinstance(row, dict) else {}
