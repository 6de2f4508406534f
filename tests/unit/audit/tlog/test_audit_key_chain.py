"""A log that changed its key twice, judged by who holds only one of the three keys."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.evidence.bundle import build_bundle
from audit.evidence.receipt import build_receipt, prove_record
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.note import parse_note, sign_note
from audit.tlog.rotation import revoke, rotate
from audit.upkeep.fsck.dump import fsck_dump
from audit.verifier import verify
from audit.verifier.verify import (
    NOT_CHECKABLE,
    OK,
    TAMPERED,
    Outside,
    verify_bundle,
    verify_dump,
    verify_note,
    verify_proof,
)
from tests.doubles.audit_log import (
    ORIGIN,
    SIGNER,
    TIME_US,
    MemoryLog,
    dump_of,
    note,
    opening,
    sealed,
    started,
)
from tests.doubles.audit_spoiled import plan_of, silent
from tests.doubles.cosigners import WITNESSES
from tests.doubles.evidence_log import MemoryReader


def signer(seed: bytes) -> FileSigner:
    return FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(seed * 32))


FIRST, SECOND, THIRD, THIEF = SIGNER, signer(b"2"), signer(b"3"), signer(b"t")
KEYS = [str(one.vkey) for one in (FIRST, SECOND, THIRD)]
CHANGES = [rotate(FIRST, SECOND, 3, TIME_US), rotate(SECOND, THIRD, 6, TIME_US + 9)]
STATEMENTS = [change.statement.decode() for change in CHANGES]
STOLEN = rotate(THIEF, SECOND, 10**6, TIME_US).statement.decode()
STOLEN_ID = THIEF.vkey.key_id


BOUNDS = ("from_size", "from_us")


def told(statement: str) -> Draft:
    """Draft a record of a change of keys, from the lines of its statement."""
    _, _, *lines = statement.partition("\n\n")[0].split("\n")
    names = ("vkey", "from_us") if len(lines) == 2 else ("old_vkey", "new_vkey", *BOUNDS)
    return Draft(
        stream="control",
        kind=Kind.KEY_REVOKED if len(lines) == 2 else Kind.KEY_ROTATED,
        payload={"statement": statement, **dict(zip(names, lines, strict=True))},
        actor="person:ada",
        idem_key=f"key:{sha256(statement.encode()).hexdigest()[:8]}",
    )


def chained(*late: str, told_at: tuple[str, str] = (STATEMENTS[0], STATEMENTS[1])) -> MemoryLog:
    """A log whose every part is signed by the key of its time."""
    log = MemoryLog()
    log.append(started(), opening("d1", sha256(b"b").hexdigest()))
    log.blobs[sha256(b"b").digest()] = b"b"
    log.checkpoint()
    log.append(told(told_at[0]), sealed("d1"))
    log.checkpoint()
    log.append(told(told_at[1]), *map(told, late))
    log.append(note("later"))
    log.checkpoint()
    return signed(log, FIRST, SECOND, THIRD)


def signed(log: MemoryLog, *signers: FileSigner) -> MemoryLog:
    """Sign its checkpoints by others."""
    log.checkpoints = [
        make_checkpoint(one.size, one.root, by)
        for one, by in zip(log.checkpoints, signers, strict=True)
    ]
    return log


def judged(log: MemoryLog, *keys: str, rotations: Sequence[str] = ()) -> int:
    return verify_dump(dump_of(log), keys, (), Outside(rotations=rotations)).exit_code


@pytest.mark.parametrize("key", KEYS)
def test_each_key_alone_follows_the_whole_chain(key: str, tmp_path: Path) -> None:
    log = chained()
    report = verify_dump(dump_of(log), [key])
    assert report.exit_code == OK, report.lines
    assert sum("is followed by" in line for line in report.lines) == 2
    assert not any("not followed" in line for line in report.lines)
    path = tmp_path / "log.dump"
    path.write_bytes(b"".join(dump_of(log)))
    plan = replace(plan_of(tmp_path, key), state=tmp_path / "dump.state")
    assert fsck_dump(path, plan, silent).lines[:-1] == report.lines[:-1]
    for place, thief in enumerate((FIRST, SECOND, THIRD)):
        wrong = [FIRST, SECOND, THIRD]
        wrong[place] = THIEF
        assert judged(signed(chained(), *wrong), key) == TAMPERED, thief
    assert judged(signed(chained(), FIRST, SECOND, SECOND), key) == TAMPERED, "replaced before"
    assert judged(signed(chained(), FIRST, FIRST, THIRD), key) == TAMPERED, "replaced before"
    assert judged(chained(), str(THIEF.vkey)) == TAMPERED


@pytest.mark.parametrize("key", KEYS)
def test_single_evidence_follows_the_chain_too(key: str) -> None:
    log = chained()
    reader, outside = MemoryReader(log), Outside(vkeys=[key])
    proof = prove_record(reader, log.checkpoints[1].size)
    assert verify_proof(proof, outside).exit_code == OK
    given = Outside(vkeys=[key], rotations=STATEMENTS)
    assert verify_proof(build_receipt(reader, "d1"), given).exit_code == OK
    assert verify_bundle(build_bundle(reader, "d1"), outside=given).exit_code == OK
    assert judged(log, key, rotations=STATEMENTS) == OK
    for checkpoint in log.checkpoints:
        assert verify_note(checkpoint.note, given).exit_code == OK
        alone = verify_note(checkpoint.note, outside).exit_code
        assert (alone == OK) == (checkpoint.note == log.checkpoints[KEYS.index(key)].note)


def test_evidence_of_then_joins_a_newer_key_by_a_statement_given() -> None:
    """A receipt made before the second change, who holds the third key, and that change alone."""
    reader = MemoryReader(chained())
    for data, judge in (
        (build_receipt(reader, "d1"), verify_proof),
        (build_bundle(reader, "d1"), lambda data, outside: verify_bundle(data, outside=outside)),
    ):
        newest = Outside(vkeys=[KEYS[2]], rotations=STATEMENTS[1:])
        assert judge(data, newest).exit_code == OK
        assert judge(data, Outside(vkeys=[KEYS[2]])).exit_code == TAMPERED
    oldest = signed(chained(), FIRST, FIRST, FIRST).checkpoints[0].note
    assert verify_note(oldest, Outside(vkeys=[KEYS[2]], rotations=STATEMENTS)).exit_code == OK


def one_signature(by: FileSigner, place: int) -> str:
    return sign_note(parse_note(CHANGES[place].statement).text, by).to_bytes().decode()


@pytest.mark.parametrize("place", [0, 1])
def test_a_statement_of_one_key_alone_is_refused(place: int) -> None:
    old, new = ((FIRST, SECOND), (SECOND, THIRD))[place]
    for by in (old, new):
        whole = list(STATEMENTS)
        whole[place] = one_signature(by, place)
        for key in KEYS:
            assert judged(chained(told_at=(whole[0], whole[1])), key) == TAMPERED
            given = Outside(vkeys=[key], rotations=whole)
            assert verify_note(chained().checkpoints[1].note, given).exit_code == NOT_CHECKABLE


@pytest.mark.parametrize(
    "ended", [STATEMENTS[1], revoke(THIRD, SECOND.vkey, TIME_US).statement.decode()]
)
def test_a_key_that_ended_names_no_key_before_it(ended: str) -> None:
    """Who steals a key that was replaced or revoked cannot invent the one before it."""
    log = signed(chained(STOLEN, told_at=(STATEMENTS[0], ended)), THIEF, SECOND, THIRD)
    for key in KEYS:
        assert judged(log, key) == TAMPERED
    trust = verify.Trust(KEYS[2:])
    for statement in (*STATEMENTS, STOLEN):
        trust.follow(statement, ORIGIN)
    assert STOLEN_ID not in {key.key_id for key in trust.keys}
    report = verify.Report()
    trust.settle(report)
    assert ["not followed" in words for words in report.lines] == [False, False, True]
    assert {key.key_id for key in trust.keys} == {s.vkey.key_id for s in (FIRST, SECOND, THIRD)}


def test_a_key_before_counts_for_no_more_than_the_one_that_vouches() -> None:
    """A stolen key's statement, put before the change: no size and no time beyond its own."""
    late = make_checkpoint(9, bytes(32), THIEF).note
    early = make_checkpoint(6, bytes(32), THIEF).note
    given = [STOLEN, STATEMENTS[1]]
    assert verify_note(late, Outside(vkeys=[KEYS[2]], rotations=given)).exit_code == TAMPERED
    assert verify_note(early, Outside(vkeys=[KEYS[2]], rotations=given)).exit_code == OK
    given.append(revoke(THIRD, SECOND.vkey, TIME_US).statement.decode())
    for seen_s, code in ((TIME_US // 1_000_000 - 1, OK), (TIME_US // 1_000_000, NOT_CHECKABLE)):
        line = cosign(parse_note(early).text, WITNESSES[0], seen_s)
        data = parse_note(early).with_signatures(line).to_bytes()
        policy = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()
        outside = Outside(vkeys=[KEYS[2]], policy=policy, rotations=given)
        assert verify_note(data, outside).exit_code == code
    assert verify_note(early, Outside(vkeys=[KEYS[2]], rotations=given)).exit_code == NOT_CHECKABLE


def test_a_revocation_given_comes_before_what_the_log_says() -> None:
    """A log that leaves the revocation out cannot make its holder count again."""
    forged = rotate(FIRST, THIEF, 3, TIME_US).statement.decode()
    log = signed(chained(told_at=(forged, STATEMENTS[1])), FIRST, THIEF, THIRD)
    revocation = revoke(THIRD, FIRST.vkey, TIME_US).statement.decode()
    assert judged(log, KEYS[0], KEYS[2]) == OK, "nobody told that the key was stolen"
    assert judged(log, KEYS[0], KEYS[2], rotations=[revocation]) == TAMPERED
