"""Golden evidence in single files: checkpoints, proofs, receipts, ranges, consistency."""

import json
from dataclasses import replace
from hashlib import sha256

from audit.evidence.bundle import consistency
from audit.evidence.receipt import build_receipt, prove_range, prove_record
from audit.records.canonical import canonical
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash
from audit.tlog.note import parse_note
from audit.tlog.proof import TlogProof, parse_proof
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, MemoryLog, note
from tests.doubles.cosigners import LOG, WITNESSES
from tests.doubles.evidence_collection import (
    INCOMPLETE,
    KEY,
    NOT_CHECKABLE,
    OK,
    QUORUM,
    TAMPERED,
    Collection,
    mutants,
    with_extra,
)
from tests.doubles.evidence_log import Evidence


def add_roots(found: Collection, world: Evidence) -> None:
    """The same proof under every sort of trust."""
    found.add("record.tlog-proof", prove_record(world.reader, 2), KEY, OK, "as it was signed")
    for arguments, code, why in (
        ((), NOT_CHECKABLE, "no trusted key"),
        (("--key", "other.pub"), TAMPERED, "another key of the same name"),
        (("--key", "witness.pub"), NOT_CHECKABLE, "a witness's key is no log's key"),
        (("--policy", "one.policy"), OK, "the policy names log and witnesses; quorum met"),
        ((*KEY, "--policy", "two.policy"), INCOMPLETE, "one cosignature of two"),
        ((*KEY, "--policy", "stranger.policy"), INCOMPLETE, "cosigned by nobody it names"),
        ((*KEY, "--policy", "none.policy"), OK, "a policy without witnesses"),
        ((*KEY, "--policy", "cut.policy"), NOT_CHECKABLE, "a policy cut off in its last line"),
        ((*KEY, "--policy", "no-quorum.policy"), NOT_CHECKABLE, "a policy without a quorum"),
        ((*KEY, "--policy", "member-twice.policy"), NOT_CHECKABLE, "a member of two groups"),
        ((*KEY, "--policy", "absent.policy"), NOT_CHECKABLE, "no such policy file"),
    ):
        found.ask("record.tlog-proof", arguments, code, why)


def add_checkpoints(found: Collection, world: Evidence) -> None:
    """Checkpoints alone, and against one that was kept."""
    first, second, _ = world.log.checkpoints
    cosigned = world.reader.cosigned_note(second)
    found.add("first.note", first.note, KEY, OK, "a checkpoint as it was signed")
    found.add("second.note", cosigned, QUORUM, OK, "a cosigned checkpoint")
    mutants(found, "second.note", QUORUM, {})
    witness = next(x for x in parse_note(cosigned).signatures if x.name == WITNESSES[0].vkey.name)
    for at in (0, 8, 20):
        changed = bytearray(witness.signature)
        changed[at] ^= 1
        line = str(replace(witness, signature=bytes(changed)))
        data = cosigned.replace(str(witness).encode(), line.encode())
        why = f"byte {at} of a trusted witness's line changed"
        found.add(f"second-witness{at}.note", data, QUORUM, TAMPERED, why)
        why = f"{why}, but no policy names that witness"
        found.ask(f"second-witness{at}.note", KEY, OK, why)
    forked = make_checkpoint(second.size, bytes(32), SIGNER).note
    found.add("forked.note", forked, KEY, OK, "a fork, signed by the log: alone nobody sees it")
    kept = (*KEY, "--checkpoint", "second.note")
    found.ask("forked.note", kept, TAMPERED, "a fork of the checkpoint that was kept")
    found.ask("second.note", kept, OK, "the checkpoint that was kept")
    two = (*KEY, "--policy", "two.policy")
    found.ask("second.note", two, INCOMPLETE, "one cosignature of two")
    found.ask("first.note", kept, NOT_CHECKABLE, "another size than the kept one, no proof given")
    sealed = make_checkpoint(second.size, second.root, OTHER_SIGNER).note
    found.add("re-signed.note", sealed, KEY, TAMPERED, "signed by another key of the same name")
    foreign = make_checkpoint(second.size, second.root, LOG).note
    found.add("foreign.note", foreign, KEY, TAMPERED, "another log's")


