"""The FIX child's start and end: locks, journal, hello, the way out. No child is started."""

import fcntl
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, cast

import pytest

from fix.build import identity
from fix.dialects.profile import Profile, Resets
from fix.durable.inbox import Inbox
from fix.durable.journal import Journal, read_live
from fix.durable.kill_word import KillWord
from fix.durable.resets import ResetCause, resets_of
from fix.durable.wire_log import message_log
from fix.errors import StoreInUseError
from fix.orders.live import LiveOrder
from fix.session import main as session_main
from fix.session.dictionaries import words_of
from fix.session.link import LINE_BYTES_MAX, Frame, encode, frames, number
from fix.session.main import (
    Outbox,
    build_worker,
    leave_in_time,
    lock_store,
    open_journal,
    successor_waits,
)
from fix.session.worker import SessionWorker
from fix.wire.messages import wire_text
from tests.doubles.child_desk import order, report
from tests.doubles.fix_world import PROFILE, until
from tests.doubles.unstarted_engine import named

BOUND_S = 10.0


# -- one child at a time


def is_free(folder: Path) -> bool:
    with (folder / "session.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def test_the_lock_is_kept_until_the_process_gives_it_up(tmp_path: Path) -> None:
    lock = lock_store(tmp_path / "new" / "fix", 0.0)
    assert not is_free(tmp_path / "new" / "fix")
    with pytest.raises(StoreInUseError, match=r"session\.lock"):
        lock_store(tmp_path / "new" / "fix", 0.05)
    os.close(lock)
    assert is_free(tmp_path / "new" / "fix")


def test_a_second_child_waits_visibly_and_gets_the_lock_when_the_first_leaves(
    tmp_path: Path,
) -> None:
    first = lock_store(tmp_path, 0.0)
    assert not successor_waits(tmp_path), "whoever has it does not wait"
    got: list[int] = []
    second = threading.Thread(target=lambda: got.append(lock_store(tmp_path, BOUND_S)))
    second.start()
    try:
        assert until(lambda: successor_waits(tmp_path), BOUND_S)
        assert got == []
    finally:
        os.close(first)
        second.join(BOUND_S)
    assert len(got) == 1
    assert not is_free(tmp_path)
    assert not successor_waits(tmp_path)
    os.close(got[0])


def test_two_may_wait_at_once(tmp_path: Path) -> None:
    first = lock_store(tmp_path, 0.0)
    for _ in range(2):
        with pytest.raises(StoreInUseError):
            lock_store(tmp_path, 0.0)
    os.close(first)


# -- an orphan's end


class Left(BaseException):
    """The process would have ended here."""


class Orphan:
    """A desk that stays for a while, as far as the way out asks."""

    def __init__(self, stays: Callable[[], bool]) -> None:
        self._stays = stays

    @property
    def goes_on(self) -> bool:
        return self._stays()


def leaves(folder: Path, rest_s: float, stays: Callable[[], bool]) -> None:
    with pytest.raises(Left):
        leave_in_time(cast("SessionWorker", Orphan(stays)), folder, rest_s)


@pytest.fixture
def _leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(code: int) -> NoReturn:
        assert code == 0
        raise Left

    monkeypatch.setattr(os, "_exit", leave)


@pytest.mark.usefixtures("_leaving")
def test_an_orphan_leaves_when_its_rest_is_over_and_not_before(tmp_path: Path) -> None:
    asked: list[int] = []

    def stays() -> bool:
        asked.append(1)
        return False

    leaves(tmp_path, 0.25, stays)
    assert len(asked) >= 3, "it looked several times before it left"


@pytest.mark.usefixtures("_leaving")
def test_an_orphan_with_something_live_stays_until_that_is_over(tmp_path: Path) -> None:
    answers = iter([True] * 4)
    leaves(tmp_path, 0.0, lambda: next(answers, False))
    assert next(answers, None) is None


@pytest.mark.usefixtures("_leaving")
def test_an_orphan_stays_no_longer_than_a_day_nor_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves(tmp_path / "removed", 0.0, lambda: True)
    monkeypatch.setattr(session_main, "ORPHAN_S", 0)
    leaves(tmp_path, 0.0, lambda: True)


@pytest.mark.usefixtures("_leaving")
def test_an_orphan_that_stays_makes_room_for_a_successor(tmp_path: Path) -> None:
    lock = lock_store(tmp_path, 0.0)
    second = threading.Thread(target=lambda: os.close(lock_store(tmp_path, BOUND_S)))
    second.start()
    try:
        leaves(tmp_path, 1e9, lambda: True)
    finally:
        os.close(lock)
        second.join(BOUND_S)


# -- the journal


def test_a_sound_journal_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.opened(LiveOrder(cl_ord_id="A", fields=order("A"), inbox_offset=0))
    journal.close()
    again, damaged = open_journal(path)
    assert (damaged, [one.cl_ord_id for one in again.live()]) == (False, ["A"])
    again.close()


def test_a_damaged_journal_is_put_aside_whole_and_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"no journal\nat all\n")
    journal, damaged = open_journal(path)
    assert (damaged, journal.live()) == (True, ())
    journal.close()
    (aside,) = tmp_path.glob("journal.damaged-*")
    assert aside.read_bytes() == b"no journal\nat all\n"
    assert read_live(path) == ()


