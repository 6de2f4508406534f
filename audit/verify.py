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
HEADER_FIELDS = (
    *("actor", "commitments", "idem_key", "kind", "log", "payload_sha256", "prev"),
    *("recorded_at_us", "seq", "stream", "stream_seq", "version"),
)
COLUMNS = ("seq", "stream", "stream_seq", "kind", "version", "recorded_at_us", "actor", "idem_key")
DUMP_FIELDS = {
    "head": {"origin", "size", "root", "frontier"},
    "checkpoint": {"size", "note"},
    "blob": {"digest", "data"},
    "entry": {*COLUMNS, "account", "prev", "payload_digest", "leaf", "header", "payload"},
    "end": {"entries"},
}


class Bad(Exception):  # noqa: N818 - reads as what it says: this input is bad
    """Something in the input is not what it must be."""


@dataclass(slots=True, kw_only=True)
class Report:
    """What was found: exit code, lines for people, the first bad record's sequence number."""

    exit_code: int = OK
    lines: list[str] = field(default_factory=list)
    first_bad_seq: int | None = None
    findings: int = 0

    def find(self, code: int, text: str, seq: int | None = None) -> None:
        """Note a finding; tampered outweighs incomplete, which outweighs not checkable."""
        self.findings += 1
        if self.exit_code == OK or code < self.exit_code:
            self.exit_code = code
        if seq is not None and code != NOT_CHECKABLE:
            self.first_bad_seq = seq if self.first_bad_seq is None else min(seq, self.first_bad_seq)
        if self.findings <= FINDINGS_MAX:
            place = "" if seq is None else f"record {seq}: "
            self.lines.append(f"{WORDS[code]}: {place}{text}")


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
        if not size.isascii() or str(int(size)) != size or len(digest) != len(ZERO_HASH):
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
    if not isinstance(head, dict) or tuple(head) != HEADER_FIELDS or not isinstance(body, dict):
        raise Bad("header or payload has another shape")
    if hashlib.sha256(payload).hexdigest() != head["payload_sha256"]:
        raise Bad("the payload is not the one that the header names")
    return head, body