def add_proofs(found: Collection, world: Evidence) -> None:
    """Proofs of one record, ours and without extra data."""
    mutants(found, "record.tlog-proof", QUORUM, {})
    genuine = parse_proof(found.files["record.tlog-proof"])
    record = next(world.reader.records(after_seq=1, limit=1))
    bare = replace(genuine, extra=record.header)
    found.files |= {"record.header": record.header, "record.payload": record.payload}
    found.add("bare.tlog-proof", bare.to_bytes(), KEY, OK, "the extra data is the header alone")
    with_payload = (*KEY, "--payload", "record.payload")
    found.ask("bare.tlog-proof", with_payload, OK, "header in it, payload beside it")
    naked = replace(genuine, extra=b"").to_bytes()
    found.add("naked.tlog-proof", naked, KEY, NOT_CHECKABLE, "no entry anywhere")
    beside = ("--header", "record.header")
    found.ask("naked.tlog-proof", (*KEY, *beside), OK, "the entry is beside it")
    found.ask("naked.tlog-proof", (*with_payload, *beside), OK, "entry and payload beside it")
    wrong = (*KEY, "--header", "record.payload")
    found.ask("naked.tlog-proof", wrong, TAMPERED, "another entry than the proven one")
    other = (*KEY, *beside, "--payload", "record.header")
    found.ask("naked.tlog-proof", other, TAMPERED, "another payload than the header names")
    for name, path in (
        ("short", genuine.path[:-1]),
        ("long", (*genuine.path, bytes(32))),
        ("reversed", genuine.path[::-1]),
        ("empty", ()),
    ):
        data = replace(genuine, path=path).to_bytes()
        found.add(f"path-{name}.tlog-proof", data, KEY, TAMPERED, f"the path is {name}")
    moved = replace(genuine, index=3).to_bytes()
    found.add("path-moved.tlog-proof", moved, KEY, TAMPERED, "the index of another record")
    beyond = found.files["record.tlog-proof"].replace(b"\nindex 2\n", b"\nindex 999\n")
    found.add("path-beyond.tlog-proof", beyond, KEY, TAMPERED, "an index outside the tree")
    later = found.files["record.tlog-proof"].replace(b"tlog-proof@v1", b"tlog-proof@v2")
    found.add("v2.tlog-proof", later, KEY, NOT_CHECKABLE, "a later version of the format")
    extra = genuine.extra.replace(b"countersign-record/1", b"countersign-record/2")
    data = replace(genuine, extra=extra).to_bytes()
    found.add("extra2.tlog-proof", data, KEY, NOT_CHECKABLE, "a later version of the extra data")
    extra = genuine.extra.replace(b'"orig_cl_ord_id":"AAA"', b'"orig_cl_ord_id":"AAB"')
    data = replace(genuine, extra=extra).to_bytes()
    found.add("payload.tlog-proof", data, KEY, TAMPERED, "another payload under the same header")
    _unknown_kinds(found)


def _unknown_kinds(found: Collection) -> None:
    """A foreign entry, and a record of a kind and of a version that nobody knows yet."""
    log = MemoryLog()
    log.append(note("one"))
    head = json.loads(log.rows[0]["header"])
    for name, changes in (("kind", {"kind": "moon_landed"}), ("version", {"version": 9})):
        header = canonical({**head, **changes})
        signed = make_checkpoint(1, leaf_hash(header), SIGNER)
        data = TlogProof(index=0, path=(), checkpoint_note=signed.note, extra=header).to_bytes()
        why = f"an unknown {name}: the bytes are verified, the meaning is not"
        found.add(f"unknown-{name}.tlog-proof", data, KEY, OK, why)
    entry = b"not a record of ours"
    signed = make_checkpoint(1, leaf_hash(entry), SIGNER)
    data = TlogProof(index=0, path=(), checkpoint_note=signed.note).to_bytes()
    found.files["foreign.entry"] = entry
    arguments = (*KEY, "--header", "foreign.entry")
    found.add("foreign.tlog-proof", data, arguments, OK, "an entry of another application")


def add_receipts(found: Collection, world: Evidence) -> None:
    """Receipts: every record of a decision."""
    data = build_receipt(world.reader, "d1")
    found.add("d1.receipt", data, QUORUM, OK, "a decision's receipt")
    mutants(found, "d1.receipt", QUORUM, {})
    extra = json.loads(parse_proof(data).extra)
    headers, other = extra["headers"], json.loads(parse_proof(data).extra)
    found.add(
        "d1-cut-tail.receipt",
        with_extra(data, headers=headers[:-1]),
        *(QUORUM, INCOMPLETE, "the last record of the decision is cut off"),
    )
    found.add(
        "d1-cut-middle.receipt",
        with_extra(data, headers=[headers[0], headers[2]]),
        *(QUORUM, INCOMPLETE, "a record in the middle is cut out"),
    )
    found.add(
        "d1-cut-first.receipt",
        with_extra(data, headers=headers[1:]),
        *(QUORUM, INCOMPLETE, "the first record is cut off"),
    )
    found.add(
        "d1-none.receipt",
        with_extra(data, headers=[]),
        *(QUORUM, INCOMPLETE, "no record is listed"),
    )
    found.add(
        "d1-doubled.receipt",
        with_extra(data, headers=[*headers[:2], headers[1], headers[2]]),
        *(QUORUM, TAMPERED, "a record is listed twice"),
    )
    found.add(
        "d1-reordered.receipt",
        with_extra(data, headers=[headers[1], headers[0], headers[2]]),
        *(QUORUM, TAMPERED, "two records are listed in the other order"),
    )
    found.add(
        "d1-no-payload.receipt",
        with_extra(data, payloads=[]),
        *(QUORUM, INCOMPLETE, "the seal's payload is missing"),
    )
    forged = [{**headers[0], "actor": "forged"}, *headers[1:]]
    found.add(
        "d1-forged.receipt",
        with_extra(data, headers=forged),
        *(QUORUM, TAMPERED, "a record was rewritten"),
    )
    other["map"]["payload"]["heads"] = []
    found.add(
        "d1-map.receipt",
        with_extra(data, map=other["map"]),
        *(QUORUM, TAMPERED, "the stream-head map was rewritten"),
    )
    later = with_extra(data, format="countersign-receipt/2")
    why = "the second form's name on the first one's shape"
    found.add("d1-v2.receipt", later, QUORUM, TAMPERED, why)
    later = with_extra(data, format="countersign-receipt/3")
    found.add("d1-v3.receipt", later, QUORUM, NOT_CHECKABLE, "a later version of the receipt")
    found.add("d1-odd.receipt", with_extra(data, more=1), *(QUORUM, TAMPERED, "a field too many"))


