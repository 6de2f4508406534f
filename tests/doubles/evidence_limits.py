"""Evidence that is hashed, chained and signed, and that no honest log makes: both refuse it."""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from audit.evidence.receipt import build_receipt, prove_range
from audit.records.canonical import canonical
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash
from audit.tlog.proof import parse_proof
from audit.verifier import verify
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, MemoryLog, dump_of
from tests.doubles.evidence_collection import (
    INCOMPLETE,
    KEY,
    OK,
    TAMPERED,
    Collection,
    with_extra,
)
from tests.doubles.evidence_log import Evidence
from tests.doubles.evidence_maps import STREAM, bundle_of, maps_of, receipt_of

DIGEST = sha256(b"b").hexdigest()


def encoded(value: object) -> bytes:
    """Encode as JSON with sorted names; of numbers and texts nothing is checked."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


@dataclass(slots=True)
class OddLog:
    """A log as a thief of its key can write it: chained, mapped and signed, whatever it holds."""

    log: MemoryLog = field(default_factory=MemoryLog)
    ends: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def add(self, stream: str, kind: str, payload: object, **changes: object) -> "OddLog":
        """Append a record; `changes` are fields of its header."""
        rows, position = self.log.rows, self.log.position
        number, prev = self.ends.get(stream, (-1, bytes(32)))
        data = payload if isinstance(payload, bytes) else encoded(payload)
        head = header_of(stream, kind, data, seq=len(rows), stream_seq=number + 1, prev=prev.hex())
        header = encoded(head | changes)
        row = {name: (head | changes)[name] for name in verify.COLUMNS}
        row |= {"prev": prev, "payload_digest": sha256(data).digest(), "header": header}
        row |= {"payload": data, "leaf": leaf_hash(header), "account": None}
        rows.append(row)
        position.frontier = position.frontier.append(row["leaf"])
        self.ends[stream] = (number + 1, row["leaf"])
        return self

    def signed(self) -> MemoryLog:
        """Append the map of all streams, and sign."""
        heads = [[name, number, leaf.hex()] for name, (number, leaf) in sorted(self.ends.items())]
        self.add("control", "stream_heads", {"heads": heads, "part": 0, "parts": 1})
        frontier = self.log.position.frontier
        self.log.checkpoints.append(make_checkpoint(frontier.size, frontier.root(), SIGNER))
        return self.log


def header_of(stream: str, kind: str, payload: bytes, **changes: object) -> dict[str, Any]:
    """Return a record's header."""
    plain: dict[str, Any] = {"actor": "gateway", "commitments": [], "kind": kind, "log": ORIGIN}
    plain |= {"payload_sha256": sha256(payload).hexdigest(), "recorded_at_us": TIME_US}
    plain |= {"idem_key": f"key {changes['seq']}", "stream": stream, "version": 1}
    return plain | changes


def dump_with(payload: object, stream: str = "control", **changes: object) -> bytes:
    """Return the dump of a log of one record and its map."""
    log = OddLog().add(stream, "operator_note", payload, **changes).signed()
    return b"".join(dump_of(log))


def nested(depth: int) -> bytes:
    """Return a payload whose deepest list lies so deep."""
    return b'{"a":' + b"[" * depth + b"]" * depth + b"}"


def add_limits(found: Collection, world: Evidence) -> None:
    """What is beyond what a log can hold, and just within."""
    _spellings(found, world)
    _phantoms(found)
    _dumps(found)
    _bundles(found)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "blanks": lambda text: " ".join(text[at : at + 2] for at in range(0, len(text), 2)),
    "newline": lambda text: text + "\n",
    "tab": lambda text: text + "\t ",
    "short": lambda text: text[:-2],
}


