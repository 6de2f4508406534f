"""Records: headers, payloads, places in the tree, streams, stream-head maps, disclosed values."""

import base64
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from audit.verifier.parts.canonical import ENTRY_MAX, ZERO_HASH, parse_canonical, unhex
from audit.verifier.parts.kinds import KNOWN_KINDS
from audit.verifier.parts.report import INCOMPLETE, NOT_CHECKABLE, TAMPERED, Bad, Report
from audit.verifier.parts.tree import root_by_path
from audit.verifier.parts.trust.keys import Trust
from audit.verifier.parts.trust.note import Head

_STRINGS = ("actor", "idem_key", "kind", "log", "payload_sha256", "prev", "stream")
NUMBERS = ("seq", "stream_seq", "version", "recorded_at_us")
HEADER_FIELDS: dict[str, type] = dict.fromkeys(_STRINGS, str) | {"commitments": list}
HEADER_FIELDS |= dict.fromkeys(NUMBERS, int)
HEADER_FIELDS = dict(sorted(HEADER_FIELDS.items()))
COLUMNS = ("seq", "stream", "stream_seq", "kind", "version", "recorded_at_us", "actor", "idem_key")
KIND = re.compile(r"[a-z_]{1,64}")
IDENTITIES = dict.fromkeys(("cl_ord_id", "decision_id", "exec_id", "orig_cl_ord_id"), True)
IDENTITIES |= dict.fromkeys(("basket_id", "override_id"), False)
"""Fields that name something, in order, with whether null is allowed for none."""
MAP_BROKEN = "the parts of a stream-head map do not follow each other, without a record between"
Header = Mapping[str, Any]


def read_header(header: bytes) -> dict[str, Any]:
    """Return a record's header: canonical JSON of exactly its fields and types."""
    head = parse_canonical(header)
    if not isinstance(head, dict) or tuple(head) != tuple(HEADER_FIELDS):
        raise Bad("the header has another shape")
    if any(type(head[name]) is not wanted for name, wanted in HEADER_FIELDS.items()):
        raise Bad("a field of the header has another type")
    if KIND.fullmatch(head["kind"]) is None:
        raise Bad("the kind has another shape")
    if len(header) > ENTRY_MAX or min(head[name] for name in NUMBERS) < 0:
        raise Bad("the header is too long, or a number in it is negative")
    if min(head["stream"], default="") < " ":
        raise Bad("the stream has no name")
    for digest in (head["prev"], head["payload_sha256"], *head["commitments"]):
        unhex(digest)
    return head


def known(head: Mapping[str, Any]) -> bool:
    """Return whether this file interprets records of this kind and version."""
    return bool(KNOWN_KINDS.get(head["kind"]) == head["version"])


