"""Verify a Countersign bundle or dump without trusting who made it.

    python verify.py FILE --key VKEY [--key ..] [--checkpoint NOTE]

One file, standard library + cryptography. Take it and the key from a place you trust, never from
the bundle itself. The formats are written a second time on purpose: nothing here is shared with
the ledger that it judges, and for the same reason this file is longer than the others.

Exit codes: 0 all as signed; 1 tampered; 2 incomplete; 3 not checkable (no trusted key given).

Source: RFC 6962 section 2.1, RFC 8785, https://c2sp.org/signed-note and tlog-checkpoint.
"""

import argparse
import base64
import binascii
import hashlib
import io
import itertools
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

OK, TAMPERED, INCOMPLETE, NOT_CHECKABLE = 0, 1, 2, 3
WORDS = {OK: "OK", TAMPERED: "TAMPERED", INCOMPLETE: "INCOMPLETE", NOT_CHECKABLE: "NOT CHECKABLE"}
ZERO_HASH = bytes(32)
FINDINGS_MAX = 50
TEXT_MAX = 500
TAIL_S = 5
"""A live log's newest signed record may be so old; what follows it waits for its checkpoint."""
HEADER_FIELDS: dict[str, type] = {
    "actor": str,
    "commitments": list,
    **dict.fromkeys(("idem_key", "kind", "log", "payload_sha256", "prev"), str),
    **dict.fromkeys(("recorded_at_us", "seq"), int),
    "stream": str,
    **dict.fromkeys(("stream_seq", "version"), int),
}
COLUMNS = ("seq", "stream", "stream_seq", "kind", "version", "recorded_at_us", "actor", "idem_key")
_TEXT = ("stream", "kind", "actor", "idem_key")
_NUMBERS = ("seq", "stream_seq", "version", "recorded_at_us")
_BYTES = ("prev", "payload_digest", "leaf", "header", "payload")
DUMP_FIELDS: dict[str, dict[str, Any]] = {
    "head": {"origin": str, "size": int, "root": bytes, "frontier": bytes},
    "checkpoint": {"size": int, "note": bytes},
    "blob": {"digest": bytes, "data": bytes},
    "entry": {
        **dict.fromkeys(_TEXT, str),
        **dict.fromkeys(_NUMBERS, int),
        **dict.fromkeys(_BYTES, bytes),
        "account": str | None,
    },
    "end": {"entries": int},
}
ORDER = tuple(DUMP_FIELDS)
KIND = re.compile(r"[a-z_]{1,64}")


class Bad(Exception):  # noqa: N818 - reads as what it says: this input is bad
    """Something in the input is not what it must be."""


@dataclass(slots=True, kw_only=True)
class Report:
    """What was found: exit code, lines for people, the first bad record, the first unsigned."""

    exit_code: int = OK
    lines: list[str] = field(default_factory=list)
    first_bad_seq: int | None = None
    findings: int = 0
    unsigned_from: int | None = None

    def find(self, code: int, text: str, seq: int | None = None) -> None:
        """Note a finding; tampered outweighs incomplete, which outweighs not checkable."""
        self.findings += 1
        if self.exit_code == OK or code < self.exit_code:
            self.exit_code = code
        if seq is not None and code != NOT_CHECKABLE:
            self.first_bad_seq = seq if self.first_bad_seq is None else min(seq, self.first_bad_seq)
        if self.findings <= FINDINGS_MAX:
            place = "" if seq is None else f"record {seq}: "
            self.say(f"{WORDS[code]}: {place}{text}")

    def say(self, text: str) -> None:
        """Add a line; what the input put into it stays printable anywhere, and short."""
        shown = (c if " " <= c <= "~" else ascii(c)[1:-1] for c in text[:TEXT_MAX])
        self.lines.append("".join(shown))

    def surprise(self, error: Exception) -> None:
        """Note that the input broke the verifier; a sound one cannot."""
        self.find(TAMPERED, f"the input cannot be judged: {type(error).__name__}: {error}")


def canonical(value: object) -> bytes:
    """Encode in RFC 8785's form, for values without floats."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def parse_canonical(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Parse JSON that is exactly in canonical form, without floats."""

    def ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key.encode("utf-16-be") for key, _ in pairs]
        if any(a >= b for a, b in itertools.pairwise(keys)):
            raise Bad("keys out of order")
        return dict(pairs)

    def refuse(text: str) -> None:
        raise Bad(f"number {text}")

    try:
        value = json.loads(
            data.decode(), object_pairs_hook=ordered, parse_float=refuse, parse_constant=refuse
        )
        exact = canonical(value) == data
    except (ValueError, RecursionError) as error:
        raise Bad(f"not canonical JSON: {error}") from error
    if not exact:
        raise Bad("not canonical JSON")
    return value


