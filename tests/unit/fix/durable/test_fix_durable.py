"""What must be on the disk before something else happens is there, not only in memory.

The disk's calls are watched: bytes that were written and not yet synchronised would be lost in a
power cut, and no later look at the file shows it.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fix.dialects.profile import Resets, simulator_profile
from fix.durable import journal as journal_module
from fix.durable import kill_word as kill_module
from fix.durable.inbox import Inbox, begin_at, forget, read_from
from fix.durable.journal import CancelNote, Journal, read_cancels, read_live
from fix.durable.kill_word import MAGIC, SIZE, KillWord, Press, boot_id, monotonic_us
from fix.durable.resets import Sequence, resets_of
from fix.errors import KillWordError
from fix.orders.live import LiveOrder

FIELDS = ((11, "A"), (38, "10"), (44, "1.00"))


class Disk:
    """Watches writes and synchronisations; `is_full` and `refuses` make them fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.unsynced = self.unsynced_max = 0
        self.synced = 0
        self.refuses = self.is_full = False
        self._patch = patch
        for name in ("write", "pwrite"):
            self._watch(name, self._written)
        for name in ("fsync", "fdatasync"):
            self._watch(name, self._synchronised)

    def _watch(self, name: str, then: Callable[[], None]) -> None:
        real = getattr(os, name)

        def call(*arguments: object) -> object:
            then()
            return real(*arguments)

        self._patch.setattr(os, name, call)

    def _written(self) -> None:
        if self.is_full:
            raise OSError(28, "no space")
        self.unsynced += 1
        self.unsynced_max = max(self.unsynced_max, self.unsynced)

    def _synchronised(self) -> None:
        if self.refuses:
            raise OSError(5, "the disk refuses")
        self.unsynced = 0
        self.synced += 1


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = Journal(tmp_path / "journal")
    yield found
    found.close()


def order(name: str = "A", offset: int = 0) -> LiveOrder:
    return LiveOrder(cl_ord_id=name, fields=FIELDS, inbox_offset=offset)


def test_an_order_is_written_before_it_leaves_and_on_the_disk_after_it(
    journal: Journal, disk: Disk, tmp_path: Path
) -> None:
    journal.opened(order())
    assert (disk.unsynced, disk.synced) == (1, 0)
    assert read_live(tmp_path / "journal") == (order(),), "the end of the process loses nothing"
    journal.sync()
    assert (disk.unsynced, disk.synced) == (0, 1)


def test_an_order_is_the_same_line_from_words_made_before(tmp_path: Path) -> None:
    lines = []
    for words in ("", '[[11,"A"],[38,"10"],[44,"1.00"]]'):
        journal = Journal(tmp_path / f"journal{len(words)}")
        journal.opened(order(), words)
        journal.close()
        document = json.loads((tmp_path / f"journal{len(words)}").read_text())
        lines.append(document | {"at_us": 0})
        assert list(document) == sorted(document)
    assert lines[0] == lines[1]


def test_orders_that_the_ledger_names_are_noted_once_and_on_the_disk(
    journal: Journal, disk: Disk, tmp_path: Path
) -> None:
    journal.opened(order("A"))
    journal.closed("A", 5, "canceled")
    journal.told([order("A"), order("B")])
    assert journal.live() == (order("B"),), "an order that ended here stays ended"
    assert (disk.unsynced, read_live(tmp_path / "journal")) == (0, (order("B"),))
    journal.told([order("B")])
    assert read_live(tmp_path / "journal") == (order("B"),)


def test_an_order_that_lives_again_is_on_the_disk(journal: Journal, disk: Disk) -> None:
    journal.opened(order())
    journal.closed("A", 5, "canceled")
    synced = disk.synced
    journal.reopened(order(offset=9))
    assert (disk.unsynced, disk.synced) == (0, synced + 1)
    assert journal.live() == (order(),), "the fields that were sent go before the report's"
    assert (journal.inbox_offset, journal.knows("A")) == (9, True)
    journal.reopened(order(offset=10))
    assert disk.synced == synced + 1, "it is live already"


def test_a_cancel_is_on_the_disk_before_it_leaves(
    journal: Journal, disk: Disk, tmp_path: Path
) -> None:
    note = CancelNote(cancel_id="X", cl_ord_id="A", kill_epoch=3)
    journal.cancelling([note, note], 7)
    assert (disk.unsynced, disk.synced) == (0, 1)
    assert [one.kill_epoch for one in read_cancels(tmp_path / "journal")] == [3, 3]