def blobs_of(value: object) -> Iterator[str]:
    """Yield the digests of `*_blob` fields."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not key.endswith("_blob"):
                yield from blobs_of(item)
            elif item is not None:
                yield str(item)
    elif isinstance(value, list):
        for item in value:
            yield from blobs_of(item)


class LogVerifier:
    """A whole log, record by record, in memory that grows with streams and blobs only.

    Call `head`, `checkpoint` and `blob` for what is stored, then `entry` in order, then `finish`.
    """

    def __init__(self, vkeys: Sequence[str]) -> None:
        """Keep the trusted keys."""
        self.report = Report()
        self._vkeys = vkeys
        self._tree = Tree()
        self._head: Mapping[str, Any] = {}
        self._roots: dict[int, bytes] = {}
        self._checked = 0
        self._blobs: set[str] = set()
        self._heads: dict[str, tuple[int, bytes, int]] = {}
        self._changed: dict[str, list[Any]] = {}
        self._expected: list[list[Any]] = []
        self._map_rows: list[list[Any]] = []
        self._mapped = 0
        self._whole = True

    def head(self, row: Mapping[str, Any]) -> None:
        """Take the stored head: origin, size, root, frontier."""
        self._head = row

    def checkpoint(self, size: int | None, note: bytes) -> None:
        """Take a checkpoint, stored under a size or (None) trusted from elsewhere."""
        try:
            origin, stated, root, signed = read_checkpoint(note, self._vkeys)
        except Bad as error:
            self.report.find(TAMPERED, f"checkpoint of {size}: {error}")
            return
        if size not in {None, stated} or origin != self._head.get("origin", origin):
            self.report.find(TAMPERED, f"checkpoint of {size} states {origin} and {stated}")
        elif self._vkeys and not signed:
            self.report.find(TAMPERED, f"checkpoint of {stated} is signed by no trusted key")
        elif self._roots.setdefault(stated, root) != root:
            self.report.find(TAMPERED, f"two checkpoints of {stated} differ")

    def blob(self, digest: bytes, data: bytes) -> None:
        """Take a blob."""
        if hashlib.sha256(data).digest() != digest:
            self.report.find(TAMPERED, f"blob {digest.hex()} has other content")
        self._blobs.add(digest.hex())

    def entry(self, row: Mapping[str, Any]) -> None:
        """Take the next record with all its columns; bytes as bytes."""
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
        if root != self._tree.root():
            where = None if self.report.first_bad_seq is not None else self._checked
            text = (
                f"the tree of {self._tree.size} is not the one signed, that of {self._checked} is"
            )
            self.report.find(TAMPERED, text, where)
            self._whole = False
        elif self._mapped != self._tree.size:
            self.report.find(TAMPERED, "signed without a stream-head map before it", seq)
        self._checked = self._tree.size

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

    def finish(self, expected: int | None = None) -> Report:
        """Judge the end: head, signed size, keys.

        Args:
            expected: how many records the source says there are.
        """
        size, report = self._tree.size, self.report
        if expected is not None and expected != size:
            report.find(INCOMPLETE, f"{expected} records announced, {size} found", size)
        signed = max(self._roots, default=0)
        if signed > size:
            report.find(INCOMPLETE, f"a checkpoint of {signed} is signed, {size} found", size)
        if not self._head:
            report.find(INCOMPLETE, "there is no head")
        elif self._whole:
            stated = (self._head["size"], bytes(self._head["root"]), bytes(self._head["frontier"]))
            if stated != (size, self._tree.root(), b"".join(self._tree.nodes)):
                report.find(TAMPERED, f"the stored head is not that of {size} records")
        if not signed:
            report.find(INCOMPLETE, "no checkpoint covers these records")
        if not self._vkeys:
            report.find(NOT_CHECKABLE, "no trusted key given: nothing says who wrote this")
        report.lines.append(
            f"{size} records, {len(self._heads)} streams, {len(self._blobs)} blobs,"
            f" {len(self._roots)} checkpoints; signed up to {signed}"
        )
        return report


def verify_dump(lines: Iterable[bytes], vkeys: Sequence[str], notes: Sequence[bytes]) -> Report:
    """Verify a dump: JSON lines, each with its type; the last announces the number of records."""
    log = LogVerifier(vkeys)
    expected = None
    try:
        for line in lines:
            expected = _take(log, json.loads(line), notes)
    except (ValueError, KeyError, TypeError, AttributeError, Bad) as error:
        log.report.find(TAMPERED, f"the dump is malformed: {error!r}")
    if expected is None:
        log.report.find(INCOMPLETE, "the dump has no end")
    return log.finish(expected)


def _take(log: LogVerifier, row: dict[str, Any], notes: Sequence[bytes]) -> int | None:
    """Give one line of a dump to the verifier; return the announced number if it is the last."""
    kind = row.pop("type")
    if set(row) != DUMP_FIELDS[kind]:
        raise Bad(f"a line of type {kind} has other fields")
    if kind == "head":
        log.head({**row, **_bytes(row, "root", "frontier")})
        for note in notes:
            log.checkpoint(None, note)
    elif kind == "checkpoint":
        log.checkpoint(row["size"], _bytes(row, "note")["note"])
    elif kind == "blob":
        log.blob(**_bytes(row, "digest", "data"))
    elif kind == "entry":
        names = ("prev", "payload_digest", "leaf", "header", "payload")
        log.entry({**row, **_bytes(row, *names)})
    else:
        return int(row["entries"])
    return None


def _bytes(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: base64.b64decode(row[name], validate=True) for name in names}


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


def verify_bundle(data: bytes, vkeys: Sequence[str], verifier: bytes | None = None) -> Report:
    """Verify a bundle's bytes.

    Args:
        data: the ZIP.
        vkeys: trusted keys, from outside.
        verifier: the bytes that its verify.py must have; this file's own unless given.
    """
    report = Report()
    try:
        bundle = read_bundle(data)
        origin, size, root, signed = read_checkpoint(bundle.note, vkeys)
    except Bad as error:
        report.find(TAMPERED, str(error))
        return report
    if not vkeys:
        report.find(NOT_CHECKABLE, "no trusted key given: nothing says who signed this")
    elif not signed:
        report.find(TAMPERED, "signed by no trusted key")
    try:
        records = [
            _proven(report, stem, item, origin, size, root) for stem, item in bundle.records.items()
        ]
        _judge_stream(report, bundle.stream, records, size)
        _judge_blobs(report, bundle.blobs, records)
        rebuilt = bundle.to_zip(verifier or Path(__file__).read_bytes())
    except (Bad, KeyError, TypeError, ValueError) as error:
        report.find(TAMPERED, str(error))
        return report
    if rebuilt != data:
        report.find(TAMPERED, "the bytes are not those of the canonical bundle of this content")
    report.lines.append(f"{bundle.stream}: {len(records)} records under {origin} at {size}")
    return report


def _judge_blobs(report: Report, blobs: Mapping[str, bytes], records: Sequence["_Proven"]) -> None:
    """Check that every blob named is there, and every blob there is what its name says."""
    for head, body, _ in records:
        for digest in sorted(set(blobs_of(body)) - blobs.keys()):
            report.find(INCOMPLETE, f"blob {digest} is missing", head["seq"])
    for digest, content in blobs.items():
        if hashlib.sha256(content).hexdigest() != digest:
            report.find(TAMPERED, f"blob {digest} has other content")


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify a file from the command line."""
    parser = argparse.ArgumentParser(description="Verify a Countersign bundle (ZIP) or dump.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--key", action="append", default=[], help="trusted key, or a file with it")
    parser.add_argument("--checkpoint", action="append", default=[], type=Path, help="trusted note")
    asked = parser.parse_args(arguments)
    report = Report()
    try:
        keys = [Path(key).read_text() if "+" not in key else key for key in asked.key]
        for key in keys:
            read_vkey(key)
        if zipfile.is_zipfile(asked.file):
            report = verify_bundle(asked.file.read_bytes(), keys)
        else:
            with asked.file.open("rb") as lines:
                report = verify_dump(lines, keys, [path.read_bytes() for path in asked.checkpoint])
    except (OSError, Bad) as error:
        report.find(NOT_CHECKABLE, str(error))
    for line in report.lines:
        print(line)
    print(WORDS[report.exit_code])
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