# -- what it tells


def test_events_leave_in_order_and_whoever_posts_does_not_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session_main, "_EVENTS_MAX", 3)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        outbox = Outbox(ours)
        big = "x" * 500_000
        posted: list[Frame] = [{"ev": "big", "n": number, "text": big} for number in range(20)]
        for frame in posted:
            outbox.post(frame)
        assert "does not read" in capsys.readouterr().err, "what does not fit is dropped"
        read = frames(theirs)
        first = next(read)
        assert first == posted[0]
        assert next(read) == posted[1]


def test_a_drain_waits_for_what_is_queued_but_not_for_ever() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        outbox = Outbox(ours)
        for number in range(50):
            outbox.post({"ev": "x", "n": number})
        outbox.drain(BOUND_S)
        ours.close()
        assert [one["n"] for one in frames(theirs)] == list(range(50))


class Told:
    """Takes an outbox's place."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def post(self, frame: Frame) -> None:
        self.frames.append(frame)

    def said(self, event: str) -> list[Frame]:
        return [one for one in self.frames if one["ev"] == event]


def built(folder: Path, profile: Profile, last_reset: int = 0) -> tuple[SessionWorker, Told]:
    told = Told()
    desk = build_worker(
        profile,
        folder,
        folder.parent / "kill.word",
        cast("Outbox", told),
        last_reset=last_reset,
    )
    return desk, told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    KillWord(tmp_path / "kill.word", create=True).close()
    found = tmp_path / "fix"
    found.mkdir()
    return found


def test_a_child_says_hello_with_its_numbers_and_what_is_live(folder: Path) -> None:
    journal = Journal(folder / "journal")
    a, b, c, x = ("A" * 20, "B" * 20, "C" * 20, "X" * 20)
    for name in (a, b, c):
        journal.opened(LiveOrder(cl_ord_id=name, fields=order(name), inbox_offset=0))
    inbox = Inbox(folder / "inbox")
    early = inbox.append(wire_text(report(b, "4", "4")))
    journal.closed(c, early.next_offset, "4")
    for _ in range(1001):  # more than one reading
        inbox.append(wire_text(report(x, "0", "0")))
    inbox.append(wire_text(report(a, "4", "4")))
    inbox.close()
    journal.close()
    profile = named(PROFILE)
    (folder / "store").mkdir()
    _, told = built(folder, profile)
    assert told.said("hello") == [
        {
            "ev": "hello",
            "next_sender": 1,
            "next_target": 1,
            "live": [b],
            "damaged": False,
            **identity(profile, words_of(profile)),
        }
    ], "a report that was accounted for is not looked at again; one that was not, is"


def test_a_damaged_journal_is_told(folder: Path) -> None:
    (folder / "journal").write_bytes(b"x\n")
    _, told = built(folder, named(PROFILE))
    assert [one["damaged"] for one in told.said("hello")] == [True]


def test_a_store_that_the_engine_begins_anew_is_in_the_file_before_hello(folder: Path) -> None:
    times = {"session_start": "00:00:00", "session_end": "23:59:59"}
    profile = named(PROFILE.model_copy(update={"resets": Resets.NIGHTLY, **times}))
    (folder / "store").mkdir()
    name = f"FIX.4.4-{profile.sender_comp_id}-{profile.target_comp_id}"
    (folder / "store" / f"{name}.seqnums").write_text(f"{41:020d} : {31:020d}")
    (folder / "store" / f"{name}.session").write_text("20200101-00:00:00")
    _, told = built(folder, profile, last_reset=6)
    (hello,) = told.said("hello")
    assert (hello["next_sender"], hello["next_target"]) == (1, 1)
    (found,) = resets_of(folder)
    assert (found.cause, found.reset_no) == (ResetCause.NIGHTLY, 7), "behind what is on record"
    assert (found.old_sender, found.old_target) == (41, 31)


def test_names_that_an_earlier_life_left_in_the_log_are_overwritten(folder: Path) -> None:
    profile = named(PROFILE)
    log = message_log(profile, folder)
    log.parent.mkdir()
    line = "20260101-00:00:00.000000000 : " + wire_text(
        ((35, "8"), (34, "2"), (37, "E"), (337, "JANE DOE"))
    )
    log.write_text(line + "\n", encoding="latin-1")
    built(folder, profile)
    assert b"JANE" not in log.read_bytes()


def test_a_press_is_noticed_without_anybody_saying_so(folder: Path) -> None:
    desk, told = built(folder, named(PROFILE))
    worker = threading.Thread(target=desk.run, daemon=True)
    worker.start()
    word = KillWord(folder.parent / "kill.word")
    try:
        assert told.said("sweep") == []
        word.press()
        assert until(lambda: told.said("sweep"), BOUND_S)
        word.press()
        assert until(lambda: len(told.said("sweep")) == 2, BOUND_S), "each press is answered"
        assert {one["phase"] for one in told.said("sweep")} == {"ended"}
    finally:
        desk.command({"op": "stop", "n": 1})
        worker.join(BOUND_S)
        word.close()
    assert not worker.is_alive()


# -- what the gateway says


class Heard:
    """A desk as far as the reader of the pipe uses it."""

    def __init__(self) -> None:
        self.at_once: list[Frame] = []
        self.queued: list[Frame] = []

    def confirm_kill(self, frame: Frame) -> None:
        number(frame, "kill_epoch")
        self.at_once.append(frame)

    def command(self, frame: Frame) -> None:
        self.queued.append(frame)


def read_all(*lines: bytes) -> tuple[Heard, list[str]]:
    """Return what a pipe's reader passed on, and why it said that the gateway is gone."""
    ours, theirs = socket.socketpair()
    heard, gone = Heard(), list[str]()
    with ours:
        for line in lines:
            theirs.sendall(line)
        theirs.close()
        session_main._read_commands(ours, cast("SessionWorker", heard), gone.append)  # noqa: SLF001 - its thread's body
    return heard, gone


