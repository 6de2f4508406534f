"""Proofs and receipts, consistency proofs, and checkpoints alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audit.verifier.parts.canonical import (
    DEPTH_MAX,
    canonical,
    decimal,
    parse_canonical,
    unbase64,
    unhash,
    unhex,
)
from audit.verifier.parts.records import (
    HEADER_FIELDS,
    Disclosed,
    Header,
    Streams,
    judge_end,
    judge_map,
    judge_place,
    judge_seal,
    known,
    read_header,
    read_record,
    say_unread,
    unread_of,
)
from audit.verifier.parts.report import (
    INCOMPLETE,
    NOT_CHECKABLE,
    TAMPERED,
    Bad,
    Report,
    Unknown,
    judging,
    stamp,
)
from audit.verifier.parts.tree import leaf_hash, root_by_path
from audit.verifier.parts.trust.checkpoint import Outside, judge_head, read_link
from audit.verifier.parts.trust.keys import Trust
from audit.verifier.parts.trust.note import Head, read_head, read_note

PROOF = "c2sp.org/tlog-proof@v1"
RECORD, RECEIPT, RANGE = "countersign-record/1", "countersign-receipt/1", "countersign-range/1"
WITH_PARTS = {RECEIPT: "countersign-receipt/2", RANGE: "countersign-range/2"}
_LIST: dict[str, type] = {"headers": list, "keys": list, "map": dict, "payloads": list}
_SHAPES: dict[str, dict[str, type]] = {
    RECORD: {"header": dict, "keys": list, "payload": dict},
    RECEIPT: _LIST,
    RANGE: {**_LIST, "first": int, "last": int},
}
_SHAPES |= {new: {**_SHAPES[old], "map": list} for old, new in WITH_PARTS.items()}
EXTRA_FIELDS = {name: dict(sorted({"format": str, **x}.items())) for name, x in _SHAPES.items()}
"""The fields of the extra line of our proofs; nothing in it is trusted unproven.

A receipt has every header of a decision and the payload of its seal. A range has the headers of a
stream from `first` to the end that a stream-head map states, and payloads up to `last`. `map` is
that map: one record, or in the second version a list of all its parts in order. `keys` are
changes of the log's keys.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A C2SP tlog-proof."""

    index: int
    path: tuple[bytes, ...]
    note: bytes
    extra: bytes | None = None


def read_proof(data: bytes) -> Proof:
    """Return a tlog-proof read from its exact form."""
    block, _, note = data.partition(b"\n\n")
    try:
        lines = block.decode().split("\n")
    except ValueError as error:
        raise Bad("the proof is not UTF-8") from error
    if lines[0] != PROOF:
        if re.fullmatch(r"c2sp\.org/tlog-proof@v[1-9][0-9]{0,2}", lines[0]):
            raise Unknown(f"a proof of the form {lines[0]} is not known here")
        raise Bad(f"the proof does not start with {PROOF}")
    extra = None
    if len(lines) > 1 and lines[1].startswith("extra "):
        extra = unbase64(lines.pop(1).removeprefix("extra "))
    if len(lines) < 2 or not lines[1].startswith("index ") or len(lines) > 65:  # noqa: PLR2004
        raise Bad("the proof has no index, or more than 63 hashes")
    index = decimal(lines[1].removeprefix("index "))
    return Proof(index=index, path=tuple(map(unhash, lines[2:])), note=note, extra=extra)


def verify_proof(
    data: bytes, outside: Outside, entry: bytes | None = None, payload: bytes | None = None
) -> Report:
    """Return the report on a proof or receipt.

    `entry` and `payload` are the proven record's, if the proof's extra data lacks them.
    """
    with judging() as report:
        proof = read_proof(data)
        trust, disclosed = Trust(outside.vkeys, outside.policy), Disclosed(outside.disclosures)
        extra = read_extra(proof.extra)
        origin = read_head(read_note(proof.note).text).origin
        for statement in extra.get("keys", ()):
            trust.follow(statement, origin)
        signed = judge_head(report, trust, proof.note, outside)
        for name, given in (("header", entry), ("payload", payload)):
            if given is not None and ("headers" in extra or name in extra):
                report.find(NOT_CHECKABLE, f"--{name} does not apply: the proof holds its own")
        if "headers" in extra:
            _judge_list(report, proof, extra, signed, disclosed)
        else:
            beside = {} if payload is None else {"payload": parse_canonical(payload)}
            _judge_entry(report, proof, {**beside, **extra}, entry, signed, disclosed)
        disclosed.finish(report)
    return report


