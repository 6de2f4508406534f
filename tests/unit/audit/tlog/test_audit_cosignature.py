"""Cosignatures of both types: structure, round trips, and what is not one."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import NoteError
from audit.tlog.checkpoint import checkpoint_text, make_checkpoint, open_checkpoint
from audit.tlog.cosignature import (
    TIME_MAX_S,
    cosign,
    cosigned_message,
    verify_signatures,
)
from audit.tlog.merkle import EMPTY_ROOT
from audit.tlog.note import (
    COSIGNATURE_ML_DSA_44,
    Note,
    NoteSignature,
    VerifierKey,
    parse_note,
    sign_note,
    verify_note,
)
from audit.verifier.verify import Bad, Key, signed_time
from tests.doubles.cosigners import LOG, QUANTUM_SAFE, WITNESSES, Cosigner, verify_cosignature

ROOT = bytes(range(32))
TEXT = checkpoint_text(LOG.vkey.name, 5, ROOT)
BOTH = (WITNESSES[0], QUANTUM_SAFE)


@pytest.mark.parametrize("signer", BOTH)
@pytest.mark.parametrize("time_s", [0, 1, 1_679_315_147, TIME_MAX_S])
def test_a_cosignature_verifies_and_tells_its_time(signer: Cosigner, time_s: int) -> None:
    note = sign_note(TEXT, LOG).with_signatures(cosign(TEXT, signer, time_s))
    again = parse_note(note.to_bytes())
    assert again == note
    assert verify_cosignature(again, signer.vkey) == time_s
    assert VerifierKey.parse(str(signer.vkey)) == signer.vkey
    assert verify_note(again, [LOG.vkey]) == (LOG.vkey,)


@pytest.mark.parametrize("signer", BOTH)
@pytest.mark.parametrize("time_s", [-1, TIME_MAX_S + 1])
def test_a_time_that_cannot_be_written_is_refused(signer: Cosigner, time_s: int) -> None:
    with pytest.raises(NoteError, match="time"):
        cosign(TEXT, signer, time_s)


def test_the_message_of_0x04_is_the_published_one() -> None:
    line = cosign(TEXT, WITNESSES[0], 1_679_315_147)
    message = b"cosignature/v1\ntime 1679315147\n" + TEXT.encode()
    assert line.signature[:8] == struct.pack(">Q", 1_679_315_147)
    assert WITNESSES[0].vkey.verify(line.signature[8:], message)


def test_the_message_of_0x06_is_the_structure_field_by_field() -> None:
    message = cosigned_message(
        cosigner="w9.example", time_s=7, origin="log.example/a", start=0, end=5, root=ROOT
    )
    assert message == (
        b"subtree/v1\n\x00"
        b"\x0aw9.example"
        b"\x00\x00\x00\x00\x00\x00\x00\x07"
        b"\x0dlog.example/a"
        b"\x00\x00\x00\x00\x00\x00\x00\x00"
        b"\x00\x00\x00\x00\x00\x00\x00\x05" + ROOT
    )
    line = cosign(TEXT, QUANTUM_SAFE, 7)
    assert QUANTUM_SAFE.vkey.verify(line.signature[8:], message)
    assert len(line.signature) == 8 + 2420


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cosigner", ""),
        ("cosigner", "w" * 256),
        ("origin", ""),
        ("origin", "\u00e9" * 128),
        ("root", bytes(31)),
        ("start", 6),
        ("start", 4),
        ("end", 2**63),
        ("time_s", 2**63),
    ],
)
def test_a_field_that_does_not_fit_the_structure_is_refused(field: str, value: object) -> None:
    fields = {"cosigner": "w", "time_s": 7, "origin": "o", "start": 0, "end": 5, "root": ROOT}
    cosigned_message(**fields)  # type: ignore[arg-type]
    with pytest.raises(NoteError):
        cosigned_message(**(fields | {field: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "end", "fits"),
    [
        # Source: TestValidSubtree of filippo.io/torchwood.
        (0, 1, True),
        (4, 8, True),
        (8, 13, True),
        (0, 13, True),
        (2, 4, True),
        (6, 8, True),
        (2, 6, False),
        (5, 13, False),
        (1, 7, False),
        (7, 9, False),
        (0, 0, True),
        (5, 5, True),
        (5, 3, False),
        (-1, 3, False),
        (0, 1 << 62, True),
    ],
)
def test_only_subtrees_are_cosigned(start: int, end: int, *, fits: bool) -> None:
    root, wrong = (EMPTY_ROOT, ROOT) if start == end else (ROOT, ROOT[1:])
    fields = {"cosigner": "w", "time_s": 0, "origin": "o", "start": start, "end": end}
    if fits:
        message = cosigned_message(**fields, root=root)  # type: ignore[arg-type]
        assert message.endswith(struct.pack(">QQ", start, end) + root)
    for other in (wrong,) if fits else (root, wrong):
        with pytest.raises(NoteError):
            cosigned_message(**fields, root=other)  # type: ignore[arg-type]


def test_a_tree_of_no_leaves_is_cosigned_with_its_own_root_only() -> None:
    empty = checkpoint_text(LOG.vkey.name, 0, EMPTY_ROOT)
    note = Note(text=empty, signatures=(cosign(empty, QUANTUM_SAFE, 7),))
    assert verify_cosignature(note, QUANTUM_SAFE.vkey) == 7
    with pytest.raises(NoteError, match="root"):
        cosign(checkpoint_text(LOG.vkey.name, 0, ROOT), QUANTUM_SAFE, 7)


def test_only_0x04_signs_the_extension_lines() -> None:
    note = sign_note(TEXT + "extension\n", LOG)
    lines = [cosign(note.text, signer, 7) for signer in BOTH]
    bare = Note(text=TEXT, signatures=tuple(lines))
    assert verify_cosignature(note.with_signatures(*lines), WITNESSES[0].vkey) == 7
    assert verify_cosignature(bare, QUANTUM_SAFE.vkey) == 7
    with pytest.raises(NoteError, match="does not verify"):
        verify_cosignature(bare, WITNESSES[0].vkey)


@pytest.mark.parametrize("signer", BOTH)
def test_no_part_of_a_cosignature_can_change(signer: Cosigner) -> None:
    line = cosign(TEXT, signer, 7)
    for place in (0, 7, 8, 40, len(line.signature) - 1):
        forged = bytearray(line.signature)
        forged[place] ^= 1
        _refused(line, bytes(forged), signer.vkey)
    _refused(line, line.signature + b"\0", signer.vkey)
    _refused(line, line.signature[:-1], signer.vkey)
    _refused(line, line.signature[8:], signer.vkey)


def _refused(line: NoteSignature, signature: bytes, key: VerifierKey) -> None:
    forged = NoteSignature(name=line.name, key_id=line.key_id, signature=signature)
    with pytest.raises(NoteError):
        verify_cosignature(Note(text=TEXT, signatures=(forged,)), key)


@pytest.mark.parametrize("signer", BOTH)
@pytest.mark.parametrize("time_s", [TIME_MAX_S, TIME_MAX_S + 1, 2**64 - 1])
def test_a_time_that_the_spec_forbids_spoils_a_sound_signature(
    signer: Cosigner, time_s: int
) -> None:
    stamp = struct.pack(">Q", time_s)
    message = f"cosignature/v1\ntime {time_s}\n{TEXT}".encode()
    if signer is QUANTUM_SAFE:
        name, origin = signer.vkey.name.encode(), LOG.vkey.name.encode()
        message = b"subtree/v1\n\0" + bytes([len(name)]) + name + stamp + bytes([len(origin)])
        message += origin + bytes(8) + struct.pack(">Q", 5) + ROOT
    key = signer.vkey
    line = NoteSignature(name=key.name, key_id=key.key_id, signature=stamp + signer.sign(message))
    note = Note(text=TEXT, signatures=(line,))
    judged = Key(key.name, key.key_id, key.key_type, key.public_key)
    if time_s == TIME_MAX_S:
        assert verify_cosignature(note, key) == time_s
        assert signed_time(judged, line.signature, TEXT) == time_s
        return
    with pytest.raises(NoteError, match="time"):
        verify_cosignature(note, key)
    with pytest.raises(Bad, match="time"):
        signed_time(judged, line.signature, TEXT)


def test_a_cosigner_may_sign_again_and_the_earliest_time_counts() -> None:
    times = [cosign(TEXT, WITNESSES[0], time_s) for time_s in (9, 7, 8)]
    note = sign_note(TEXT, LOG).with_signatures(*times)
    assert verify_cosignature(note, WITNESSES[0].vkey) == 7
    twice = Note(text=TEXT, signatures=(times[0], times[0]))
    with pytest.raises(NoteError, match="twice"):
        verify_cosignature(twice, WITNESSES[0].vkey)


def test_a_log_key_is_no_cosigner_and_a_cosigner_signs_no_plain_note() -> None:
    with pytest.raises(NoteError):
        cosign(TEXT, LOG, 7)
    with pytest.raises(NoteError):
        verify_cosignature(sign_note(TEXT, LOG), LOG.vkey)
    with pytest.raises(NoteError):
        sign_note(TEXT, WITNESSES[0])
    with pytest.raises(NoteError):
        verify_note(sign_note(TEXT, LOG), [LOG.vkey, WITNESSES[0].vkey])
    with pytest.raises(NoteError):
        cosign("not a checkpoint\n", WITNESSES[0], 7)


def test_a_checkpoint_may_be_signed_by_every_key_of_its_log() -> None:
    old = Cosigner(LOG.vkey.name, 2, key_type=1)
    safe = Cosigner(LOG.vkey.name, 3, COSIGNATURE_ML_DSA_44)
    data = make_checkpoint(5, ROOT, LOG, old, safe).note
    for key in (LOG.vkey, old.vkey, safe.vkey):
        assert open_checkpoint(data, [key]).size == 5
    signed = verify_signatures(parse_note(data), [safe.vkey, LOG.vkey])
    assert {(one.key, one.time_s) for one in signed} == {(LOG.vkey, None), (safe.vkey, 0)}
    with pytest.raises(NoteError, match="log's name"):
        make_checkpoint(5, ROOT, LOG, QUANTUM_SAFE)


def test_every_checkpoint_carries_a_line_of_nobody_that_is_the_same_each_time() -> None:
    notes = [make_checkpoint(size, ROOT, LOG).note for size in range(20)]
    assert notes == [make_checkpoint(size, ROOT, LOG).note for size in range(20)]
    parsed = [parse_note(note).signatures for note in notes]
    assert all(len(lines) == 2 for lines in parsed)
    assert {lines[0].name for lines in parsed} == {LOG.vkey.name, "grease.invalid"}
    assert len({line.key_id for lines in parsed for line in lines}) == 21


@given(st.binary(max_size=120), st.binary(max_size=4))
def test_any_signature_bytes_raise_only_the_note_error(data: bytes, key_id: bytes) -> None:
    for signer in BOTH:
        line = NoteSignature(
            name=signer.vkey.name, key_id=signer.vkey.key_id or key_id, signature=data
        )
        with pytest.raises(NoteError):
            verify_cosignature(Note(text=TEXT, signatures=(line,)), signer.vkey)