def read_record(header: bytes, payload: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's header and payload; the header must name the payload's hash."""
    head, body = read_header(header), parse_canonical(payload)
    if not isinstance(body, dict) or len(payload) > ENTRY_MAX:
        raise Bad("the payload has another shape, or is too long")
    if head["kind"] == "stream_heads" and known(head):
        _check_map(body)
    if known(head):
        _check_names(body)
    if hashlib.sha256(payload).hexdigest() != head["payload_sha256"]:
        raise Bad("the payload is not the one that the header names")
    return head, body


def _check_names(body: Mapping[str, Any]) -> None:
    """Refuse an identity that is not a text: other records could not name it."""
    for name, may_lack in IDENTITIES.items():
        value = body.get(name, "")
        if not isinstance(value, str) and not (may_lack and value is None):
            raise Bad(f"its {name} is not a text")


def _check_map(body: Mapping[str, Any]) -> None:
    part, parts, heads = (body.get(name) for name in ("part", "parts", "heads"))
    if type(part) is not int or type(parts) is not int or not 0 <= part < parts:
        raise Bad("the stream-head map counts its parts in another way")
    if not isinstance(heads, list) or not all(
        isinstance(row, list) and list(map(type, row)) == [str, int, str] for row in heads
    ):
        raise Bad("the stream-head map has another shape")


def blobs_of(value: object) -> Iterator[str]:
    """Yield the digests of `*_blob` fields at any depth; anything else in them is refused."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key, below in item.items():
                if not key.endswith("_blob"):
                    waiting.append(below)
                elif below is not None:
                    yield unhex(below).hex()
        elif isinstance(item, list):
            waiting.extend(item)


class Disclosed:
    """Disclosed personal values, compared with the commitments of the records."""

    def __init__(self, disclosures: Iterable[bytes]) -> None:
        """Take disclosures: base64url of `[salt, path, value]`; a commitment is their SHA-256."""
        self._open: dict[str, str | None] = {}
        for data in disclosures:
            text = data.removesuffix(b"\n")
            self._open[hashlib.sha256(text).hexdigest()] = _path_of(text)

    def see(self, report: Report, head: Mapping[str, Any]) -> None:
        """Look for disclosed values among a verified record's commitments."""
        for digest in head["commitments"] if self._open else ():
            if digest in self._open:
                path = self._open.pop(digest)
                if path is None:
                    report.find(TAMPERED, "commits to what is no disclosure", head["seq"])
                else:
                    report.say(f"record {head['seq']} commits to the disclosed value of {path}")

    def finish(self, report: Report) -> None:
        """Report the disclosures that no record commits to."""
        for path in self._open.values():
            text = f"no record here commits to the disclosed value of {path or 'nothing known'}"
            report.find(TAMPERED, text)


def _path_of(text: bytes) -> str | None:
    """Return the path that a disclosure states; None if it is malformed."""
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        parts = parse_canonical(data)
    except (ValueError, Bad):
        return None
    exact = base64.urlsafe_b64encode(data).rstrip(b"=") == text
    right = isinstance(parts, list) and [type(part) for part in parts] == [str, str, str]
    return parts[1] if exact and right else None


class Streams:
    """The end of every stream; records must be dense, chained by `prev`, with unique keys."""

    def __init__(self) -> None:
        self.heads: dict[str, tuple[int, bytes, int]] = {}
        self.keys: set[bytes] = set()

    def follow(self, report: Report, head: Mapping[str, Any], leaf: bytes) -> None:
        """Compare a record with the last one of its stream."""
        number, before, last = self.heads.get(head["stream"], (-1, ZERO_HASH, -1))
        if head["stream_seq"] != number + 1:
            code = INCOMPLETE if head["stream_seq"] > number else TAMPERED
            text = f"{head['stream']} goes from {number} to {head['stream_seq']}"
            report.find(code, text, head["seq"])
        elif head["prev"] != before.hex():
            text = f"is not the record that record {head['seq']} follows: one of them was altered"
            report.find(TAMPERED, text, max(last, 0))
        name = f"{head['stream']}\0{head['idem_key']}".encode()
        key = hashlib.sha256(name).digest()[:16]
        if key in self.keys:
            text = f"{head['stream']} has the idempotency key {head['idem_key']} twice"
            report.find(TAMPERED, text, head["seq"])
        self.keys.add(key)
        self.heads[head["stream"]] = (head["stream_seq"], leaf, head["seq"])


def follow_keys(trust: Trust, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Apply a record that changes the log's keys; its statement is signed by itself."""
    if known(head) and head["kind"] in {"key_rotated", "key_revoked"}:
        trust.follow(body.get("statement"), head["log"])


def unread_of(heads: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, int]]:
    """Return how many records have each unknown kind and version."""
    return Counter((head["kind"], head["version"]) for head in heads if not known(head))


def judge_place(
    report: Report, head: Mapping[str, Any], leaf: bytes, path: Sequence[bytes], signed: Head
) -> None:
    """Check that a record sits where it says in the signed tree of its own log."""
    index, size = head["seq"], signed.size
    if not 0 <= index < size or root_by_path(leaf, index, size, path) != signed.root:
        report.find(TAMPERED, "is not in the signed tree", index)
    if head["log"] != signed.origin:
        report.find(TAMPERED, "is of another log", index)


def judge_end(report: Report, row: Sequence[Any], number: int, leaf: bytes) -> None:
    """Compare the end of a stream here with its row of a stream-head map."""
    if list(row[1:]) != [number, leaf.hex()]:
        text = f"{row[0]} ends at {row[1]} in the signed map, at {number} here"
        report.find(INCOMPLETE if row[1] > number else TAMPERED, text)


def judge_seal(
    report: Report, stream: str, heads: Sequence[Mapping[str, Any]], kind: str = "decision_sealed"
) -> None:
    """Require the record that ends a decision, or an attempt at a forecast."""
    seals = [head for head in heads if head["kind"] == kind]
    if any(known(head) for head in seals):
        return
    if seals:
        report.find(NOT_CHECKABLE, "the seal is of an unknown version", seals[0]["seq"])
    else:
        report.find(INCOMPLETE, f"{stream} is not sealed")


def next_part(awaited: list[int], body: Mapping[str, Any], seq: int) -> tuple[bool, list[int]]:
    """Return whether a part of a map is in its place, and what must come next."""
    part, parts = body["part"], body["parts"]
    joins = (awaited or [seq, 0, parts]) == [seq, part, parts]
    return joins, [] if part + 1 == parts else [seq + 1, part + 1, parts]


def judge_map(
    report: Report,
    shown: Sequence[tuple[Header, Header]],
    signed_size: int,
    others: Iterable[Header],
) -> None:
    """Require all parts of each map, one after the other, in the signed tree.

    A map says where streams ended before its first part. A record between two parts would be in no
    map, so a part that is not shown could be a hidden record of the stream. `shown` has the
    header and payload of each part in the order listed, `others` the other records' headers.
    """
    maps: dict[tuple[int, int], list[int]] = {}
    for head, body in shown:
        maps.setdefault((head["seq"] - body["part"], body["parts"]), []).append(head["seq"])
    beside, at, behind = sorted(head["seq"] for head in others), 0, 0
    for (first, parts), seqs in maps.items():
        if first < 0 or first + parts > signed_size:
            report.find(TAMPERED, "a stream-head map has not all its parts in the signed tree")
        there = set(seqs)
        if first < behind or seqs != sorted(there):
            report.find(TAMPERED, MAP_BROKEN, first)
        behind = first + parts
        while at < len(beside) and beside[at] < first:  # maps that go back are broken anyway
            at += 1
        if at < len(beside) and beside[at] < behind:
            report.find(TAMPERED, MAP_BROKEN, beside[at])
        if len(seqs) < parts:
            missing = next(n for n in itertools.count() if first + n not in there)
            text = f"part {missing} of a stream-head map of {parts} parts is not shown"
            report.find(INCOMPLETE, f"{text}: a record may be hidden in its place", first + missing)


def say_unread(report: Report, unread: Mapping[tuple[str, int], int]) -> None:
    """Report the records of which only the bytes were verified; an unread map is a finding."""
    for (kind, version), count in sorted(unread.items()):
        text = f"{kind} version {version} is not known here"
        if kind == "stream_heads" and version == 0:
            text = "a stream-head map of an unknown version: where streams end cannot be seen"
            report.find(NOT_CHECKABLE, text)
        else:
            report.say(f"{text}: of {count} records only the bytes were verified")
