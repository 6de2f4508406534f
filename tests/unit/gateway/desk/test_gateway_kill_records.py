"""What a kill did is on record: each cancel before its bytes left, and when what happened."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from audit.errors import LedgerStoppedError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.durable.journal import COMPACT_BYTES, CancelNote, Journal, read_cancels, read_live
from fix.durable.kill_word import KillWord, boot_id, monotonic_us
from fix.orders.live import LiveOrder
from gateway.desk.controls.kill import KillSwitch
from gateway.installation.press_notes import PressNotes
from gateway.walk.journal.control.kill import KillOutcome, KillPressed
from gateway.walk.projections.kill_times import lines, newest_kill, times
from gateway.walk.reconciliation.cancels import AT_ONCE, CancelRecords
from tests.doubles.memory_desk import memory_desk
from tests.doubles.memory_ledger import MemoryLedger

BOOT = "ab" * 16


def note(name: str, order: str = "A", kill_epoch: int = 1) -> CancelNote:
    return CancelNote(cancel_id=name, cl_ord_id=order, kill_epoch=kill_epoch)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = Journal(tmp_path / "journal")
    yield found
    found.close()


def test_the_journal_notes_each_cancel_with_its_time(journal: Journal, tmp_path: Path) -> None:
    before_us = monotonic_us()
    journal.cancelling([note("X"), note("Y", order="")], 0)
    first, second = read_cancels(tmp_path / "journal")
    assert (first.cancel_id, first.cl_ord_id, first.kill_epoch) == ("X", "A", 1)
    assert (second.cancel_id, second.cl_ord_id) == ("Y", "")
    assert before_us <= first.at_us <= second.at_us <= monotonic_us()
    assert first.boot_id == boot_id().hex()


def test_a_compaction_keeps_the_cancels_that_the_gateway_may_lack(
    journal: Journal, tmp_path: Path
) -> None:
    long = ((58, "x" * (COMPACT_BYTES // 4)),)
    for number in range(5):
        journal.opened(LiveOrder(cl_ord_id=f"O{number}", fields=long, inbox_offset=0))
    journal.cancelling([note("X"), note("Y")], 9)
    kept = read_cancels(tmp_path / "journal")
    again = Journal(tmp_path / "journal")
    assert (tmp_path / "journal").read_bytes().count(b"\n") < 20
    assert read_cancels(tmp_path / "journal") == kept
    assert len(read_live(tmp_path / "journal")) == 5
    assert again.inbox_offset == 9


def test_every_cancel_of_the_journal_is_put_on_record_once(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    reader = desk.small.reader
    noted = [note("X"), note("Y", kill_epoch=0)]
    first = CancelRecords(desk.small.ledger, reader, "simulator", lambda: noted)
    assert (first.take(), first.take()) == (2, 0)
    noted.append(note("Z", order=""))
    assert first.take() == 1
    again = CancelRecords(desk.small.ledger, reader, "simulator", lambda: noted)
    assert again.take() == 0, "a restart asks the ledger what it has"
    bodies = [one.body for one in desk.log.of_kind(Kind.CANCEL_SENT)]
    assert [body["cl_ord_id"] for body in bodies] == ["X", "Y", "Z"]
    assert [body["reason"] for body in bodies] == ["kill 1", "sweep", "kill 1"]
    assert {one.stream for one in desk.log.of_kind(Kind.CANCEL_SENT)} == {"session/simulator"}


def test_many_cancels_go_on_record_in_batches(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    noted = [note(f"C{number}") for number in range(AT_ONCE + 1)]
    batches: list[int] = []
    desk.log.before = lambda drafts: batches.append(len(drafts))
    records = CancelRecords(desk.small.ledger, desk.small.reader, "simulator", lambda: noted)
    assert records.take() == AT_ONCE + 1
    assert batches == [100, 1], "a batch of the ledger takes no more"
    names = [str(one.body["cl_ord_id"]) for one in desk.log.of_kind(Kind.CANCEL_SENT)]
    assert names == [one.cancel_id for one in noted]


def test_what_the_ledger_refused_is_taken_again(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    records = CancelRecords(desk.small.ledger, desk.small.reader, "simulator", lambda: [note("X")])
    desk.log.refuses = LedgerStoppedError("stopped")
    with pytest.raises(LedgerStoppedError):
        records.take()
    desk.log.refuses = None
    assert records.take() == 1


def test_times_count_from_the_press_and_other_boots_are_left_out() -> None:
    old = KillPressed(kill_epoch=1, actor_name="ada", reason="", confirmed=True)
    press = structs.replace(old, pressed_us=1_000, boot_id=BOOT, confirmed_us=1_900)
    outcome = KillOutcome(
        kill_epoch=1,
        confirmed=0,
        unknown=0,
        open=0,
        detail="",
        boot_id=BOOT,
        last_order_us=400,
        answered_us=9_000,
    )
    assert times(press, outcome) == {
        "confirmed_us": 900,
        "last_order_us": -600,
        "answered_us": 8_000,
    }
    assert times(press, structs.replace(outcome, boot_id="cd" * 16)) == {"confirmed_us": 900}
    assert times(old, outcome) == {}, "a press of an earlier version has no time"


def test_a_kill_is_told_with_its_outcome_and_times(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    reader: LedgerReader = desk.small.reader
    assert newest_kill(reader) is None
    switch = desk.small.desk.kill_switch
    switch.press(actor="ada", reason="now")
    told = newest_kill(reader)
    assert told is not None
    assert lines(told)[:2] == ["kill 1, pressed by ada", "no outcome is on record yet"]
    pressed_us = switch.newest.pressed_us
    moments = {"last_order_us": pressed_us - 2_000, "answered_us": pressed_us + 4_500}
    switch.record_outcome(
        confirmed=["A"], unknown=[], still_open=[], times_us=moments | {"last_cancel_us": 0}
    )
    told = newest_kill(reader)
    assert told is not None
    assert (told["confirmed"], told["unknown"], told["open"]) == (1, 0, 0)
    found = told["times_us"]
    assert (found["last_order_us"], found["answered_us"]) == (-2_000, 4_500)
    assert "last_cancel_us" not in found, "it never happened"
    assert any("+4.500 ms" in line for line in lines(told))


def test_an_outcome_of_another_boot_has_no_times(tmp_path: Path) -> None:
    word, log = KillWord(tmp_path / "kill.word", create=True), MemoryLedger()
    word.restore(1, killed=True)
    raw = bytearray((tmp_path / "kill.word").read_bytes())
    assert word.newest_press().is_of_this_boot
    raw[56] ^= 1
    assert not word.newest_press()._replace(boot_id=bytes(raw[56:72]).hex()).is_of_this_boot
    switch = KillSwitch(word=word, child=_Silent(), ledger=log, notes=PressNotes(tmp_path))
    switch.record_outcome(confirmed=[], unknown=[], still_open=[], times_us={"answered_us": 5})
    assert log.of_kind(Kind.KILL_OUTCOME)[0].body["answered_us"] == 5


class _Silent:
    """A child that never confirms."""

    def kill(self, kill_epoch: int, timeout_s: float = 0.1) -> bool:  # noqa: ARG002
        return False


def test_the_end_of_an_earlier_kill_is_not_told_as_that_of_the_newest(tmp_path: Path) -> None:
    """Who reads that every order is gone must not read it of the press before."""
    desk = memory_desk(tmp_path, live=False)
    switch = desk.small.desk.kill_switch
    switch.press(actor="ada", reason="first")
    switch.record_outcome(confirmed=["A"], unknown=[], still_open=[], times_us={})
    switch.press(actor="bob", reason="second")
    told = newest_kill(desk.small.reader)
    assert told is not None
    assert (told["kill_epoch"], told["pressed_by"], told.get("confirmed")) == (2, "bob", None)
    assert lines(told)[1] == "no outcome is on record yet"
