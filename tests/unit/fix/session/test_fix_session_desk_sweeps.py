"""What the child's desk sends, notes and tells when it sweeps, and when it leaves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fix.durable.journal import CancelNote, Journal, read_cancels
from fix.durable.kill_word import CLOSING
from fix.orders.live import LiveOrder
from fix.wire.messages import Fields, wire_text
from tests.doubles.child_desk import NOW_US, ChildDesk, child_desk, order, report
from tests.doubles.fix_world import PROFILE, replace_pace


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ChildDesk]:
    with child_desk(tmp_path) as found:
        yield found


SINGLE = PROFILE.model_copy(
    update={"capabilities": PROFILE.capabilities.model_copy(update={"mass_cancel": False})}
)


def test_a_cancel_is_in_the_journal_under_the_kill_before_its_bytes_leave(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        waiting = world.inbox.append("8=x")
        noted: list[tuple[CancelNote, ...]] = []
        world.session.before_send = lambda _f: noted.append(read_cancels(tmp_path / "journal"))
        epoch = world.word.press()
        world.desk.wake()
        world.settle()
        assert world.session.types() == ["D", "F"]
        ((note,),) = noted
        assert (note.cancel_id, note.cl_ord_id) == (world.session.sent[1][11], "A")
        assert note.kill_epoch == epoch
        assert world.journal.inbox_offset == waiting.offset, "nobody accounted for it"


def test_a_mass_cancel_is_noted_without_an_order_and_a_question_is_not_noted(
    world: ChildDesk, tmp_path: Path
) -> None:
    world.hand("A")
    world.word.press()
    world.desk.wake()
    world.settle()
    (note,) = read_cancels(tmp_path / "journal")
    assert (note.cl_ord_id, world.session.types()) == ("", ["D", "q"])
    world.now_us += 50_000
    world.settle()
    world.now_us += 1_000_000
    world.settle()
    assert world.session.types() == ["D", "q", "F", "H", "F"]
    assert [one.cl_ord_id for one in read_cancels(tmp_path / "journal")] == ["", "A", "A"]


@pytest.mark.parametrize("response", ["0", "7", "j"])
def test_a_kill_with_nothing_in_the_journal_notes_and_sends_a_mass_cancel(
    world: ChildDesk, tmp_path: Path, response: str
) -> None:
    """Belt and braces: the journal may be wrong. What the broker says to it changes nothing."""
    noted: list[tuple[CancelNote, ...]] = []
    world.session.before_send = lambda _f: noted.append(read_cancels(tmp_path / "journal"))
    epoch = world.word.press()
    world.desk.wake()
    world.settle()
    assert world.session.types() == ["q"]
    ((note,),) = noted
    assert (note.kill_epoch, note.cl_ord_id) == (epoch, "")
    assert note.cancel_id == world.session.sent[0][11]
    if response == "j":
        world.hears((35, "j"), (34, "9"), (45, "7"), (372, "q"), (380, "3"))
    else:
        world.hears((35, "r"), (34, "9"), (11, note.cancel_id), (530, "7"), (531, response))
    world.now_us += 60_000_000
    world.settle()
    assert world.session.types() == ["q"]
    assert phases(world) == ["cancelling", "ended"]
    last = world.said("sweep")[-1]
    assert (last["unknown"], last["open"], last["kill_epoch"]) == ([], [], epoch)
    assert isinstance(last["answered_us"], int)
    assert last["answered_us"] > 0


def test_a_cancel_leaves_although_the_disk_refuses_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child_desk(tmp_path, SINGLE) as world:

        def refuse(_self: Journal, _notes: object, _offset: int) -> None:
            raise OSError(28, "no space")

        world.hand("A")
        monkeypatch.setattr(Journal, "cancelling", refuse)
        world.word.press()
        world.desk.wake()
        world.settle()
        assert world.session.types() == ["D", "F"]
        (fault,) = world.said("fault")
        assert fault["where"] == "journal"
        assert "no space" in str(fault["detail"])


def test_what_did_not_leave_is_not_counted_as_sent(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        world.hand("B")
        refused = iter((True, False))

        def down(_fields: object) -> None:
            world.session.is_logged_on = next(refused)
            world.session.before_send = down

        world.session.before_send = down
        world.word.press()
        world.desk.wake()
        world.settle()
        assert [one for one in world.said("sweep") if one["phase"] == "cancelling"] == [
            {"ev": "sweep", "phase": "cancelling", "sent": 1}
        ]


def phases(world: ChildDesk) -> list[object]:
    return [one["phase"] for one in world.said("sweep")]


def test_a_kill_tells_when_what_left_and_when_the_broker_had_answered(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.now_us = NOW_US + 1
        world.hand("A")
        world.now_us = NOW_US + 2
        world.word.press()
        world.desk.wake()
        world.settle()
        assert phases(world) == ["cancelling", "began"]
        began = world.said("sweep")[1]
        assert (began["unknown"], began["open"], began["answered_us"]) == (["A"], [], 0)
        world.now_us += 1_000_000
        world.settle()
        again_us = world.now_us
        world.now_us += 5
        world.hears(*report("C", "4", "4", t41="A"))
        assert phases(world) == ["cancelling", "began", "cancelling", "ended"]
        assert world.said("sweep")[-1] == {
            "ev": "sweep",
            "phase": "ended",
            "kill_epoch": 1,
            "confirmed": ["A"],
            "unknown": [],
            "open": [],
            "last_order_us": NOW_US + 1,
            "first_cancel_us": NOW_US + 2,
            "last_cancel_us": again_us,
            "answered_us": again_us + 5,
        }
        world.word.release(1)
        world.settle()
        world.now_us += 7
        world.word.press()
        world.desk.wake()
        world.settle()
        last = world.said("sweep")[-1]
        assert (last["phase"], last["first_cancel_us"], last["last_cancel_us"]) == ("ended", 0, 0)
        assert last["answered_us"] == world.now_us, "nothing was live at all"


def test_a_sweep_within_a_press_notes_and_tells_under_the_presss_epoch(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        with (tmp_path / "kill.word").open("r+b") as file:  # what a press does first
            file.seek(CLOSING)
            file.write(b"\1")
        world.desk.wake()
        world.settle()
        assert world.session.types() == ["D", "F"]
        epoch = world.word.press()
        world.settle()
        (note,) = read_cancels(tmp_path / "journal")
        assert note.kill_epoch == epoch
        world.hears(*report("A", "4", "4"))
        assert phases(world) == ["cancelling", "began", "ended"], "one press, one last word"
        told = [one["kill_epoch"] for one in world.said("sweep") if one["phase"] != "cancelling"]
        assert told == [epoch, epoch]


@pytest.mark.parametrize(
    "gone",
    [
        (
            (35, "9"),
            (34, "9"),
            (37, "E1"),
            (11, "C1"),
            (41, "A"),
            (39, "8"),
            (434, "1"),
            (102, "1"),
        ),
        report("A", "4", "4"),
    ],
)
@pytest.mark.parametrize(
    "again",
    [
        report("A", "0", "0", t151="131", t34="10"),
        report("A", "D", "0", t151="229", t34="10"),
        report("A", "F", "1", t32="1", t31="10", t14="1", t151="228", t34="10"),
    ],
)
def test_what_works_after_the_last_word_is_cancelled_at_once_and_takes_it_back(
    tmp_path: Path, gone: Fields, again: Fields
) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        epoch = world.word.press()
        world.desk.wake()
        world.settle()
        world.hears(*gone)
        assert phases(world) == ["cancelling", "began", "ended"]
        world.hears(*again)
        assert world.session.types() == ["D", "F", "F"]
        assert phases(world)[3:] == ["cancelling", "revived"]
        back = world.said("sweep")[-1]
        assert (back["unknown"], back["confirmed"], back["answered_us"]) == (["A"], [], 0)
        assert [one.kill_epoch for one in read_cancels(tmp_path / "journal")] == [epoch, epoch]
        world.hears(*report("A", "4", "4", t34="11", t17="END"))
        assert phases(world)[5:] == ["ended"]
        assert world.said("sweep")[-1]["confirmed"] == ["A"]


def test_a_kill_tells_of_the_last_order_of_an_earlier_life(tmp_path: Path) -> None:
    """Its bytes left before this child began; the journal noted when."""
    journal = Journal(tmp_path / "journal")
    journal.opened(LiveOrder(cl_ord_id="A", fields=order("A"), inbox_offset=0))
    journal.close()
    with child_desk(tmp_path, SINGLE) as world:
        assert world.journal.last_order_us > 0
        world.word.press()
        world.desk.wake()
        world.settle()
        (began,) = [one for one in world.said("sweep") if one["phase"] == "began"]
        assert began["last_order_us"] == world.journal.last_order_us


def test_an_answer_that_leaves_an_order_working_makes_it_open(tmp_path: Path) -> None:
    with child_desk(tmp_path, replace_pace(SINGLE, sweep_timeout_s=1)) as world:
        for name in ("A", "B"):
            world.hand(name)
        world.word.press()
        world.desk.wake()
        world.settle()
        world.hears(*report("B", "I", "0", t151="5"))
        world.now_us += 1_000_000
        world.settle()
        (late,) = [one for one in world.said("sweep") if one["phase"] == "waiting"]
        assert (late["unknown"], late["open"], late["confirmed"]) == (["A"], ["B"], [])
        assert late["answered_us"] == 0


@pytest.mark.parametrize(("response", "at_once"), [("0", True), ("7", False)])
def test_a_refused_mass_cancel_is_followed_by_single_ones_at_once(
    world: ChildDesk, response: str, *, at_once: bool
) -> None:
    world.hand("A")
    world.word.press()
    world.desk.wake()
    world.settle()
    mass = world.session.sent[-1]
    world.hears((35, "r"), (34, "9"), (11, mass[11]), (530, "7"), (531, response))
    assert world.session.types() == (["D", "q", "F"] if at_once else ["D", "q"])
    world.now_us += 100_000
    world.settle()
    assert world.session.types() == (["D", "q", "F"] if at_once else ["D", "q"]), "it gets time"


def test_while_the_session_is_down_no_cancel_is_sent_or_noted(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        world.session.is_logged_on = False
        world.word.press()
        world.desk.wake()
        world.settle()
        world.now_us += 60_000_000
        world.settle()
        assert (world.session.types(), read_cancels(tmp_path / "journal")) == (["D"], ())
        assert "cancelling" not in phases(world)
        world.session.is_logged_on = True
        world.settle()
        assert world.session.types() == ["D", "F"]


def test_a_commanded_sweep_needs_no_kill_and_its_cancels_name_none(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.word.release(world.word.press())
        world.hand("A")
        assert world.ask("sweep")["result"] == "ok"
        world.settle()
        assert world.session.types() == ["D", "F"]
        (note,) = read_cancels(tmp_path / "journal")
        assert note.kill_epoch == 0


def test_while_nothing_is_killed_nothing_is_swept(world: ChildDesk) -> None:
    world.hand("A")
    world.now_us += 60_000_000
    world.settle()
    assert world.session.types() == ["D"]
    assert world.said("sweep") == []
    assert not world.desk.goes_on
    assert world.session.hurries[-1] is False
    world.word.press()
    world.settle()
    assert world.session.hurries[-1] is True
    assert world.desk.goes_on


@pytest.mark.parametrize(
    ("killed", "live", "started"), [(1, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1)]
)
def test_an_orphan_stays_for_a_kill_with_something_live_on_a_started_session(
    world: ChildDesk, killed: int, live: int, started: int
) -> None:
    if live:
        world.hand("A")
    if killed:
        world.word.press()
    world.session.is_started = bool(started)
    assert world.desk.goes_on is bool(killed and live and started)


# -- leaving


def test_a_stop_closes_egress_and_ends_at_once_without_a_sweep(world: ChildDesk) -> None:
    world.hand("A")
    assert world.ask("stop", sweep=False)["result"] == "ok"
    assert world.ends()
    assert world.gate.closed == "stopping"
    assert world.session.done == ["stop"]
    assert world.session.types() == ["D"]


def test_a_stop_with_a_sweep_ends_when_nothing_is_live(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        world.ask("stop", sweep=True)
        world.settle()
        assert world.session.types() == ["D", "F"]
        assert world.thread.is_alive()
        assert world.gate.closed == "stopping"
        entry = world.inbox.append(wire_text(report("C", "4", "4", t41="A")))
        world.desk.received(entry)
        assert world.ends()
        assert world.live() == []
        assert world.session.done == ["stop"]


def test_a_stop_with_a_sweep_of_nothing_ends_at_once(world: ChildDesk) -> None:
    world.ask("stop", sweep=True)
    assert world.ends()
    assert world.said("sweep") == []


def test_an_orphan_lets_nothing_new_leave_sweeps_and_goes(tmp_path: Path) -> None:
    with child_desk(tmp_path, SINGLE) as world:
        world.hand("A")
        world.desk.orphaned("the gateway is gone")
        assert world.gate.closed == "the gateway is gone", "at once, not at the desk's next turn"
        world.settle()
        assert world.session.types() == ["D", "F"]
        world.now_us += PROFILE.pace.sweep_timeout_s * 1_000_000
        assert world.ends(), "its patience is over"
        assert world.said("sweep")[-1]["unknown"] == ["A"]
