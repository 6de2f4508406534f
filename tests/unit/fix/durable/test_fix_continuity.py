"""A session's folder against what is on record, and a new beginning behind all that is."""

import fcntl
import zlib
from pathlib import Path

import pytest

from fix.durable.continuity import lacking, renew, stored_numbers
from fix.durable.inbox import Inbox, base_of, begin_at, forget, read_from
from fix.durable.journal import Journal
from fix.errors import InboxError, StoreInUseError
from fix.orders.live import LiveOrder

RAW = "8=FIX.4.4\x019=5\x0135=8\x0110=000\x01"


def filled(folder: Path, count: int) -> list[int]:
    """Append messages and return their offsets."""
    inbox = Inbox(folder / "inbox")
    offsets = [inbox.append(f"{RAW}{n}").offset for n in range(count)]
    inbox.close()
    return offsets


def test_a_folder_that_is_whole_lacks_nothing(tmp_path: Path) -> None:
    assert lacking(tmp_path / "none", last_offset=-1, next_sender=1) == ()
    offsets = filled(tmp_path, 3)
    assert lacking(tmp_path, last_offset=offsets[-1], next_sender=1) == ()
    assert lacking(tmp_path, last_offset=offsets[0], next_sender=0) == ()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    offsets = filled(tmp_path, 3)
    whole = (tmp_path / "inbox").read_bytes()
    start = offsets[2]
    spoiled = whole[: start + 8] + b"?" + whole[start + 9 :]
    for bad in (whole[:start], whole[: start + 9], b"", spoiled):
        (tmp_path / "inbox").write_bytes(bad)
        (found,) = lacking(tmp_path, last_offset=offsets[2], next_sender=1)
        assert f"message at {offsets[2]}" in found
    (tmp_path / "inbox").unlink()
    assert len(lacking(tmp_path, last_offset=offsets[2], next_sender=7)) == 2
    assert lacking(tmp_path, last_offset=-1, next_sender=0) == ()
    (found,) = lacking(tmp_path, last_offset=-1, next_sender=7)
    assert found == "its store would send number 1 next, 6 is on record"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"00000000000000000006 : 00000000000000000007", 6),
        (b"12:3\n", 12),
        (b"", 1),
        (b"x : 3", 1),
        (b"-4 : 3", 1),
        (b"\xff\xfe", 1),
    ],
)
def test_the_number_of_a_store_is_read_or_taken_as_the_first(
    tmp_path: Path, text: bytes, number: int
) -> None:
    assert stored_numbers(tmp_path)[0] == 1
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "FIX.4.4-A-B.seqnums").write_bytes(text)
    assert stored_numbers(tmp_path)[0] == number


def test_a_new_inbox_goes_on_behind_every_offset_that_was_used(tmp_path: Path) -> None:
    old = filled(tmp_path, 2)
    journal = Journal(tmp_path / "journal")
    journal.opened(LiveOrder(cl_ord_id="A", fields=(), inbox_offset=9_000))
    journal.close()
    renew(tmp_path, 5_000)
    assert base_of(tmp_path / "inbox") == 9_000
    assert len(read_from(tmp_path / "inbox.before-9000", 0)) == len(old)
    assert lacking(tmp_path, last_offset=5_000, next_sender=1) == ()
    assert read_from(tmp_path / "inbox", 5_000) == []
    offsets = filled(tmp_path, 3)
    assert offsets[0] == 9_000
    assert filled(tmp_path, 1)[0] > offsets[-1], "it goes on after a restart"
    path = tmp_path / "inbox"
    assert [one.offset for one in read_from(path, 5_000)][:3] == offsets
    assert read_from(path, offsets[1], 1)[0].raw == f"{RAW}1"
    forget(path, offsets[1])
    assert read_from(path, offsets[1], 1)[0].offset == offsets[1]
    with pytest.raises(InboxError):
        forget(path, 5_000)
    renew(tmp_path, offsets[1])
    assert base_of(path) == 9_000, "nothing is missing: nothing begins anew"


