"""Evidence files for both verifiers, with the exit code that each must end in, and why.

`collection` gathers every file and every question about it: genuine evidence, and the same evidence
after one deliberate change. The expected code is written by hand, never taken from a run.
Everything is a function of fixed keys and times; the one random signature (ML-DSA-44) is kept in
the golden folder and used again while it fits.
"""

import json
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from zipfile import ZipFile

from audit.errors import NoteError
from audit.evidence.bundle import build_bundle
from audit.records.canonical import canonical
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.note import parse_note
from audit.tlog.tiles import Tile, encode_bundle
from audit.verifier import verify
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, MemoryLog, dump_of, note
from tests.doubles.cosigners import QUANTUM_SAFE, WITNESSES, verify_cosignature
from tests.doubles.evidence_collection import (
    FOLDER,
    INCOMPLETE,
    KEY,
    NOT_CHECKABLE,
    OK,
    QUORUM,
    TAMPERED,
    VERIFIER,
    Collection,
    flips,
)
from tests.doubles.evidence_keys import add_disclosures, add_keys
from tests.doubles.evidence_limits import add_limits
from tests.doubles.evidence_log import COSIGNED_AT_S, Evidence, evidence
from tests.doubles.evidence_maps import add_maps
from tests.doubles.evidence_parity import add_parity
from tests.doubles.evidence_proofs import (
    add_checkpoints,
    add_consistency,
    add_forged_ends,
    add_proofs,
    add_ranges,
    add_receipts,
    add_roots,
)
from tests.doubles.memory_tree import tile_hashes

WIDE = 260


def collection() -> Collection:
    """Return all evidence files and all questions."""
    found = Collection({}, [])
    _outside(found)
    world = evidence()
    world.reader.cosign(world.sizes[1], WITNESSES[0])
    add_roots(found, world)
    add_checkpoints(found, world)
    add_proofs(found, world)
    add_receipts(found, world)
    add_ranges(found, world)
    add_forged_ends(found, world)
    add_consistency(found, world)
    _bundles(found, world)
    _dumps(found, world)
    _tiles(found, world)
    _quantum(found, world)
    add_keys(found)
    add_disclosures(found)
    add_maps(found, world)
    add_limits(found, world)
    add_parity(found)
    found.files["manifest.json"] = found.manifest()
    return found


def _outside(found: Collection) -> None:
    """What a verifier brings: keys and policies."""
    w0, w1, w2 = (str(witness.vkey) for witness in WITNESSES[:3])
    log, quantum = f"log {SIGNER.vkey}\n", f"witness q {QUANTUM_SAFE.vkey}\n"
    found.files |= {
        "log.pub": f"{SIGNER.vkey}\n".encode(),
        "other.pub": f"{OTHER_SIGNER.vkey}\n".encode(),
        "witness.pub": f"{w0}\n".encode(),
        "one.policy": f"# one of two\n{log}witness a {w0}\nwitness b {w1}\n"
        "group g any a b\nquorum g\n".encode(),
        "two.policy": f"{log}witness a {w0}\nwitness b {w1}\ngroup g all a b\nquorum g\n".encode(),
        "stranger.policy": f"{log}witness c {w2}\nquorum c\n".encode(),
        "none.policy": f"{log}quorum none\n".encode(),
        "quantum.policy": f"{log}{quantum}quorum q\n".encode(),
        "cut.policy": f"{log}witness a {w0}\nquorum a".encode(),
        "no-quorum.policy": f"{log}witness a {w0}\n".encode(),
        "member-twice.policy": f"{log}witness a {w0}\ngroup g 1 a\ngroup h 1 a\n"
        "quorum g\n".encode(),
    }


