"""The exact bytes of an inbound message, from the engine's own log.

quickfix hands a parsed message to its callbacks, and writing it out again puts the body's fields
into tag order. What the broker sent stands in the engine's FileLog, flushed before the message is
parsed. Rules:

- A line is taken only if it is the same message: the same fields, whatever their order.
- Without such a line the engine's text stands; nothing is lost for want of the original order.

Not here: durability. That is the inbox's.
"""

import os
from pathlib import Path

from fix.errors import MessageError
from fix.messages import parse

_KEPT_MAX = 10_000
_SEQ_NUM, _SENDER = 34, 49
_SEPARATOR = b" : "


class WireLog:
    """Follows one session's message log; used by the engine's thread only."""

    def __init__(self, path: Path, peer: str) -> None:
        """Begin at the log's present end.

        Args:
            path: the engine's message log, which may not exist yet.
            peer: the peer's CompID; our own messages stand in the same log.
        """
        self._path = path
        self._peer = peer
        self._place = path.stat().st_size if path.exists() else 0
        self._rest = b""
        self._lines: dict[int, str] = {}

    def original(self, text: str) -> str:
        """Return the message as it came in, for the engine's text of the same message."""
        try:
            fields = parse(text)
            self._follow()
            found = self._lines.pop(int(dict(fields)[_SEQ_NUM]), "")
            same = bool(found) and sorted(parse(found)) == sorted(fields)
        except (MessageError, ValueError, KeyError, OSError):
            return text
        return found if same else text

    def _follow(self) -> None:
        """Take in the lines that were written since the last call."""
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._place:
                self._place, self._rest = 0, b""
            file.seek(self._place)
            fresh = file.read()
        self._place += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in lines:
            self._keep(line.partition(_SEPARATOR)[2].decode("latin-1"))

    def _keep(self, raw: str) -> None:
        try:
            fields = dict(parse(raw))
            if fields[_SENDER] == self._peer:
                self._lines[int(fields[_SEQ_NUM])] = raw
        except (MessageError, ValueError, KeyError):
            return
        while len(self._lines) > _KEPT_MAX:
            del self._lines[next(iter(self._lines))]