def test_a_kill_is_answered_at_once_and_everything_else_in_its_turn() -> None:
    kill: Frame = {"op": "kill", "n": 2, "kill_epoch": 1}
    others: list[Frame] = [{"op": "hand", "n": 1}, {"op": "sweep", "n": 3}, {"n": 4}]
    heard, gone = read_all(encode(others[0]), encode(kill), *map(encode, others[1:]))
    assert (heard.at_once, heard.queued) == ([kill], others)
    assert gone == ["the gateway is gone"]


@pytest.mark.parametrize(
    "line", [b"no frame\n", b"[]\n", encode({"op": "kill", "n": 1}), b"x" * (LINE_BYTES_MAX + 1)]
)
def test_whoever_does_not_speak_like_the_gateway_is_not_heard_any_more(line: bytes) -> None:
    hand: Frame = {"op": "hand", "n": 1}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        heard, gone = Heard(), list[str]()
        reader = threading.Thread(
            target=session_main._read_commands,  # noqa: SLF001 - its thread's body
            args=(ours, cast("SessionWorker", heard), gone.append),
        )
        reader.start()
        theirs.sendall(encode(hand))
        assert until(lambda: heard.queued == [hand], BOUND_S)
        theirs.sendall(line)
        reader.join(BOUND_S)
        assert not reader.is_alive(), "the pipe is still open, and it is read no more"
    assert (heard.at_once, heard.queued) == ([], [hand])
    assert gone[0] != "the gateway is gone", "the reason is said first"
