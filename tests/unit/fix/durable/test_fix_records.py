"""Inbox and journal: what was acknowledged is there after any crash, damage is named."""

from pathlib import Path

import pytest

from fix.durable import journal as journal_module
from fix.durable.inbox import Inbox, read_from
from fix.durable.journal import CancelNote, Journal, read_cancels, read_live
from fix.errors import InboxError, JournalError
from fix.orders.live import LiveOrder

MESSAGES = ["8=FIX.4.4\x01a", "\xff\xfe", "", "x" * 70_000]


def order(name: str, offset: int = 0) -> LiveOrder:
    fields = ((35, "D"), (11, name), (453, "1"), (448, "A"), (448, "B"))
    return LiveOrder(cl_ord_id=name, fields=fields, inbox_offset=offset)


def test_the_inbox_gives_back_every_message_from_any_offset(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    inbox = Inbox(path)
    entries = [inbox.append(raw) for raw in MESSAGES]
    assert [entry.raw for entry in read_from(path, 0)] == MESSAGES
    for number, entry in enumerate(entries):
        assert read_from(path, entry.offset) == entries[number:]
    assert read_from(path, inbox.end) == []
    assert read_from(path, 0, limit=2) == entries[:2]
    assert read_from(tmp_path / "none", 0) == []


def test_an_inbox_cut_off_anywhere_keeps_what_was_whole_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    inbox = Inbox(path)
    first, second = inbox.append("first"), inbox.append("second")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        kept = [entry for entry in (first, second) if entry.next_offset <= length]
        assert read_from(path, 0) == kept
        again = Inbox(path)
        again.append("third")
        assert [entry.raw for entry in read_from(path, 0)] == [*(e.raw for e in kept), "third"]


def report(exec_id: str) -> str:
    """Write what a broker says of an execution; without fields it would be somebody's words."""
    return f"8=FIX.4.4\x0135=8\x0117={exec_id}\x01"


def test_damage_before_the_end_of_the_inbox_names_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    inbox = Inbox(path)
    inbox.append(report("first"))
    second = inbox.append(report("second"))
    inbox.append(report("third"))
    damaged = bytearray(path.read_bytes())
    damaged[second.next_offset - 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(InboxError) as caught:
        read_from(path, 0)
    assert caught.value.offset == second.offset
    with pytest.raises(InboxError):
        Inbox(path)
    with pytest.raises(InboxError):
        read_from(path, 10_000)


def test_the_journal_remembers_live_orders_with_all_their_fields(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    for name in ("A", "B", "C"):
        journal.opened(order(name))
    journal.closed("B", 77, "2")
    journal.cancelling([CancelNote(cancel_id="X", cl_ord_id="A", kill_epoch=3)], 78)
    journal.close()
    again = Journal(path)
    assert again.live() == (order("A"), order("C")) == read_live(path)
    assert again.knows("B")
    assert not again.knows("D")
    assert again.inbox_offset == 78
    assert path.read_bytes().count(b"\n") == 5


def test_a_journal_cut_off_in_its_last_line_goes_on_chaining(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.opened(order("A"))
    sound = path.stat().st_size
    journal.opened(order("B"))
    whole = path.read_bytes()
    for length in range(sound, len(whole)):
        path.write_bytes(whole[:length])
        again = Journal(path)
        assert again.live() == (order("A"),)
        again.opened(order("C"))
        assert read_live(path) == (order("A"), order("C"))


def test_a_changed_removed_or_swapped_line_breaks_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    for name in "ABCD":
        journal.opened(order(name))
    lines = path.read_bytes().splitlines(keepends=True)
    for broken in (
        [lines[0].replace(b'"A"', b'"Z"', 1), *lines[1:]],
        [lines[0], *lines[2:]],
        [lines[1], lines[0], *lines[2:]],
        [b"{}\n", *lines],
        [b"[]\n", *lines],
        [b"\xff\n", *lines],
    ):
        path.write_bytes(b"".join(broken))
        with pytest.raises(JournalError):
            Journal(path)


def test_a_long_journal_is_compacted_to_what_is_live_and_what_ended_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    for number in range(50):
        journal.opened(order(str(number)))
        if number != 7:
            journal.closed(str(number), number, "2", filled=number == 49)
    journal.close()
    before = path.stat().st_size
    monkeypatch.setattr(journal_module, "COMPACT_BYTES", 1000)
    monkeypatch.setattr(journal_module, "CLOSED_KEPT", 2)
    again = Journal(path)
    assert again.live() == (order("7"),)
    assert path.stat().st_size < before // 10
    again.opened(order("new"))
    again.close()
    assert [one.cl_ord_id for one in read_live(path)] == ["7", "new"]
    ended = [Journal(path).order(name) for name in ("48", "49")]
    assert [one.filled for one in ended if one is not None] == [False, True]


def test_an_order_that_lives_again_is_in_the_journal_with_the_fields_that_were_sent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    for name in ("A", "B"):
        journal.opened(order(name))
        journal.closed(name, 50, "8")
    told = LiveOrder(cl_ord_id="A", fields=((11, "A"),), inbox_offset=90)
    journal.reopened(told)
    journal.reopened(told)
    assert journal.live() == (order("A"),)
    (again,) = read_live(path)
    assert (again.fields, again.inbox_offset) == (order("A").fields, 90)
    stranger = LiveOrder(cl_ord_id="S", fields=((11, "S"),), inbox_offset=91)
    journal.reopened(stranger)
    journal.closed("A", 95, "8")
    reread = Journal(path)
    assert reread.live() == (stranger,)
    assert reread.inbox_offset == 95


def test_a_compacted_journal_still_knows_what_ended_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_BYTES", 10)
    monkeypatch.setattr(journal_module, "CLOSED_KEPT", 2)
    path = tmp_path / "journal"
    journal = Journal(path)
    for name in "ABCD":
        journal.opened(order(name))
    for name in "BAC":
        journal.closed(name, 50, "8")
    journal.close()
    compacted = Journal(path)
    assert compacted.live() == (order("D"),)
    compacted.close()
    monkeypatch.setattr(journal_module, "COMPACT_BYTES", 1 << 20)
    compacted = Journal(path)  # what the next life reads
    assert [one.fields for one in compacted.live()] == [order("D").fields]
    for name in "BAC":
        told = LiveOrder(cl_ord_id=name, fields=(), inbox_offset=99)
        compacted.reopened(told)
    fields = {one.cl_ord_id: one.fields for one in compacted.live()}
    assert fields == {
        "D": order("D").fields,
        "B": (),
        "A": order("A").fields,
        "C": order("C").fields,
    }


def test_a_journal_whose_beginning_is_another_ones_does_not_chain(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    for name in "AB":
        journal.opened(order(name))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(JournalError) as caught:
        Journal(path)
    assert caught.value.line == 1


def test_the_newest_cancels_are_kept_when_a_journal_is_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    notes = [CancelNote(cancel_id=f"C{n}", cl_ord_id="A", kill_epoch=n) for n in range(5)]
    journal.cancelling(notes, 3)
    journal.close()
    monkeypatch.setattr(journal_module, "COMPACT_BYTES", 10)
    monkeypatch.setattr(journal_module, "CANCELS_KEPT", 2)
    Journal(path).close()
    assert [(one.cancel_id, one.kill_epoch) for one in read_cancels(path)] == [("C3", 3), ("C4", 4)]
