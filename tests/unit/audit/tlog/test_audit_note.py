"""Signed notes and checkpoints: the published example, round trips, and every byte mutated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import NoteError
from audit.tlog.checkpoint import (
    checkpoint_text,
    make_checkpoint,
    open_checkpoint,
    parse_checkpoint,
)
from audit.tlog.merkle import EMPTY_ROOT
from audit.tlog.note import ED25519, Note, VerifierKey, parse_note, sign_note, verify_note
from audit.verifier.verify import Bad, Trust, read_note
from tests.doubles.audit_log import ORIGIN, OTHER_SIGNER, SIGNER
from tests.doubles.cosigners import LOG, Cosigner

# Source: the example of golang.org/x/mod/sumdb/note, which C2SP's signed-note generalises.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZ"
    "b6KE6RyyBwJnAM=\n"
).encode()
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"))).map(lambda text: text + "\n")


def test_the_published_note_verifies() -> None:
    key = VerifierKey.parse(PETER)
    assert str(key) == PETER
    assert verify_note(parse_note(PETERS_NOTE), [key]) == (key,)


@given(TEXTS)
def test_what_is_signed_parses_back_and_verifies(text: str) -> None:
    note = sign_note(text, SIGNER)
    assert parse_note(note.to_bytes()) == note
    assert verify_note(note, [SIGNER.vkey]) == (SIGNER.vkey,)


def test_the_key_prints_and_parses_back() -> None:
    assert VerifierKey.parse(str(SIGNER.vkey)) == SIGNER.vkey


def test_a_signature_of_an_unknown_key_is_ignored_beside_a_trusted_one() -> None:
    note = sign_note("text\n", OTHER_SIGNER, SIGNER)
    assert verify_note(note, [SIGNER.vkey]) == (SIGNER.vkey,)


def test_nobody_trusted_is_refused() -> None:
    with pytest.raises(NoteError, match="no trusted key"):
        verify_note(sign_note("text\n", OTHER_SIGNER), [SIGNER.vkey])


def test_a_second_signature_of_the_same_key_is_refused() -> None:
    with pytest.raises(NoteError, match="twice"):
        verify_note(sign_note("text\n", SIGNER, SIGNER), [SIGNER.vkey])


def test_a_line_of_a_trusted_key_that_does_not_verify_spoils_the_note() -> None:
    note = sign_note("text\n", SIGNER)
    other = sign_note("other text\n", SIGNER, OTHER_SIGNER)
    for forged in (
        Note(text="text\n", signatures=other.signatures[:1]),
        Note(text="text\n", signatures=(*note.signatures, *other.signatures)[2:0:-1]),
    ):
        with pytest.raises(NoteError, match="does not verify"):
            verify_note(forged, [SIGNER.vkey, OTHER_SIGNER.vkey])
    stranger = Note(text="text\n", signatures=(*note.signatures, other.signatures[1]))
    assert verify_note(stranger, [SIGNER.vkey]) == (SIGNER.vkey,)


def test_no_byte_of_a_checkpoint_can_change() -> None:
    data = sign_note(checkpoint_text(ORIGIN, 7, EMPTY_ROOT), SIGNER).to_bytes()
    assert open_checkpoint(data, [SIGNER.vkey]).size == 7
    for place in range(len(data)):
        for bit in (1, 0x20, 0x80):
            forged = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            with pytest.raises(NoteError):
                open_checkpoint(forged, [SIGNER.vkey])
            try:
                signed = Trust([str(SIGNER.vkey)]).open(forged).signers
            except Bad:
                continue
            assert not signed


@pytest.mark.parametrize(
    "text",
    [
        "origin\n",
        "origin\n5\n",
        "origin\n-5\n" + "A" * 43 + "=\n",
        "origin\n05\n" + "A" * 43 + "=\n",
        "origin\n5\nnot base64\n",
        "origin\n5\nAAAA\n",
        "origin\n" + "9" * 5_000 + "\n" + "A" * 43 + "=\n",
    ],
)
def test_a_malformed_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        parse_checkpoint(sign_note(text, SIGNER).to_bytes())


@given(st.binary(max_size=200))
def test_the_parsers_raise_only_their_own_error(data: bytes) -> None:
    with pytest.raises(NoteError):
        parse_note(data)
    with pytest.raises(Bad):
        read_note(data)
    with pytest.raises(NoteError):
        VerifierKey.parse(data.decode("latin-1"))


def test_a_checkpoint_that_nobody_could_read_is_not_signed() -> None:
    long = Cosigner("l" * 256, 1, ED25519)
    for size, root, signer in ((1, EMPTY_ROOT, long), (-1, EMPTY_ROOT, LOG), (1, b"", LOG)):
        with pytest.raises(NoteError):
            make_checkpoint(size, root, signer)


def test_a_checkpoint_under_another_origin_is_refused() -> None:
    data = make_checkpoint(7, EMPTY_ROOT, SIGNER).note
    stranger = VerifierKey(name="elsewhere", public_key=SIGNER.vkey.public_key)
    with pytest.raises(NoteError):
        open_checkpoint(data, [stranger])
    assert parse_checkpoint(data).origin == ORIGIN