def leaf_hash(entry: bytes) -> bytes:
    """Hash a tree entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A growing RFC 6962 tree in O(log n) memory."""

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0
        self.nodes: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        self.nodes.append(leaf)
        self.size += 1
        bits = self.size
        while bits & 1 == 0:
            right = self.nodes.pop()
            self.nodes.append(node_hash(self.nodes.pop(), right))
            bits >>= 1

    def root(self) -> bytes:
        """Return the root."""
        if not self.nodes:
            return hashlib.sha256(b"").digest()
        result = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            result = node_hash(node, result)
        return result


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that an inclusion path leads to, None if its length does not fit."""
    last, result = size - 1, leaf
    for node in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            result = node_hash(node, result)
            while index & 1 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            result = node_hash(result, node)
        index, last = index >> 1, last >> 1
    return result if last == 0 else None


def read_vkey(text: str) -> tuple[str, bytes, bytes]:
    """Read `<name>+<id>+<key>` into name, id and Ed25519 public key."""
    try:
        name, key_id, encoded = text.strip().split("+", 2)
        data = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise Bad("key is not <name>+<id>+<base64>") from error
    if len(data) != 33 or data[0] != 1:  # noqa: PLR2004 - one type byte, 32 key bytes
        raise Bad("key is not Ed25519")
    expected = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    if expected.hex() != key_id:
        raise Bad("the key's id does not fit its name and bytes")
    return name, expected, data[1:]


def read_checkpoint(note: bytes, vkeys: Iterable[str]) -> tuple[str, int, bytes, bool]:
    """Return origin, size, root and whether a trusted key signed; an untrusted one does not."""
    try:
        text, _, block = note.decode().rpartition("\n\n")
        origin, size, root = text.split("\n")[:3]
        digest = base64.b64decode(root, validate=True)
        if re.fullmatch("0|[1-9][0-9]{0,18}", size) is None or len(digest) != len(ZERO_HASH):
            raise Bad("checkpoint is malformed")
        lines = {}
        for line in block.removesuffix("\n").split("\n"):
            dash, name, encoded = line.split(" ")
            data = base64.b64decode(encoded, validate=True)
            if dash != "\u2014" or base64.b64encode(data).decode() != encoded:
                raise Bad("signature line is malformed")
            lines[name, data[:4]] = data[4:]
    except (ValueError, binascii.Error) as error:
        raise Bad(f"checkpoint is malformed: {error}") from error
    signed = False
    for name, key_id, key in map(read_vkey, vkeys):
        signature = lines.get((name, key_id))
        if name == origin and signature is not None:
            try:
                Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode() + b"\n")
            except InvalidSignature as error:
                raise Bad("the signature of a trusted key does not verify") from error
            signed = True
    return origin, int(size), digest, signed


def read_record(header: bytes, payload: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's header and payload once the one is shown to bind the other."""
    head, body = parse_canonical(header), parse_canonical(payload)
    if not isinstance(head, dict) or tuple(head) != tuple(HEADER_FIELDS):
        raise Bad("the header has another shape")
    if any(type(head[name]) is not wanted for name, wanted in HEADER_FIELDS.items()):
        raise Bad("a field of the header has another type")
    if not isinstance(body, dict) or KIND.fullmatch(head["kind"]) is None:
        raise Bad("the kind or the payload has another shape")
    if head["kind"] == "stream_heads":
        _check_map(body)
    if hashlib.sha256(payload).hexdigest() != head["payload_sha256"]:
        raise Bad("the payload is not the one that the header names")
    return head, body


def _check_map(body: Mapping[str, Any]) -> None:
    """Refuse a stream-head map that does not have the shape of one."""
    part, parts, heads = (body.get(name) for name in ("part", "parts", "heads"))
    if type(part) is not int or type(parts) is not int or not 0 <= part < parts:
        raise Bad("the stream-head map counts its parts in another way")
    if not isinstance(heads, list) or not all(
        isinstance(row, list) and list(map(type, row)) == [str, int, str] for row in heads
    ):
        raise Bad("the stream-head map has another shape")


