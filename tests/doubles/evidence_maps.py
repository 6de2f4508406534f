"""Golden evidence under a stream-head map of several parts, and with a record hidden among them."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from audit.evidence.bundle import build_bundle
from audit.evidence.receipt import build_receipt, prove_range
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.proof import TlogProof, parse_proof
from audit.verifier import verify
from tests.doubles.audit_log import (
    SIGNER,
    MemoryLog,
    cancelling,
    dump_of,
    note,
    opening,
    sealed,
    started,
)
from tests.doubles.evidence_collection import (
    INCOMPLETE,
    KEY,
    OK,
    TAMPERED,
    VERIFIER,
    Collection,
    with_extra,
)
from tests.doubles.evidence_log import Evidence, MemoryReader

STREAM, SEAL, NAMING = "decision/d1", 2, 1
"""The decision, the number of its seal in the log, and the part of the map that names it."""


def map_part(number: int, parts: int, heads: Sequence[object]) -> Draft:
    """Draft one part of a map, as any log could write it."""
    payload: dict[str, Any] = {"heads": list(heads), "part": number, "parts": parts}
    key = f"heads:{number}:{parts}:{sha256(canonical(payload)).hexdigest()[:8]}"
    return Draft(
        stream="control", kind=Kind.STREAM_HEADS, payload=payload, actor="ledger", idem_key=key
    )


def parted_before() -> MemoryLog:
    """Return a log of a run and a sealed decision, before its map."""
    log = MemoryLog()
    log.append(started(), opening("d1", sha256(b"b").hexdigest()), sealed("d1"))
    log.blobs[sha256(b"b").digest()] = b"b"
    return log


def heads_of(log: MemoryLog) -> list[object]:
    """Return what a map would say of a log."""
    changed = sorted(log.position.changed.items())
    return [[name, head.stream_seq, head.leaf.hex()] for name, head in changed]


def signed(log: MemoryLog) -> MemoryLog:
    """Sign a log as it stands."""
    frontier = log.position.frontier
    log.checkpoints.append(make_checkpoint(frontier.size, frontier.root(), SIGNER))
    return log


def parted(*hidden: Draft, behind: int = 0) -> MemoryLog:
    """Return a log whose one map has three parts.

    Args:
        hidden: records to put between two of them, which the map is silent about.
        behind: the part that they follow.
    """
    log = parted_before()
    rows = heads_of(log)
    for number, named in enumerate((rows[:1], rows[1:], [])):
        log.append(map_part(number, 3, named))
        if number == behind:
            log.append(*hidden)
    return signed(log)


def odd(*records: tuple[int, int] | Draft) -> MemoryLog:
    """Return a log that ends in what passes for a map: parts as (number, parts), or other records.

    The second of them names the decision.
    """
    log = parted_before()
    rows = heads_of(log)
    for place, record in enumerate(records):
        named = rows if place == NAMING else []
        log.append(record if isinstance(record, Draft) else map_part(*record, named))
    return signed(log)


def early() -> MemoryLog:
    """Return a log whose map names a record that is recorded only behind it."""
    ahead = MemoryLog()
    ahead.append(started(), opening("d1", sha256(b"b").hexdigest()))
    ahead.append(map_part(0, 1, []))
    ahead.append(sealed("d1"))
    log = MemoryLog()
    log.append(started(), opening("d1", sha256(b"b").hexdigest()))
    log.append(map_part(0, 1, [[STREAM, 1, ahead.rows[-1]["leaf"].hex()]]))
    log.append(sealed("d1"))
    return signed(log)


def maps_of(log: MemoryLog) -> list[int]:
    """Return the numbers of the map's records."""
    return [row["seq"] for row in log.rows if row["kind"] == "stream_heads"]


def receipt_of(log: MemoryLog, parts: Sequence[int]) -> bytes:
    """Return a receipt that lists two records of the decision and shows some parts of the map."""
    reader, rows, size = MemoryReader(log), log.rows, len(log.rows)
    seal = next(row["seq"] for row in rows if row["kind"] == "decision_sealed")
    shown = [
        {
            "header": _json(rows[seq]["header"]),
            "path": [node.hex() for node in reader.inclusion_proof(seq, size)],
            "payload": _json(rows[seq]["payload"]),
        }
        for seq in parts
    ]
    extra = {
        "format": verify.WITH_PARTS[verify.RECEIPT],
        "headers": [_json(rows[seq]["header"]) for seq in (1, seal)],
        "keys": [],
        "map": shown,
        "payloads": [_json(rows[seal]["payload"])],
    }
    return TlogProof(
        index=seal,
        path=reader.inclusion_proof(seal, size),
        checkpoint_note=log.checkpoints[-1].note,
        extra=canonical(extra),
    ).to_bytes()


def bundle_of(log: MemoryLog, records: Sequence[int]) -> bytes:
    """Return a bundle of some records."""
    reader, size = MemoryReader(log), len(log.rows)
    return verify.Bundle(
        stream=STREAM,
        note=log.checkpoints[-1].note,
        records={
            str(seq): (
                log.rows[seq]["header"],
                log.rows[seq]["payload"],
                reader.inclusion_proof(seq, size),
            )
            for seq in records
        },
        blobs={digest.hex(): data for digest, data in log.blobs.items()},
        verifier=VERIFIER,
    ).to_zip()