def test_an_order_that_the_disk_refuses_is_not_taken_for_live(journal: Journal, disk: Disk) -> None:
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        journal.opened(order())
    disk.is_full = False
    assert (journal.live(), journal.knows("A")) == ((), False)


def test_a_journal_that_is_closed_is_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path / "journal")
    journal.opened(order())
    journal.closed("A", 5, "canceled")
    journal.close()
    assert disk.unsynced == 0
    assert read_live(tmp_path / "journal") == ()


def test_a_new_journal_is_on_the_disk_with_its_folder(tmp_path: Path, disk: Disk) -> None:
    Journal(tmp_path / "journal").close()
    assert disk.synced == 3, "the file, its folder, and the file as it was closed"


def test_a_compacted_journal_is_on_the_disk_before_it_takes_the_old_ones_place(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut in between must leave one of the two, whole."""
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.opened(order("A", 7))
    journal.cancelling([CancelNote(cancel_id="X", cl_ord_id="A", kill_epoch=3)], 9)
    journal.close()
    noted = read_cancels(path)
    replaced: list[tuple[int, tuple[LiveOrder, ...], str]] = []
    real = Path.replace

    def replace(fresh: Path, target: Path) -> Path:
        replaced.append((disk.unsynced, read_live(fresh), target.name))
        disk.synced = 0
        return real(fresh, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(journal_module, "COMPACT_BYTES", 10)
    again = Journal(path)
    assert replaced == [(0, (order("A", 9),), "journal")]
    assert disk.synced == 2, "the file's new name too"
    assert again.inbox_offset == 9
    assert again.last_order_us > 0, "it was noted in this boot"
    assert read_cancels(path) == noted, "with their times"
    again.close()
    last = Journal(path)
    assert last.last_order_us == 0, "an order that was copied left at another time"
    last.close()


def test_a_journal_counts_times_of_this_boot_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    before_us = monotonic_us()
    journal = Journal(path)
    journal.opened(order("A"))
    journal.opened(order("B"))
    middle_us = monotonic_us()
    journal.closed("B", 3, "8")
    journal.close()
    again = Journal(path)
    assert before_us <= again.last_order_us <= middle_us
    again.close()
    monkeypatch.setattr(journal_module, "boot_id", lambda: bytes(16))
    other = Journal(path)
    assert other.last_order_us == 0
    other.close()


def test_an_offset_that_is_accounted_for_stays_so(journal: Journal, tmp_path: Path) -> None:
    journal.opened(order("A", 40))
    journal.opened(order("B", 90))
    journal.closed("A", 60, "8")
    assert journal.inbox_offset == 90
    assert Journal(tmp_path / "journal").inbox_offset == 90
    assert not Journal(tmp_path / "journal").knows("")


def test_a_line_written_short_is_an_error(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda to, data: real(to, data[:-1]))
    with pytest.raises(OSError, match="written short"):
        journal.opened(order())


def test_a_message_is_on_the_disk_before_it_counts(tmp_path: Path, disk: Disk) -> None:
    inbox = Inbox(tmp_path / "inbox")
    before = disk.synced
    entry = inbox.append("8=FIX.4.4")
    assert (disk.unsynced, disk.synced) == (0, before + 1)
    assert inbox.end == entry.next_offset
    disk.refuses = True
    with pytest.raises(OSError, match="refuses"):
        inbox.append("lost")
    disk.refuses = False
    assert inbox.end == entry.next_offset
    again = inbox.append("9")
    assert again.offset == entry.next_offset, "what was refused is written over"
    assert [one.raw for one in read_from(tmp_path / "inbox", 0)] == ["8=FIX.4.4", "9"]
    inbox.close()


def test_an_inbox_begins_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    begin_at(tmp_path / "inbox", 4_000)
    assert disk.synced == 3, "what says where, its folder, and the folder once the file is there"
    with pytest.raises(FileExistsError):
        begin_at(tmp_path / "inbox", 5_000)
    inbox = Inbox(tmp_path / "inbox")
    assert inbox.append("x").offset == 4_000
    inbox.close()


def test_names_that_are_overwritten_are_so_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    inbox = Inbox(tmp_path / "inbox")
    raw = "8=FIX.4.4\x0135=8\x01337=JANE DOE\x0110=000\x01"
    entry = inbox.append(raw)
    disk.unsynced_max = 0
    forget(tmp_path / "inbox", entry.offset)
    assert disk.unsynced == 0
    assert disk.unsynced_max == 1, "the new checksum is there before the first name goes"
    (found,) = read_from(tmp_path / "inbox", entry.offset)
    assert "JANE" not in found.raw
    assert len(found.raw) == len(raw)
    inbox.close()


def test_a_beginning_of_the_numbers_is_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    profile = simulator_profile(1).model_copy(update={"resets": Resets.BY_BROKER})
    numbers = Sequence(tmp_path, profile, lambda: 9, stored=(5, 7), on_record=0)
    assert numbers.flagged() is not None
    assert disk.unsynced == 0
    assert disk.synced == 2, "the file and its folder"
    (kept,) = resets_of(tmp_path)
    assert (kept.old_sender, kept.old_target, kept.new_target, kept.at_us) == (5, 7, 1, 9)


# the kill word


@pytest.fixture
def word(tmp_path: Path) -> Iterator[KillWord]:
    found = KillWord(tmp_path / "kill.word", create=True)
    yield found
    found.close()


def test_a_new_word_is_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    KillWord(tmp_path / "k" / "word", create=True).close()
    assert disk.unsynced == 0
    assert disk.synced == 2, "the file and its folder"


def test_a_press_and_a_release_are_on_the_disk(word: KillWord, disk: Disk) -> None:
    word.press()
    assert disk.synced == 1
    word.release(1)
    assert disk.synced == 2


def test_a_press_that_the_disk_refuses_shuts_the_gate_all_the_same(
    word: KillWord, disk: Disk
) -> None:
    disk.refuses = True
    with pytest.raises(KillWordError, match="not durable"):
        word.press()
    assert word.read() == (1, True)


@pytest.mark.parametrize(
    ("pressed_us", "boot", "ours"),
    [(1, True, True), (0, True, False), (1, False, False), (0, False, False)],
)
def test_times_compare_within_one_boot(pressed_us: int, *, boot: bool, ours: bool) -> None:
    named = boot_id().hex() if boot else "ab" * 16
    press = Press(3, killed=True, press_id="p", pressed_us=pressed_us, boot_id=named)
    assert press.is_of_this_boot is ours


def test_a_press_says_when_and_on_which_boot(word: KillWord) -> None:
    before_us = monotonic_us()
    word.press()
    press = word.newest_press()
    assert before_us <= press.pressed_us <= monotonic_us()
    assert press.boot_id == boot_id().hex()
    assert press.is_of_this_boot
    assert (press.kill_epoch, press.killed, len(press.press_id)) == (1, True, 32)


def test_a_press_that_has_a_name_keeps_it(word: KillWord) -> None:
    assert word.name_press().press_id == "", "an open gate has none"
    word.press()
    named = word.name_press()
    assert named.press_id
    assert word.name_press() == named
    word.release(1, named.press_id)
    assert word.name_press().press_id == named.press_id, "a release leaves it"


@pytest.mark.parametrize("spoiled", ["magic", "value", "check", "length"])
def test_each_part_of_a_word_is_checked(tmp_path: Path, spoiled: str) -> None:
    path = tmp_path / "kill.word"
    KillWord(path, create=True).close()
    sound = path.read_bytes()
    assert sound[:8] == MAGIC
    assert len(sound) == SIZE
    places = {"magic": 0, "value": 9, "check": 20}
    changed = bytearray(sound)
    if spoiled == "length":
        changed = bytearray(sound[:-1])
    else:
        changed[places[spoiled]] ^= 1
    path.write_bytes(changed)
    if spoiled == "length":
        with pytest.raises(KillWordError, match="95 bytes"):
            KillWord(path)
        return
    again = KillWord(path)
    assert again.read().killed
    with pytest.raises(KillWordError, match="damaged"):
        again.release(0)
    again.close()


def test_a_closed_word_holds_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "kill.word"
    word = KillWord(path, create=True)

    def is_open() -> bool:
        return any(one.exists() and one.samefile(path) for one in Path("/proc/self/fd").iterdir())

    assert is_open()
    word.close()
    assert not is_open()


@pytest.mark.parametrize("text", [None, "no id", "", "abcd"])
def test_a_system_without_a_boot_id_has_a_whole_one_of_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """A press is written all the same, in its place of 96 bytes."""
    if text is not None:
        (tmp_path / "boot_id").write_text(text)
    monkeypatch.setattr(kill_module, "_BOOT_ID", tmp_path / "boot_id")
    assert boot_id() == bytes(16)
    word = KillWord(tmp_path / "kill.word", create=True)
    word.press()
    assert (word.newest_press().boot_id, len(word.newest_press().press_id)) == ("00" * 16, 32)
    assert word.read() == (1, True)
    word.close()
