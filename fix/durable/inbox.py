"""Inbound messages, durable before they are processed.

The FIX child appends each message and returns to the engine; the gateway reads by offset and may
read a message more than once.

Rules:
- ``append`` returns after fdatasync, and the engine counts the message only then. After a crash
  the broker is asked again for what is missing: a message may come twice but is never lost.
- A frame cut off by a crash is the last one and was never counted; the next open drops it.
- Damage before the last frame is an error that names its offset; nothing after it is read.
- Once a message is on record, the names of persons in it are overwritten in place (`forget`).

An inbox begins at offset 0 or at the offset in `inbox.base`. Offsets are keys of the ledger, so an
inbox that replaces a lost one continues with unused offsets.

Frame: length (4 bytes little-endian), CRC-32 of the body (4), body. The checksum leaves out what
may be overwritten (`persons.masked`), so a power cut during `forget` damages nothing.
"""

import os
import re
import struct
import threading
import zlib
from pathlib import Path
from typing import NamedTuple

from fix.durable.kill_word import sync_folder
from fix.errors import InboxError
from fix.wire.persons import masked, scrubbings

_HEAD = struct.Struct("<II")
_CHECKSUM = struct.Struct("<I")
_LENGTH = _HEAD.size - _CHECKSUM.size
FRAME_BYTES_MAX = 1 << 26
"""A longer body is damage to a reader, so none is written."""


class Entry(NamedTuple):
    """One inbound message: its offset, the next one's offset, and its wire text."""

    offset: int
    next_offset: int
    raw: str


class Inbox:
    """The appending side, for the child that holds the session's lock; safe from any thread."""

    def __init__(self, path: Path) -> None:
        """Open or create the inbox, and drop a frame that a crash cut off.

        Raises:
            InboxError: a frame before the last one is damaged.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self._base = base_of(path)
        self._end = _sound_end(path)
        if os.fstat(self._descriptor).st_size != self._end - self._base:
            os.ftruncate(self._descriptor, self._end - self._base)
        os.fsync(self._descriptor)
        sync_folder(path.parent)

    @property
    def end(self) -> int:
        """Offset of the next message."""
        return self._end

    def append(self, raw: str) -> Entry:
        """Append one message; durable on return.

        Raises:
            OSError: the disk refused, or nobody could read so long a message again; the engine must
                not count it.
        """
        body = raw.encode("latin-1")
        if len(body) > FRAME_BYTES_MAX:
            raise OSError(f"a message of {len(body)} bytes is too long for the inbox")
        frame = _HEAD.pack(len(body), zlib.crc32(masked(body))) + body
        with self._lock:
            offset = self._end
            written = os.pwrite(self._descriptor, frame, offset - self._base)
            if written != len(frame):
                raise OSError(f"wrote {written} of {len(frame)} bytes to the inbox")
            os.fdatasync(self._descriptor)
            self._end = offset + len(frame)
            return Entry(offset, self._end, raw)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_from(path: Path, offset: int, limit: int = 1000) -> list[Entry]:
    """Return up to `limit` messages from `offset` on, which must be a frame's first byte.

    A frame that is still being written is left for the next call. Never waits.

    Raises:
        InboxError: a whole frame is damaged, or the offset is beyond the end.
    """
    entries: list[Entry] = []
    if not path.exists():
        return entries
    base = base_of(path)
    offset, size = max(offset, base), base + path.stat().st_size
    if offset > size:
        raise InboxError(path=str(path), offset=offset)
    with path.open("rb") as file:
        file.seek(offset - base)
        while len(entries) < limit:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                break
            length, checksum = _HEAD.unpack(head)
            next_offset = offset + _HEAD.size + length
            if length > FRAME_BYTES_MAX:
                raise InboxError(path=str(path), offset=offset)
            body = file.read(length)
            if len(body) < length:
                break
            if not _fits(checksum, body):
                if next_offset >= size:
                    break
                raise InboxError(path=str(path), offset=offset)
            entries.append(Entry(offset, next_offset, body.decode("latin-1")))
            offset = next_offset
    return entries


def forget(path: Path, offset: int) -> None:
    """Overwrite the names of persons in the message at an offset; durable on return.

    Call it once the message is on record. It may be repeated, also while the child appends.

    Raises:
        InboxError: no whole frame begins at the offset.
        OSError: the disk refused.
    """
    found = read_from(path, offset, 1)
    if not found or found[0].offset != offset:
        raise InboxError(path=str(path), offset=offset)
    at = offset - base_of(path)
    body = found[0].raw.encode("latin-1")
    steps = [clean for clean in scrubbings(body) if clean != body]
    if steps:
        with path.open("r+b", buffering=0) as file:
            # the checksum of a frame that other tables masked leaves out less
            os.pwrite(file.fileno(), _CHECKSUM.pack(zlib.crc32(masked(body))), at + _LENGTH)
            os.fdatasync(file.fileno())
            for clean in steps:
                os.pwrite(file.fileno(), clean, at + _HEAD.size)
                os.fdatasync(file.fileno())


def base_of(path: Path) -> int:
    """Return the offset at which an inbox begins.

    Raises:
        InboxError: the base file is damaged.
    """
    try:
        text = _base_file(path).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return 0
    if not re.fullmatch(r"[0-9]{1,15}\n", text):
        raise InboxError(path=str(_base_file(path)), offset=0)
    return int(text)


def begin_at(path: Path, base: int) -> None:
    """Create an empty inbox at an offset; durable on return.

    The base file is written first: a crash before the inbox exists leaves no inbox.

    Raises:
        FileExistsError: there is an inbox.
        OSError: the disk refused.
    """
    if path.exists():
        raise FileExistsError(str(path))
    fresh = _base_file(path).with_suffix(".fresh")
    with fresh.open("w", encoding="ascii") as file:
        file.write(f"{base}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(_base_file(path))
    sync_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    sync_folder(path.parent)


def _base_file(path: Path) -> Path:
    return path.with_name(path.name + ".base")


def _fits(checksum: int, body: bytes) -> bool:
    """Return whether a body fits its checksum, also with some or all names overwritten."""
    return checksum in {zlib.crc32(body), zlib.crc32(masked(body))}


def _sound_end(path: Path) -> int:
    end = base_of(path)
    while entries := read_from(path, end):
        end = entries[-1].next_offset
    return end
