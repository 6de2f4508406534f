"""At a start the kill word and the ledger are brought together, and the stop wins."""

from pathlib import Path

import pytest

from fix.durable.kill_word import KillWord, Press
from gateway.desk.controls.statements import release_statement
from gateway.desk.officers.release import release_press
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.log_id import log_id
from gateway.launch.parts import recorded_epoch, restore_kill
from gateway.walk.journal.control.kill import kill_pressed, kill_released
from tests.doubles.memory_desk import MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path, live=False)


@pytest.fixture
def fresh(tmp_path: Path) -> KillWord:
    """A word that was lost and made anew."""
    return KillWord(tmp_path / "another" / "kill.word", create=True)


def press(desk: MemoryDesk) -> Press:
    own = desk.small.desk.own
    own.kill_switch.press(actor="operator", reason="a test")
    return own.kill_switch.newest


def signed(
    desk: MemoryDesk, epoch: int, press_id: str, *live: str, log: str = ""
) -> dict[str, str]:
    own = desk.small.desk.own
    text = release_statement(log or log_id(own.reader, own.origin), epoch, press_id, live)
    return {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}


def record_release(desk: MemoryDesk, of: Press, signatures: dict[str, str]) -> None:
    """Put a release on record and leave the word as it is."""
    own = desk.small.desk.own
    desk.log.append(
        kill_released(of, log_id(own.reader, own.origin), "operator", "over", signatures)
    )


def restored(desk: MemoryDesk, word: KillWord | None = None) -> tuple[str, tuple[int, bool]]:
    own = desk.small.desk.own
    word = word or own.word
    said = restore_kill(word, own.reader, own.keyring.public_keys(), own.origin)
    state = word.read()
    return said, (state.kill_epoch, state.killed)


def test_an_empty_ledger_leaves_an_open_word_open(desk: MemoryDesk) -> None:
    assert restored(desk) == ("", (0, False))
    assert recorded_epoch(desk.small.reader) == 0


def test_a_lost_word_is_shut_again_as_the_ledger_says(desk: MemoryDesk, fresh: KillWord) -> None:
    for _ in range(3):
        press(desk)
    assert recorded_epoch(desk.small.reader) == 3
    assert restored(desk, fresh) == ("", (3, True))


def test_a_press_that_the_ledger_does_not_know_stays(desk: MemoryDesk) -> None:
    press(desk)
    desk.small.desk.own.word.press()
    assert restored(desk) == ("", (2, True))
    assert recorded_epoch(desk.small.reader) == 1


def test_a_release_by_both_roles_stays_released(desk: MemoryDesk, fresh: KillWord) -> None:
    now = press(desk)
    release_press(
        desk.small.desk.own,
        "operator",
        now.kill_epoch,
        signed(desk, now.kill_epoch, now.press_id),
        "over",
    )
    assert restored(desk) == ("", (1, False))
    assert restored(desk, fresh) == ("", (1, False)), "signed for the press that is on record"


def test_after_a_crash_between_record_and_gate_the_kill_stays(desk: MemoryDesk) -> None:
    now = press(desk)
    record_release(desk, now, signed(desk, now.kill_epoch, now.press_id))
    said, state = restored(desk)
    assert state == (1, True)
    assert "the kill word does not know of it" in said
    assert "kill 1 stays in force" in said


@pytest.mark.parametrize("wrong", ["one role", "another epoch", "another press", "another ledger"])
def test_a_release_that_does_not_hold_opens_no_lost_word(
    desk: MemoryDesk, fresh: KillWord, wrong: str
) -> None:
    now = press(desk)
    signatures = {
        "one role": {"risk": signed(desk, 1, now.press_id)["risk"]},
        "another epoch": signed(desk, 2, now.press_id),
        "another press": signed(desk, 1, "ab" * 16),
        "another ledger": signed(desk, 1, now.press_id, log="other#00"),
    }[wrong]
    record_release(desk, now, signatures)
    said, state = restored(desk, fresh)
    assert state == (1, True)
    assert "its signatures do not hold" in said


def test_a_release_of_an_earlier_press_does_not_count_for_a_later_one(
    desk: MemoryDesk, fresh: KillWord
) -> None:
    first = press(desk)
    press(desk)
    record_release(desk, first, signed(desk, 1, first.press_id))
    said, state = restored(desk, fresh)
    assert state == (2, True)
    assert "its signatures do not hold" in said


def test_a_release_that_names_live_orders_stays_released(desk: MemoryDesk, fresh: KillWord) -> None:
    own, order = desk.small.desk.own, "an-order"
    now = press(desk)
    signatures = signed(desk, 1, now.press_id, order)
    release_press(own, "operator", 1, signatures, "over", (order,))
    assert restored(desk) == ("", (1, False))
    assert restored(desk, fresh) == ("", (1, False))


def test_a_press_after_a_release_shuts_again(desk: MemoryDesk, fresh: KillWord) -> None:
    now = press(desk)
    release_press(desk.small.desk.own, "operator", 1, signed(desk, 1, now.press_id), "over")
    press(desk)
    assert restored(desk, fresh) == ("", (2, True))


def test_a_release_that_names_another_press_than_the_recorded_one_needs_the_words_agreement(
    desk: MemoryDesk, fresh: KillWord
) -> None:
    """The word was lost and pressed anew under the same epoch, then released properly."""
    other = fresh
    other.press()
    named = other.newest_press()
    desk.log.append(
        kill_pressed(named._replace(press_id="cd" * 16), "operator", "a test", confirmed=True)
    )
    record_release(desk, named, signed(desk, 1, named.press_id))
    said, state = restored(desk, other)
    assert (state, bool(said)) == ((1, True), True)
    other.release(1, named.press_id)
    assert restored(desk, other) == ("", (1, False))


def test_a_release_that_names_no_press_opens_nothing(desk: MemoryDesk) -> None:
    now, own = press(desk), desk.small.desk.own
    record_release(desk, now._replace(press_id=""), signed(desk, 1, ""))
    own.word.release(1)
    said, state = restored(desk)
    assert state == (1, True)
    assert "its signatures do not hold" in said