def unhex(digests: Sequence[str]) -> bytes:
    """Join digests given in hex."""
    try:
        return bytes.fromhex("".join(digests))
    except (TypeError, ValueError) as error:
        raise Bad("a commitment is not hex") from error


def blobs_of(value: object) -> Iterator[str]:
    """Yield the digests of `*_blob` fields, however deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key, below in item.items():
                if not key.endswith("_blob"):
                    waiting.append(below)
                elif below is not None:
                    yield str(below)
        elif isinstance(item, list):
            waiting.extend(item)


class LogVerifier:
    """A whole log, record by record, in memory that grows with streams and blobs only.

    Call `head` once, then `checkpoint`, `blob` and `entry` in this order, then `finish`: a
    checkpoint that comes after its records would never be compared with them.
    """

    def __init__(self, vkeys: Sequence[str], notes: Sequence[bytes] = ()) -> None:
        """Keep the trusted keys, and take the checkpoints trusted from elsewhere."""
        self.report = Report()
        self._vkeys = vkeys
        self._stage = ""
        self._tree = Tree()
        self._head: Mapping[str, Any] = {}
        self._origin: str | None = None
        self._roots: dict[int, bytes] = {}
        self._compared: set[int] = set()
        self._checked = 0
        self._signed_at_us = 0
        self._blobs: set[str] = set()
        self._heads: dict[str, tuple[int, bytes, int]] = {}
        self._changed: dict[str, list[Any]] = {}
        self._expected: list[list[Any]] = []
        self._map_rows: list[list[Any]] = []
        self._mapped = 0
        self._whole = True
        self._disordered = False
        for note in notes:
            self._take_note(None, note)

    def _enter(self, stage: str) -> None:
        """Hold the order: exactly one head, first; then what `ORDER` says."""
        before, self._stage = self._stage, stage
        if before == "":
            right = stage == ORDER[0]
        else:
            right = stage != ORDER[0] and ORDER.index(stage) >= ORDER.index(before)
        if not right and not self._disordered:
            self._disordered = True
            self.report.find(TAMPERED, f"a {stage} out of order, after {before or 'nothing'}")

    def head(self, row: Mapping[str, Any]) -> None:
        """Take the stored head: origin, size, root, frontier."""
        self._enter("head")
        if self._origin not in {None, row["origin"]}:
            self.report.find(TAMPERED, f"the trusted checkpoint is not of the log {row['origin']}")
        self._head, self._origin = row, row["origin"]

    def checkpoint(self, size: int, note: bytes) -> None:
        """Take a checkpoint, stored under a size."""
        self._enter("checkpoint")
        self._take_note(size, note)

    def _take_note(self, size: int | None, note: bytes) -> None:
        try:
            origin, stated, root, signed = read_checkpoint(note, self._vkeys)
        except Bad as error:
            self.report.find(TAMPERED, f"checkpoint of {size}: {error}")
            return
        self._origin = self._origin or origin
        if size not in {None, stated} or origin != self._origin:
            self.report.find(TAMPERED, f"checkpoint of {size} states {origin} and {stated}")
        elif self._vkeys and not signed:
            self.report.find(TAMPERED, f"checkpoint of {stated} is signed by no trusted key")
        elif self._roots.setdefault(stated, root) != root:
            self.report.find(TAMPERED, f"two checkpoints of {stated} differ")
        elif stated == 0 and not self._compare(root):
            self.report.find(TAMPERED, "the checkpoint of 0 is not that of an empty log")

    def _compare(self, root: bytes) -> bool:
        """Compare a checkpoint's root with the tree of now."""
        self._compared.add(self._tree.size)
        return root == self._tree.root()

    def blob(self, digest: bytes, data: bytes) -> None:
        """Take a blob."""
        self._enter("blob")
        if hashlib.sha256(data).digest() != digest:
            self.report.find(TAMPERED, f"blob {digest.hex()} has other content")
        self._blobs.add(digest.hex())

    def entry(self, row: Mapping[str, Any]) -> None:
        """Take the next record with all its columns; bytes as bytes."""
        self._enter("entry")
        seq, leaf = row["seq"], bytes(row["leaf"])
        if seq != self._tree.size and self._whole:
            self._whole = False
            self.report.find(INCOMPLETE, "missing or out of order", min(seq, self._tree.size))
        head: Mapping[str, Any] = row
        try:
            head = self._entry(row, leaf)
        except Bad as error:
            self.report.find(TAMPERED, str(error), seq)
        self._heads[head["stream"]] = (head["stream_seq"], leaf, seq)
        self._tree.append(leaf)
        root = self._roots.get(self._tree.size)
        if root is None or not self._whole:
            return
        if not self._compare(root):
            where = None if self.report.first_bad_seq is not None else self._checked
            text = (
                f"the tree of {self._tree.size} is not the one signed, that of {self._checked} is"
            )
            self.report.find(TAMPERED, text, where)
            self._whole = False
        elif self._mapped != self._tree.size:
            self.report.find(TAMPERED, "signed without a stream-head map before it", seq)
        self._checked, self._signed_at_us = self._tree.size, row["recorded_at_us"]

    def _entry(self, row: Mapping[str, Any], leaf: bytes) -> Mapping[str, Any]:
        """Hold every column against the hashed bytes, and the record against its stream."""
        if leaf_hash(row["header"]) != leaf:
            raise Bad("the leaf is not the header's hash")
        head, body = read_record(row["header"], row["payload"])
        stated = {name: row[name] for name in COLUMNS}
        stated["prev"] = bytes(row["prev"]).hex()
        stated["payload_sha256"] = bytes(row["payload_digest"]).hex()
        stated["log"] = self._head.get("origin", head["log"])
        differing = [name for name, value in stated.items() if head[name] != value]
        if row["account"] != body.get("account"):
            differing.append("account")
        joined = unhex(head["commitments"])
        if bytes(row.get("commitments", joined)) != joined:
            differing.append("commitments")
        if differing:
            raise Bad(f"{', '.join(differing)} differs from the hashed bytes")
        number, before, last = self._heads.get(head["stream"], (-1, ZERO_HASH, -1))
        if head["stream_seq"] != number + 1:
            code = INCOMPLETE if head["stream_seq"] > number else TAMPERED
            text = f"{head['stream']} goes from {number} to {head['stream_seq']}"
            self.report.find(code, text, row["seq"])
        elif head["prev"] != before.hex():
            text = f"is not the record that record {row['seq']} follows: one of them was altered"
            self.report.find(TAMPERED, text, max(last, 0))
        for digest in sorted(set(blobs_of(body)) - self._blobs):
            self.report.find(INCOMPLETE, f"blob {digest} is missing", row["seq"])
        if head["kind"] == "stream_heads":
            self._map(body, row["seq"])
        self._changed[head["stream"]] = [head["stream_seq"], leaf.hex()]
        return head

    def _map(self, body: Mapping[str, Any], seq: int) -> None:
        """Hold a map, which may have parts, against the streams that changed since the last one."""
        if body["part"] == 0:
            self._expected = [[name, *head] for name, head in sorted(self._changed.items())]
            self._changed, self._map_rows = {}, []
        self._map_rows += body["heads"]
        if body["part"] + 1 != body["parts"]:
            return
        self._mapped = seq + 1
        if self._map_rows == self._expected:
            return
        stated = {row[0]: row[1:] for row in self._map_rows}
        for name, *head in self._expected:
            if name in stated and stated[name][0] == head[0] and stated[name] != head:
                text = f"is not the one that the stream-head map of record {seq} names"
                self.report.find(TAMPERED, text, self._heads[name][2])
        raise Bad("the stream-head map is not that of the streams")

    def finish(self, expected: int | None = None, now_us: int | None = None) -> Report:
        """Judge the end: head, signed size, keys.

        Args:
            expected: how many records the source says there are.
            now_us: for a log that is being written, the time of the reading: records may wait
                for their checkpoint if the newest signed one is at most `TAIL_S` older than this.
        """
        size, report = self._tree.size, self.report
        if expected is not None and expected != size:
            report.find(INCOMPLETE, f"{expected} records announced, {size} found", size)
        beyond = max(self._roots, default=0)
        if beyond > size:
            report.find(INCOMPLETE, f"a checkpoint of {beyond} is signed, {size} found", size)
        if not self._head:
            report.find(INCOMPLETE, "there is no head")
        elif self._whole:
            stated = (self._head["size"], bytes(self._head["root"]), bytes(self._head["frontier"]))
            if stated != (size, self._tree.root(), b"".join(self._tree.nodes)):
                report.find(TAMPERED, f"the stored head is not that of {size} records")
        if self._whole:
            self._judge_signatures(now_us)
        if not self._vkeys:
            report.find(NOT_CHECKABLE, "no trusted key given: nothing says who wrote this")
        report.say(
            f"{size} records, {len(self._heads)} streams, {len(self._blobs)} blobs,"
            f" {len(self._roots)} checkpoints; signed up to {self._checked}"
        )
        return report

    def _judge_signatures(self, now_us: int | None) -> None:
        """Require that every checkpoint was compared, and that they cover all there is."""
        size, report = self._tree.size, self.report
        for missed in sorted(self._roots.keys() - self._compared):
            if missed <= size:
                report.find(TAMPERED, f"the checkpoint of {missed} was not compared")
        if not self._compared:
            report.find(INCOMPLETE, "no checkpoint covers these records")
        elif self._checked < size:
            report.unsigned_from = self._checked
            text = f"records from {self._checked} on are not signed yet"
            lag_us = TAIL_S * 1_000_000
            if now_us is not None and abs(now_us - self._signed_at_us) <= lag_us:
                report.say(f"{text}: a running log signs them within {TAIL_S} s")
            else:
                report.find(INCOMPLETE, text)


