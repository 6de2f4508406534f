"""Keys over time: what a rotation and a revocation change, and what nobody can forge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import NoteError
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.note import Note, VerifierKey, parse_note, sign_note
from audit.tlog.rotation import (
    KeyRecord,
    Revocation,
    TrustedKey,
    open_trusted,
    parse_key_record,
    parse_revocation,
    parse_rotation,
    revoke,
    rotate,
    trusted_keys,
)
from tests.doubles.cosigners import LOG, WITNESSES, Cosigner

NAME = LOG.vkey.name
OLD, NEW, NEWER, THIEF = (Cosigner(NAME, seed, 1) for seed in (41, 42, 43, 44))
ROOT = bytes(32)


def opened(size: int, keys: tuple[TrustedKey, ...], *by: Cosigner, at: int | None = None) -> bool:
    try:
        open_trusted(make_checkpoint(size, ROOT, *by).note, keys, at)
    except NoteError:
        return False
    return True


def test_a_rotation_hands_over_at_its_size_and_old_trees_stay_signed() -> None:
    first, second = rotate(OLD, NEW, 100, 5), rotate(NEW, NEWER, 200, 6)
    keys = trusted_keys([OLD.vkey], [first, second])
    assert [(k.key, k.until_size) for k in keys] == [
        (OLD.vkey, 100),
        (NEW.vkey, 200),
        (NEWER.vkey, None),
    ]
    assert opened(100, keys, OLD)
    assert not opened(101, keys, OLD)
    assert opened(101, keys, OLD, NEW)
    assert opened(101, keys, NEW)
    assert not opened(300, keys, OLD, NEW)
    assert opened(300, keys, NEWER)
    assert not opened(1, keys, THIEF)
    assert opened(300, trusted_keys([OLD.vkey], []), OLD, NEW)


def test_a_revoked_key_counts_only_for_what_is_proven_to_be_earlier() -> None:
    records: list[KeyRecord] = [rotate(OLD, NEW, 100, 5), revoke(NEW, OLD.vkey, 1_000)]
    keys = trusted_keys([OLD.vkey], records)
    assert opened(100, keys, OLD, at=999)
    assert not opened(100, keys, OLD, at=1_000)
    assert not opened(100, keys, OLD)
    assert opened(100, keys, OLD, NEW)


def test_a_stolen_key_cannot_hand_over_after_its_revocation() -> None:
    revocation = revoke(NEW, OLD.vkey, 1_000)
    stolen = rotate(OLD, THIEF, 0, 1)
    keys = trusted_keys([OLD.vkey, NEW.vkey], [revocation, stolen])
    assert THIEF.vkey not in {item.key for item in keys}
    again = trusted_keys([OLD.vkey], [rotate(OLD, NEW, 100, 5), rotate(OLD, THIEF, 100, 5)])
    assert THIEF.vkey not in {item.key for item in again}


def test_who_holds_only_the_new_key_learns_the_old_one_for_the_trees_before() -> None:
    keys = trusted_keys([NEW.vkey], [rotate(OLD, NEW, 100, 5)])
    assert opened(100, keys, OLD)
    assert not opened(101, keys, OLD)
    revoked = trusted_keys(
        [NEW.vkey, NEWER.vkey], [revoke(NEWER, NEW.vkey, 9), rotate(OLD, NEW, 1, 1)]
    )
    assert OLD.vkey not in {item.key for item in revoked}
    chain: list[KeyRecord] = [
        rotate(OLD, NEW, 100, 5),
        revoke(NEW, OLD.vkey, 7),
        rotate(NEW, NEWER, 200, 9),
    ]
    assert {k.key: (k.until_size, k.revoked_us) for k in trusted_keys([NEWER.vkey], chain)} == {
        OLD.vkey: (100, 7),
        NEW.vkey: (200, None),
        NEWER.vkey: (None, None),
    }
    late = trusted_keys([NEW.vkey], [rotate(NEW, NEWER, 200, 6), rotate(THIEF, NEW, 100, 5)])
    assert THIEF.vkey not in {item.key for item in late}
    invented: list[KeyRecord] = [
        rotate(THIEF, NEW, 10**6, 5),
        rotate(NEW, NEWER, 200, 6),
        revoke(NEWER, NEW.vkey, 7),
    ]
    found = {k.key: (k.until_size, k.revoked_us) for k in trusted_keys([NEWER.vkey], invented)}
    assert found[THIEF.vkey] == found[NEW.vkey] == (200, 7)


def test_statements_without_a_trusted_key_behind_them_change_nothing() -> None:
    roots = trusted_keys([OLD.vkey], [])
    assert trusted_keys([OLD.vkey], [rotate(THIEF, NEW, 1, 1)]) == roots
    assert trusted_keys([OLD.vkey], [revoke(THIEF, OLD.vkey, 1)]) == roots
    assert trusted_keys([OLD.vkey], [revoke(OLD, THIEF.vkey, 1)]) == roots
    own = sign_note(parse_note(revoke(NEW, OLD.vkey, 1).statement).text, OLD).to_bytes()
    assert trusted_keys([OLD.vkey], [parse_revocation(own)]) == roots
    with pytest.raises(NoteError, match="itself"):
        revoke(OLD, OLD.vkey, 1)


def test_the_earliest_of_two_revocations_holds() -> None:
    records = [revoke(NEW, OLD.vkey, 2_000), revoke(NEW, OLD.vkey, 1_000)]
    for order in (records, records[::-1]):
        keys = trusted_keys([OLD.vkey, NEW.vkey], order)
        assert {k.key: k.revoked_us for k in keys} == {OLD.vkey: 1_000, NEW.vkey: None}


def test_the_texts_are_fixed() -> None:
    rotation, revocation = rotate(OLD, NEW, 7, 8), revoke(NEW, OLD.vkey, 9)
    assert parse_note(rotation.statement).text == (
        f"countersign.dev/key-rotation/v1\n{NAME}\n{OLD.vkey}\n{NEW.vkey}\n7\n8\n"
    )
    assert parse_note(revocation.statement).text == (
        f"countersign.dev/key-revocation/v1\n{NAME}\n{OLD.vkey}\n9\n"
    )
    assert parse_key_record(rotation.statement) == rotation
    assert parse_key_record(revocation.statement) == revocation


def test_a_rotation_needs_both_signatures_and_two_keys_of_one_log() -> None:
    note = parse_note(rotate(OLD, NEW, 7, 8).statement)
    for line in note.signatures:
        one = Note(text=note.text, signatures=(line,))
        with pytest.raises(NoteError):
            parse_rotation(one.to_bytes())
    with pytest.raises(NoteError, match="itself"):
        rotate(OLD, OLD, 7, 8)
    for other in (Cosigner("other.example", 45, 1), WITNESSES[0]):
        with pytest.raises(NoteError):
            rotate(OLD, other, 7, 8)
        with pytest.raises(NoteError):
            revoke(OLD, other.vkey, 7)
    for size, time_us in ((-1, 1), (1, -1), (2**63, 1)):
        with pytest.raises(NoteError):
            rotate(OLD, NEW, size, time_us)


def test_no_byte_of_a_statement_can_change() -> None:
    rotation, revocation = rotate(OLD, NEW, 7, 8), revoke(NEW, OLD.vkey, 9)
    for record in (rotation, revocation):
        for place in range(len(record.statement)):
            forged = bytearray(record.statement)
            forged[place] ^= 1
            try:
                read = parse_key_record(bytes(forged))
            except NoteError:
                continue
            assert isinstance(read, Revocation)
            keys = trusted_keys([OLD.vkey, NEW.vkey], [read])
            assert all(item.revoked_us is None for item in keys)


@given(st.binary(max_size=200))
def test_any_bytes_raise_only_the_note_error(data: bytes) -> None:
    with pytest.raises(NoteError):
        parse_key_record(data)
    key: VerifierKey = OLD.vkey
    with pytest.raises(NoteError):
        open_trusted(data, trusted_keys([key], []))
