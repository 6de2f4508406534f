"""What a witness answers, line by line of tlog-witness, and what it remembers."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import WitnessError
from audit.tlog.checkpoint import Checkpoint, checkpoint_text, make_checkpoint, open_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.merkle import EMPTY_ROOT, leaf_hash, root_of
from audit.tlog.note import (
    COSIGNATURE_ED25519,
    Note,
    VerifierKey,
    parse_note,
    parse_signature_lines,
    sign_note,
)
from audit.tlog.treehead import TreeHead
from audit.witnesses.memory import WitnessMemory
from audit.witnesses.witness import (
    PROOF_LINES_MAX,
    Seen,
    encode_request,
    judge,
    parse_request,
)
from gateway.errors import SettingsError
from gateway.surfaces.witness.followed_logs import log_keys
from gateway.surfaces.witness.server import Witness, open_witness
from tests.doubles.cosigners import LOG, QUANTUM_SAFE, WITNESSES, Cosigner, verify_cosignature
from tests.doubles.memory_tree import consistency_path

LEAVES = [leaf_hash(bytes([n])) for n in range(100)]
OTHER = [leaf_hash(b"other" + bytes([n])) for n in range(100)]
TIME_S = 1_800_000_000
STRANGER = Cosigner("log.example/a", 99, 1)


def checkpoint(size: int, leaves: list[bytes] = LEAVES) -> Checkpoint:
    return make_checkpoint(size, root_of(leaves[:size]), LOG)


def request(old: int, size: int, leaves: list[bytes] = LEAVES) -> bytes:
    proof = consistency_path(leaves[:size], old) if old <= size else ()
    return encode_request(old, proof, checkpoint(size, leaves).note)


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(
        signers=(WITNESSES[0], QUANTUM_SAFE),
        memory=WitnessMemory(tmp_path),
        logs=lambda: {"log.example/a": (LOG.vkey,)},
    )


def test_a_tree_that_grows_is_cosigned_by_both_keys(witness: Witness) -> None:
    for old, size in ((0, 1), (1, 1), (1, 7), (7, 64), (64, 100), (100, 100)):
        answer = witness.answer(request(old, size), TIME_S + size)
        assert answer.status == 200, answer.body
        lines = parse_signature_lines(answer.body.decode())
        note = Note(text=parse_note(checkpoint(size).note).text, signatures=lines)
        assert [line.name for line in lines] == ["w0.example", "w9.example"]
        assert verify_cosignature(note, WITNESSES[0].vkey) == TIME_S + size
        assert verify_cosignature(note, QUANTUM_SAFE.vkey) == TIME_S + size
        assert witness.memory.seen("log.example/a") == Seen(size=size, root=root_of(LEAVES[:size]))


def test_an_empty_tree_may_be_cosigned_and_has_one_root(witness: Witness) -> None:
    # Source: TestZeroSize of filippo.io/torchwood's witness, and the editor's copy of the spec.
    for root in (LEAVES[0], bytes(32)):
        wrong = make_checkpoint(0, root, LOG)
        assert witness.answer(encode_request(0, (), wrong.note), TIME_S).status == 422
    with_proof = encode_request(0, LEAVES[:1], checkpoint(0).note)
    assert witness.answer(with_proof, TIME_S).status == 422
    for _ in range(2):
        assert witness.answer(request(0, 0), TIME_S).status == 200
        assert witness.memory.seen("log.example/a") == Seen(size=0, root=EMPTY_ROOT)
    assert witness.answer(request(0, 1), TIME_S).status == 200
    assert witness.answer(encode_request(1, (), checkpoint(0).note), TIME_S).status == 400
    assert witness.answer(request(0, 0), TIME_S).status == 409


def test_monitors_find_what_was_cosigned_last(witness: Witness, tmp_path: Path) -> None:
    place = sha256(b"log.example/a").hexdigest()
    assert witness.memory.latest(place) is None
    crowd = [cosign(parse_note(checkpoint(5).note).text, one, 1) for one in WITNESSES[1:]]
    asked = parse_note(checkpoint(5).note).with_signatures(*crowd)
    assert witness.answer(encode_request(0, (), asked.to_bytes()), TIME_S).status == 200
    kept = witness.memory.latest(place)
    assert kept is not None
    assert open_checkpoint(kept, [LOG.vkey]).size == 5
    note = parse_note(kept)
    assert [line.name for line in note.signatures] == [LOG.vkey.name, "w0.example", "w9.example"]
    assert verify_cosignature(note, WITNESSES[0].vkey) == TIME_S
    assert verify_cosignature(note, QUANTUM_SAFE.vkey) == TIME_S
    assert witness.answer(request(5, 7), TIME_S + 1).status == 200
    assert verify_cosignature(parse_note(witness.memory.latest(place) or b""), WITNESSES[0].vkey)
    (tmp_path / "secret.checkpoint").write_bytes(b"not to be read")
    for other in ("", place.upper(), place[:-1], "../secret", sha256(b"b").hexdigest()):
        assert witness.memory.latest(other) is None


def test_a_log_that_signs_a_hundred_times_is_remembered(tmp_path: Path) -> None:
    log = Cosigner("log.example/a", 3, COSIGNATURE_ED25519)
    text = checkpoint_text("log.example/a", 1, LEAVES[0])
    note = Note(text=text, signatures=tuple(cosign(text, log, time) for time in range(100)))
    witness = Witness(
        signers=(WITNESSES[0], QUANTUM_SAFE),
        memory=WitnessMemory(tmp_path),
        logs=lambda: {"log.example/a": (log.vkey,)},
    )
    assert witness.answer(encode_request(0, (), note.to_bytes()), TIME_S).status == 200
    assert witness.memory.seen("log.example/a").size == 1
    assert witness.answer(encode_request(1, (), note.to_bytes()), TIME_S).status == 200


def test_whatever_does_not_extend_the_last_tree_is_refused(witness: Witness) -> None:
    assert witness.answer(request(0, 10), TIME_S).status == 200
    proof = consistency_path(LEAVES[:20], 10)
    good = checkpoint(20).note
    cases = [
        (409, request(0, 20)),  # it has seen more
        (409, request(5, 20)),
        (409, request(11, 20)),
        (409, request(5, 5)),  # rolled back
        (409, request(0, 5)),
        (422, request(10, 20, OTHER)),  # forked
        (422, encode_request(10, proof[:-1], good)),
        (422, encode_request(10, (*proof, proof[0]), good)),
        (422, encode_request(10, (), good)),
        (422, encode_request(10, proof, checkpoint(10).note)),  # same size needs no proof
        (400, request(21, 20)),
        (400, request(10, 9)),
    ]
    for status, body in cases:
        answer = witness.answer(body, TIME_S)
        assert answer.status == status, (body[:60], answer)
        if status == 409:
            assert (answer.body, answer.content_type) == (b"10\n", "text/x.tlog.size")
        else:
            assert answer.content_type == "text/plain; charset=utf-8"
    other = witness.answer(request(10, 10, OTHER), TIME_S)  # a fork at the same size
    assert (other.status, other.content_type) == (409, "text/plain; charset=utf-8")
    assert witness.memory.seen("log.example/a") == Seen(size=10, root=root_of(LEAVES[:10]))
    assert witness.answer(request(10, 20), TIME_S).status == 200


def test_a_first_checkpoint_comes_without_a_proof(witness: Witness) -> None:
    body = encode_request(0, [LEAVES[0]], checkpoint(9).note)
    assert witness.answer(body, TIME_S).status == 422
    assert witness.answer(request(0, 9), TIME_S).status == 200


def test_strangers_are_told_apart_from_unsigned_notes(witness: Witness) -> None:
    unknown = make_checkpoint(3, root_of(LEAVES[:3]), Cosigner("log.example/b", 1, 1))
    unsigned = make_checkpoint(3, root_of(LEAVES[:3]), STRANGER)
    forged = checkpoint(3).note
    start = forged.index("— log.example/a".encode()) + 40
    forged = (
        forged[:start] + (b"A" if forged[start : start + 1] != b"A" else b"B") + forged[start + 1 :]
    )
    assert witness.answer(encode_request(0, (), unknown.note), TIME_S).status == 404
    assert witness.answer(encode_request(0, (), unsigned.note), TIME_S).status == 403
    assert witness.answer(encode_request(0, (), forged), TIME_S).status == 403
    assert witness.memory.seen("log.example/a") == Seen()


def test_a_log_may_sign_with_an_old_and_a_new_key(tmp_path: Path) -> None:
    new = Cosigner("log.example/a", 2, 1)
    witness = Witness(
        signers=(WITNESSES[0],),
        memory=WitnessMemory(tmp_path),
        logs=lambda: {"log.example/a": (LOG.vkey, new.vkey)},
    )
    both = make_checkpoint(3, root_of(LEAVES[:3]), LOG, new)
    only_new = make_checkpoint(3, root_of(LEAVES[:3]), new)
    assert witness.answer(encode_request(0, (), both.note), TIME_S).status == 200
    assert witness.answer(encode_request(3, (), only_new.note), TIME_S).status == 200


def test_extension_lines_are_cosigned_as_they_are(witness: Witness) -> None:
    head = TreeHead(origin="log.example/a", size=2, root=root_of(LEAVES[:2]), extensions=("x",))
    text = head.to_text()
    note = sign_note(text, LOG).to_bytes()
    answer = witness.answer(encode_request(0, (), note), TIME_S)
    assert answer.status == 200
    cosigned = Note(text=text, signatures=parse_signature_lines(answer.body.decode()))
    assert verify_cosignature(cosigned, WITNESSES[0].vkey) == TIME_S


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 0",
        b"old 0\n",
        b"old 0\n\n",
        b"old  0\n\n" + checkpoint(3).note,
        b"old 00\n\n" + checkpoint(3).note,
        b"old -1\n\n" + checkpoint(3).note,
        b"old +0\n\n" + checkpoint(3).note,
        b"old 9223372036854775808\n\n" + checkpoint(3).note,
        b"Old 0\n\n" + checkpoint(3).note,
        b"size 0\n\n" + checkpoint(3).note,
        b"old 0\r\n\r\n" + checkpoint(3).note,
        b"old 0\nAAAA\n\n" + checkpoint(3).note,
        b"old 0\n!!!!\n\n" + checkpoint(3).note,
        b"old 0\n\n\n" + checkpoint(3).note,
        b"old 0\n\n" + checkpoint(3).note + b"\n",
        b"old 0\n\n" + checkpoint(3).note[:-1],
        b"old 0\n" + checkpoint(3).note,
        encode_request(0, [LEAVES[0]] * (PROOF_LINES_MAX + 1), checkpoint(3).note),
        b"old 0\n\nno checkpoint\n\n" + checkpoint(3).note.partition(b"\n\n")[2],
    ],
)
def test_a_malformed_request_is_400(witness: Witness, body: bytes) -> None:
    assert witness.answer(body, TIME_S).status == 400


@given(st.binary(max_size=300), st.integers(0, 400), st.binary(max_size=3))
def test_no_bytes_raise_anything_else(junk: bytes, place: int, insert: bytes) -> None:
    body = request(3, 9)
    for data in (junk, b"old 3\n\n" + junk, body[:place] + insert + body[place + len(insert) :]):
        try:
            parse_request(data)
        except WitnessError:
            continue


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), st.booleans())
def test_only_what_extends_the_last_tree_passes(seen: int, old: int, size: int, fork: bool) -> None:  # noqa: FBT001 - a drawn fact
    leaves = LEAVES[:seen] + OTHER[seen:] if not fork else OTHER
    parsed = parse_request(request(old, size, leaves))
    passes = judge(parsed, Seen(size=seen, root=root_of(LEAVES[:seen]))) is None
    assert passes == (old == seen and old <= size and (not fork or seen == 0))
    assert parse_request(encode_request(old, parsed.proof, parsed.checkpoint.note)) == parsed


def test_memory_is_one_process_s_and_survives_a_crash(tmp_path: Path) -> None:
    memory = WitnessMemory(tmp_path)
    with pytest.raises(WitnessError, match="another witness"):
        WitnessMemory(tmp_path)
    memory.remember(checkpoint(5))
    (file,) = (tmp_path / "logs").iterdir()
    file.with_suffix(".new").write_bytes(b"half a no")  # a crash before the rename
    memory.close()
    again = WitnessMemory(tmp_path)
    assert again.seen("log.example/a") == Seen(size=5, root=root_of(LEAVES[:5]))
    assert again.seen("log.example/never") == Seen()
    for damage in (b"", file.read_bytes()[:-1], b"junk"):
        file.write_bytes(damage)
        with pytest.raises(WitnessError, match="damaged"):
            again.seen("log.example/a")
    other = make_checkpoint(1, LEAVES[0], Cosigner("log.example/b", 1, 1))
    file.write_bytes(other.note)
    with pytest.raises(WitnessError, match="memory of"):
        again.seen("log.example/a")
    again.close()


def test_a_witness_that_cannot_remember_does_not_cosign(witness: Witness, tmp_path: Path) -> None:
    assert witness.answer(request(0, 5), TIME_S).status == 200
    (tmp_path / "logs").rename(tmp_path / "gone")
    (tmp_path / "logs").write_bytes(b"not a folder")
    with pytest.raises(WitnessError):
        witness.answer(request(5, 6), TIME_S)


def test_keys_and_logs_of_a_witness(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with pytest.raises(SettingsError, match="keygen"):
        open_witness(state, [str(LOG.vkey)], None)
    first = open_witness(state, [str(LOG.vkey)], "w.example/1")
    first.memory.close()
    names = [(signer.vkey.name, signer.vkey.key_type) for signer in first.signers]
    assert names == [("w.example/1", 4), ("w.example/1", 6)]
    again = open_witness(state, [str(LOG.vkey)], None)
    again.memory.close()
    assert [s.vkey for s in again.signers] == [s.vkey for s in first.signers]
    with pytest.raises(SettingsError, match=r"of w\.example/1: leave --keygen out"):
        open_witness(state, [str(LOG.vkey)], "w.example/2")
    for logs, name, why in (
        ([str(tmp_path / "nofile")], "w.example/1", "no file .*nofile"),
        ([str(LOG.vkey)], "w example", "--keygen: "),
    ):
        with pytest.raises(SettingsError, match=why):
            open_witness(tmp_path / "none", logs, name)
        assert not (tmp_path / "none").exists()
    file = tmp_path / "logs.txt"
    file.write_text(f"{LOG.vkey}\n\n{STRANGER.vkey}\n")
    assert log_keys([str(file)]) == {"log.example/a": (LOG.vkey, STRANGER.vkey)}
    assert log_keys([str(QUANTUM_SAFE.vkey)]) == {"w9.example": (QUANTUM_SAFE.vkey,)}
    long = VerifierKey(name="l" * 256, public_key=LOG.vkey.public_key)
    file.write_text(str(long))
    for bad in ([], ["no key"], [str(tmp_path / "none")], [str(long)], [str(file)], ["x" * 9_000]):
        with pytest.raises(SettingsError):
            log_keys(bad)