def verify_dump(
    lines: Iterable[bytes], vkeys: Sequence[str], notes: Sequence[bytes] = ()
) -> Report:
    """Verify a dump: JSON lines, each with its type; the last announces the number of records.

    Args:
        lines: of the dump: one head, checkpoints, blobs, entries, the end, in this order.
        vkeys: trusted keys, from outside.
        notes: checkpoints kept outside, which the dump's tree must contain.
    """
    log = LogVerifier(vkeys, notes)
    expected = None
    try:
        for line in lines:
            if expected is not None:
                log.report.find(TAMPERED, "the dump goes on after its end")
                break
            expected = _take(log, line)
    except Bad as error:
        log.report.find(TAMPERED, f"the dump is malformed: {error}")
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        log.report.surprise(error)
    if expected is None:
        log.report.find(INCOMPLETE, "the dump has no end")
    return log.finish(expected)


def _take(log: LogVerifier, line: bytes) -> int | None:
    """Give one line of a dump to the verifier; return the announced number if it is the last."""
    kind, row = _read_line(line)
    match kind:
        case "head":
            log.head(row)
        case "checkpoint":
            log.checkpoint(row["size"], row["note"])
        case "blob":
            log.blob(row["digest"], row["data"])
        case "entry":
            log.entry(row)
        case _:
            return int(row["entries"])
    return None


