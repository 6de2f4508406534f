"""Proofs in one file: round trips, every rule broken once, and every part changed."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import NoteError, ProofError, TrustPolicyError
from audit.tlog.checkpoint import checkpoint_text, make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.note import parse_note, sign_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.proof import TlogProof, parse_proof
from tests.doubles.cosigners import LOG, QUANTUM_SAFE, WITNESSES
from tests.doubles.memory_tree import inclusion_path

ENTRIES = [f"entry {number}".encode() for number in range(70)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
POLICY = QuorumPolicy.parse(
    f"log {LOG.vkey}\nwitness a {WITNESSES[0].vkey}\nwitness b {QUANTUM_SAFE.vkey}\n"
    "group g any a b\nquorum g\n".encode()
)
NONE = QuorumPolicy.parse(b"quorum none\n")


def proof_of(index: int, size: int, extra: bytes = b"") -> TlogProof:
    note = parse_note(make_checkpoint(size, root_of(LEAVES[:size]), LOG).note)
    note = note.with_signatures(cosign(note.text, WITNESSES[0], 7))
    return TlogProof(
        index=index,
        path=inclusion_path(LEAVES[:size], index),
        checkpoint_note=note.to_bytes(),
        extra=extra,
    )


@given(st.data())
def test_a_proof_parses_back_and_verifies(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(ENTRIES)))
    index = data.draw(st.integers(0, size - 1))
    proof = proof_of(index, size, data.draw(st.binary(max_size=20)))
    assert parse_proof(proof.to_bytes()) == proof
    assert proof.verify(ENTRIES[index], POLICY).head.size == size
    assert proof.verify(ENTRIES[index], NONE, [LOG.vkey]).witnesses == ()
    for other in (b"another entry", ENTRIES[(index + 1) % len(ENTRIES)]):
        with pytest.raises(ProofError):
            proof.verify(other, POLICY)


def test_the_lines_stand_as_published() -> None:
    proof = proof_of(2, 3, b"extra data")
    lines = proof.to_bytes().decode().split("\n")
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", "extra ZXh0cmEgZGF0YQ==", "index 2"]
    assert lines[3] == base64.b64encode(root_of(LEAVES[:2])).decode()
    assert lines[4:6] == ["", "log.example/a"]
    bare = proof_of(0, 1).to_bytes().decode().split("\n")
    assert bare[:4] == ["c2sp.org/tlog-proof@v1", "index 0", "", "log.example/a"]


def test_a_foreign_checkpoint_with_extension_lines_and_strangers_is_taken() -> None:
    text = (
        checkpoint_text(LOG.vkey.name, 1, LEAVES[0]) + "extension one\n\u2014 looks like a line\n"
    )
    note = sign_note(text, LOG).with_signatures(cosign(text, WITNESSES[3], 9))
    proof = parse_proof(TlogProof(index=0, path=(), checkpoint_note=note.to_bytes()).to_bytes())
    assert proof.checkpoint.extensions == ("extension one", "\u2014 looks like a line")
    assert proof.verify(ENTRIES[0], NONE, [LOG.vkey]).head.extensions == proof.checkpoint.extensions
    with pytest.raises(TrustPolicyError):
        proof.verify(ENTRIES[0], POLICY)


def change(old: str, new: str) -> bytes:
    data = proof_of(2, 3, b"extra data").to_bytes().decode()
    assert old in data
    return data.replace(old, new, 1).encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@v1", "@v2"),
        ("c2sp.org/tlog-proof@v1\n", ""),
        ("c2sp.org/tlog-proof@v1\n", "c2sp.org/tlog-proof@v1\r\n"),
        ("c2sp.org/tlog-proof@v1\n", "c2sp.org/tlog-proof@v1 \n"),
        ("extra ZXh0cmEgZGF0YQ==", "extra "),
        ("extra ZXh0cmEgZGF0YQ==", "extra"),
        ("extra ZXh0cmEgZGF0YQ==", "extra ZXh0cmEgZGF0YQ="),
        ("extra ZXh0cmEgZGF0YQ==", "extra ZXh0cmEgZGF0YR=="),
        ("extra ZXh0cmEgZGF0YQ==", "extra ZXh0cmEgZGF0YQ==\nextra ZXh0cmEgZGF0YQ=="),
        ("extra ZXh0cmEgZGF0YQ==\nindex 2", "index 2\nextra ZXh0cmEgZGF0YQ=="),
        ("index 2", "index 02"),
        ("index 2", "index -2"),
        ("index 2", "index +2"),
        ("index 2", "index  2"),
        ("index 2", "index 2 "),
        ("index 2", "index 3"),
        ("index 2", "index \u0662"),
        ("index 2", "index"),
        ("index 2", "index 99999999999999999999"),
        ("index 2\n", ""),
        ("index 2\n", "index 2\n\n"),
        ("index 2\n", "index 2\nAAAA\n"),
        ("\n\nlog.example", "\nlog.example"),
        ("\n3\n", "\n03\n"),
    ],
)
def test_a_rule_broken_anywhere_refuses_the_proof(old: str, new: str) -> None:
    with pytest.raises(ProofError):
        parse_proof(change(old, new))


def test_a_path_is_never_deeper_than_a_tree() -> None:
    node = base64.b64encode(bytes(32)).decode()
    with pytest.raises(ProofError):
        parse_proof(change("index 2\n", "index 2\n" + f"{node}\n" * 63))


def test_no_byte_of_a_proof_can_change() -> None:
    proof = proof_of(5, 40)
    note = sign_note(parse_note(proof.checkpoint_note).text, LOG)
    data = TlogProof(index=5, path=proof.path, checkpoint_note=note.to_bytes()).to_bytes()
    parse_proof(data).verify(ENTRIES[5], NONE, [LOG.vkey])
    chance = random.Random(7)  # noqa: S311 - places to flip
    for place in range(len(data)):
        forged = bytearray(data)
        forged[place] ^= 1 << chance.randrange(8)
        with pytest.raises((ProofError, NoteError)):
            parse_proof(bytes(forged)).verify(ENTRIES[5], NONE, [LOG.vkey])
    for length in range(len(data)):
        with pytest.raises((ProofError, NoteError)):
            parse_proof(data[:length]).verify(ENTRIES[5], NONE, [LOG.vkey])


@given(st.binary(max_size=300))
def test_any_bytes_raise_only_the_proof_error(data: bytes) -> None:
    for whole in (data, b"c2sp.org/tlog-proof@v1\n" + data, proof_of(0, 1).to_bytes() + data):
        try:
            parse_proof(whole)
        except ProofError:
            continue
