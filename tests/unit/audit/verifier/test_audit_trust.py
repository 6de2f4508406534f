"""Whom the outsider's verifier trusts: keys over time, witnesses, disclosed values, kinds."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.evidence.receipt import build_receipt, prove_record
from audit.records.canonical import canonical
from audit.records.kinds import KINDS, Kind
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.note import parse_note
from audit.tlog.rotation import revoke, rotate, trusted_keys
from audit.verifier import verify
from audit.verifier.verify import (
    INCOMPLETE,
    NOT_CHECKABLE,
    OK,
    TAMPERED,
    Bad,
    LogVerifier,
    Outside,
    Report,
    verify_dump,
    verify_note,
    verify_proof,
)
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
from tests.doubles.cosigners import QUANTUM_SAFE, WITNESSES
from tests.doubles.evidence_collection import FOLDER
from tests.doubles.evidence_log import MemoryReader

KEY, NEXT = str(SIGNER.vkey), FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"n" * 32))


def changed_keys(kind: Kind, statement: bytes, **fields: object) -> Draft:
    """Draft a record of a change of keys."""
    return Draft(
        stream="control",
        kind=kind,
        payload={"statement": statement.decode(), **fields},  # type: ignore[dict-item]
        actor="person:ada",
        idem_key=f"{kind}:{sha256(statement).hexdigest()[:8]}",
    )


def rotated_log(*, overlap: bool) -> tuple[MemoryLog, bytes]:
    """A log whose key changes after its first checkpoint; the statement of that."""
    log = MemoryLog()
    log.append(started(), opening("d1", sha256(b"b").hexdigest()))
    log.blobs[sha256(b"b").digest()] = b"b"
    log.checkpoint()
    size = len(log.rows)
    statement = rotate(SIGNER, NEXT, size, log.now_us).statement
    fields = {"old_vkey": KEY, "new_vkey": str(NEXT.vkey), "from_size": size, "from_us": log.now_us}
    log.append(changed_keys(Kind.KEY_ROTATED, statement, **fields))
    log.append(sealed("d1"))
    log.checkpoint()
    first, second = log.checkpoints
    keys = (NEXT, SIGNER) if overlap else (NEXT,)
    log.checkpoints = [first, make_checkpoint(second.size, second.root, *keys)]
    return log, statement


@pytest.mark.parametrize("overlap", [True, False])
def test_a_rotation_is_followed_from_either_key(*, overlap: bool) -> None:
    log, _ = rotated_log(overlap=overlap)
    for key in (KEY, str(NEXT.vkey)):
        report = verify_dump(dump_of(log), [key])
        assert report.exit_code == OK, report.lines
        assert any("is followed by" in line for line in report.lines)
    assert verify_dump(dump_of(log), [str(OTHER_SIGNER.vkey)]).exit_code == TAMPERED


def test_the_old_key_does_not_count_for_later_trees() -> None:
    log, statement = rotated_log(overlap=False)
    second = log.checkpoints[1]
    log.checkpoints[1] = make_checkpoint(second.size, second.root, SIGNER)
    report = verify_dump(dump_of(log), [KEY])
    assert report.exit_code == TAMPERED
    assert any("had been replaced" in line for line in report.lines)
    outside = Outside(vkeys=[KEY], rotations=[statement.decode()])
    assert verify_note(log.checkpoints[1].note, outside).exit_code == TAMPERED


def test_single_evidence_carries_the_rotation_or_is_given_it() -> None:
    log, statement = rotated_log(overlap=False)
    reader = MemoryReader(log)
    for data in (build_receipt(reader, "d1"), prove_record(reader, 4)):
        assert verify_proof(data, Outside(vkeys=[KEY])).exit_code == OK
        assert verify_proof(data, Outside(vkeys=[str(NEXT.vkey)])).exit_code == OK
    newest = log.checkpoints[1].note
    assert verify_note(newest, Outside(vkeys=[KEY])).exit_code == TAMPERED
    given = Outside(vkeys=[KEY], rotations=[statement.decode()])
    assert verify_note(newest, given).exit_code == OK


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(ORIGIN, "other.example/log"),
        lambda text: text.replace("key-rotation/v1", "key-rotation/v2"),
        lambda text: "\n".join(text.split("\n")[:-2]) + "\n",
        lambda text: text.replace("\n3\n", "\n4\n"),
        lambda _: "",
    ],
)
def test_a_changed_rotation_is_refused(change: Callable[[str], str]) -> None:
    log, statement = rotated_log(overlap=False)
    text = change(statement.decode())
    assert text != statement.decode()
    given = Outside(vkeys=[KEY], rotations=[text])
    assert verify_note(log.checkpoints[1].note, given).exit_code == NOT_CHECKABLE
    assert verify_dump(dump_of(log), [KEY], outside=given).exit_code == NOT_CHECKABLE
    with pytest.raises(Bad):
        verify.Trust([KEY]).follow(text, ORIGIN)


def test_a_rotation_between_strangers_changes_nothing() -> None:
    thief = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"t" * 32))
    statement = rotate(OTHER_SIGNER, thief, 1, TIME_US).statement.decode()
    trust = verify.Trust([KEY])
    assert "not followed" in trust.follow(statement, ORIGIN)
    assert {key.public for key in trust.keys} == {SIGNER.vkey.public_key}


def test_a_key_that_no_longer_counts_vouches_for_nobody() -> None:
    thief = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"t" * 32))
    for change in (
        revoke(NEXT, SIGNER.vkey, TIME_US).statement,
        rotate(SIGNER, NEXT, 1, TIME_US).statement,
    ):
        trust = verify.Trust([KEY, str(NEXT.vkey)])
        trust.follow(change.decode(), ORIGIN)
        for pair in ((SIGNER, thief), (thief, SIGNER)):
            statement = rotate(*pair, 1, TIME_US).statement.decode()
            assert "not followed" in trust.follow(statement, ORIGIN)
        assert thief.vkey.public_key not in {key.public for key in trust.keys}


def test_a_revoked_key_revokes_no_other() -> None:
    changes = revoke(NEXT, SIGNER.vkey, TIME_US), revoke(SIGNER, NEXT.vkey, TIME_US)
    trust = verify.Trust([KEY, str(NEXT.vkey)])
    said = [trust.follow(change.statement.decode(), ORIGIN) for change in changes]
    assert ["not followed" in line for line in said] == [False, True]
    assert {key.public for key in trust.revoked} == {SIGNER.vkey.public_key}
    found = trusted_keys([SIGNER.vkey, NEXT.vkey], changes)
    assert [one.key for one in found if one.revoked_us is not None] == [SIGNER.vkey]


def test_a_revoked_key_counts_only_for_what_witnesses_saw_before() -> None:
    log = MemoryLog()
    log.append(note("one"))
    log.checkpoint()
    checkpoint = log.checkpoints[0]
    revocation = revoke(NEXT, SIGNER.vkey, TIME_US).statement.decode()
    for seen_s, code in ((TIME_US // 1_000_000 - 1, OK), (TIME_US // 1_000_000, NOT_CHECKABLE)):
        line = cosign(parse_note(checkpoint.note).text, WITNESSES[0], seen_s)
        data = parse_note(checkpoint.note).with_signatures(line).to_bytes()
        policy = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()
        outside = Outside(vkeys=[KEY, str(NEXT.vkey)], policy=policy, rotations=[revocation])
        assert verify_note(data, outside).exit_code == code
    alone = Outside(vkeys=[KEY, str(NEXT.vkey)], rotations=[revocation])
    assert verify_note(checkpoint.note, alone).exit_code == NOT_CHECKABLE
    unheard = Outside(vkeys=[KEY], rotations=[revocation])
    report = verify_note(checkpoint.note, unheard)
    assert report.exit_code == NOT_CHECKABLE, "who gave it relied on what nobody trusted says"
    assert "given: " in report.reason
    assert "not followed" in report.reason


def test_what_a_key_signed_before_it_was_revoked_stands_under_a_later_one() -> None:
    log, _ = rotated_log(overlap=False)
    statement = revoke(NEXT, SIGNER.vkey, TIME_US).statement
    fields = {"vkey": KEY, "from_us": TIME_US}
    log.append(changed_keys(Kind.KEY_REVOKED, statement, **fields))
    log.checkpoint()
    newest = log.checkpoints.pop()
    log.checkpoints.append(make_checkpoint(newest.size, newest.root, NEXT))
    report = verify_dump(dump_of(log), [KEY])
    assert report.exit_code == OK, report.lines
    log.checkpoints[-1] = make_checkpoint(newest.size, newest.root, SIGNER)
    report = verify_dump(dump_of(log), [KEY])
    assert report.exit_code == TAMPERED
    assert any("had been replaced" in line for line in report.lines)


def test_a_whole_log_needs_the_quorum_up_to_its_end() -> None:
    log = MemoryLog()
    for text in ("one", "two"):
        log.append(note(text))
        log.checkpoint()
    policy = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()

    def cosigned(*sizes: int) -> Report:
        changed = MemoryLog(position=log.position, rows=log.rows)
        for found in log.checkpoints:
            line = cosign(parse_note(found.note).text, WITNESSES[0], 1)
            lines = [line] if found.size in sizes else []
            data = parse_note(found.note).with_signatures(*lines).to_bytes()
            changed.checkpoints.append(replace(found, note=data))
        return verify_dump(dump_of(changed), [KEY], outside=Outside(policy=policy))

    first, second = (found.size for found in log.checkpoints)
    assert cosigned(second).exit_code == cosigned(first, second).exit_code == OK
    assert cosigned().exit_code == INCOMPLETE
    report = cosigned(first)
    assert (report.exit_code, report.unsigned_from) == (INCOMPLETE, first)


def test_a_running_log_may_owe_its_newest_cosignature() -> None:
    log = MemoryLog()
    log.append(note("one"))
    log.checkpoint()
    first = log.checkpoints[0]
    line = cosign(parse_note(first.note).text, WITNESSES[0], 1)
    log.checkpoints = [replace(first, note=parse_note(first.note).with_signatures(line).to_bytes())]
    log.append(note("two"))
    log.checkpoint()
    policy = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()
    for now_us, code in ((TIME_US, OK), (TIME_US + 60_000_000, INCOMPLETE), (None, INCOMPLETE)):
        verifier = LogVerifier([KEY], outside=Outside(policy=policy))
        verifier.head(log.head())
        for found in log.checkpoints:
            verifier.checkpoint(found.size, found.note)
        for row in log.rows:
            verifier.entry(row)
        assert verifier.finish(now_us=now_us).exit_code == code, now_us


def test_without_ml_dsa_its_lines_are_not_checkable_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = (FOLDER / "quantum.note").read_bytes()
    policy = (FOLDER / "quantum.policy").read_bytes()
    outside = Outside(vkeys=[KEY], policy=policy)
    assert verify_note(data, outside).exit_code == OK
    monkeypatch.setattr(verify, "MLDSA44PublicKey", None)
    report = verify_note(data, outside)
    assert report.exit_code == NOT_CHECKABLE
    assert any("ML-DSA-44" in line for line in report.lines)


def test_a_log_key_of_ml_dsa_signs_too() -> None:
    head = parse_note(make_checkpoint(7, bytes(32), SIGNER).note).text.replace(ORIGIN, "w9.example")
    line = cosign(head, QUANTUM_SAFE, 0)
    data = f"{head}\n{line}".encode()
    assert verify_note(data, Outside(vkeys=[str(QUANTUM_SAFE.vkey)])).exit_code == OK


def disclosure(value: str) -> tuple[bytes, str]:
    """A disclosure as SD-JWT forms it, and its commitment."""
    text = base64.urlsafe_b64encode(canonical(["c2FsdA", "author", value])).rstrip(b"=")
    return text, sha256(text).hexdigest()


def test_a_disclosed_value_is_held_against_the_commitments() -> None:
    text, digest = disclosure("Ada")
    forged, _ = disclosure("Eve")
    log = MemoryLog()
    log.append(replace(note("one"), commitments=(digest,)))
    log.checkpoint()
    proof = prove_record(MemoryReader(log), 0)
    for given, code in ((text, OK), (text + b"\n", OK), (forged, TAMPERED)):
        outside = Outside(vkeys=[KEY], disclosures=[given])
        assert verify_proof(proof, outside).exit_code == code, given
        report = verify_dump(dump_of(log), [], outside=outside)
        assert report.exit_code == code, given
        assert any("disclosed value of author" in line for line in report.lines)
    for place in range(len(text)):
        changed = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
        outside = Outside(vkeys=[KEY], disclosures=[changed])
        assert verify_proof(proof, outside).exit_code == TAMPERED, place


def test_a_commitment_to_anything_else_discloses_nothing() -> None:
    for text in (b"?", b"", base64.urlsafe_b64encode(b'["salt","path",1]')):
        log = MemoryLog()
        log.append(replace(note("one"), commitments=(sha256(text).hexdigest(),)))
        log.checkpoint()
        outside = Outside(vkeys=[KEY], disclosures=[text])
        assert verify_proof(prove_record(MemoryReader(log), 0), outside).exit_code == TAMPERED


def with_version(log: MemoryLog, seq: int, **changes: object) -> MemoryLog:
    """Rewrite one record's kind or version, and everything that follows, under fresh seals."""
    row = dict(log.rows[seq])
    row["header"] = canonical({**json.loads(row["header"]), **changes})  # type: ignore[dict-item]
    row["leaf"] = sha256(b"\x00" + row["header"]).digest()
    log.rows[seq] = {**row, **changes}
    return log


