"""Headers rebuilt from columns, a chunk of records at a time: leaves, streams, subtree. Pure.

What crosses a chunk's borders comes back in the result: where each stream starts and ends here,
which streams changed before each stream-head map, and the subtree's nodes. The judge puts them
together.

A record arrives as one line of `COPY .. TO STDOUT` in text format, the columns of `COLUMNS` in
this order: PostgreSQL has then written the numbers and the hex just as the header has them, and a
header is one format string away. A line with anything that JSON or COPY would escape goes through
the ledger's own `header_bytes` instead; both ways give the same bytes.

Neither the stored header nor the payload is read here: `judge_payloads` is the second pass.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from audit.errors import AuditError
from audit.fsck_chunk import (
    MAP,
    UNCHECKED,
    ZERO_HEX,
    Chunk,
    Finding,
    MapTracker,
    Mark,
    Segment,
    Special,
    broken_link,
    completes,
    fold,
    tree_levels,
    tree_nodes,
)
from audit.record import header_bytes
from audit.verify import (
    KIND,
    KNOWN_KINDS,
    TAMPERED,
    Bad,
    blobs_of,
    known,
    leaf_hash,
    read_record,
)

SPECIAL_KINDS = (MAP, "key_rotated", "key_revoked")
"""Kinds whose payload the judge itself needs."""
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
_ODD_BYTES = b'"\\' + bytes({*range(0x20)} - {0x09, 0x0A})
"""What JSON or COPY escapes; tab and newline separate, and COPY escapes them inside a text."""
_ODD = re.compile(f"[{re.escape(_ODD_BYTES.decode())}]")
_KNOWN = {kind: str(version) for kind, version in KNOWN_KINDS.items()}
_NOT_HASHED = "the columns are not those that were hashed"
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DIGITS = 64


def rebuilt_header(fields: Sequence[str], log: str) -> bytes:
    """Return the header's bytes of a row without anything to escape.

    Args:
        fields: the texts of `COLUMNS`, bytes as hex.
        log: the log's name as it stands inside JSON's quotes.
    """
    _, stream, number, kind, version, at, actor, idem_key, prev, digest, joined, _ = fields
    listed = _listed(joined) if joined else ""
    return (
        f'{{"actor":"{actor}","commitments":[{listed}],"idem_key":"{idem_key}","kind":"{kind}",'
        f'"log":"{log}","payload_sha256":"{digest}","prev":"{prev}","recorded_at_us":{at},'
        f'"seq":{fields[0]},"stream":"{stream}","stream_seq":{number},"version":{version}}}'
    ).encode()


def careful_header(fields: Sequence[str], log: str) -> bytes:
    """Return the header's bytes of any row, through the ledger's own encoder.

    Args:
        fields: the texts of `COLUMNS`, bytes as hex.
        log: the log's name.

    Raises:
        Bad: no header can have these values.
    """
    row = dict(zip(COLUMNS, fields, strict=True))
    joined = row["commitments"]
    try:
        return header_bytes(
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


def copy_fields(line: str) -> list[str]:
    """Split a line of COPY's text format and undo its escapes; a null becomes an N."""
    fields = line.split("\t")
    return [
        _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text) if "\\" in text else text
        for text in fields
    ]


def copy_line(row: Mapping[str, Any]) -> str:
    """Write a typed row as `COPY` would, for sources that are no database."""
    texts = []
    for name in COLUMNS:
        value = row[name]
        text = bytes(value).hex() if name in HEX_COLUMNS else str(value)
        text = text.replace("\\", "\\\\")
        for letter, control in _ESCAPES.items():
            text = text.replace(control, f"\\{letter}")
        texts.append(text)
    return "\t".join(texts)


def judge_chunk(
    chunk: Chunk,
    data: bytes,
    log: str,
    specials: Mapping[int, bytes],
    notes: Sequence[tuple[int, str]] = (),
) -> list[bytes]:
    """Judge one chunk's records by their columns.

    Args:
        chunk: with its place; filled here.
        data: the records' lines, in order of their numbers.
        log: the log's name.
        specials: payloads of special kinds by record.
        notes: size and note of the checkpoints inside the chunk.

    Returns:
        The levels of its tree from the leaves up, as far as no number is missing.
    """
    lines = data.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    chunk.rows, first = len(lines), chunk.first
    odd = len(data.translate(None, _ODD_BYTES)) != len(data)
    loop = _Loop(chunk=chunk, log=log, odd=odd, last=first - 1)
    tracker, complete, start = MapTracker(chunk), set(), 0
    for stop in [*_places(lines, first, specials), len(lines)]:
        segment = Segment()
        loop.judge(lines[start:stop], segment)
        if stop < len(lines):
            segment.then = loop.special(lines[stop], specials)
            if segment.then is not None and segment.then.kind == MAP and completes(segment.then):
                complete.add(segment.then.seq + 1)
        tracker.take(segment)
        start = stop
    _check_kinds(chunk, lines)
    whole = len(lines) if loop.whole is None else loop.whole
    levels = tree_levels(loop.leaves[:whole])
    if levels and whole == len(lines):
        chunk.nodes = [node.hex() for node in tree_nodes(levels, len(lines))]
    for size, note in notes:
        mark = Mark(size=size, note=note, mapped=size in complete)
        inside = size - first
        if levels and 0 < inside <= whole:
            mark.folded = fold(tree_nodes(levels, inside)).hex()
            mark.recorded_at_us = int(copy_fields(lines[inside - 1])[5])
        chunk.marks.append(mark)
    return levels


