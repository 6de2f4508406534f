"""The result of one chunk of records, and the arithmetic of its subtree. Pure.

A chunk is 2^14 records from a multiple of 2^14 on, few enough that all readers end at about the
same time. Its tree is one perfect subtree of the log's, so chunks can be judged separately, in any
order and process.
"""

from binascii import unhexlify
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from struct import Struct
from typing import Any

import msgspec

from audit.tlog.merkle import HASH_BYTES
from audit.verifier.verify import (
    INCOMPLETE,
    MAP_BROKEN,
    TAMPERED,
    Bad,
    blobs_of,
    known,
    leaf_hash,
    next_part,
    read_record,
)

CHUNK = 1 << 14
MAP = "stream_heads"
ZERO_HEX = "0" * 64
UNCHECKED = (-2, "", -1)
"""The start of a stream whose first record here is bad by itself."""

_PAIR = Struct(f"{2 * HASH_BYTES}s")

Finding = tuple[int, str, int]
"""Exit code, text, record."""
Link = tuple[int, str, int]
"""A record in its stream: number, hash in hex (a first one's `prev`, a last one's leaf), `seq`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """A record whose payload the judge needs."""

    seq: int
    kind: str
    body: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Segment:
    """The streams changed up to a special record, or up to the chunk's end."""

    changed: dict[str, Link] = field(default_factory=dict)
    then: Special | None = None


@dataclass(slots=True, kw_only=True)
class Maps:
    """The fold over stream-head maps: the streams changed since the last one, and its parts.

    `places` has the record of each stream in `expected`.
    """

    changed: dict[str, Link] = field(default_factory=dict)
    expected: list[list[Any]] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    awaited: list[int] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def joins(self, special: Special) -> bool:
        """Return whether a part is in its place."""
        joins, self.awaited = next_part(self.awaited, special.body, special.seq)
        return joins

    def fold(self, special: Special) -> Segment | None:
        """Compare a map, part by part, with what changed; return it if they differ."""
        if special.body["part"] == 0:
            self.expected = [[name, *link[:2]] for name, link in sorted(self.changed.items())]
            self.places = {name: link[2] for name, link in self.changed.items()}
            self.changed, self.rows = {}, []
        self.rows += special.body["heads"]
        if not completes(special) or self.rows == self.expected:
            return None
        whole = {"heads": self.rows, "part": 0, "parts": 1}
        changed = {name: (number, leaf, self.places[name]) for name, number, leaf in self.expected}
        return Segment(changed=changed, then=replace(special, body=whole))


@dataclass(slots=True, kw_only=True)
class Mark:
    """A checkpoint of a size inside the chunk, and the chunk's tree of that size.

    Attributes:
        note: in base64; None for one kept outside.
        folded: the root over the chunk's own nodes at this size, in hex; empty without a tree.
        mapped: whether a stream-head map ends right before.
        recorded_at_us: of the last record before.
    """

    size: int
    note: str | None
    folded: str = ""
    mapped: bool = False
    recorded_at_us: int = 0


@dataclass(slots=True, kw_only=True)
class Chunk:
    """The result of a chunk; plain data that travels as JSON.

    Attributes:
        first: the number that its first record should have.
        width: how many records a full chunk has, a power of two.
        rows: how many records there are.
        jumps: numbers that do not follow the highest one before, with that one.
        starts: each stream's first record here, with its `prev`, except those in `born`.
        born: streams that start here according to their first record, with that record.
        ends: each stream's last record here, with its leaf.
        segments: left to the judge: up to the end of the first map that is whole here.
        differing: later maps that differ from the streams.
        maps: the fold after that, up to the chunk's end.
        statements: changes of keys.
        nodes: roots of the perfect subtrees, largest first; one if the chunk is full.
        kinds: how many records each unknown kind and version has.
        blobs: digests that payloads name, each with the first record that does.
    """

    first: int
    width: int = CHUNK
    rows: int = 0
    jumps: list[tuple[int, int]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    starts: dict[str, Link] = field(default_factory=dict)
    born: dict[str, int] = field(default_factory=dict)
    ends: dict[str, Link] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)
    differing: list[Segment] = field(default_factory=list)
    maps: Maps | None = None
    statements: list[Special] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    blobs: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the chunk as JSON without line breaks."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, line: bytes) -> "Chunk":
        """Return the chunk that `to_json` wrote."""
        return _read(line)