def read_extra(data: bytes | None) -> dict[str, Any]:
    """Return our extra data, or a header alone; foreign data gives an empty mapping."""
    if data is None or not data.startswith(b"{"):
        return {}
    try:
        extra = parse_canonical(data, DEPTH_MAX + 3)  # where the payload of a map's part lies
    except Bad:
        if b"countersign-" in data:
            raise
        return {}
    if tuple(extra) == tuple(HEADER_FIELDS):
        return {"header": extra}
    sort = extra.get("format")
    fields = EXTRA_FIELDS.get(sort) if isinstance(sort, str) else None
    if fields is None:
        if isinstance(sort, str) and re.fullmatch(r"countersign-[a-z]+/[0-9]{1,4}", sort):
            raise Unknown(f"extra data of the format {sort} is not known here")
        return {}  # another's, which says nothing about the entry
    if list(fields.items()) != [(name, type(value)) for name, value in extra.items()]:
        raise Bad("the extra data has another shape")
    return dict(extra)


def _judge_entry(
    report: Report,
    proof: Proof,
    extra: Mapping[str, Any],
    entry: bytes | None,
    signed: Head,
    disclosed: Disclosed,
) -> None:
    """Judge the proof of one entry, which need not be a record of ours."""
    data = canonical(extra["header"]) if "header" in extra else entry
    if data is None:
        report.find(NOT_CHECKABLE, "no entry: give its bytes with --header")
        return
    leaf, size = leaf_hash(data), signed.size
    if not proof.index < size or root_by_path(leaf, proof.index, size, proof.path) != signed.root:
        report.find(TAMPERED, "is not in the signed tree", proof.index)
    try:
        head = read_header(data)
    except Bad:
        if "header" in extra:
            raise
        if "payload" in extra:
            report.find(NOT_CHECKABLE, "--payload does not apply to an entry that is no record")
        report.say("the entry is not a record of this ledger: only its bytes were verified")
        return
    if "payload" in extra:
        read_record(data, canonical(extra["payload"]))
    judge_place(report, head, leaf, proof.path, signed)
    disclosed.see(report, head)
    say_unread(report, unread_of([head]))
    say_record(report, head)