def _read_line(line: bytes) -> tuple[str, dict[str, Any]]:
    """Parse one line of a dump into its type and typed fields; bytes are base64."""
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {type(error).__name__}") from error
    kind = row.pop("type", None) if isinstance(row, dict) else None
    if (
        not isinstance(kind, str)
        or kind not in DUMP_FIELDS
        or row.keys() != DUMP_FIELDS[kind].keys()
    ):
        raise Bad(f"a line of type {kind!r} has other fields")
    for name, wanted in DUMP_FIELDS[kind].items():
        value = row[name]
        if wanted is bytes:
            row[name] = value = _unbase64(value)
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise Bad(f"{name} of a line of type {kind} has another type")
    return kind, row


def _unbase64(text: object) -> bytes:
    """Decode base64 that is exactly the encoding of its bytes."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError as error:
        raise Bad("not base64") from error
    if data is None or base64.b64encode(data).decode() != text:
        raise Bad("not base64")
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One decision's evidence: records with their inclusion paths, a checkpoint, blobs."""

    stream: str
    note: bytes
    records: Mapping[str, tuple[bytes, bytes, Sequence[bytes]]]
    blobs: Mapping[str, bytes]

    def to_zip(self, verifier: bytes) -> bytes:
        """Return the canonical ZIP: sorted names, stored, no times; a function of the evidence."""
        files = {"checkpoint.txt": self.note, "verify.py": verifier}
        files |= {f"blobs/{digest}": data for digest, data in self.blobs.items()}
        dev = False
        for header, payload, path in self.records.values():
            head, body = read_record(header, payload)
            name = f"{head['seq']:012d}-{head['kind']}"
            files[f"records/{name}.header.json"] = header
            files[f"records/{name}.payload.json"] = payload
            files[f"proofs/{name}.json"] = canonical([node.hex() for node in path])
            if isinstance(body.get("raw"), str):
                files[f"fix/{name}.txt"] = body["raw"].replace("\x01", "|\n").encode()
            dev = dev or body.get("dev") is True
        manifest = {"dev": dev, "format": "countersign-bundle/1", "stream": self.stream}
        files["manifest.json"] = canonical(manifest)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, 0o100644 << 16
                archive.writestr(info, files[name])
        return out.getvalue()


