"""A range of records as one string per column: the queries, and how their answers are read. Pure.

The server joins each column of a range to one string, so a range costs a dozen values instead of a
dozen per record. A NULL, a hash of another length, or a line break in a text would shift what
follows. The server counts the rows without these; if some are left out, the range is asked for
again in a form in which nothing can shift. Decision 019 has the reasons.
"""

import re
from binascii import hexlify, unhexlify
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import unpack

COLUMNS = (
    "seq",
    "stream",
    "stream_seq",
    "kind",
    "version",
    "recorded_at_us",
    "actor",
    "idem_key",
    "prev",
    "payload_digest",
    "commitments",
    "leaf",
)
HEX_COLUMNS = ("prev", "payload_digest", "commitments", "leaf")
HASHES = ("prev", "payload_digest", "leaf")
TEXTS = ("stream", "kind", "actor", "idem_key")
NO_TEXT = b"\0"
"""Stands for NULL; no text in PostgreSQL can contain it."""
_BREAK, _NULL = b"\n", b"-"
_ODD_BYTES = b'"\\' + bytes({*range(0x20)} - {ord(_BREAK)})
_ODD = re.compile(rb'["\\\x00-\x1f]')
_HASH = "64s"
_HEX_DIGITS = 64


@dataclass(frozen=True, slots=True)
class Columns:
    """Records as a list of UTF-8 texts for each of `COLUMNS`; bytes as hex.

    `odd`: a text may contain a character that JSON escapes.
    """

    texts: Sequence[Sequence[bytes]]
    odd: bool = True

    def __len__(self) -> int:
        return len(self.texts[0])

    def part(self, start: int, stop: int) -> "Columns":
        """Return the records from place `start` to before `stop`."""
        if (start, stop) == (0, len(self)):
            return self
        return Columns([texts[start:stop] for texts in self.texts], self.odd)

    def row(self, place: int) -> list[bytes]:
        """Return one record's texts."""
        return [texts[place] for texts in self.texts]

    def rows(self) -> Iterator[tuple[bytes, ...]]:
        """Yield each record's texts."""
        return zip(*self.texts, strict=True)


def is_odd(text: bytes) -> bool:
    """Return whether JSON escapes a character of a text."""
    return _ODD.search(text) is not None


def joined_sql(source: str) -> str:
    """Return the query for a range's columns, joined; `source` selects `COLUMNS` in order."""
    parts = []
    for name in COLUMNS:
        if name in HASHES:
            parts.append(f"string_agg({name}, '')")
        else:
            text = f"encode({name}, 'hex')" if name in HEX_COLUMNS else f"{name}::text"
            parts.append(f"string_agg({text}, E'\\n')")
    lengths = " AND ".join(f"octet_length({name}) = 32" for name in HASHES)
    whole = f"num_nulls({', '.join(COLUMNS)}) = 0 AND {lengths}"
    return (
        f"SELECT {', '.join(parts)}, count(*)::text, (count(*) FILTER (WHERE {whole}))::text"  # noqa: S608 - constants
        f" FROM ({source}) AS range"
    )


def read_joined(values: Sequence[bytes | None]) -> Columns | None:
    """Return the records in a row of `joined_sql`; None if a value would shift the rest."""
    *joined, rows, whole = [value or b"" for value in values]
    if not _whole(rows, whole):
        return None
    count = int(rows)
    if not count:
        return Columns([[] for _ in COLUMNS])
    texts: list[Sequence[bytes]] = []
    odd = False
    for name, value in zip(COLUMNS, joined, strict=True):
        if name in HASHES:
            digits = hexlify(value)
            if len(digits) != count * _HEX_DIGITS:
                return None
            texts.append(unpack(count * _HASH, digits))
        else:
            odd = odd or (name in TEXTS and len(value.translate(None, _ODD_BYTES)) != len(value))
            texts.append(value.split(_BREAK))
    if any(len(column) != count for column in texts):
        return None
    return Columns(texts, odd)


def _whole(rows: bytes, whole: bytes) -> bool:
    """Return whether no row has a NULL or an odd length; a test replaces this check."""
    return rows == whole


def apart_sql(source: str) -> str:
    """Return the query for a range's columns with each value as hex."""
    parts = []
    for name in COLUMNS:
        value = name if name in HEX_COLUMNS else f"convert_to({name}::text, 'UTF8')"
        parts.append(f"string_agg(coalesce(encode({value}, 'hex'), '{_NULL.decode()}'), E'\\n')")
    return f"SELECT {', '.join(parts)} FROM ({source}) AS range"  # noqa: S608 - constants


def read_apart(values: Sequence[bytes | None]) -> Columns:
    """Return the records in a row of `apart_sql`."""
    return Columns(
        [
            [] if value is None else [_text(name, one) for one in value.split(_BREAK)]
            for name, value in zip(COLUMNS, values, strict=True)
        ]
    )


def _text(name: str, value: bytes) -> bytes:
    if value == _NULL:
        return NO_TEXT
    return value if name in HEX_COLUMNS else unhexlify(value)