def _json(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    return verify.parse_canonical(data)


def add_maps(found: Collection, world: Evidence) -> None:
    """Evidence under a map of three parts, whole and not."""
    log = parted()
    reader, parts = MemoryReader(log), maps_of(log)
    _sound(found, reader, log)
    records = [0, 1, SEAL]
    for number in range(len(parts)):
        less = [seq for seq in parts if seq != parts[number]]
        why = f"part {number} of the map is not shown"
        found.add(f"parts-no{number}.receipt", receipt_of(log, less), KEY, INCOMPLETE, why)
        data = bundle_of(log, [*records, *less])
        found.add(f"parts-no{number}.zip", data, KEY, INCOMPLETE, why)
    for name, shown, code, why in (
        ("none", [], INCOMPLETE, "no part of the map is shown"),
        ("reversed", parts[::-1], TAMPERED, "the parts are listed in the other order"),
        ("doubled", [parts[0], *parts], TAMPERED, "a part is listed twice"),
        ("other", [0, *parts], TAMPERED, "a record that is no map is listed among the parts"),
    ):
        found.add(f"parts-{name}.receipt", receipt_of(log, shown), KEY, code, why)
    _old_forms(found, world, receipt_of(log, parts))
    _hidden(found)
    _odd(found)


def _sound(found: Collection, reader: MemoryReader, log: MemoryLog) -> None:
    """What the exporters make of it."""
    why = "under a map of three parts, all of them shown"
    found.add("parts.receipt", build_receipt(reader, "d1"), KEY, OK, why)
    found.add("parts.tlog-proof", prove_range(reader, STREAM, (0, 1)), KEY, OK, why)
    bundle = replace(verify.read_bundle(build_bundle(reader, "d1")), verifier=VERIFIER)
    found.add("parts.zip", bundle.to_zip(), KEY, OK, why)
    found.add("parts.jsonl", b"".join(dump_of(log)), KEY, OK, "a dump with a map of three parts")


def _old_forms(found: Collection, world: Evidence, receipt: bytes) -> None:
    """The first form, which has room for one part, and forms that are mixed up."""
    shown = verify.read_extra(parse_proof(receipt).extra)["map"]
    old = {"format": verify.RECEIPT, "map": shown[NAMING]}
    why = "the first form shows one part of three: it cannot show that nothing is between them"
    found.add("parts-first-form.receipt", with_extra(receipt, **old), KEY, INCOMPLETE, why)
    data = with_extra(receipt, format=verify.RECEIPT)
    found.add("parts-mixed.receipt", data, KEY, TAMPERED, "a list of parts in the first form")
    genuine = build_receipt(world.reader, "d1")
    one = verify.read_extra(parse_proof(genuine).extra)["map"]
    second = {"format": verify.WITH_PARTS[verify.RECEIPT], "map": [one]}
    why = "the second form with a map of one part"
    found.add("parts-one.receipt", with_extra(genuine, **second), KEY, OK, why)


def _hidden(found: Collection) -> None:
    """Logs that go on with the decision between two parts of the map that says where it ended."""
    for behind, tail in ((0, "before"), (1, "behind")):
        log = parted(cancelling("d1"), behind=behind)
        parts = maps_of(log)
        why = f"a record of the decision is hidden {tail} the part that names the decision"
        dump = b"".join(dump_of(log))
        found.add(f"hidden-{tail}.jsonl", dump, KEY, TAMPERED, why)
        run = parts[:2] if behind else parts[1:]
        for name, shown, code in (
            ("all", parts, TAMPERED),
            ("run", run, INCOMPLETE),
            ("one", [parts[NAMING]], INCOMPLETE),
        ):
            data = receipt_of(log, shown)
            text = f"{why}; {len(shown)} parts shown"
            found.add(f"hidden-{tail}-{name}.receipt", data, KEY, code, text)
            data = bundle_of(log, [0, 1, SEAL, *shown])
            found.add(f"hidden-{tail}-{name}.zip", data, KEY, code, text)
        record = parts[behind] + 1
        data = bundle_of(log, [0, 1, SEAL, record, *parts])
        text = f"{why}; all shown, the record too"
        found.add(f"hidden-{tail}-shown.zip", data, KEY, TAMPERED, text)


def _odd(found: Collection) -> None:
    """Logs whose map is none, signed all the same."""
    for name, log, code, why in (
        ("note", odd(note("x"), (1, 3), (2, 3)), TAMPERED, "a record in the place of part 0"),
        ("beyond", odd((0, 4), (1, 4), (2, 4)), TAMPERED, "a part beyond the signed tree"),
        ("before", odd((5, 8), (6, 8), (7, 8)), TAMPERED, "parts before the log's beginning"),
        ("twice", odd((0, 2), (0, 2), (1, 2)), TAMPERED, "a map that starts again"),
        ("two", odd((0, 1), (0, 1)), OK, "two whole maps, of which the second names it"),
    ):
        records = list(range(3, len(log.rows)))
        data = bundle_of(log, [0, 1, SEAL, *records])
        found.add(f"odd-{name}.zip", data, KEY, code, why)
        data = receipt_of(log, maps_of(log))
        shown = INCOMPLETE if name == "note" else code  # a receipt shows nothing but parts
        found.add(f"odd-{name}.receipt", data, KEY, shown, why)
    log = early()
    why = "the map is older than the record that it names"
    found.add("odd-early.receipt", receipt_of(log, maps_of(log)), KEY, INCOMPLETE, why)
