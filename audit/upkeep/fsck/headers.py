"""Headers rebuilt from columns, a chunk of records at a time: leaves, streams, subtree. Pure.

The result says what crosses a chunk's borders: where each stream starts and ends, which streams
changed before each stream-head map, and the subtree's nodes. The judge puts them together.

PostgreSQL writes numbers and hex as the header has them, so one format string makes a header. A
record with a text that JSON escapes goes through the ledger's own `header_bytes` instead; both ways
give the same bytes. Not here: the stored header and the payload (`chunk.judge_payloads`).
"""

import contextlib
import json
from binascii import hexlify
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any

import msgspec

from audit.errors import AuditError
from audit.records.canonical import INT_MAX
from audit.records.record import header_bytes
from audit.tlog.merkle import LEAF_PREFIX, Frontier
from audit.upkeep.fsck.chunk import (
    MAP,
    UNCHECKED,
    ZERO_HEX,
    Chunk,
    Link,
    MapTracker,
    Mark,
    Segment,
    Special,
    broken_link,
    completes,
    tree_levels,
    tree_nodes,
)
from audit.upkeep.fsck.columns import COLUMNS, NO_TEXT, Columns, is_odd
from audit.verifier.verify import (
    ENTRY_MAX,
    KIND,
    KNOWN_KINDS,
    TAMPERED,
    Bad,
    read_record,
)

SPECIAL_KINDS = (MAP, "key_rotated", "key_revoked")
"""Kinds whose payload the judge needs."""
_KNOWN = {(kind.encode(), b"%d" % version) for kind, version in KNOWN_KINDS.items()}
_NOT_HASHED = "the columns are not those that were hashed"
_DIGITS = 64
_FORM = LEAF_PREFIX + (
    b'{"actor":"%b","commitments":[%b],"idem_key":"%b","kind":"%b","log":"%log",'
    b'"payload_sha256":"%b","prev":"%b","recorded_at_us":%b,"seq":%b,"stream":"%b",'
    b'"stream_seq":%b,"version":%b}'
)

_MAP_1 = (MAP.encode(), b"1")
_Number = Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)]


class _Map(msgspec.Struct, forbid_unknown_fields=True):
    """A stream-head map; its fields in the order of RFC 8785."""

    heads: list[tuple[str, _Number, str]]
    part: _Number
    parts: _Number


_read_map = msgspec.json.Decoder(_Map).decode
_write_map = msgspec.json.Encoder().encode

_Link = tuple[int, bytes, int]
"""A `Link` with the hash as the server sent it."""


def rebuilt_headers(records: Columns, log: str) -> list[bytes]:
    """Return the hashed bytes of each record: RFC 6962's leaf prefix and the header.

    The records must have no character that JSON escapes; `log` is the log's name.
    """
    seqs, streams, numbers, kinds, versions, times, actors, keys, prevs, digests, joined, _ = (
        records.texts
    )
    listed = [one and _listed(one) for one in joined] if any(joined) else joined
    form = _FORM.replace(b"%log", _quoted(log).replace(b"%", b"%%"))
    rows = zip(
        *(actors, listed, keys, kinds, digests, prevs, times, seqs, streams, numbers, versions),
        strict=True,
    )
    return list(map(form.__mod__, rows))


def careful_header(fields: Sequence[bytes], log: str) -> bytes:
    """Return the hashed bytes of any row by the ledger's own encoder; raise Bad if none fits it."""
    try:
        row = dict(zip(COLUMNS, [field.decode() for field in fields], strict=True))
        joined = row["commitments"]
        return LEAF_PREFIX + header_bytes(
            {
                **{name: row[name] for name in ("actor", "idem_key", "kind", "prev", "stream")},
                **{name: int(row[name]) for name in ("seq", "stream_seq", "version")},
                "commitments": [joined[i : i + _DIGITS] for i in range(0, len(joined), _DIGITS)],
                "log": log,
                "payload_sha256": row["payload_digest"],
                "recorded_at_us": int(row["recorded_at_us"]),
            }
        )
    except (AuditError, ValueError) as error:
        raise Bad(f"no header has these columns: {error}") from error


