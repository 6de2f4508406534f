"""The exact bytes of an inbound message, from the engine's message log.

quickfix gives its callbacks a parsed message, and its `toString` sorts the body by tag. The
engine's FileLog has the bytes as sent, flushed before the message is parsed.

Not here: durability (`fix.durable.inbox`).

Rules:
- A line is used only if it has the same fields in any order; otherwise the engine's text is used.
- The log also has what the engine rejects or cannot parse, which no callback gets (`untaken`).
- Every line read is overwritten in place where it names persons or holds a password: names are
  kept in the vault only. The next start overwrites what a crash leaves (`scrub_since`).
"""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from fix.dialects.engine_settings import ids_of
from fix.dialects.profile import Profile
from fix.errors import MessageError
from fix.wire.fields import MSG_TYPE, SOH, fields_in, read_message
from fix.wire.persons import scrubbings

_KEPT_MAX = 10_000
_SEQ_NUM, _SENDER = 34, 49
_SESSION_TYPES = frozenset("012345A")
_SEPARATOR = b" : "
_CHUNK_BYTES = 1 << 20


class WireLog:
    """Follows one session's message log from its present end; for the engine's thread only.

    `peer` is the broker's CompID: our own messages are in the same log.
    """

    def __init__(self, path: Path, peer: str) -> None:
        self._path = path
        self._peer = peer
        self._place = path.stat().st_size if path.exists() else 0
        self._rest = b""
        self._lines: dict[int, str] = {}

    def original(self, text: str) -> str:
        """Return the message as it was received, given the engine's text of it."""
        try:
            self._follow()
            found = self._lines.pop(int(dict(fields_in(text))[_SEQ_NUM]), "")
        except (ValueError, KeyError, OSError):
            return text
        return found if sorted(found.split(SOH)) == sorted(text.split(SOH)) else text

    def untaken(self, number: int) -> str:
        """Return an application message that the engine logged and handed to no callback, or "".

        It cannot take one with a field twice or a delimiter in its data, for example. Each is
        returned once. Call it when the engine has done with the number.
        """
        try:
            self._follow()
        except OSError:
            return ""
        found = self._lines.get(number, "")
        if not found or dict(reversed(fields_in(found))).get(MSG_TYPE, "") in _SESSION_TYPES:
            return ""
        return self._lines.pop(number)

    def _follow(self) -> None:
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._place:
                self._place, self._rest = 0, b""
            file.seek(self._place)
            fresh = file.read()
        start = self._place - len(self._rest)
        self._place += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in lines:
            self._keep(line.partition(_SEPARATOR)[2].decode("latin-1"))
        _overwrite(self._path, start, lines)

    def _keep(self, raw: str) -> None:
        try:
            fields = dict(reversed(read_message(raw)))
            if fields[_SENDER] == self._peer:
                self._lines[int(fields[_SEQ_NUM])] = raw
        except (MessageError, ValueError, KeyError):
            return
        while len(self._lines) > _KEPT_MAX:
            del self._lines[next(iter(self._lines))]


def scrub_log(path: Path, start: int = 0) -> int:
    """Overwrite names of persons in a message log from a line's start on; return its end.

    Raises:
        OSError: the disk refused.
    """
    if not path.exists():
        return 0
    place = start if start <= path.stat().st_size else 0
    with path.open("rb") as file:
        file.seek(place)
        while lines := file.readlines(_CHUNK_BYTES):
            whole = [line.removesuffix(b"\n") for line in lines if line.endswith(b"\n")]
            _overwrite(path, place, whole)
            place += sum(len(line) + 1 for line in whole)
    return place


def scrub_since(path: Path, mark: Path) -> None:
    """Overwrite names that an earlier process left in a log; `mark` keeps the offset reached.

    Raises:
        OSError: the disk refused.
    """
    text = mark.read_text(encoding="ascii") if mark.exists() else ""
    end = scrub_log(path, int(text) if text.isdigit() else 0)
    mark.write_text(str(end), encoding="ascii")


def _overwrite(path: Path, start: int, lines: Sequence[bytes]) -> None:
    """Overwrite only the bytes that change in the lines from `start` on.

    An erasure may overwrite a name in the same line at the same time.
    """
    changed: list[list[tuple[int, bytes]]] = []
    for line in lines:
        head, mark, raw = line.partition(_SEPARATOR)
        at = start + len(head) + len(mark)
        for step, clean in enumerate(scrubbings(raw)):
            if step == len(changed):
                changed.append([])
            changed[step] += [(at + place, part) for place, part in _differences(raw, clean)]
            raw = clean
        start += len(line) + 1
    for places in filter(None, changed):
        with path.open("r+b", buffering=0) as file:
            for place, clean in places:
                os.pwrite(file.fileno(), clean, place)
            os.fdatasync(file.fileno())


def _differences(old: bytes, new: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each place where two byte strings of one length differ, with the new bytes."""
    differs = (place for place in range(len(new)) if old[place] != new[place])
    for _, run in groupby(enumerate(differs), key=lambda one: one[1] - one[0]):
        found = [place for _, place in run]
        yield found[0], new[found[0] : found[-1] + 1]


def message_log(profile: Profile, folder: Path) -> Path:
    """Return the path of the engine's message log."""
    return folder / "log" / f"{'-'.join(ids_of(profile))}.messages.current.log"