def test_names_in_what_is_put_aside_are_overwritten(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    inbox.append("8=FIX.4.4\x0135=8\x01453=1\x01448=Ada Byron\x01447=D\x01452=12\x0110=000\x01")
    inbox.close()
    renew(tmp_path, 5_000)
    aside = next(tmp_path.glob("inbox.before-*"))
    assert b"Ada" not in aside.read_bytes()


def test_a_torn_frame_at_the_end_of_a_new_inbox_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    begin_at(path, 700)
    filled(tmp_path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\x40\0\0\0torn")
    inbox = Inbox(path)
    assert (inbox.end, path.read_bytes()) == (700 + len(whole), whole)
    inbox.close()
    with pytest.raises(FileExistsError):
        begin_at(path, 900)


@pytest.mark.parametrize("text", [b"", b"7", b"-7\n", b"7x\n", b"\xff\n", b"7\n\n"])
def test_a_damaged_base_is_an_error_of_the_inbox(tmp_path: Path, text: bytes) -> None:
    begin_at(tmp_path / "inbox", 700)
    (tmp_path / "inbox.base").write_bytes(text)
    with pytest.raises(InboxError):
        Inbox(tmp_path / "inbox")
    assert lacking(tmp_path, last_offset=-1, next_sender=1) != ()


def test_a_beginning_cut_off_in_the_middle_still_lacks_as_much(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    renew(tmp_path, 5_000)
    (tmp_path / "inbox").unlink()  # as before the file was made
    for last in (5_000, -1, 6_000):
        assert lacking(tmp_path, last_offset=last, next_sender=1) != ()
    renew(tmp_path, 5_000)
    assert lacking(tmp_path, last_offset=5_000, next_sender=1) == ()


def test_a_folder_in_use_does_not_begin_anew(tmp_path: Path) -> None:
    with (tmp_path / "session.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreInUseError):
            renew(tmp_path, 5)
    assert not (tmp_path / "inbox").exists()


def test_a_message_at_the_very_beginning_of_a_new_inbox_is_looked_for(tmp_path: Path) -> None:
    begin_at(tmp_path / "inbox", 700)
    assert lacking(tmp_path, last_offset=699, next_sender=0) == ()
    assert lacking(tmp_path, last_offset=700, next_sender=0) != (), "it is not there"
    assert filled(tmp_path, 1) == [700]
    assert lacking(tmp_path, last_offset=700, next_sender=0) == ()


def test_an_offset_within_a_message_is_not_that_messages(tmp_path: Path) -> None:
    """The bytes there may look like a frame; what is on record stood at its first byte."""
    inside = b"\x05\x00\x00\x00" + zlib.crc32(b"hello").to_bytes(4, "little") + b"hello"
    inbox = Inbox(tmp_path / "inbox")
    first = inbox.append("8=FIX")
    inbox.append(inside.decode("latin-1"))
    inbox.close()
    at = first.next_offset + 8
    assert lacking(tmp_path, last_offset=first.next_offset, next_sender=0) == ()
    assert read_from(tmp_path / "inbox", at, 1)[0].raw == "hello"
    assert lacking(tmp_path, last_offset=3, next_sender=0) != ()


def test_names_in_every_message_that_is_put_aside_are_overwritten(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    for who in ("Ada", "Bob", "Cyd"):
        inbox.append(f"8=FIX.4.4\x0135=8\x01337={who}\x0110=000\x01")
    inbox.close()
    renew(tmp_path, 5_000)
    whole = next(tmp_path.glob("inbox.before-*")).read_bytes()
    assert not [who for who in (b"Ada", b"Bob", b"Cyd") if who in whole]


def test_a_new_inbox_begins_at_the_first_offset_that_no_message_on_record_has(
    tmp_path: Path,
) -> None:
    renew(tmp_path, 5_000)
    assert base_of(tmp_path / "inbox") == 5_001
    assert filled(tmp_path, 1) == [5_001]
    assert lacking(tmp_path, last_offset=5_001, next_sender=0) == ()