def judge_chunk(
    chunk: Chunk,
    blocks: Iterable[Columns],
    log: str,
    specials: Mapping[int, bytes | None],
    notes: Sequence[tuple[int, str | None]] = (),
) -> list[bytes]:
    """Judge one chunk's records by their columns, and fill the chunk.

    Returns the levels of its tree from the leaves up, as far as no number is missing. `blocks` are
    the records in order, `specials` the payloads of special kinds by record, `notes` size and note
    of the checkpoints inside the chunk (None: kept outside).
    """
    loop = _Loop(chunk=chunk, log=log, last=chunk.first - 1)
    last_places = {size - chunk.first - 1 for size, _ in notes}
    times: dict[int, int] = {}
    for block in blocks:
        for place in filter(range(chunk.rows, chunk.rows + len(block)).__contains__, last_places):
            times[place] = _number(block.texts[5][place - chunk.rows])
        loop.take(block, specials)
        chunk.rows += len(block)
    loop.end()
    whole = chunk.rows if loop.whole is None else loop.whole
    levels = tree_levels(loop.leaves[:whole])
    if levels and whole == chunk.rows:
        chunk.nodes = [node.hex() for node in tree_nodes(levels, chunk.rows)]
    for size, note in notes:
        mark = Mark(size=size, note=note, mapped=size in loop.complete)
        inside = size - chunk.first
        if levels and 0 < inside <= whole:
            edge = Frontier(size=inside, nodes=tuple(tree_nodes(levels, inside)))
            mark.folded = edge.root().hex()
            mark.recorded_at_us = times[inside - 1]
        chunk.marks.append(mark)
    return levels


class _Loop:
    def __init__(self, *, chunk: Chunk, log: str, last: int) -> None:
        self.chunk = chunk
        self.log = log
        self.last = last
        self.whole: int | None = None
        self.leaves: list[bytes] = []
        self.complete: set[int] = set()
        self._ends: dict[bytes, _Link] = {}
        self._changed: dict[bytes, _Link] = {}
        self._tracker = MapTracker(chunk)

    def take(self, block: Columns, specials: Mapping[int, bytes | None]) -> None:
        """Judge a block; a special record ends one segment and begins the next."""
        start = 0
        for stop in _places(block.texts[0], specials):
            self._judge(block.part(start, stop))
            special = self._special(block.row(stop), specials)
            if special is not None and special.kind == MAP and completes(special):
                self.complete.add(special.seq + 1)
            self._close(special)
            start = stop
        self._judge(block.part(start, len(block)))

    def end(self) -> None:
        """Close the last segment and set where the streams end."""
        self._close(None)
        self.chunk.ends = _named(self._ends)

    def _close(self, special: Special | None) -> None:
        self._tracker.take(Segment(changed=_named(self._changed), then=special))
        self._changed.clear()

    def _judge(self, records: Columns) -> None:
        """Judge records all at once, or one by one if some are not plainly sound."""
        if not self._pass(records):
            self._judge_each(records)

    def _pass(self, records: Columns) -> bool:
        """Take records if all are in place and match their leaves; return whether they were taken.

        This is the hot loop of the check.
        """
        first, stop = self.last + 1, self.last + 1 + len(records)
        if records.odd or list(map(int, records.texts[0])) != list(range(first, stop)):
            return False
        _, streams, numbers, kinds, versions, *_, prevs, _, _, leaves = records.texts
        hashed = b"".join([one.digest() for one in map(sha256, rebuilt_headers(records, self.log))])
        if hexlify(hashed) != b"".join(leaves):
            return False
        self.last = stop - 1
        self.leaves += leaves
        pairs = list(zip(kinds, versions, strict=True))
        for pair in set(pairs) - _KNOWN:
            self._count(pair, pairs.count(pair), first + pairs.index(pair))
        ends, changed = self._ends, self._changed
        chain = zip(streams, map(int, numbers), prevs, leaves, strict=True)
        for seq, (stream, number, prev, leaf) in enumerate(chain, first):
            last = ends.get(stream)
            ends[stream] = changed[stream] = (number, leaf, seq)
            if last is None or number != last[0] + 1 or prev != last[1]:
                self._link(stream, last, (number, prev, seq))
        return True

    def _judge_each(self, records: Columns) -> None:
        chunk = self.chunk
        for place, fields in enumerate(records.rows()):
            entry = self._entry(records.part(place, place + 1))
            stream, leaf, seq, number = fields[1], fields[11], int(fields[0]), _number(fields[2])
            self.last = seq if seq == self.last + 1 else self._jump(seq, self.last)
            self.leaves.append(leaf)
            last = self._ends.get(stream)
            self._ends[stream] = (number, leaf, seq)
            if not _hashes_to(entry, leaf):
                chunk.findings.append((TAMPERED, _NOT_HASHED, seq))
                if last is None:
                    chunk.starts[stream.decode()] = UNCHECKED
                continue
            if (fields[3], fields[4]) not in _KNOWN:
                self._count((fields[3], fields[4]), 1, seq)
            self._changed[stream] = self._ends[stream]
            self._link(stream, last, (number, fields[8], seq))

    def _entry(self, record: Columns) -> bytes | None:
        """Return a record's hashed bytes; None if no header can have these columns."""
        fields = record.row(0)
        if not any(map(is_odd, fields)):
            return rebuilt_headers(record, self.log)[0]
        try:
            return None if NO_TEXT in fields else careful_header(fields, self.log)
        except Bad:
            return None

    def _count(self, pair: tuple[bytes, bytes], times: int, seq: int) -> None:
        """Count records of an unknown kind; a malformed kind is a finding."""
        kinds, kind = self.chunk.kinds, pair[0].decode()
        name = f"{kind} {pair[1].decode()}"
        if name not in kinds and KIND.fullmatch(kind) is None:
            self.chunk.findings.append((TAMPERED, "the kind has another shape", seq))
        kinds[name] = kinds.get(name, 0) + times

    def _link(self, stream: bytes, last: _Link | None, link: _Link) -> None:
        """Compare a record and its `prev` with the one before it in its stream."""
        name, number, prev, seq = stream.decode(), link[0], link[1].decode(), link[2]
        if last is not None:
            before = (last[0], last[1].decode(), last[2])
            self.chunk.findings += broken_link(name, before, (number, prev, seq))
        elif number or prev != ZERO_HEX:
            self.chunk.starts[name] = (number, prev, seq)
        else:
            self.chunk.born[name] = seq

    def _jump(self, seq: int, highest: int) -> int:
        """Record a number that does not follow the highest before; return the highest now."""
        self.chunk.jumps.append((seq, highest))
        if self.whole is None:
            self.whole = len(self.leaves)
        return max(seq, highest)

    def _special(
        self, fields: Sequence[bytes], specials: Mapping[int, bytes | None]
    ) -> Special | None:
        """Return a special record for the judge; None if it is unknown or bad by itself."""
        entry = self._entry(Columns([[text] for text in fields]))
        seq = int(fields[0])
        if entry is None or not _hashes_to(entry, fields[11]):
            return None  # `_judge_each` reports it
        try:
            body = _body(fields, entry.removeprefix(LEAF_PREFIX), specials[seq])
        except Bad as error:
            self.chunk.findings.append((TAMPERED, str(error), seq))
            return None
        known_here = (fields[3], fields[4]) in _KNOWN
        return Special(seq=seq, kind=fields[3].decode(), body=body) if known_here else None


