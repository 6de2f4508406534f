"""Golden evidence of a log whose key changed, and of disclosed personal values."""

import base64
from dataclasses import replace
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.evidence.receipt import build_receipt, prove_record
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.rotation import revoke, rotate
from tests.doubles.audit_log import (
    ORIGIN,
    OTHER_SIGNER,
    SIGNER,
    TIME_US,
    MemoryLog,
    dump_of,
    note,
    opening,
    sealed,
    started,
)
from tests.doubles.evidence_collection import (
    KEY,
    NOT_CHECKABLE,
    OK,
    TAMPERED,
    Collection,
)
from tests.doubles.evidence_log import MemoryReader

NEXT = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"n" * 32))
NEXT_KEY = ("--key", "next.pub")


def rotated_log() -> tuple[MemoryLog, bytes]:
    """Return a log whose key changes after its first checkpoint, and the statement of that."""
    log = MemoryLog()
    log.append(started(), opening("d1", sha256(b"b").hexdigest()))
    log.blobs[sha256(b"b").digest()] = b"b"
    log.checkpoint()
    size = len(log.rows)
    statement = rotate(SIGNER, NEXT, size, log.now_us).statement
    draft = Draft(
        stream="control",
        kind=Kind.KEY_ROTATED,
        payload={
            "statement": statement.decode(),
            "old_vkey": str(SIGNER.vkey),
            "new_vkey": str(NEXT.vkey),
            "from_size": size,
            "from_us": log.now_us,
        },
        actor="person:ada",
        idem_key="rotated:1",
    )
    log.append(draft)
    log.append(sealed("d1"))
    log.checkpoint()
    first, second = log.checkpoints
    log.checkpoints = [first, make_checkpoint(second.size, second.root, NEXT)]
    return log, statement


def add_keys(found: Collection) -> None:
    """A rotation in every sort of file, and statements that were changed."""
    log, statement = rotated_log()
    reader = MemoryReader(log)
    revocation = revoke(NEXT, SIGNER.vkey, TIME_US).statement
    found.files |= {
        "next.pub": f"{NEXT.vkey}\n".encode(),
        "rotation.statement": statement,
        "rotation-other.statement": statement.replace(ORIGIN.encode(), b"other.example/log"),
        "rotation-size.statement": statement.replace(b"\n3\n", b"\n4\n"),
        "rotation-v2.statement": statement.replace(b"rotation/v1", b"rotation/v2"),
        "rotation-half.statement": b"".join(statement.splitlines(keepends=True)[:-1]),
        "revocation.statement": revocation,
    }
    newest = log.checkpoints[1]
    found.add("rotated.note", newest.note, KEY, TAMPERED, "signed by the next key, not told of it")
    given = ("--rotation", "rotation.statement")
    found.ask("rotated.note", (*KEY, *given), OK, "the rotation is given")
    found.ask("rotated.note", NEXT_KEY, OK, "the next key is trusted itself")
    for name in ("other", "size", "v2", "half"):
        arguments = (*KEY, "--rotation", f"rotation-{name}.statement")
        found.ask("rotated.note", arguments, NOT_CHECKABLE, f"the rotation was changed: {name}")
    late = make_checkpoint(newest.size, newest.root, SIGNER).note
    found.add("replaced.note", late, (*KEY, *given), TAMPERED, "signed by the replaced key alone")
    both = (*KEY, *NEXT_KEY, "--rotation", "revocation.statement")
    first = log.checkpoints[0].note
    why = "signed by a revoked key; no witness says when"
    found.add("revoked.note", first, both, NOT_CHECKABLE, why)
    unheard = (*KEY, "--rotation", "revocation.statement")
    found.ask("revoked.note", unheard, NOT_CHECKABLE, "nobody trusted revoked the key")
    for key, why in ((KEY, "old"), (NEXT_KEY, "next")):
        text = f"a change of keys inside, the {why} key trusted"
        stem = f"rotated-{why}"
        found.add(f"{stem}.receipt", build_receipt(reader, "d1"), key, OK, text)
        found.add(f"{stem}.tlog-proof", prove_record(reader, 4), key, OK, text)
        found.add(f"{stem}.jsonl", b"".join(dump_of(log)), key, OK, text)
    stranger = ("--key", "other.pub")
    found.ask("rotated-old.jsonl", stranger, TAMPERED, "neither key is trusted")
    log.checkpoints[1] = make_checkpoint(newest.size, newest.root, OTHER_SIGNER)
    forged = b"".join(dump_of(log))
    found.add("rotated-forged.jsonl", forged, KEY, TAMPERED, "sealed by a stranger after it")


def add_disclosures(found: Collection) -> None:
    """A personal value that its record commits to, and other ones."""
    parts = ("c2FsdC1mb3ItdGVzdHM", "author", "Ada")
    text = base64.urlsafe_b64encode(canonical(parts)).rstrip(b"=")
    forged = base64.urlsafe_b64encode(canonical((*parts[:2], "Eve"))).rstrip(b"=")
    log = MemoryLog()
    log.append(replace(note("one"), commitments=(sha256(text).hexdigest(),)))
    log.checkpoint()
    found.files |= {"ada.disclosure": text + b"\n", "eve.disclosure": forged + b"\n"}
    found.files["cut.disclosure"] = text[:-2] + b"\n"
    proof = prove_record(MemoryReader(log), 0)
    ada = (*KEY, "--disclosure", "ada.disclosure")
    found.add("personal.tlog-proof", proof, ada, OK, "the record commits to the disclosed value")
    for name, why in (("eve", "another value"), ("cut", "a disclosure that was cut")):
        arguments = (*KEY, "--disclosure", f"{name}.disclosure")
        found.ask("personal.tlog-proof", arguments, TAMPERED, why)