def say_record(report: Report, head: Mapping[str, Any]) -> None:
    """Report which record this is."""
    at = stamp(head["recorded_at_us"] // 1_000_000)
    text = f"record {head['seq']} of {head['log']}: {head['kind']} by {head['actor']} at {at}"
    report.say(f"{text}, number {head['stream_seq']} of {head['stream']}")


def _judge_list(
    report: Report, proof: Proof, extra: Mapping[str, Any], signed: Head, disclosed: Disclosed
) -> None:
    """Judge a receipt or a range: a chain of headers that ends where a proven map says.

    One entry and the map are proven by their paths, the other entries by the chain.
    """
    headers = [canonical(header) for header in extra["headers"]]
    heads = [read_header(header) for header in headers]
    if not heads:
        report.find(INCOMPLETE, "there is no record in the list")
        return
    stream, first = heads[0]["stream"], extra.get("first", 0)
    streams = Streams()
    streams.heads = {stream: (first - 1, unhex(heads[0]["prev"]), -1)} if first else {}
    last_seq = -1
    for head, header in zip(heads, headers, strict=True):
        if head["stream"] != stream or head["log"] != signed.origin:
            report.find(TAMPERED, "is of another stream or log", head["seq"])
        if not last_seq < head["seq"] < signed.size:
            report.find(TAMPERED, "cannot have this number in the signed tree", head["seq"])
        last_seq = head["seq"]
        streams.follow(report, head, leaf_hash(header))
        disclosed.see(report, head)
    shown = extra["map"] if isinstance(extra["map"], list) else [extra["map"]]
    parts = _parts(report, shown, signed)
    if parts is not None:
        judge_map(report, parts, signed.size, heads)
        _judge_end_of(report, stream, streams, parts)
    proven = [n for n, head in enumerate(heads) if head["seq"] == proof.index]
    for n in proven:
        judge_place(report, heads[n], leaf_hash(headers[n]), proof.path, signed)
    if not proven:
        report.find(INCOMPLETE, "the record that is proven is missing in the list", proof.index)
    elif "last" not in extra:
        judge_seal(report, stream, [heads[n] for n in proven])
        _judge_payloads(report, extra["payloads"], [heads[n] for n in proven])
    else:
        last = extra["last"]
        if not first <= last <= heads[-1]["stream_seq"]:
            report.find(INCOMPLETE, f"{stream} is not listed up to {last}")
        _judge_payloads(report, extra["payloads"], heads[: max(0, last - first + 1)])
    say_unread(report, unread_of(heads))
    report.say(f"{stream}: {len(heads)} records from number {first} on, no other between them")


def _judge_payloads(
    report: Report, payloads: Sequence[Any], heads: Sequence[Mapping[str, Any]]
) -> None:
    """Compare payloads with the headers that name them, in the same order."""
    for head in heads:
        say_record(report, head)
    if len(payloads) != len(heads):
        report.find(INCOMPLETE, f"{len(payloads)} payloads for {len(heads)} records")
    for payload, head in zip(payloads, heads, strict=False):
        try:
            read_record(canonical(head), canonical(payload))
        except Bad as error:
            report.find(TAMPERED, str(error), head["seq"])


def _parts(
    report: Report, shown: Sequence[Any], signed: Head
) -> list[tuple[Header, Header]] | None:
    """Return each part of a map after checking its place; None if its version is unknown."""
    parts: list[tuple[Header, Header]] = []
    for item in shown:
        shape = ["header", "path", "payload"]
        if not (isinstance(item, dict) and list(item) == shape and isinstance(item["path"], list)):
            raise Bad("the stream-head map has another shape")
        header = canonical(item["header"])
        head, body = read_record(header, canonical(item["payload"]))
        path = list(map(unhex, item["path"]))
        judge_place(report, head, leaf_hash(header), path, signed)
        if head["kind"] != "stream_heads":
            raise Bad("the stream-head map is none")
        if not known(head):
            text = "a stream-head map of an unknown version: where the stream ends cannot be seen"
            report.find(NOT_CHECKABLE, text)
            return None
        parts.append((head, body))
    return parts


def _judge_end_of(
    report: Report, stream: str, streams: Streams, parts: Sequence[tuple[Header, Header]]
) -> None:
    """Compare a list's end with a map that is later than all records listed."""
    number, leaf, last = streams.heads[stream]
    later = [(head, body) for head, body in parts if head["seq"] - body["part"] > last]
    rows = [(row, head) for head, body in later for row in body["heads"] if row[0] == stream]
    for row, head in rows:
        judge_end(report, row, number, leaf)
        at = stamp(head["recorded_at_us"] // 1_000_000)
        report.say(f"{stream} ended at {row[1]} when record {head['seq']} was made, {at}")
    if not rows:
        report.find(INCOMPLETE, f"the stream-head map does not name {stream}")


def verify_link(data: bytes, outside: Outside) -> Report:
    """Return the report on a consistency proof: its checkpoint must extend a kept one."""
    with judging() as report:
        trust = Trust(outside.vkeys, outside.policy)
        link = read_link(data)
        if not any(trust.open(note).head.size == link.old_size for note in outside.notes):
            text = f"give the kept checkpoint of {link.old_size} with --checkpoint"
            report.find(NOT_CHECKABLE, text)
        links = (*outside.links, data) if outside.notes else outside.links
        head = judge_head(report, trust, link.note, replace(outside, links=links))
        report.say(f"checkpoint of {head.origin} at {head.size}")
    return report


def verify_note(data: bytes, outside: Outside) -> Report:
    """Return the report on a checkpoint alone: signers, cosigners, kept checkpoints."""
    with judging() as report:
        head = judge_head(report, Trust(outside.vkeys, outside.policy), data, outside)
        report.say(f"checkpoint of {head.origin} at {head.size}")
    return report
