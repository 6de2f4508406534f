"""The FIX child's supervisor: nothing is handed twice, and no call waits longer than it says."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import override

from fix.dialects.profile import profile_document
from fix.errors import ChildError
from fix.session.link import Frame, SessionState
from gateway.installation.children import fix as fix_child
from tests.doubles.fix_child_here import BOUND_S, World

FIELDS = ((35, "D"), (11, "NAME"))


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., World]]:
    worlds: list[World] = []

    def made(**changes: Any) -> World:  # noqa: ANN401 - any of its arguments
        world = World(tmp_path, **changes)
        worlds.append(world)
        monkeypatch.setattr(fix_child, "Life", world.life())
        return world

    yield made
    for world in worlds:
        world.fix.stop(sweep=False)


def until(condition: Callable[[], object]) -> bool:
    end = time.monotonic() + BOUND_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(condition())


def test_a_child_is_told_its_session_first_and_says_what_its_store_holds(
    make: Callable[..., World],
) -> None:
    world = make()
    child = world.start(damaged=True)
    hello = world.hello
    assert hello is not None
    assert (hello.next_sender, hello.next_target) == (5, 7)
    assert (hello.live, hello.journal_damaged) == (("A", "B"), True)
    (configured,) = child.told("configure")
    assert configured == {
        "op": "configure",
        "profile": profile_document(world.config.profile),
        "folder": str(world.config.folder),
        "kill_word": str(world.config.kill_word),
        "last_reset": 0,
    }
    assert world.fix.pid == 4_711
    assert [name for name, _ in world.events][:2] == ["started", "hello"]


def test_an_order_is_handed_once_with_both_its_ends(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    child.answers["hand"] = {"result": "sent", "msg_seq_num": 9, "raw": "35=D|", "epoch": 0}
    result = world.fix.hand("NAME", FIELDS, 3, 1_000, 2_000)
    assert (result.outcome, result.msg_seq_num, result.raw, result.epoch) == ("sent", 9, "35=D|", 0)
    (frame,) = child.told("hand")
    assert {name: frame[name] for name in frame if name != "n"} == {
        "op": "hand",
        "cl_ord_id": "NAME",
        "fields": [[35, "D"], [11, "NAME"]],
        "kill_epoch": 3,
        "send_before_us": 1_000,
        "send_until_us": 2_000,
    }


def test_what_the_child_refuses_is_refused_with_its_reason(make: Callable[..., World]) -> None:
    world = make()
    world.start().answers["hand"] = {"result": "refused", "reason": "killed"}
    result = world.fix.hand("NAME", FIELDS, 3, 1_000, 2_000)
    assert (result.outcome, result.reason, result.msg_seq_num) == ("refused", "killed", 0)


def test_without_an_answer_an_order_is_unknown_and_not_refused(make: Callable[..., World]) -> None:
    world = make(answer_timeout_s=0.05)
    child = world.start()
    child.answers["hand"] = None
    result = world.fix.hand("NAME", FIELDS, 3, 1_000, 2_000)
    assert (result.outcome, result.reason) == ("unknown", "no answer in 0.05 s")
    assert len(child.told("hand")) == 1


def test_an_order_in_the_hand_of_a_child_that_dies_is_unknown_the_next_is_refused(
    make: Callable[..., World],
) -> None:
    world = make()
    child = world.start()
    child.answers["hand"] = None
    results: list[str] = []
    waits = threading.Thread(
        target=lambda: results.append(world.fix.hand("NAME", FIELDS, 3, 1, 2).outcome)
    )
    waits.start()
    child.told("hand")
    child.die()
    waits.join(BOUND_S)
    assert results == ["unknown"]
    assert until(lambda: ("died", {"exit": None}) in world.events)


def test_without_a_child_an_order_is_refused_at_once(make: Callable[..., World]) -> None:
    world = make()
    result = world.fix.hand("NAME", FIELDS, 3, 1_000, 2_000)
    assert (result.outcome, result.reason) == ("refused", "the FIX child is down")
    assert world.fix.kill(1) is False
    assert (world.fix.pid, world.fix.state) == (0, SessionState.DOWN)
    with pytest.raises(ChildError, match="down"):
        world.fix.logon(min_next_sender=1)


def test_answers_go_to_who_asked(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    child.answers["hand"] = child.answers["pass"] = None
    results: dict[str, str] = {}

    def asks(name: str) -> None:
        results[name] = world.fix.hand(name, FIELDS, 3, 1, 2).reason

    threads = [threading.Thread(target=asks, args=(name,)) for name in ("one", "two")]
    for one in threads:
        one.start()
    numbers = {frame["cl_ord_id"]: frame["n"] for frame in child.told("hand", 2)}
    child.say(ev="answer", n=999, result="refused", reason="nobody asked")
    for name in ("two", "one"):
        child.say(ev="answer", n=numbers[name], result="refused", reason=f"for {name}")
    for one in threads:
        one.join(BOUND_S)
    assert results == {"one": "for one", "two": "for two"}


@pytest.mark.parametrize(("answer", "lives"), [({"result": "ok"}, True), (None, False)])
def test_a_kill_is_confirmed_or_the_child_is_dead(
    make: Callable[..., World], answer: Frame | None, *, lives: bool
) -> None:
    world = make()
    child = world.start()
    child.answers["kill"] = answer
    assert world.fix.kill(6, BOUND_S if lives else 0.05) is lives
    assert child.told("kill")[0]["kill_epoch"] == 6
    assert child.process.killed.is_set() is not lives


def test_a_kill_that_the_child_refuses_ends_it(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    child.answers["kill"] = {"result": "refused", "reason": "another epoch"}
    assert world.fix.kill(6, BOUND_S) is False
    assert child.process.killed.is_set()


def test_a_logon_names_the_highest_number_and_is_said_again_to_the_next_child(
    make: Callable[..., World],
) -> None:
    world = make()
    child = world.start()
    world.fix.logon(min_next_sender=5, adopt=True, epoch=2)
    (first,) = child.told("logon")
    said = {"op": "logon", "adopt": True, "accept": False, "epoch": 2}
    assert {name: first[name] for name in said} == said
    assert first["min_next_sender"] == 5
    child.answers["hand"] = {"result": "sent", "msg_seq_num": 9, "raw": "", "epoch": 2}
    world.fix.hand("NAME", FIELDS, 3, 1, 2)
    # one of an earlier epoch says nothing about the numbers of this one
    child.answers["hand"] = {"result": "sent", "msg_seq_num": 90, "raw": "", "epoch": 1}
    world.fix.hand("LATE", FIELDS, 3, 1, 2)
    child.answers["hand"] = {"result": "sent", "msg_seq_num": 7, "raw": "", "epoch": 2}
    world.fix.hand("LESS", FIELDS, 3, 1, 2)
    child.die()
    second = world.child()
    second.hello()
    (again,) = second.told("logon")
    assert (again["min_next_sender"], again["adopt"], again["epoch"]) == (10, True, 2)
    assert again["n"] == 0, "nobody waits for it"


def test_a_refused_logon_is_not_said_again(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    child.answers["logon"] = {"result": "refused", "reason": "behind"}
    with pytest.raises(ChildError, match="behind"):
        world.fix.logon(min_next_sender=50)
    child.die()
    second = world.child()
    second.hello()
    second.session(SessionState.DOWN, 0)
    assert until(lambda: [name for name, _ in world.events].count("session") == 1)
    world.fix.sweep()
    assert [frame["op"] for frame in second.heard] == ["configure", "sweep"]


@pytest.mark.parametrize(("allowed", "next_sender", "epoch"), [(True, 1, 4), (False, 8, 0)])
def test_a_new_beginning_counts_only_where_it_was_allowed_and_is_accepted_once(
    make: Callable[..., World], *, allowed: bool, next_sender: int, epoch: int
) -> None:
    world = make()
    child = world.start()
    world.fix.logon(min_next_sender=8, accept=True)
    child.say(ev="reset", reset_no=4, allowed=allowed, new_sender=1)
    assert until(lambda: "reset" in [name for name, _ in world.events])
    child.die()
    second = world.child()
    second.hello()
    (again,) = second.told("logon")
    assert (again["min_next_sender"], again["epoch"]) == (next_sender, epoch)
    assert again["accept"] is not allowed
    assert second.told("configure")[0]["last_reset"] == 4, (
        "it is known to the next child in any case"
    )


def test_the_session_is_what_the_child_says_and_down_once_it_is_dead(
    make: Callable[..., World],
) -> None:
    world = make()
    child = world.start()
    child.session(SessionState.READY, 3)
    assert world.fix.wait_for(SessionState.READY, BOUND_S)
    assert (world.fix.logon_no, world.fix.refused) == (3, "")
    child.session(SessionState.REFUSED, 4, "the broker began anew")
    assert world.fix.wait_for(SessionState.REFUSED, BOUND_S)
    assert world.fix.refused == "the broker began anew"
    child.die()
    assert world.fix.wait_for(SessionState.DOWN, BOUND_S)
    assert (world.fix.logon_no, world.fix.refused) == (0, "")
    assert not world.fix.wait_for(SessionState.READY, 0.01)


def test_a_reconciliation_opens_the_logon_it_began_in(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    assert world.fix.set_reconciled(3) is True
    child.answers["reconciled"] = {"result": "refused", "reason": "over"}
    assert world.fix.set_reconciled(4) is False
    assert [frame["logon_no"] for frame in child.told("reconciled", 2)] == [3, 4]


def test_cancels_questions_and_sweeps_are_passed_on(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    child.answers["pass"] = {"result": "sent", "msg_seq_num": 2, "raw": "", "epoch": 0}
    assert world.fix.cancel(((35, "F"),)).outcome == "sent"
    assert world.fix.status_request(((35, "H"),)).outcome == "sent"
    world.fix.sweep()
    assert [frame["fields"] for frame in child.told("pass", 2)] == [[[35, "F"]], [[35, "H"]]]
    assert len(child.told("sweep")) == 1


SHUT = ("toAdmin", "toApp", "fromApp", "fromAdmin", "onLogon", "onLogout", "desk")


@pytest.mark.parametrize(
    ("where", "dies"), [*((place, True) for place in SHUT), ("somewhere", False)]
)
def test_a_fault_that_shut_egress_for_good_ends_the_child(
    make: Callable[..., World], where: str, *, dies: bool
) -> None:
    world = make()
    child = world.start()
    child.say(ev="fault", where=where, detail="?")
    assert until(lambda: "fault" in [name for name, _ in world.events])
    if dies:
        assert child.process.killed.wait(BOUND_S)
        world.child()
        return
    child.session(SessionState.READY)
    assert world.fix.wait_for(SessionState.READY, BOUND_S), "it goes on"
    assert not child.process.killed.is_set()


def test_a_dropped_child_is_followed_by_a_fresh_one(make: Callable[..., World]) -> None:
    world = make()
    child = world.start()
    world.fix.drop()
    assert child.process.killed.is_set()
    assert world.child() is not child


@pytest.mark.parametrize("sweep", [True, False])
def test_a_stop_says_whether_to_sweep_and_no_child_follows(
    make: Callable[..., World], *, sweep: bool
) -> None:
    world = make()
    child = world.start()
    world.fix.stop(sweep=sweep)
    assert child.told("stop")[0]["sweep"] is sweep
    assert world.born.empty()
    assert world.fix.hand("NAME", FIELDS, 3, 1, 2).outcome == "refused"


def test_a_stop_sweeps_under_a_kill_whatever_it_says(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    child = world.start()
    monkeypatch.setattr(fix_child, "is_kept", lambda _: True)
    world.fix.stop(sweep=False)
    assert child.told("stop")[0]["sweep"] is True


def test_a_listener_that_fails_stops_nothing(make: Callable[..., World]) -> None:
    world = make()

    def fails(_name: str, _event: Frame) -> None:
        raise ValueError("a fault of the listener")

    world.fix._on_event = fails  # noqa: SLF001 - given when it is made
    child = world.start()
    child.session(SessionState.READY)
    assert world.fix.wait_for(SessionState.READY, BOUND_S)
    assert world.fix.hand("NAME", FIELDS, 3, 1, 2).outcome == "ok"


def test_a_child_that_does_not_come_up_is_said_so(make: Callable[..., World]) -> None:
    world = make()
    with pytest.raises(ChildError, match="no hello"):
        world.fix.start(0.05)


class NotedPauses(threading.Event):
    """Tells a supervisor when to stop; keeps how long it would have waited, and never waits."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def has(self, so_many: int) -> bool:
        return len(self.pauses) == so_many

    @override
    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            self.pauses.append(timeout)
        return self.is_set()


def test_pauses_double_up_to_the_longest_and_begin_anew_after_a_child_that_lived(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [1_000.0]
    monkeypatch.setattr(fix_child, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    world = make(backoff_s=(0.25, 1.5))
    noted = NotedPauses()
    world.fix._stopping = noted  # noqa: SLF001 - its only clock
    child = world.start()
    for number, lived_s in enumerate((1.0, 2.0, 3.0, 29.0, 31.0, 1.0), start=1):
        now_s[0] += lived_s
        child.die()
        assert until(partial(noted.has, number))
        child = world.child()
        child.hello()
    assert noted.pauses == [0.25, 0.5, 1.0, 1.5, 0.25, 0.5]