def _bundles(found: Collection, world: Evidence) -> None:
    """Bundles of one decision."""
    bundle = replace(verify.read_bundle(build_bundle(world.reader, "d1")), verifier=VERIFIER)
    data = bundle.to_zip()
    found.add("d1.zip", data, KEY, OK, "a decision's bundle; its verify.py is of another version")
    found.ask("d1.zip", QUORUM, OK, "cosigned later, joined by the bundle's own proof")
    found.ask("d1.zip", (), NOT_CHECKABLE, "no trusted key")
    found.ask("d1.zip", ("--key", "other.pub"), TAMPERED, "another key")
    two = (*KEY, "--policy", "two.policy")
    found.ask("d1.zip", two, INCOMPLETE, "one cosignature of two")
    for at, changed in flips(data, 12):
        found.add(f"d1-flip{at}.zip", changed, KEY, TAMPERED, f"one bit of byte {at}")
    found.add("d1-cut.zip", data[:-30], KEY, TAMPERED, "cut at its end")
    found.add("d1-appended.zip", data + b"\0", KEY, TAMPERED, "a byte more at its end")
    found.add("d1-prefixed.zip", b"PK" + data, KEY, TAMPERED, "two bytes more before it")
    stems = sorted(bundle.records)
    last = next(stem for stem in stems if "decision_sealed" in stem)
    middle = next(stem for stem in stems if "cancel_requested" in stem)
    for name, stem, why in (("tail", last, "last"), ("middle", middle, "middle")):
        kept = {key: item for key, item in bundle.records.items() if key != stem}
        cut = replace(bundle, records=kept).to_zip()
        text = f"the decision's {why} record is cut out, the ZIP made anew"
        found.add(f"d1-cut-{name}.zip", cut, KEY, INCOMPLETE, text)
    stem = next(stem for stem in stems if "run_started" in stem)
    header, payload, path = bundle.records[stem]
    payload = payload.replace(b'"profile":"test"', b'"profile":"live"')
    head = {**json.loads(header), "payload_sha256": sha256(payload).hexdigest()}
    records = {**bundle.records, stem: (canonical(head), payload, path)}
    forged = replace(bundle, records=records).to_zip()
    why = "the run's record was rewritten and rehashed, the ZIP made anew"
    found.add("d1-context.zip", forged, KEY, TAMPERED, why)
    blind = replace(bundle, blobs={}).to_zip()
    found.add("d1-blind.zip", blind, KEY, INCOMPLETE, "its blob is missing")
    alone = replace(bundle, link=b"").to_zip()
    found.add("d1-alone.zip", alone, QUORUM, INCOMPLETE, "the way to the cosigned one is missing")
    for number, why in ((1, "the first format"), (3, "a later format")):
        other = _of_format(bundle.to_zip(), f"countersign-bundle/{number}")
        found.add(f"d1-v{number}.zip", other, KEY, NOT_CHECKABLE, why)


def _of_format(data: bytes, name: str) -> bytes:
    """Return a bundle whose manifest names another format."""
    out = BytesIO()
    with ZipFile(BytesIO(data)) as given, ZipFile(out, "w") as made:
        for info in given.infolist():
            content = given.read(info)
            if info.filename == "manifest.json":
                content = canonical({**json.loads(content), "format": name})
            made.writestr(info, content)
    return out.getvalue()


def dump_lines(world: Evidence) -> list[bytes]:
    """Return the dump's lines, cosignatures in their checkpoints."""
    log = MemoryLog(position=world.log.position, rows=world.log.rows, blobs=world.log.blobs)
    log.checkpoints = [
        replace(found, note=world.reader.cosigned_note(found)) for found in world.log.checkpoints
    ]
    return dump_of(log)


def _dumps(found: Collection, world: Evidence) -> None:
    """Whole logs."""
    lines = dump_lines(world)
    entries = [n for n, line in enumerate(lines) if b'"type": "entry"' in line]

    def put(name: str, changed: list[bytes], code: int, why: str) -> None:
        found.add(f"dump-{name}.jsonl", b"".join(changed), KEY, code, why)

    found.add("dump.jsonl", b"".join(lines), KEY, OK, "a whole log")
    found.ask("dump.jsonl", (), NOT_CHECKABLE, "no trusted key")
    found.ask("dump.jsonl", ("--key", "other.pub"), TAMPERED, "another key")
    why = "the newest records are signed but not cosigned"
    found.ask("dump.jsonl", QUORUM, INCOMPLETE, why)
    kept = (*KEY, "--checkpoint", "second.note")
    found.ask("dump.jsonl", kept, OK, "it contains the kept checkpoint")
    forked = (*KEY, "--checkpoint", "forked.note")
    found.ask("dump.jsonl", forked, TAMPERED, "it does not contain the kept checkpoint")
    first, last = entries[0], entries[-1]
    swapped = list(lines)
    swapped[first], swapped[first + 1] = lines[first + 1], lines[first]
    put("swapped", swapped, TAMPERED, "two records in the other order")
    put("doubled", [*lines[:first], lines[first], *lines[first:]], TAMPERED, "a record twice")
    seal = next(n for n in entries if b"decision_sealed" in lines[n])
    put("cut-seal", [*lines[:seal], *lines[seal + 1 :]], INCOMPLETE, "a decision's last record")
    put("cut-tail", [*lines[:last], lines[-1]], INCOMPLETE, "the log's last record is cut off")
    put("unended", lines[:-1], INCOMPLETE, "the last line is missing")
    put("empty", [], INCOMPLETE, "nothing at all")
    put("appended", [*lines, lines[-1]], TAMPERED, "a line more at its end")
    put("unsigned", [x for x in lines if b'"checkpoint"' not in x], INCOMPLETE, "no checkpoint")
    row = json.loads(lines[entries[2]])
    for name, value in (("actor", "forged"), ("seq", 7), ("leaf", "AAAA")):
        changed = json.dumps({**row, name: value}).encode() + b"\n"
        forged = [*lines[: entries[2]], changed, *lines[entries[2] + 1 :]]
        put(f"forged-{name}", forged, TAMPERED, f"a record's {name} was changed")
    for name, sign in (("same", SIGNER), ("other", OTHER_SIGNER)):
        code = OK if name == "same" else TAMPERED
        why = f"a record was rewritten, all re-chained and sealed with the {name} key"
        put(f"resealed-{name}", _resealed(sign), code, f"{why}; nothing was kept")
        found.ask(f"dump-resealed-{name}.jsonl", kept, TAMPERED, f"{why}; a checkpoint was kept")