_read = msgspec.json.Decoder(Chunk).decode


class MapTracker:
    """Separates the segments that only the judge can judge from those that the chunk can."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._since: Maps | None = None

    def take(self, segment: Segment) -> None:
        """Take the next segment: keep it for the judge, or compare its map with the streams."""
        chunk, special = self._chunk, segment.then
        if special is not None and special.kind != MAP:
            chunk.statements.append(special)
            segment.then = special = None
        if chunk.maps is not None:
            chunk.maps.changed.update(segment.changed)
            if special is not None and not chunk.maps.joins(special) and not chunk.jumps:
                chunk.findings.append((TAMPERED, MAP_BROKEN, special.seq))
            differing = None if special is None else chunk.maps.fold(special)
            if differing is not None:
                chunk.differing.append(differing)
            return
        chunk.segments.append(segment)
        if self._since is not None:
            self._since.changed.update(segment.changed)
        if special is not None:
            if special.body["part"] == 0:
                self._since = Maps()
            if completes(special):
                chunk.maps = self._since


def completes(special: Special) -> bool:
    """Return whether a record is the last part of its stream-head map."""
    return bool(special.body["part"] + 1 == special.body["parts"])


def broken_link(stream: str, last: Link, link: Link) -> Iterator[Finding]:
    """Yield what is wrong with a record that should follow `last` in its stream."""
    number, leaf, seq = last
    if link[0] != number + 1:
        code = INCOMPLETE if link[0] > number else TAMPERED
        yield code, f"{stream} goes from {number} to {link[0]}", link[2]
    elif link[1] != leaf:
        text = f"is not the record that record {link[2]} follows: one of them was altered"
        yield TAMPERED, text, max(seq, 0)


def tree_levels(leaves: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of every level, from the leaves (in hex) up; none if one is malformed."""
    try:
        level = unhexlify(b"".join(leaves))
    except ValueError:
        return []
    if len(level) != HASH_BYTES * len(leaves):
        return []
    levels = [level]
    while len(level) > HASH_BYTES:
        whole = len(level) - len(level) % _PAIR.size
        pairs = _PAIR.iter_unpack(memoryview(level)[:whole])
        level = b"".join([sha256(b"\1" + pair).digest() for (pair,) in pairs])
        levels.append(level)
    return levels


def tree_nodes(levels: Sequence[bytes], size: int) -> list[bytes]:
    """Return the roots of the perfect subtrees of the first `size` leaves, largest first."""
    nodes = []
    for height in range(size.bit_length() - 1, -1, -1):
        if size >> height & 1:
            at = ((size >> height) - 1) * HASH_BYTES
            nodes.append(levels[height][at : at + HASH_BYTES])
    return nodes


def missing_values(row: Mapping[str, Any]) -> str:
    """Return which columns of a record lack a value, as text; "" if none."""
    return ", ".join(
        f"{name} is NULL" for name, value in row.items() if value is None and name != "account"
    )


def judge_payloads(
    rows: Iterable[Mapping[str, Any]], log: str
) -> tuple[list[Finding], dict[str, int]]:
    """Compare stored headers, payloads and accounts with leaves and columns.

    Returns the findings, and the blobs named, each with the first record that names it. Rows have
    `seq`, `leaf`, `header`, `payload`, `account` and `payload_digest`; `log` is the log's name.
    """
    findings: list[Finding] = []
    blobs: dict[str, int] = {}
    for row in rows:
        try:
            head, body = _record(row, log)
            named = [*blobs_of(body)] if known(head) else []
        except (Bad, TypeError, AttributeError) as error:  # NULL breaks in many ways
            findings.append((TAMPERED, missing_values(row) or str(error), row["seq"]))
            continue
        for digest in named:
            blobs.setdefault(digest, row["seq"])
    return findings, blobs


def _record(row: Mapping[str, Any], log: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's header and payload, which must agree with leaf and columns."""
    if leaf_hash(row["header"]) != row["leaf"]:
        raise Bad("the leaf is not the header's hash")
    head, body = read_record(row["header"], row["payload"])
    stated = [row["account"], bytes(row["payload_digest"]).hex(), log]
    if stated != [body.get("account"), head["payload_sha256"], head["log"]]:
        raise Bad("account, payload_digest or log differs from the hashed bytes")
    return head, body