def add_ranges(found: Collection, world: Evidence) -> None:
    """Ranges of a stream: complete between two numbers."""
    data = prove_range(world.reader, "decision/d1", (1, 2))
    found.add("range.tlog-proof", data, KEY, OK, "all records of a stream from 1 to 2")
    extra = json.loads(parse_proof(data).extra)
    headers, payloads = extra["headers"], extra["payloads"]
    found.add(
        "range-cut.tlog-proof",
        with_extra(data, headers=headers[:1], payloads=payloads[:1], last=1),
        *(KEY, INCOMPLETE, "cut off before its end, and called shorter"),
    )
    found.add(
        "range-wide.tlog-proof",
        with_extra(data, first=0),
        *(KEY, INCOMPLETE, "called wider than what is listed"),
    )
    found.add(
        "range-payload.tlog-proof",
        with_extra(data, payloads=payloads[::-1]),
        *(KEY, TAMPERED, "payloads in the other order"),
    )


def add_forged_ends(found: Collection, world: Evidence) -> None:
    """Lists that are sound in themselves, and proven, but end where the signed map does not."""
    range_ = prove_range(world.reader, "decision/d1", (1, 2))
    proof, extra = parse_proof(range_), json.loads(parse_proof(range_).extra)
    headers, payloads = extra["headers"], extra["payloads"]
    seq, size = headers[0]["seq"], proof.checkpoint.size
    inner = replace(proof, index=seq, path=world.reader.inclusion_proof(seq, size)).to_bytes()

    def put(name: str, changes: dict[str, object], code: int, why: str) -> None:
        found.add(f"range-{name}.tlog-proof", with_extra(inner, **changes), KEY, code, why)

    shorter: dict[str, object] = {"payloads": payloads[:1], "last": 1}
    put("inner", shorter, OK, "its first record is the proven one")
    short = {**shorter, "headers": headers[:1]}
    put("short", short, INCOMPLETE, "a sound list that ends before the map does")
    forged = {**headers[1], "actor": "forged"}
    put("end", {**shorter, "headers": [headers[0], forged]}, TAMPERED, "its unproven end is forged")
    moved = json.loads(json.dumps(extra["map"]))
    for row in moved["payload"]["heads"]:
        if row[0] == "decision/d1":
            row[1:] = [1, leaf_hash(canonical(headers[0])).hex()]
    moved["header"]["payload_sha256"] = sha256(canonical(moved["payload"])).hexdigest()
    put("map", {**short, "map": moved}, TAMPERED, "a map that fits the short list, rehashed")


def add_consistency(found: Collection, world: Evidence) -> None:
    """Proofs that the log only grew."""
    data = consistency(world.reader, world.sizes[0], world.log.checkpoints[1])
    kept = (*QUORUM, "--checkpoint", "first.note")
    found.add("grown.consistency", data, kept, OK, "the second tree extends the kept first one")
    found.ask("grown.consistency", QUORUM, NOT_CHECKABLE, "no kept checkpoint to compare with")
    fork = make_checkpoint(world.sizes[0], bytes(32), SIGNER).note
    found.files["forked-first.note"] = fork
    forked = (*QUORUM, "--checkpoint", "forked-first.note")
    found.ask("grown.consistency", forked, TAMPERED, "what was kept is another history")
    mutants(found, "grown.consistency", kept, {"flip488": INCOMPLETE})  # in a witness's name
    joined = (*QUORUM, "--checkpoint", "first.note", "--consistency", "grown.consistency")
    found.ask("second.note", joined, OK, "kept and present checkpoint are joined by a proof")
    joined = (*QUORUM, "--checkpoint", "second.note", "--consistency", "grown.consistency")
    found.ask("first.note", joined, OK, "the present one is older and joined to the kept one")
    empty = b"old 6\n\n" + data.partition(b"\n\n")[2]
    found.add("grown-empty.consistency", empty, kept, TAMPERED, "no path")