def _resealed(signer: FileSigner) -> list[bytes]:
    """Return a dump of the same log with another third record, every hash and seal made anew."""
    world = evidence("one, rewritten")
    world.log.checkpoints = [make_checkpoint(c.size, c.root, signer) for c in world.log.checkpoints]
    return dump_of(world.log)


def tree_of(log: MemoryLog) -> dict[str, bytes]:
    """Return the log's folder of tiles."""
    headers = [row["header"] for row in log.rows]
    tree = {
        tile.path: data for tile, data in tile_hashes([row["leaf"] for row in log.rows]).items()
    }
    for n in range(0, len(headers), verify.TILE_WIDTH):
        part = headers[n : n + verify.TILE_WIDTH]
        tile = Tile(level=None, index=n // verify.TILE_WIDTH, width=len(part))
        tree[tile.path] = encode_bundle(part)
    return {**tree, "checkpoint": log.checkpoints[-1].note}


def _tiles(found: Collection, world: Evidence) -> None:
    """Folders of tiles: one over two levels, small ones with one change each."""
    wide = MemoryLog()
    wide.append(*(note(f"{n}") for n in range(WIDE - 1)))
    wide.checkpoint()
    small = tree_of(world.log)

    def put(name: str, tree: dict[str, bytes], code: int, why: str) -> None:
        found.files |= {f"tiles-{name}/{path}": data for path, data in tree.items()}
        found.ask(f"tiles-{name}", KEY, code, why)

    put("wide", tree_of(wide), OK, "a tree of two levels")
    put("small", small, OK, "a tree of one partial tile")
    found.ask("tiles-small", (), NOT_CHECKABLE, "no trusted key")
    found.ask("tiles-small", QUORUM, INCOMPLETE, "its checkpoint is not cosigned")
    hashes, entries = f"tile/0/000.p/{len(world.log.rows)}", None
    entries = hashes.replace("/0/", "/entries/")
    for name, path in (("hashes", hashes), ("entries", entries), ("checkpoint", "checkpoint")):
        less = {key: data for key, data in small.items() if key != path}
        code = NOT_CHECKABLE if name == "checkpoint" else INCOMPLETE
        put(f"no-{name}", less, code, f"{path} is missing")
    for name, path in (("hashes", hashes), ("entries", entries)):
        data = small[path]
        for at, changed in flips(data, 3):
            put(f"{name}-flip{at}", {**small, path: changed}, TAMPERED, f"one bit of {path}")
        put(f"{name}-cut", {**small, path: data[:-1]}, TAMPERED, f"{path} without its last byte")
        put(f"{name}-more", {**small, path: data + b"\0"}, TAMPERED, f"a byte more in {path}")
    swapped = small[hashes][32:64] + small[hashes][:32] + small[hashes][64:]
    put("swapped", {**small, hashes: swapped}, TAMPERED, "two hashes in the other order")
    forged = tree_of(evidence("one, rewritten").log)
    put("forged", {**forged, "checkpoint": small["checkpoint"]}, TAMPERED, "another history")


def _quantum(found: Collection, world: Evidence) -> None:
    """A post-quantum cosignature; JavaScript has no ML-DSA and must say so (exit 3)."""
    note_, path = parse_note(world.log.checkpoints[1].note), FOLDER / "quantum.note"
    line = cosign(note_.text, QUANTUM_SAFE, COSIGNED_AT_S)
    if path.is_file():
        kept = parse_note(path.read_bytes())
        try:
            verify_cosignature(kept, QUANTUM_SAFE.vkey)
        except NoteError:
            kept = note_
        if kept.text == note_.text:
            line = next(x for x in kept.signatures if x.name == QUANTUM_SAFE.vkey.name)
    data = note_.with_signatures(line).to_bytes()
    arguments = (*KEY, "--policy", "quantum.policy")
    found.add("quantum.note", data, arguments, OK, "an ML-DSA-44 cosignature: 3 without ML-DSA")
    at = data.index(f"— {QUANTUM_SAFE.vkey.name} ".encode()) + 200
    letter = b"A" if data[at : at + 1] != b"A" else b"B"
    forged = data[:at] + letter + data[at + 1 :]
    why = "an ML-DSA-44 cosignature changed: 3 without ML-DSA"
    found.add("quantum-forged.note", forged, arguments, TAMPERED, why)