def _number(text: bytes) -> int:
    """Return a column's number, -1 for NULL."""
    return -1 if text == NO_TEXT else int(text)


def _hashes_to(entry: bytes | None, leaf: bytes) -> bool:
    return entry is not None and sha256(entry).hexdigest().encode() == leaf


def _body(fields: Sequence[bytes], header: bytes, payload: bytes | None) -> dict[str, Any]:
    """Return a special record's payload; maps, one a second, are decoded in a faster way."""
    if payload is None:
        raise Bad("payload is NULL")
    named = sha256(payload).hexdigest().encode() == fields[9] and len(payload) <= ENTRY_MAX
    if named and (fields[3], fields[4]) == _MAP_1:
        with contextlib.suppress(ValueError, RecursionError):
            made = _read_map(payload)
            if made.part < made.parts and _write_map(made) == payload:
                return {
                    "heads": [[*row] for row in made.heads],
                    "part": made.part,
                    "parts": made.parts,
                }
    return read_record(header, payload)[1]


def _named(links: Mapping[bytes, _Link]) -> dict[str, Link]:
    return {
        name.decode(): (number, leaf.decode(), seq) for name, (number, leaf, seq) in links.items()
    }


def _places(seqs: Sequence[bytes], specials: Mapping[int, bytes | None]) -> list[int]:
    """Return the places of the special records among these."""
    if not seqs:
        return []
    first, last = int(seqs[0]), int(seqs[-1])
    if last - first == len(seqs) - 1:  # dense, as it should be
        places = [seq - first for seq in sorted(specials) if first <= seq <= last]
        if all(int(seqs[place]) == first + place for place in places):
            return places
    return [place for place, seq in enumerate(map(int, seqs)) if seq in specials]


def _listed(joined: bytes) -> bytes:
    """Return commitments, joined in hex, as the inside of a JSON list."""
    return b",".join([b'"%b"' % joined[i : i + _DIGITS] for i in range(0, len(joined), _DIGITS)])


def _quoted(text: str) -> bytes:
    """Return text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()
