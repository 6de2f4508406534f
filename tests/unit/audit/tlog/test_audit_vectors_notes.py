"""Checkpoints, cosignatures and requests that other people's tools made, read by ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from audit.errors import NoteError, TrustPolicyError
from audit.tlog.checkpoint import open_checkpoint, parse_checkpoint
from audit.tlog.merkle import EMPTY_ROOT
from audit.tlog.note import (
    COSIGNATURE_ED25519,
    ED25519,
    Note,
    VerifierKey,
    parse_note,
    parse_signature_lines,
    verify_note,
)
from audit.tlog.policy import QuorumPolicy
from audit.verifier.verify import Bad, Trust
from audit.witnesses.memory import WitnessMemory
from audit.witnesses.witness import encode_request, parse_request
from gateway.surfaces.witness.server import Witness
from tests.doubles.cosigners import QUANTUM_SAFE, WITNESSES, verify_cosignature

NOTES: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "golden" / "vectors" / "notes.json").read_text("utf-8")
)
CHECKPOINTS = NOTES["checkpoints"]
WITNESSED = CHECKPOINTS[-1]
REMORA = VerifierKey.parse(NOTES["witness"]["key"])


@pytest.mark.parametrize("vector", CHECKPOINTS, ids=lambda v: str(v["size"]))
def test_checkpoints_of_public_logs_are_read_and_verify(vector: dict[str, Any]) -> None:
    key, data = VerifierKey.parse(vector["key"]), vector["note"].encode()
    assert str(key) == vector["key"]
    checkpoint, note = parse_checkpoint(data), parse_note(data)
    assert checkpoint.size == vector["size"]
    assert note.to_bytes() == data
    assert verify_note(note, [key]) == (key,)
    grown = data.replace(b"\n%d\n" % vector["size"], b"\n%d\n" % (vector["size"] + 1))
    with pytest.raises(NoteError, match="does not verify"):
        verify_note(parse_note(grown), [key])
    if key.name == checkpoint.origin:
        assert open_checkpoint(data, [key]) == checkpoint
    else:
        with pytest.raises(NoteError):  # a key speaks for the log of its own name
            open_checkpoint(data, [key])


def test_the_example_of_a_verifier_key_verifies_its_note() -> None:
    key, note = (
        VerifierKey.parse(NOTES["plain"]["key"]),
        parse_note(NOTES["plain"]["note"].encode()),
    )
    assert verify_note(note, [key]) == (key,)
    assert note.text == "This is an example message.\n"
    cosigner = VerifierKey(name=key.name, key_type=COSIGNATURE_ED25519, public_key=key.public_key)
    with pytest.raises(NoteError, match="cosigner"):
        verify_note(note, [cosigner])


def test_a_public_witness_cosignature_verifies_and_tells_its_time() -> None:
    note = parse_note(WITNESSED["note"].encode())
    assert verify_cosignature(note, REMORA) == NOTES["witness"]["time_s"]
    plain = VerifierKey(name=REMORA.name, key_type=ED25519, public_key=REMORA.public_key)
    with pytest.raises(NoteError):
        verify_note(note, [plain])
    other = Note(text=note.text.replace("1432088532", "1432088533"), signatures=note.signatures)
    with pytest.raises(NoteError, match="does not verify"):
        verify_cosignature(other, REMORA)


def test_a_policy_over_a_public_log_and_witness_is_met_by_their_checkpoint() -> None:
    note = parse_note(WITNESSED["note"].encode())
    log, remora, absent = WITNESSED["key"], NOTES["witness"]["key"], WITNESSES[0].vkey
    lines = f"log {log}\nwitness r {remora} https://remora.n621.de\nwitness a {absent}\n"
    satisfied = QuorumPolicy.parse(f"{lines}group g 1 r a\nquorum g\n".encode()).satisfied_by(note)
    assert satisfied.head.size == WITNESSED["size"]
    assert [(one.name, one.time_s) for one in satisfied.witnesses] == [
        (b"r", NOTES["witness"]["time_s"])
    ]
    with pytest.raises(TrustPolicyError):
        QuorumPolicy.parse(f"{lines}group g all r a\nquorum g\n".encode()).satisfied_by(note)


def test_the_one_file_verifier_reads_the_same() -> None:
    for vector in CHECKPOINTS:
        key, data = vector["key"], vector["note"].encode()
        own = VerifierKey.parse(key).name == parse_checkpoint(data).origin
        judged = Trust([key]).open(data)
        assert (judged.head.size, bool(judged.signers)) == (vector["size"], own)
    policy = f"log {WITNESSED['key']}\nwitness r {NOTES['witness']['key']}\nquorum r\n".encode()
    trust = Trust((), policy)
    seen = trust.open(WITNESSED["note"].encode())
    assert seen.cosigners == {b"r": NOTES["witness"]["time_s"]}
    assert trust.met([seen])
    key, data = NOTES["ml_dsa_44"]["key"], NOTES["ml_dsa_44"]["note"].encode()
    assert Trust([key]).open(data).signers
    with pytest.raises(Bad, match="does not verify"):
        Trust([key]).open(data.replace(b"\n1\n", b"\n2\n"))


def test_a_log_that_signs_with_ml_dsa_44_is_opened() -> None:
    key, data = VerifierKey.parse(NOTES["ml_dsa_44"]["key"]), NOTES["ml_dsa_44"]["note"].encode()
    checkpoint = open_checkpoint(data, [key])
    assert (checkpoint.origin, checkpoint.size) == (key.name, 1)
    assert verify_cosignature(parse_note(data), key) == 0
    with pytest.raises(NoteError, match="does not verify"):
        open_checkpoint(data.replace(b"\n1\n", b"\n2\n"), [key])
    policy = QuorumPolicy.parse(f"log {key}\nquorum none\n".encode())
    assert policy.satisfied_by(parse_note(data)).log == key


def test_requests_of_another_log_are_answered_in_turn(tmp_path: Path) -> None:
    given = NOTES["witness_requests"]
    key = VerifierKey.parse(given["key"])
    memory = WitnessMemory(tmp_path)
    witness = Witness(
        signers=(WITNESSES[0], QUANTUM_SAFE), memory=memory, logs=lambda: {key.name: (key,)}
    )
    first, to_three, to_five = (one["request"].encode() for one in given["requests"])
    for body in (first, to_three, to_five):
        request = parse_request(body)
        assert encode_request(request.old_size, request.proof, request.checkpoint.note) == body
    assert witness.answer(to_five, 7).status == 409  # one leaf was never shown
    for body, status in ((first, 200), (to_five, 200), (to_three, 409), (first, 409)):
        answer = witness.answer(body, 7)
        assert answer.status == status
        if status == 409:
            assert (answer.body, answer.content_type) == (b"5\n", "text/x.tlog.size")
        else:
            text = parse_note(parse_request(body).checkpoint.note).text
            lines = parse_signature_lines(answer.body.decode())
            assert verify_cosignature(Note(text=text, signatures=lines), WITNESSES[0].vkey) == 7
            assert verify_cosignature(Note(text=text, signatures=lines), QUANTUM_SAFE.vkey) == 7
    assert memory.seen(key.name).size == 5
    assert memory.seen(key.name).root != EMPTY_ROOT
    memory.close()