def read_bundle(data: bytes) -> Bundle:
    """Parse a bundle; what is not part of the format is dropped here and missed later."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            plain = not any(info.compress_type or info.file_size > len(data) for info in infos)
            files = {info.filename: archive.read(info) for info in infos if plain}
        records = {}
        for name in sorted(files):
            if name.startswith("records/") and name.endswith(".header.json"):
                stem = name.removeprefix("records/").removesuffix(".header.json")
                path = list(map(bytes.fromhex, parse_canonical(files[f"proofs/{stem}.json"])))
                records[stem] = (files[name], files[f"records/{stem}.payload.json"], path)
        return Bundle(
            stream=str(parse_canonical(files["manifest.json"])["stream"]),
            note=files["checkpoint.txt"],
            records=records,
            blobs={n.removeprefix("blobs/"): files[n] for n in files if n.startswith("blobs/")},
        )
    except Exception as error:
        raise Bad(f"not a bundle: {error!r}") from error


def verify_bundle(
    data: bytes,
    vkeys: Sequence[str],
    verifier: bytes | None = None,
    notes: Sequence[bytes] = (),
) -> Report:
    """Verify a bundle's bytes.

    Args:
        data: the ZIP.
        vkeys: trusted keys, from outside.
        verifier: the bytes that its verify.py must have; this file's own unless given.
        notes: checkpoints kept outside; only one of the bundle's size can be compared with it.
    """
    report = Report()
    try:
        bundle = read_bundle(data)
        origin, size, root, signed = read_checkpoint(bundle.note, vkeys)
        if not vkeys:
            report.find(NOT_CHECKABLE, "no trusted key given: nothing says who signed this")
        elif not signed:
            report.find(TAMPERED, "signed by no trusted key")
        for note in notes:
            _judge_note(report, note, vkeys, (origin, size, root))
        records = [
            _proven(report, stem, item, origin, size, root) for stem, item in bundle.records.items()
        ]
        _judge_stream(report, bundle.stream, records, size)
        _judge_context(report, bundle.stream, records)
        _judge_blobs(report, bundle.blobs, records)
        if bundle.to_zip(verifier or Path(__file__).read_bytes()) != data:
            text = "the bytes are not those of the canonical bundle of this content"
            report.find(TAMPERED, text)
        report.say(f"{bundle.stream}: {len(records)} records under {origin} at {size}")
    except Bad as error:
        report.find(TAMPERED, str(error))
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        report.surprise(error)
    return report


def _judge_note(
    report: Report, note: bytes, vkeys: Sequence[str], bundled: tuple[str, int, bytes]
) -> None:
    """Hold a checkpoint kept outside against the bundle's own."""
    origin, size, root, signed = read_checkpoint(note, vkeys)
    if vkeys and not signed:
        report.find(TAMPERED, f"the kept checkpoint of {size} is signed by no trusted key")
    elif origin != bundled[0]:
        report.find(TAMPERED, f"the kept checkpoint is of the log {origin}, not {bundled[0]}")
    elif size != bundled[1]:
        text = f"the kept checkpoint of {size} is not comparable with the bundle's of {bundled[1]}"
        report.find(NOT_CHECKABLE, f"{text}; a dump can be held against it")
    elif root != bundled[2]:
        report.find(TAMPERED, f"the kept checkpoint of {size} has another root: the log forked")


def _judge_context(report: Report, stream: str, records: Sequence["_Proven"]) -> None:
    """Check that what the decision rests on and names is there, recorded before it was named."""
    there: dict[tuple[object, ...], int] = {}
    for head, body, _ in records:
        match head["kind"]:
            case "run_started":
                key: tuple[object, ...] = ("run", body.get("run_id"))
            case "policy_activated":
                key = ("policy", body.get("policy_digest"))
            case "fix_inbound":
                key = ("inbound", head["stream"], body.get("offset"))
            case _:
                continue
        there[key] = min(head["seq"], there.get(key, head["seq"]))
    for head, body, _ in records:
        if head["stream"] != stream:
            continue
        named: list[tuple[object, ...]] = [("run", body.get("run_id"))]
        named.append(("policy", body.get("policy_digest")))
        if head["kind"] == "order_reported":
            named.append(("inbound", f"session/{body.get('session')}", body.get("inbox_offset")))
        for key in named:
            if key[-1] is not None and there.get(key, head["seq"]) >= head["seq"]:
                report.find(INCOMPLETE, f"names {' '.join(map(str, key))}: missing", head["seq"])


