"""A kill closes the gate, then asks the child, then the ledger; what it says is what was proved."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from audit.errors import IdempotencyConflictError, LedgerStoppedError, LedgerTimeoutError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from fix.durable.kill_word import KillWord, Press
from fix.errors import KillWordError
from gateway.desk.controls.kill import AWAY, KillSwitch
from gateway.errors import NotReadyError
from gateway.installation.press_notes import PressNote, PressNotes
from gateway.walk.journal.control.kill import kill_pressed
from gateway.walk.journal.control.own_keys import OwnKeys
from tests.doubles.memory_ledger import MemoryLedger


@dataclass
class Child:
    """A child that confirms or not, and notes what it finds when it is asked."""

    word: KillWord
    log: MemoryLedger
    confirms: bool = True
    asked: list[tuple[int, tuple[int, bool], int]] = field(default_factory=list)

    def kill(self, kill_epoch: int, timeout_s: float = 0.1) -> bool:
        assert 0 < timeout_s <= 1.0
        epoch, killed = self.word.read()
        self.asked.append((kill_epoch, (epoch, killed), self.log.size))
        return self.confirms


@dataclass
class World:
    """A switch with its parts."""

    word: KillWord
    log: MemoryLedger
    child: Child
    switch: KillSwitch

    def pressed(self) -> list[dict[str, Any]]:
        return [one.body for one in self.log.of_kind(Kind.KILL_PRESSED)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    word, log = KillWord(tmp_path / "kill.word", create=True), MemoryLedger()
    child = Child(word, log)
    switch = KillSwitch(word=word, child=child, ledger=log, notes=PressNotes(tmp_path))
    return World(word, log, child, switch)


def test_the_gate_is_shut_before_the_child_is_asked_and_the_ledger_comes_last(
    world: World,
) -> None:
    receipt = world.switch.press(actor="ops", reason="now")
    assert world.child.asked == [(1, (1, True), 0)], "the word is shut, nothing on record yet"
    assert (receipt.kill_epoch, receipt.recorded, receipt.durable) == (1, True, True)
    (body,) = world.pressed()
    assert (body["kill_epoch"], body["actor_name"], body["reason"]) == (1, "ops", "now")


@pytest.mark.parametrize("confirms", [True, False])
def test_a_kill_says_confirmed_only_if_the_child_did(world: World, *, confirms: bool) -> None:
    world.child.confirms = confirms
    receipt = world.switch.press(actor="ops", reason="now")
    assert receipt.child_confirmed is confirms
    assert [body["confirmed"] for body in world.pressed()] == [confirms]


@pytest.mark.parametrize(
    "error", [LedgerStoppedError("stopped"), LedgerTimeoutError("hangs", written=None)]
)
def test_a_kill_needs_no_ledger_and_is_recorded_later(world: World, error: Exception) -> None:
    world.log.refuses = error  # type: ignore[assignment]
    receipt = world.switch.press(actor="ops", reason="now")
    assert (receipt.recorded, receipt.child_confirmed) == (False, True)
    assert tuple(world.switch.state) == (1, True)
    world.log.refuses = None
    world.switch.import_press(last_recorded_epoch=1)
    assert world.pressed() == [], "it is on record already, says the caller"
    world.switch.import_press(last_recorded_epoch=0)
    (body,) = world.pressed()
    assert body["kill_epoch"] == 1
    assert body["confirmed"] is False, "the child that did confirm is gone, and nothing says so"
    assert "confirmed_us" not in body


def test_a_press_that_a_ledger_missed_is_on_record_as_it_was_once_the_ledger_answers(
    world: World, tmp_path: Path
) -> None:
    """Without waiting for a release or a restart; a chore asks again."""
    world.log.refuses = LedgerTimeoutError("frozen", written=None)
    world.switch.press(actor="ops", reason="feed is wrong")
    newest = world.switch.newest
    assert PressNotes(tmp_path).of(newest) == ("ops", "feed is wrong"), "also over a crash"
    with pytest.raises(LedgerTimeoutError):
        world.switch.record_missing()
    world.log.refuses = None
    world.switch.record_missing()
    (body,) = world.pressed()
    assert (body["actor_name"], body["reason"], body["confirmed"]) == ("ops", "feed is wrong", True)
    assert body["confirmed_us"] > 0
    assert PressNotes(tmp_path).of(newest) is None
    world.switch.record_missing()
    world.switch.ensure_recorded(newest)
    assert len(world.pressed()) == 1


@pytest.mark.parametrize("how", ["import", "release"])
def test_a_press_made_without_a_gateway_keeps_its_person_and_its_reason(
    world: World, tmp_path: Path, how: str
) -> None:
    world.word.press()
    newest = world.switch.newest
    notes = PressNotes(tmp_path)
    notes.keep(newest._replace(press_id="ab" * 16), PressNote("eve", "another press"))
    notes.keep(newest, PressNote("cli", "a\u202eb"))
    if how == "import":
        world.switch.import_press(last_recorded_epoch=0)
    else:
        world.switch.ensure_recorded(newest)
    (body,) = world.pressed()
    assert (body["actor_name"], body["reason"], body["confirmed"]) == ("cli", "a<U+202E>b", False)
    assert notes.of(newest) is None, "the ledger has it"


def test_a_press_without_a_note_or_with_a_damaged_one_is_on_record_all_the_same(
    world: World, tmp_path: Path
) -> None:
    for text in ("", "[]", "{}", '{"actor": 1, "reason": "x"}', '{"actor": "", "reason": "x"}'):
        world.word.press()
        newest = world.switch.newest
        if text:
            name = f"kill.press.{newest.kill_epoch}.{newest.press_id}"
            (tmp_path / name).write_text(text)
        world.switch.import_press(last_recorded_epoch=newest.kill_epoch - 1)
    assert {(one["actor_name"], one["reason"]) for one in world.pressed()} == {("kill word", AWAY)}
    assert len(world.pressed()) == 5


def test_a_press_that_cannot_be_imported_is_recorded_later(world: World) -> None:
    world.word.press()
    world.log.refuses = LedgerTimeoutError("frozen", written=None)
    world.switch.import_press(last_recorded_epoch=0)
    world.log.refuses = None
    world.switch.record_missing()
    assert [one["kill_epoch"] for one in world.pressed()] == [1]


def test_a_press_whose_place_another_record_takes_meanwhile_is_not_said_to_be_recorded(
    world: World,
) -> None:
    world.log.refuses = LedgerTimeoutError("frozen", written=None)
    world.switch.press(actor="ops", reason="now")
    world.log.refuses = None
    squat(world)
    for _ in range(2):
        with pytest.raises(NotReadyError, match="kill 1"):
            world.switch.record_missing()


def test_an_open_gate_has_no_press_to_import(world: World) -> None:
    world.switch.import_press(last_recorded_epoch=-1)
    assert world.pressed() == []


def test_a_disavowed_row_that_holds_the_key_of_a_kill_hides_no_kill(
    world: World, tmp_path: Path
) -> None:
    squat(world)
    world.log.disavowed = {0}
    reader = cast("LedgerReader", world.log)
    own = OwnKeys(cast("Ledger", world.log), reader)
    notes = PressNotes(tmp_path)
    switch = KillSwitch(word=world.word, child=world.child, ledger=own, notes=notes)
    assert switch.press(actor="ops", reason="now").recorded
    (kept,) = world.log.of_kind(Kind.KILL_PRESSED)
    assert (kept.idem_key, kept.body["actor_name"]) == ("kill:1#1", "ops")
    switch.ensure_recorded(switch.newest)
    assert len(world.pressed()) == 1


@pytest.mark.parametrize("disavowed", [set(), {0}])
def test_a_kill_whose_key_another_row_holds_is_not_said_to_be_on_record(
    world: World, disavowed: set[int]
) -> None:
    squat(world)
    world.log.disavowed = disavowed
    receipt = world.switch.press(actor="ops", reason="now")
    assert (receipt.recorded, receipt.child_confirmed) == (False, True)
    if not disavowed:  # after a restore: the epoch is on record, and may be released
        world.switch.ensure_recorded(world.switch.newest)
        return
    with pytest.raises(IdempotencyConflictError):
        world.switch.ensure_recorded(world.switch.newest)


def test_a_kill_of_which_the_ledger_cannot_say_whether_it_is_on_record_is_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    squat(world)

    def away(*_: object) -> None:
        raise LedgerTimeoutError("no answer", written=None)

    monkeypatch.setattr(world.log, "by_key", away)
    receipt = world.switch.press(actor="ops", reason="now")
    assert (receipt.recorded, receipt.child_confirmed) == (False, True)


def squat(world: World) -> None:
    """Put another press under the key of the next one."""
    other = Press(kill_epoch=1, killed=True, press_id="ab" * 16, pressed_us=0, boot_id="")
    world.log.append(kill_pressed(other, "nobody", "squat", confirmed=True))


def test_a_press_that_is_on_record_is_not_recorded_twice(world: World) -> None:
    world.switch.press(actor="ops", reason="now")
    world.switch.ensure_recorded(world.switch.newest)
    assert [body["actor_name"] for body in world.pressed()] == ["ops"]


def test_a_press_that_the_ledger_missed_is_on_record_before_its_release(world: World) -> None:
    world.word.press()
    world.switch.ensure_recorded(world.switch.newest)
    (body,) = world.pressed()
    assert (body["kill_epoch"], body["confirmed"]) == (1, False), "nobody was asked to confirm it"
    assert world.child.asked == []


def test_an_invisible_character_in_a_reason_is_shown(world: World) -> None:
    world.switch.press(actor="ops", reason="a\u202eb" + "c" * 600)
    (body,) = world.pressed()
    assert body["reason"] == ("a<U+202E>b" + "c" * 600)[:500]


def test_an_outcome_names_what_is_open_while_the_kill_is_in_force(world: World) -> None:
    world.switch.record_outcome(confirmed=["A"], unknown=[], still_open=[])
    assert world.log.of_kind(Kind.KILL_OUTCOME) == [], "no kill, no outcome"
    world.switch.press(actor="ops", reason="now")
    world.switch.record_outcome(confirmed=["A", "B"], unknown=["C"], still_open=["D"])
    (record,) = world.log.of_kind(Kind.KILL_OUTCOME)
    body = record.body
    assert (body["kill_epoch"], body["confirmed"], body["unknown"], body["open"]) == (1, 2, 1, 1)
    assert "C" in body["detail"]
    assert "D" in body["detail"]


def test_a_press_made_in_the_word_is_confirmed_and_recorded_as_one(world: World) -> None:
    """As `countersign kill` does: it closes the word itself, then tells the gateway."""
    made = (world.word.press(), world.word.newest_press().press_id)
    receipt = world.switch.press(actor="ops", reason="now", made=made)
    assert (receipt.kill_epoch, receipt.child_confirmed, receipt.recorded) == (1, True, True)
    assert receipt.durable
    assert tuple(world.switch.state) == (1, True), "no second press"
    (body,) = world.pressed()
    assert (body["actor_name"], body["press_id"]) == ("ops", made[1])
    assert 0 < body["pressed_us"] <= body["confirmed_us"]
    assert world.switch.press(actor="ops", reason="now", made=made).recorded
    assert len(world.pressed()) == 1


def test_a_kill_that_the_disk_refused_is_in_force_and_says_that_it_is_not_durable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    press = world.word.press

    def refused() -> int:
        press()
        raise KillWordError(path="kill.word", problem="the disk is full")

    monkeypatch.setattr(world.word, "press", refused)
    receipt = world.switch.press(actor="ops", reason="now")
    assert (receipt.durable, receipt.child_confirmed, receipt.recorded) == (False, True, True)
    assert tuple(world.switch.state) == (1, True)
    assert [body["kill_epoch"] for body in world.pressed()] == [1]


def test_a_second_person_presses_anew_and_an_older_release_no_longer_holds(world: World) -> None:
    first = world.switch.press(actor="ada", reason="now")
    old = world.switch.newest
    second = world.switch.press(actor="bob", reason="also now")
    assert (first.kill_epoch, second.kill_epoch) == (1, 2)
    assert [body["actor_name"] for body in world.pressed()] == ["ada", "bob"]
    with pytest.raises(KillWordError, match="pressed is 2"):
        world.word.release(old.kill_epoch, old.press_id)


def test_a_press_that_another_followed_is_recorded_and_the_newest_is_confirmed(
    world: World,
) -> None:
    made = (world.word.press(), world.word.newest_press().press_id)
    world.switch.press(actor="bob", reason="faster")
    receipt = world.switch.press(actor="ops", reason="now", made=made)
    assert (receipt.kill_epoch, receipt.child_confirmed, receipt.recorded) == (1, True, True)
    assert receipt.durable
    assert tuple(world.switch.state) == (2, True)
    assert [epoch for epoch, _, _ in world.child.asked] == [2, 2]
    assert {body["kill_epoch"] for body in world.pressed()} == {1, 2}


@pytest.mark.parametrize("made", [(1, "f" * 32), (7, "f" * 32), (0, "")])
def test_a_press_that_is_not_in_the_word_is_pressed(world: World, made: tuple[int, str]) -> None:
    world.word.press()
    world.word.release(1)
    receipt = world.switch.press(actor="ops", reason="now", made=made)
    assert tuple(world.switch.state) == (2, True), "in doubt, stop"
    assert receipt.kill_epoch == 2


def test_a_press_that_was_released_since_is_recorded_and_closes_nothing(world: World) -> None:
    made = (world.word.press(), world.word.newest_press().press_id)
    world.word.release(*made)
    receipt = world.switch.press(actor="ops", reason="now", made=made)
    assert (receipt.child_confirmed, receipt.recorded) == (False, True)
    assert not receipt.killed, "who named it is told that nothing is shut"
    assert world.child.asked == [], "a child asked to confirm would close its gate for good"
    assert tuple(world.switch.state) == (1, False)