def _spellings(found: Collection, world: Evidence) -> None:
    """The same hash in another spelling: whoever changed it has no key."""
    sources = {
        "receipt": build_receipt(world.reader, "d1"),
        "tlog-proof": prove_range(world.reader, STREAM, (1, 2)),
    }
    for ending, data in sources.items():
        for name, spell in SPELLINGS.items():
            shown = json.loads(parse_proof(data).extra)["map"]
            shown["path"] = [spell(node) for node in shown["path"]]
            why = f"hashes of the map's path in another spelling: {name}"
            changed = with_extra(data, map=shown)
            found.add(f"hex-{name}.{ending}", changed, KEY, TAMPERED, why)
    for name, spell in SPELLINGS.items():
        data = dump_with({"text": "x"}, commitments=[spell(DIGEST)])
        why = f"a commitment in another spelling: {name}"
        found.add(f"hex-{name}.jsonl", data, KEY, TAMPERED, why)
    sound = dump_with({"text": "x"}, commitments=[DIGEST])
    found.add("hex.jsonl", sound, KEY, OK, "a commitment in its one spelling")


def _phantoms(found: Collection) -> None:
    """Receipts whose first header is in no tree: the second one names it, and the map counts it."""
    for name, seq in (("beyond", 10**9), ("behind", 2)):
        phantom = header_of(STREAM, "approval_given", b"{}", seq=seq, stream_seq=0, prev="0" * 64)
        odd = OddLog().add("control", "operator_note", {"text": "one"})
        odd.ends[STREAM] = (0, leaf_hash(encoded(phantom)))
        odd.add(STREAM, "decision_sealed", {}).add("control", "operator_note", {"text": "two"})
        log = odd.signed()
        headers = [phantom, json.loads(log.rows[1]["header"])]
        data = with_extra(receipt_of(log, maps_of(log)), headers=headers)
        why = f"the first header calls itself record {seq}, before record 1 in a tree of 4"
        found.add(f"phantom-{name}.receipt", data, KEY, TAMPERED, why)


def _dumps(found: Collection) -> None:
    """Headers, payloads and lines."""
    text = {"text": "x"}

    def put(name: str, data: bytes, why: str, code: int = TAMPERED) -> None:
        found.add(f"limit-{name}.jsonl", data, KEY, code, why)

    most = 2**53 - 1
    put("number", dump_with({"a": most, "b": -most}), "the largest numbers", OK)
    put("number-more", dump_with({"a": most + 1}), "a larger number in a payload")
    put("number-less", dump_with({"a": -most - 1}), "a smaller number in a payload")
    put("time-more", dump_with(text, recorded_at_us=most + 1), "a larger number in a header")
    put("depth", dump_with(nested(32)), "the deepest payload", OK)
    put("depth-more", dump_with(nested(33)), "a deeper payload")
    put("depth-text", dump_with({"a": "[{" * 99}), "brackets in a text are not deep", OK)
    put("version", dump_with(text, version=-1), "a negative version")
    put("time", dump_with(text, recorded_at_us=-1), "a negative time")
    put("stream-empty", dump_with(text, ""), "a stream without a name")
    put("stream-nul", dump_with(text, "a\0b"), "a stream with a NUL in its name")
    put("blob-list", dump_with({"x_blob": [DIGEST]}), "a list of blobs where one is named")
    put("blob-upper", dump_with({"x_blob": DIGEST.upper()}), "a blob in upper case")
    put("blob-none", dump_with({"x_blob": None}), "no blob named", OK)
    sound = dump_with(text, actor='2.0, "e": \\ true')
    end = b'"entries": 2}'
    assert sound.count(end) == 1
    put("line", sound, "a line with a point, an e and a colon in its text", OK)
    for name, form in (("float", b"2.0"), ("exponent", b"2e0"), ("large", b"1" + b"0" * 20)):
        why = f"a number of a line in another form: {form.decode()}"
        put(f"line-{name}", sound.replace(end, b'"entries": %s}' % form), why)
    twice = sound.replace(end, b'"entries": 7, "entries": 2}')
    put("line-twice", twice, "a field of a line twice")


