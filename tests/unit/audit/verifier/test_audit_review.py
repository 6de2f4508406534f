"""What a hostile review of the outsider's verifier found; a test holds each answer."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import LedgerError
from audit.evidence.bundle import NotYetSignedError, build_bundle
from audit.evidence.receipt import build_receipt, prove_range
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.note import parse_note
from audit.tlog.rotation import revoke
from audit.upkeep.fsck.dump import fsck_dump
from audit.verifier import verify
from audit.verifier.verify import (
    INCOMPLETE,
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
    cancelling,
    dump_of,
    note,
    opening,
    sealed,
    started,
)
from tests.doubles.audit_spoiled import plan_of, silent
from tests.doubles.cosigners import WITNESSES
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.evidence_maps import map_part
from tests.doubles.memory_tree import consistency_path

KEY = str(SIGNER.vkey)
NEXT = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"n" * 32))
REVOKED_S = TIME_US // 1_000_000 + 1_000
REVOKED = revoke(NEXT, SIGNER.vkey, REVOKED_S * 1_000_000).statement.decode()
TWO_OF_THREE = "".join(
    [f"witness {name} {who.vkey}\n" for name, who in zip("abc", WITNESSES, strict=False)]
    + ["group g 2 a b c\nquorum g\n"]
).encode()
SHARED = [leaf_hash(b"shared %d" % n) for n in range(5)]
HONEST = SHARED + [leaf_hash(b"honest %d" % n) for n in range(15)]
FORKED = SHARED + [leaf_hash(b"forged %d" % n) for n in range(4)]
POLICY = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()


def signed(leaves: Sequence[bytes], *times_s: int) -> bytes:
    """A checkpoint, cosigned at these times by one witness after the other."""
    made = parse_note(make_checkpoint(len(leaves), root_of(leaves), SIGNER).note)
    lines = [cosign(made.text, who, at) for who, at in zip(WITNESSES, times_s, strict=False)]
    return made.with_signatures(*lines).to_bytes()


def linked(old: int, leaves: Sequence[bytes], checkpoint: bytes) -> bytes:
    path = "".join(f"{base64.b64encode(node).decode()}\n" for node in consistency_path(leaves, old))
    return f"old {old}\n{path}\n".encode() + checkpoint


def test_only_what_contains_the_judged_tree_shows_that_it_is_public() -> None:
    kept, newest = signed(HONEST[:5], 7), signed(HONEST, 7)

    def judged(note: bytes, notes: Sequence[bytes], *links: bytes) -> int:
        given = Outside(vkeys=[KEY], policy=POLICY, notes=notes, links=links)
        return verify_note(note, given).exit_code

    honest = linked(5, HONEST, newest)
    assert judged(signed(HONEST[:5]), [], honest) == OK, "a later one that contains it"
    assert judged(signed(HONEST[:9]), [], linked(9, HONEST, newest)) == OK
    steps = (linked(9, HONEST[:12], signed(HONEST[:12])), linked(12, HONEST, newest))
    assert judged(signed(HONEST[:9]), [], *steps) == judged(signed(HONEST[:9]), [], *steps[::-1])
    assert judged(signed(HONEST[:9]), [], *steps) == OK
    assert judged(signed(HONEST[:9]), [kept], honest, *steps) == OK, "both are in the newest"
    forks = [linked(5, FORKED, signed(FORKED)), honest]
    for shown in (signed(FORKED), signed([leaf_hash(b"other")] * 9)):
        for links in ([honest], forks, forks[::-1]):
            assert judged(shown, [kept], *links) in {TAMPERED, INCOMPLETE}, "a fork's quorum"
    unasked = Outside(vkeys=[KEY], notes=[kept], links=[honest])
    assert verify_note(signed(FORKED), unasked).exit_code == NOT_CHECKABLE
    zero = [linked(0, FORKED, signed(FORKED)), linked(0, HONEST, newest)]
    assert judged(signed(FORKED), [signed([])], *zero) == INCOMPLETE, "all extend nothing"


def test_no_time_in_the_records_rescues_a_revoked_key() -> None:
    """Its thief writes the records and their times; a witness or a later key must say more."""
    log = MemoryLog()
    for text in ("one", "two"):
        log.append(note(text))
        log.checkpoint()
    assert log.now_us < REVOKED_S * 1_000_000
    found = list(log.checkpoints)

    def judged(*notes: bytes, policy: bytes | None = None) -> int:
        pairs = zip(found, notes, strict=True)
        log.checkpoints = [replace(one, note=data) for one, data in pairs]
        keys = [KEY, str(NEXT.vkey)]
        given = Outside(vkeys=keys, policy=policy, rotations=[REVOKED])
        return verify_dump(dump_of(log), (), (), given).exit_code

    old = [one.note for one in found]
    new = [make_checkpoint(one.size, one.root, NEXT).note for one in found]
    seen = parse_note(old[1])
    line = cosign(seen.text, WITNESSES[0], REVOKED_S - 1)
    assert judged(*old) == NOT_CHECKABLE
    assert judged(old[0], new[1]) == OK, "a key that counts signed the tree that holds it"
    assert judged(new[0], old[1]) == NOT_CHECKABLE
    assert judged(old[0], seen.with_signatures(line).to_bytes(), policy=POLICY) == OK
    assert judged(old[0], seen.with_signatures(line).to_bytes(), policy=TWO_OF_THREE) != OK
    leaves = [bytes(row["leaf"]) for row in log.rows]
    for later, code in ((new[1], OK), (old[1], NOT_CHECKABLE)):
        links = [linked(found[0].size, leaves, later)]
        given = Outside(vkeys=[KEY, str(NEXT.vkey)], rotations=[REVOKED], links=links)
        assert verify_note(old[0], given).exit_code == code, "one rule for single evidence"


def test_a_revoked_key_needs_the_time_of_the_whole_quorum() -> None:
    """One witness that colludes cannot date a checkpoint back, and 0 is no time."""
    early, late = REVOKED_S - 1, REVOKED_S
    for times, code in (
        ((early, late), NOT_CHECKABLE),
        ((early, early, late), OK),
        ((early, early), OK),
        ((0, 0), NOT_CHECKABLE),
        ((0, early), NOT_CHECKABLE),
        ((0, early, early), OK),
    ):
        keys = [KEY, str(NEXT.vkey)]
        given = Outside(vkeys=keys, policy=TWO_OF_THREE, rotations=[REVOKED])
        assert verify_note(signed(SHARED, *times), given).exit_code == code, times


def mapped(*between: Draft, numbers: Sequence[tuple[int, int]]) -> MemoryLog:
    """A log whose only map is in parts, with records after the first of them."""
    log = MemoryLog()
    log.append(started(), opening("d1", sha256(b"b").hexdigest()), sealed("d1"))
    log.blobs[sha256(b"b").digest()] = b"b"
    heads: dict[str, list[object]] = {}
    for row in log.rows:
        heads[row["stream"]] = [row["stream"], row["stream_seq"], row["leaf"].hex()]
    for number, parts in numbers:
        last = number + 1 == parts
        log.append(map_part(number, parts, [heads[name] for name in sorted(heads)] if last else []))
        if not last:
            log.append(*between)
    frontier = log.position.frontier
    log.checkpoints.append(make_checkpoint(frontier.size, frontier.root(), SIGNER))
    return log


def test_the_parts_of_a_map_follow_each_other(tmp_path: Path) -> None:
    def judged(log: MemoryLog) -> int:
        code = verify_dump(dump_of(log), [KEY]).exit_code
        path = tmp_path / "log.dump"
        path.write_bytes(b"".join(dump_of(log)))
        plan = replace(plan_of(tmp_path, KEY), state=tmp_path / "dump.state")
        assert fsck_dump(path, plan, silent).exit_code == code
        plan.state.unlink(missing_ok=True)
        return code

    assert judged(mapped(numbers=[(0, 1)])) == OK
    assert judged(mapped(numbers=[(0, 3), (1, 3), (2, 3)])) == OK
    hidden = mapped(cancelling("d1"), numbers=[(0, 2), (1, 2)])
    assert judged(hidden) == TAMPERED
    for numbers in ([(1, 2)], [(0, 3), (2, 3)], [(0, 3), (1, 2)], [(0, 2), (0, 1)]):
        assert judged(mapped(numbers=numbers)) == TAMPERED, numbers


def test_evidence_shows_every_part_of_its_map() -> None:
    given = Outside(vkeys=[KEY])
    reader = MemoryReader(mapped(numbers=[(0, 2), (1, 2)]))
    bundle, receipt = build_bundle(reader, "d1"), build_receipt(reader, "d1")
    assert verify_bundle(bundle, outside=given).exit_code == OK
    assert verify_proof(receipt, given).exit_code == OK
    assert "000000000003-stream_heads" in verify.read_bundle(bundle).records
    extra = verify.read_extra(verify.read_proof(receipt).extra)
    assert [part["header"]["seq"] for part in extra["map"]] == [3, 4]
    broken = MemoryReader(mapped(cancelling("d1"), numbers=[(0, 2), (1, 2)]))
    for build in (build_bundle, build_receipt):
        with pytest.raises(LedgerError):
            build(broken, "d1")


def test_a_map_of_one_part_is_shown_as_before() -> None:
    reader = MemoryReader(mapped(numbers=[(0, 1)]))
    for data in (build_receipt(reader, "d1"), prove_range(reader, "control", (0, 0))):
        extra = verify.read_extra(verify.read_proof(data).extra)
        assert extra["format"].endswith("/1")
        assert extra["map"]["header"]["seq"] == 3


def test_a_range_may_end_among_the_parts_of_an_older_map() -> None:
    """Its end is in the next map: the one that it ends in covers nothing of itself."""
    log = mapped(numbers=[(0, 2), (1, 2)])
    reader = MemoryReader(log)
    with pytest.raises(NotYetSignedError):
        prove_range(reader, "control", (0, 1))
    log.checkpoint()
    for last in (0, 1, 2):
        data = prove_range(reader, "control", (0, last))
        assert verify_proof(data, Outside(vkeys=[KEY])).exit_code == OK, last


Shown = Sequence[tuple[int, int, int]]


def judged_map(shown: Shown, size: int, *others: int) -> tuple[int, int | None]:
    """Judge parts, each as its number in the log, its part and the number of parts."""
    report = verify.Report()
    pairs = [({"seq": seq}, {"part": number, "parts": parts}) for seq, number, parts in shown]
    verify.judge_map(report, pairs, size, [{"seq": seq} for seq in others])
    return report.exit_code, report.first_bad_seq


def test_the_parts_that_evidence_shows_are_one_row() -> None:
    whole = [(3, 0, 3), (4, 1, 3), (5, 2, 3)]
    assert judged_map(whole, 6, 2, 6) == (OK, None)
    for number in range(3):
        less = [item for item in whole if item[1] != number]
        assert judged_map(less, 6) == (INCOMPLETE, 3 + number)
    assert judged_map(whole, 5)[0] == TAMPERED, "one part is not in the signed tree"
    assert judged_map([(0, 1, 2)], 6)[0] == TAMPERED, "it would start before the log"
    for other in (3, 4, 5):
        assert judged_map(whole, 6, other) == (TAMPERED, other)
    for odd in (whole[::-1], [whole[0], *whole], [(2, 0, 2), (4, 1, 2)], [(3, 0, 2), (4, 0, 2)]):
        assert judged_map(odd, 6)[0] == TAMPERED, odd
    assert judged_map([(4, 1, 10**18)], 2 * 10**18) == (INCOMPLETE, 3), "no walk through all"
    assert judged_map([(1, 0, 2), (2, 1, 2), *whole], 6) == (OK, None), "an older map, whole too"


def test_a_witness_may_sign_again_at_another_time() -> None:
    made = parse_note(make_checkpoint(5, root_of(SHARED), SIGNER).note)
    for times in ((5, 6), (6, 5), (0, 5), (5, 0)):
        lines = [cosign(made.text, WITNESSES[0], at) for at in times]
        data = made.with_signatures(*lines).to_bytes()
        given = Outside(vkeys=[KEY], policy=POLICY)
        assert verify_note(data, given).exit_code == OK, times
        assert verify.Trust([KEY], POLICY).open(data).cosigners == {b"w": 5}, times
        twice = data + data.splitlines(keepends=True)[-1]
        assert verify_note(twice, given).exit_code == TAMPERED, times


def test_foreign_json_in_a_proof_is_opaque() -> None:
    leaf, given = leaf_hash(b"foreign"), Outside(vkeys=[KEY])
    for extra in (b'{"module":"x/y","v":1.5}', b'{"a":1}', b"{", b'{"format":"other/1"}'):
        line = f"{verify.PROOF}\nextra {base64.b64encode(extra).decode()}\nindex 0\n\n"
        data = line.encode() + signed([leaf])
        assert verify_proof(data, given, b"foreign").exit_code == OK, extra
        assert verify_proof(data, given, b"another").exit_code == TAMPERED, extra


def test_a_trust_file_that_is_no_text_is_no_finding_about_the_evidence(tmp_path: Path) -> None:
    shown, wrong = tmp_path / "shown.note", tmp_path / "wrong"
    shown.write_bytes(signed(SHARED))
    wrong.write_bytes(b"\xff\xfe")
    for option in ("--rotation", "--policy", "--key"):
        arguments = [str(shown), "--key", KEY, option, str(wrong)]
        assert verify.main(arguments) == NOT_CHECKABLE, option
