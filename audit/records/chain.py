"""Streams: dense numbers, previous leaves, and the maps that make a missing tail visible. Pure.

A stream-head map is one or more `stream_heads` records committed directly before a checkpoint.
Their `heads` are triples `[stream, last stream_seq, last leaf in hex]`, sorted by stream, of the
streams that changed since the previous map; `part` of `parts` counts the records of one map. The
latest mention of a stream at or before a checkpoint is its head there. A map does not cover its own
records: `control` is listed as it was before the map's first part.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from audit.records.canonical import JSON
from audit.records.kinds import LEDGER
from audit.records.record import ZERO_HASH, Draft, Record
from audit.records.record_kind import Filing, RecordKind

CONTROL_STREAM = "control"
HEADS_PER_RECORD_MAX = 200
"""200 names of at most 200 characters fit the 65,535 bytes of an entry."""


class StreamHead(Struct, frozen=True, kw_only=True):
    """The number and leaf of a stream's last record."""

    stream_seq: int = -1
    leaf: bytes = ZERO_HASH


NO_HEAD = StreamHead()


def head_of(record: Record) -> StreamHead:
    """Return the head of a stream whose last record this is."""
    return StreamHead(stream_seq=record.stream_seq, leaf=record.leaf)


class StreamHeads(RecordKind, frozen=True, kw_only=True):
    """A part of a map of where every stream ends: stream, its last number, its last leaf."""

    filing = Filing(CONTROL_STREAM, "heads:{size}:{part}", LEDGER, ledger_only=True)

    heads: list[list[Any]]
    part: int
    parts: int


def heads_drafts(size: int, heads: Mapping[str, StreamHead]) -> Iterator[Draft]:
    """Yield the drafts of one map; the tree's `size` before it makes the keys unique."""
    rows: list[list[JSON]] = [
        [stream, head.stream_seq, head.leaf.hex()] for stream, head in sorted(heads.items())
    ]
    parts = max(1, -(-len(rows) // HEADS_PER_RECORD_MAX))
    for part in range(parts):
        start = part * HEADS_PER_RECORD_MAX
        told = StreamHeads(heads=rows[start : start + HEADS_PER_RECORD_MAX], part=part, parts=parts)
        yield told.draft(size=size)
