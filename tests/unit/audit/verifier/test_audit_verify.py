"""The outsider's verifier: every column of every row changed, rows lost, logs re-sealed."""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from audit.records.canonical import canonical
from audit.records.chain import heads_drafts as original
from audit.tlog.checkpoint import make_checkpoint
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED, verify_dump
from tests.doubles.audit_log import (
    OTHER_SIGNER,
    SIGNER,
    MemoryLog,
    dump_of,
    flipped,
    small_log,
    ungreased,
)

KEY = str(SIGNER.vkey)
NAMES = tuple(small_log().rows[0])


def test_an_untouched_log_verifies() -> None:
    report = small_log().verify(KEY)
    assert (report.exit_code, report.first_bad_seq, report.findings) == (OK, None, 0)


def test_without_a_key_it_is_not_checkable() -> None:
    assert small_log().verify().exit_code == NOT_CHECKABLE


def test_another_key_is_tampered() -> None:
    assert small_log().verify(str(OTHER_SIGNER.vkey)).exit_code == TAMPERED


@pytest.mark.parametrize("column", NAMES)
def test_one_byte_of_any_column_is_found_and_its_record_named(column: str) -> None:
    for seq in range(len(small_log().rows)):
        for value in flipped(small_log().rows[seq][column]):
            log = small_log()
            log.rows[seq] = {**log.rows[seq], column: value}
            report = log.verify(KEY)
            assert report.exit_code == TAMPERED, (seq, column, value)
            assert report.first_bad_seq == (min(seq, value) if column == "seq" else seq)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["origin", "size", "root", "frontier"])
def test_one_byte_of_the_head_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in flipped(small_log().head()[name]):
        log = small_log()
        head = {**log.head(), name: value}
        with monkeypatch.context() as patch:
            patch.setattr(MemoryLog, "head", lambda _, head=head: head)
            assert log.verify(KEY).exit_code == TAMPERED, value


def test_one_byte_of_a_blob_is_found() -> None:
    log = small_log()
    log.blobs = dict.fromkeys(log.blobs, b"forged")
    assert log.verify(KEY).exit_code == TAMPERED


def test_a_missing_blob_is_incomplete_and_named_by_its_record() -> None:
    log = small_log()
    log.blobs = {}
    report = log.verify(KEY)
    assert (report.exit_code, report.first_bad_seq) == (INCOMPLETE, 1)


def test_one_byte_of_any_note_is_found() -> None:
    for place in range(0, len(ungreased(small_log()).checkpoints[0].note), 7):
        log = ungreased(small_log())
        first = log.checkpoints[0]
        note = first.note[:place] + bytes([first.note[place] ^ 1]) + first.note[place + 1 :]
        log.checkpoints[0] = replace(first, note=note)
        assert log.verify(KEY).exit_code == TAMPERED


def rewritten(log: MemoryLog, seq: int) -> MemoryLog:
    """Change a payload and hash row, digest and leaf anew, as a database superuser could."""
    row = dict(log.rows[seq])
    head, body = json.loads(row["header"]), json.loads(row["payload"])
    body[next(key for key in body if isinstance(body[key], str))] = "forged"
    row["payload"] = canonical(body)
    head["payload_sha256"] = sha256(row["payload"]).hexdigest()
    row["payload_digest"] = sha256(row["payload"]).digest()
    row["account"] = body.get("account")
    row["header"] = canonical(head)
    row["leaf"] = sha256(b"\x00" + row["header"]).digest()
    log.rows[seq] = row
    return log


@pytest.mark.parametrize("seq", [0, 2, 3, 4])
def test_a_record_rewritten_with_its_hashes_is_found_by_its_followers(seq: int) -> None:
    report = rewritten(small_log(), seq).verify(KEY)
    assert (report.exit_code, report.first_bad_seq) == (TAMPERED, seq)


def test_a_log_rewritten_and_sealed_with_another_key_is_tampered() -> None:
    log = rewritten(small_log(), 4)
    log.checkpoints = [make_checkpoint(c.size, c.root, OTHER_SIGNER) for c in log.checkpoints]
    assert log.verify(KEY).exit_code == TAMPERED


@pytest.mark.parametrize("seq", range(9))
def test_a_deleted_record_is_named(seq: int) -> None:
    log = small_log()
    del log.rows[seq]
    report = log.verify(KEY)
    assert report.exit_code != OK
    assert report.first_bad_seq == seq


def test_a_tail_cut_below_a_checkpoint_is_incomplete() -> None:
    log = small_log()
    del log.rows[-3:]
    report = log.verify(KEY)
    assert report.exit_code in {TAMPERED, INCOMPLETE}
    assert report.first_bad_seq == len(log.rows)


def test_swapped_records_are_found() -> None:
    log = small_log()
    log.rows[1], log.rows[2] = log.rows[2], log.rows[1]
    report = log.verify(KEY)
    assert report.exit_code != OK
    assert report.first_bad_seq == 1


@pytest.mark.parametrize("cheat", ["omit", "age"])
def test_a_map_that_hides_a_stream_is_found_although_all_hashes_fit(
    cheat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forged(change: Callable[[dict[str, Any]], dict[str, Any]]) -> MemoryLog:
        monkeypatch.setattr(
            "audit.sequencer.batch.heads_drafts",
            lambda size, heads: original(size, change(heads)),
        )
        return small_log()

    if cheat == "omit":
        log = forged(lambda heads: {k: v for k, v in heads.items() if k != "decision/d1"})
    else:
        log = forged(
            lambda heads: {
                k: structs.replace(v, stream_seq=v.stream_seq - 1) if k == "decision/d1" else v
                for k, v in heads.items()
            }
        )
    report = log.verify(KEY)
    assert report.exit_code == TAMPERED
    assert any("stream-head map" in line for line in report.lines)


def test_a_log_without_a_checkpoint_is_incomplete() -> None:
    log = small_log()
    log.checkpoints = []
    assert log.verify(KEY).exit_code == INCOMPLETE


def test_a_dump_verifies_like_the_log() -> None:
    report = verify_dump(dump_of(small_log()), [KEY], [])
    assert (report.exit_code, report.findings) == (OK, 0)


def test_a_dump_cut_anywhere_is_not_ok() -> None:
    lines = dump_of(small_log())
    for length in range(len(lines)):
        assert verify_dump(lines[:length], [KEY], []).exit_code != OK


def test_a_dump_that_does_not_contain_the_checkpoint_kept_outside_is_not_ok() -> None:
    longer = small_log()
    longer.checkpoint()
    kept = longer.checkpoints[-1].note
    assert verify_dump(dump_of(longer), [KEY], [kept]).exit_code == OK
    assert verify_dump(dump_of(small_log()), [KEY], [kept]).exit_code == INCOMPLETE


@given(st.data())
def test_no_byte_of_a_dump_can_change_unseen(data: st.DataObject) -> None:
    whole = b"".join(dump_of(ungreased(small_log())))
    place = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
    forged = whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]
    rows = [json.loads(line) for line in whole.splitlines()]
    try:
        same = [json.loads(line) for line in forged.splitlines()] == rows
    except ValueError:
        same = False
    if not same:
        assert verify_dump(forged.splitlines(), [KEY], []).exit_code != OK


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_give_a_verdict(lines: list[bytes]) -> None:
    assert verify_dump(lines, [KEY], []).exit_code != OK