@dataclass(slots=True, kw_only=True)
class _Loop:
    """The pass over a chunk's lines."""

    chunk: Chunk
    log: str
    odd: bool
    last: int
    whole: int | None = None
    leaves: list[str] = field(default_factory=list)

    def judge(self, lines: Sequence[str], segment: Segment) -> None:
        """Rebuild, hash and chain records; the hot loop of the check."""
        chunk, leaves, odd = self.chunk, self.leaves, self.odd
        starts, born = chunk.starts, chunk.born
        ends, changed = chunk.ends, segment.changed
        quoted, kinds, highest = _quoted(self.log), chunk.kinds, self.last
        for line in lines:
            if odd and _ODD.search(line):
                fields, entry = self._careful(line)
            else:
                fields = line.split("\t")
                entry = rebuilt_header(fields, quoted)
            stream, leaf, seq, number = fields[1], fields[11], int(fields[0]), int(fields[2])
            highest = seq if seq == highest + 1 else self.jump(seq, highest)
            leaves.append(leaf)
            last = ends.get(stream)
            ends[stream] = link = (number, leaf, seq)
            if sha256(b"\0" + entry).hexdigest() != leaf:
                chunk.findings.append((TAMPERED, _NOT_HASHED, seq))
                if last is None:
                    starts[stream] = UNCHECKED
                continue
            if _KNOWN.get(fields[3]) != fields[4]:
                kind = f"{fields[3]} {fields[4]}"
                kinds[kind] = kinds.get(kind, 0) + 1
            changed[stream] = link
            if last is None:
                if number or fields[8] != ZERO_HEX:
                    starts[stream] = (number, fields[8], seq)
                else:
                    born[stream] = seq
            elif number != last[0] + 1 or fields[8] != last[1]:
                chunk.findings += broken_link(stream, last, (number, fields[8], seq))
        self.last = highest

    def jump(self, seq: int, highest: int) -> int:
        """Note a number that does not follow the highest one before; return the highest now."""
        self.chunk.jumps.append((seq, highest))
        if self.whole is None:
            self.whole = len(self.leaves)
        return max(seq, highest)

    def _careful(self, line: str) -> tuple[list[str], bytes]:
        """Return the fields and the header of a line with something to escape."""
        fields = copy_fields(line)
        try:
            return fields, b"" if "\\N" in line.split("\t") else careful_header(fields, self.log)
        except Bad:
            return fields, b""  # which is no record's leaf

    def special(self, line: str, specials: Mapping[int, bytes]) -> Special | None:
        """Return a special record for the judge, None when it is not sound by itself."""
        fields, entry = self._careful(line)
        seq = int(fields[0])
        if leaf_hash(entry).hex() != fields[11]:
            return None  # the loop says so
        try:
            head, body = read_record(entry, specials[seq])
        except Bad as error:
            self.chunk.findings.append((TAMPERED, str(error), seq))
            return None
        return Special(seq=seq, kind=fields[3], body=body) if known(head) else None


def _places(lines: Sequence[str], first: int, specials: Mapping[int, bytes]) -> list[int]:
    """Return where the special records stand among the lines."""
    places = [seq - first for seq in sorted(specials)]
    if all(0 <= at < len(lines) and lines[at].startswith(f"{first + at}\t") for at in places):
        return places
    return [at for at, line in enumerate(lines) if int(line.split("\t", 1)[0]) in specials]


def _check_kinds(chunk: Chunk, lines: Sequence[str]) -> None:
    """Refuse a kind that is no word."""
    for name in chunk.kinds:
        kind = name.rpartition(" ")[0]
        if KIND.fullmatch(kind) is None:
            seq = next((int(f[0]) for f in map(copy_fields, lines) if f[3] == kind), chunk.first)
            chunk.findings.append((TAMPERED, "the kind has another shape", seq))


def _listed(joined: str) -> str:
    """Write commitments, joined in hex, as the inside of a JSON list."""
    return ",".join([f'"{joined[i : i + _DIGITS]}"' for i in range(0, len(joined), _DIGITS)])


def _quoted(text: str) -> str:
    """Write text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def judge_payloads(
    rows: Iterable[Mapping[str, Any]], log: str
) -> tuple[list[Finding], dict[str, int]]:
    """Hold stored headers, payloads and accounts against leaves and columns: the second pass.

    Args:
        rows: with `seq`, `leaf`, `header`, `payload`, `account`, `payload_digest`.
        log: the log's name.

    Returns:
        What is wrong, and the blobs named, each with the first record that names it.
    """
    findings: list[Finding] = []
    blobs: dict[str, int] = {}
    for row in rows:
        try:
            head, body = _record(row, log)
        except Bad as error:
            findings.append((TAMPERED, str(error), row["seq"]))
            continue
        for digest in blobs_of(body) if known(head) else ():
            blobs.setdefault(digest, row["seq"])
    return findings, blobs


def _record(row: Mapping[str, Any], log: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's header and payload once leaf and columns agree with them."""
    if leaf_hash(row["header"]) != row["leaf"]:
        raise Bad("the leaf is not the header's hash")
    head, body = read_record(row["header"], row["payload"])
    stated = [row["account"], bytes(row["payload_digest"]).hex(), log]
    if stated != [body.get("account"), head["payload_sha256"], head["log"]]:
        raise Bad("account, payload_digest or log differs from the hashed bytes")
    return head, body