def test_an_unknown_kind_or_version_is_verified_but_not_interpreted() -> None:
    for changes in ({"kind": "moon_landed"}, {"version": 2}):
        verifier = LogVerifier([KEY])
        log = MemoryLog()
        log.append(note("one"))
        row = with_version(log, 0, **changes).rows[0]
        tree = verify.Tree()
        tree.append(row["leaf"])
        root = tree.root()
        verifier.head({"origin": ORIGIN, "size": 1, "root": root, "frontier": root})
        verifier.checkpoint(1, make_checkpoint(1, root, SIGNER).note)
        verifier.entry(row)
        report = verifier.finish()
        assert report.exit_code == TAMPERED, "signed without a stream-head map"
        assert any("only the bytes were verified" in line for line in report.lines)


def test_an_unknown_version_of_the_map_leaves_the_end_open() -> None:
    log = MemoryLog()
    log.append(note("one"))
    log.checkpoint()
    row = with_version(log, 1, version=2).rows[1]
    tree = verify.Tree()
    tree.append(log.rows[0]["leaf"])
    tree.append(row["leaf"])
    verifier = LogVerifier([KEY])
    root = tree.root()
    verifier.head({"origin": ORIGIN, "size": 2, "root": root, "frontier": root})
    verifier.checkpoint(2, make_checkpoint(2, root, SIGNER).note)
    for found in log.rows:
        verifier.entry(found)
    report = verifier.finish()
    assert report.exit_code == NOT_CHECKABLE, report.lines
    assert any("where streams end cannot be seen" in line for line in report.lines)


def test_the_verifier_knows_every_kind_of_this_version() -> None:
    stated = {str(kind): spec.version for kind, spec in KINDS.items()}
    assert stated == verify.KNOWN_KINDS, "run `make verifier`"