def _judge_blobs(report: Report, blobs: Mapping[str, bytes], records: Sequence["_Proven"]) -> None:
    """Check that every blob named is there, and every blob there is named and what it says."""
    named: set[str] = set()
    for head, body, _ in records:
        digests = set(blobs_of(body))
        named |= digests
        for digest in sorted(digests - blobs.keys()):
            report.find(INCOMPLETE, f"blob {digest} is missing", head["seq"])
    for digest, content in blobs.items():
        if hashlib.sha256(content).hexdigest() != digest:
            report.find(TAMPERED, f"blob {digest} has other content")
        if digest not in named:
            report.find(TAMPERED, f"blob {digest} belongs to no record")


_Proven = tuple[dict[str, Any], dict[str, Any], bytes]


def _proven(
    report: Report,
    stem: str,
    item: tuple[bytes, bytes, Sequence[bytes]],
    origin: str,
    size: int,
    root: bytes,
) -> _Proven:
    """Read one record and check that it sits where it says in the signed tree."""
    try:
        head, body = read_record(item[0], item[1])
    except Bad as error:
        raise Bad(f"record {stem}: {error}") from error
    leaf = leaf_hash(item[0])
    if not 0 <= head["seq"] < size or root_by_path(leaf, head["seq"], size, item[2]) != root:
        report.find(TAMPERED, "is not in the signed tree", head["seq"])
    if head["log"] != origin:
        report.find(TAMPERED, "is of another log", head["seq"])
    return head, body, leaf


def _judge_stream(report: Report, stream: str, records: Sequence[_Proven], size: int) -> None:
    """Check that the decision's records are all there are: dense, chained, mapped, sealed."""
    number, last, sealed = -1, ZERO_HASH, False
    for head, _, leaf in records:
        if head["stream"] != stream:
            continue
        if head["stream_seq"] != number + 1:
            report.find(INCOMPLETE, f"{stream} goes from {number} to {head['stream_seq']}")
        elif head["prev"] != last.hex():
            report.find(TAMPERED, "does not follow the one before it", head["seq"])
        number, last, sealed = head["stream_seq"], leaf, sealed or head["kind"] == "decision_sealed"
    mapped = [
        row
        for head, body, _ in records
        if head["kind"] == "stream_heads" and head["seq"] + body["parts"] - body["part"] == size
        for row in body["heads"]
        if row[0] == stream
    ]
    if not mapped:
        report.find(INCOMPLETE, "the checkpoint's own stream-head map does not name the decision")
    elif mapped[0][1:] != [number, last.hex()]:
        text = f"{stream} ends at {mapped[0][1]} in the signed map, at {number} in the bundle"
        report.find(INCOMPLETE if mapped[0][1] > number else TAMPERED, text)
    if not sealed:
        report.find(INCOMPLETE, f"{stream} is not sealed")


def _read_key(text: str) -> str:
    """Return a trusted key, given itself or as a file with it."""
    try:
        key = text if "+" in text else Path(text).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Bad(f"{text} holds no key: not UTF-8") from error
    read_vkey(key)
    return key


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify a file from the command line."""
    parser = argparse.ArgumentParser(description="Verify a Countersign bundle (ZIP) or dump.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--key", action="append", default=[], help="trusted key, or a file with it")
    parser.add_argument("--checkpoint", action="append", default=[], type=Path, help="trusted note")
    asked = parser.parse_args(arguments)
    report = Report()
    try:
        keys = [_read_key(key) for key in asked.key]
        notes = [path.read_bytes() for path in asked.checkpoint]
        if zipfile.is_zipfile(asked.file):
            report = verify_bundle(asked.file.read_bytes(), keys, notes=notes)
        else:
            with asked.file.open("rb") as lines:
                report = verify_dump(lines, keys, notes)
    except (OSError, Bad) as error:
        report.find(NOT_CHECKABLE, str(error))
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        report.surprise(error)
    for line in report.lines:
        print(line)
    print(WORDS[report.exit_code])
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
