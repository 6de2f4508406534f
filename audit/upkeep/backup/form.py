"""The lines of a backup, written and read; no other form is accepted.

One gzip member of JSON lines, each exactly as `encoded` writes it: a first line about the backup,
the head, the tables in the order of `STAGES` with each row once in the order of its key, and last
the number of lines and their SHA-256. Nothing may follow, not even zeros. The reader's memory holds
one line, whatever the file claims. Not here: what the rows mean.
"""

import binascii
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from audit.errors import BackupError

FORMAT = "countersign-backup/1"
ABOUT, HEAD, DONE = "backup", "head", "done"
LINE_MAX = 96 << 20
"""Bytes of a line: a blob of 64 MiB in base64, and its row."""


def _columns(text: str) -> dict[str, str]:
    """Return the columns of `name type, name type`."""
    return {name: sort for name, _, sort in (one.partition(" ") for one in text.split(", "))}


TABLES: Mapping[str, Mapping[str, str]] = {
    HEAD: _columns("origin text, size int8, root bytea, frontier bytea"),
    "cosignature": _columns("size int8, name text, key_id bytea, line bytea, received_at_us int8"),
    "checkpoint": _columns("size int8, note bytea"),
    "blob": _columns("digest bytea, data bytea"),
    "entry": _columns(
        "seq int8, stream text, stream_seq int8, kind text, version int4, recorded_at_us int8,"
        " actor text, idem_key text, account text?, prev bytea, payload_digest bytea, leaf bytea,"
        " header bytea, payload bytea, commitments bytea"
    ),
    "disclosure": _columns("seq int8, position int2, subject text, sealed bytea"),
}
"""The columns of every table but tiles; `head` lacks the fence, which belongs to one server."""
STAGES = tuple(TABLES)
"""The order in the file: the one in which the verifier needs the tables."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "cosignature": ("size", "name", "key_id"),
    "checkpoint": ("size",),
    "blob": ("digest",),
    "entry": ("seq",),
    "disclosure": ("seq", "position"),
}
_ENDS: Mapping[str, Mapping[str, str]] = {
    ABOUT: _columns("format text, origin text, size int8, taken_at_us int8"),
    DONE: _columns("lines int8, sha256 text"),
}
_BITS = {"int8": 63, "int4": 31, "int2": 15}
_ONCE = frozenset({ABOUT, HEAD, DONE})
_GZIP_ONLY, _GZIP_MARK = 16 + zlib.MAX_WBITS, b"\x1f\x8b"
_PART = 1 << 18
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The log, its size, and when the backup was taken."""

    origin: str
    size: int
    taken_at_us: int


def encoded(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line; bytes are base64 in an object `b`.

    Raises:
        ValueError: a text is not valid Unicode.
    """
    plain = {
        name: {"b": binascii.b2a_base64(value, newline=False).decode()}
        if isinstance(value, bytes)
        else value
        for name, value in row.items()
    }
    return _as_json(plain).encode() + b"\n"


def read_backup(file: IO[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of a backup with their types; the last one only if all lines match it.

    Raises:
        BackupError: the file is cut off, damaged, goes on after its end, or is no backup.
    """
    digest, lines = hashlib.sha256(), 0
    order = _Order()
    unpacked = _lines(file)
    try:
        for line in unpacked:
            kind, row = _decoded(line)
            order.take(kind, row)
            if kind == DONE:
                if (row["lines"], row["sha256"]) != (lines, digest.hexdigest()):
                    raise BackupError("the backup does not match its last line")
                for _ in unpacked:
                    raise BackupError("the backup goes on after its last line")
                yield kind, row
                return
            digest.update(line)
            lines += 1
            yield kind, row
    except (OSError, zlib.error, ValueError, RecursionError) as error:
        raise BackupError(f"the backup is damaged: {type(error).__name__}: {error}") from error
    raise BackupError("the backup is cut off")


class _Order:
    """The order of the lines, and the agreement of the head with the first line."""

    def __init__(self) -> None:
        self._places = (ABOUT, *STAGES, DONE)
        self._stage = -1
        self._key: tuple[Any, ...] = ()
        self._about: dict[str, Any] = {}

    def take(self, kind: str, row: dict[str, Any]) -> None:
        """Refuse a line that is out of order, repeated, or contradicts the first line."""
        place, before = self._places.index(kind), self._stage
        skipped = before < self._places.index(HEAD) and place > before + 1
        if place < before or skipped or (place == before and kind in _ONCE):
            raise BackupError(f"a line of type {kind} is out of order")
        self._stage = place
        key = tuple(row[name] for name in KEYS.get(kind, ()))
        # for entries the verifier's message is better: it names what is missing or repeated
        if place == before and kind != "entry" and key <= self._key:
            raise BackupError(f"a line of type {kind} is out of order or repeated")
        self._key = key
        if kind == ABOUT:
            self._about = row
        elif kind == HEAD and any(row[name] != self._about[name] for name in ("origin", "size")):
            raise BackupError("the first line of the backup contradicts its head")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the unpacked lines of one gzip member, each of at most `LINE_MAX` bytes."""
    unpack = zlib.decompressobj(_GZIP_ONLY)
    waiting: list[bytes] = []
    length = 0
    packed = file.read(_PART)
    if packed and not _GZIP_MARK.startswith(packed[: len(_GZIP_MARK)]):
        raise BackupError("not a backup: `countersign backup` writes one")
    while not unpack.eof:
        packed = packed or unpack.unconsumed_tail or file.read(_PART)
        part, read = unpack.decompress(packed, _PART), bool(packed)
        packed = b""
        if not read and not part and not unpack.eof:
            raise BackupError("the backup is cut off")
        *ended, rest = part.split(b"\n")
        for end in ended:
            yield b"".join((*waiting, end, b"\n"))
            waiting, length = [], 0
        waiting.append(rest)
        length += len(rest)
        if length > LINE_MAX:
            raise BackupError(f"a line of the backup has more than {LINE_MAX} bytes")
    if any(waiting):
        yield b"".join(waiting)
    if unpack.unused_data or file.read(1):
        raise BackupError("something follows the end of the backup")


def _decoded(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return the type and row of a line, which must be as `encoded` writes it."""
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(kind := row.pop("type", None), str):
        raise BackupError("a line has no type")
    columns = _ENDS.get(kind) or TABLES.get(kind)
    if columns is None or row.keys() != columns.keys():
        raise BackupError(f"a line of type {kind[:40]!r} has other fields")
    for name, value in row.items():
        if isinstance(value, dict) and isinstance(text := value.get("b"), str):
            row[name] = binascii.a2b_base64(text, strict_mode=True)
        if not _fits(row[name], columns[name]):
            raise BackupError(f"{name} of a line of type {kind} is not {columns[name]}")
    if kind == ABOUT and row["format"] != FORMAT:
        raise BackupError(f"the backup's format is {row['format']!r:.60}, not {FORMAT}")
    if encoded({"type": kind, **row}) != line:
        raise BackupError(f"a line of type {kind} is not in the form of a backup")
    return kind, row


def _fits(value: object, column: str) -> bool:
    """Return whether a database column of this type can hold a value."""
    if column == "bytea":
        return isinstance(value, bytes)
    if column in _BITS:
        limit = 1 << _BITS[column]
        return type(value) is int and -limit <= value < limit
    if value is None:
        return column == "text?"
    return isinstance(value, str) and "\0" not in value