def _bundles(found: Collection) -> None:
    """Names and blobs of other types than a log writes."""
    for name, run, named, code, why in (
        ("list", ["r"], ["r"], OK, "the run's name is a list, and named as one"),
        ("one", 1, True, INCOMPLETE, "the run is 1, and named true"),
        ("true", True, 1, INCOMPLETE, "the run is true, and named 1"),
    ):
        odd = OddLog().add("control", "run_started", {"run_id": run})
        log = odd.add(STREAM, "decision_sealed", {"run_id": named}).signed()
        found.add(f"run-{name}.zip", bundle_of(log, [0, 1, 2]), KEY, code, why)
    for name, blob, code in (("text", DIGEST, OK), ("list", [DIGEST], TAMPERED)):
        log = OddLog().add(STREAM, "decision_sealed", {"x_blob": blob}).signed()
        log.blobs[sha256(b"b").digest()] = b"b"
        why = f"the blob is named by a {name}"
        found.add(f"blob-{name}.zip", bundle_of(log, [0, 1]), KEY, code, why)


def too_large() -> Iterator[tuple[str, dict[str, bytes], int]]:
    """Yield what is too large to be kept: the file or folder to judge, its files, the exit code."""
    for name, room, code in (("most", 0, OK), ("more", 1, TAMPERED)):
        payload = {"a": "x" * (65_535 + room - len('{"a":""}'))}
        yield f"payload-{name}.jsonl", {f"payload-{name}.jsonl": dump_with(payload)}, code
        header = header_of("control", "operator_note", b"{}", seq=0, stream_seq=0, prev="0" * 64)
        actor = "x" * (65_535 + room - len(encoded(header | {"actor": ""})))
        yield f"header-{name}.jsonl", {f"header-{name}.jsonl": dump_with({}, actor=actor)}, code
    yield "overlapping.zip", {"overlapping.zip": overlapping(1 << 20, 300)}, TAMPERED
    log = OddLog().add("control", "operator_note", {}).signed()
    leaves = b"".join(row["leaf"] for row in log.rows)
    files = {"tile/0/000.p/2": leaves, "tile/entries/000.p/2": bytes(1 << 18)}
    files["checkpoint"] = log.checkpoints[0].note
    yield "zeros", {f"zeros/{path}": data for path, data in files.items()}, TAMPERED
    yield "maps.receipt", {"maps.receipt": many_maps(300)}, TAMPERED


def overlapping(size: int, times: int) -> bytes:
    """Return a ZIP of one stored file, which its directory lists so many times."""
    data, name = bytes(size), b"blobs/x"
    common = struct.pack("<4H3L2H", 0, 0, 0, 0x21, zlib.crc32(data), size, size, len(name), 0)
    local = b"PK\3\4" + struct.pack("<H", 20) + common + name + data
    tail = struct.pack("<3H2L", 0, 0, 0, 0, 0)
    directory = (b"PK\1\2" + struct.pack("<2H", 20, 20) + common + tail + name) * times
    end = struct.pack("<4H2LH", 0, 0, times, times, len(directory), len(local), 0)
    return local + directory + b"PK\5\6" + end


def many_maps(count: int) -> bytes:
    """Return a receipt with so many headers, and maps behind each other that are in no tree."""
    log = OddLog().add(STREAM, "decision_sealed", {}).add("control", "operator_note", {}).signed()
    header, one = (json.loads(log.rows[seq]["header"]) for seq in (0, 2))
    payload = json.loads(log.rows[2]["payload"])
    maps = [
        {"header": one | {"seq": 10 + 2 * number}, "path": [], "payload": payload}
        for number in range(count)
    ]
    extra = {"format": verify.WITH_PARTS[verify.RECEIPT], "headers": [header] * count}
    line = base64.b64encode(canonical({**extra, "keys": [], "map": maps, "payloads": []}))
    return b"%s\nextra %s\nindex 0\n\n" % (verify.PROOF.encode(), line) + log.checkpoints[0].note
