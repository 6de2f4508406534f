"""What the children say is taken to where it belongs, in the order that keeps it safe."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from audit.errors import LedgerWriteError
from audit.records.kinds import Kind
from audit.store.tables import DatabaseError
from fix.durable.resets import Reset, ResetCause
from fix.session.link import SessionState
from gateway import clock
from gateway.desk.controls.cancel_all import CancelAll
from gateway.errors import NotReadyError
from gateway.launch import events as events_module
from gateway.launch.events import AGAIN_US, SETTLED_WITHIN_US, Events
from gateway.walk.projections.kill_times import STEPS
from gateway.walk.projections.stops import OpenCancelAll
from gateway.walk.reconciliation.asking import Budget
from tests.doubles.memory_desk import MemoryDesk, memory_desk

SESSION = "EMSSIM"
BOUND_S = 30.0


def reset(number: int) -> Reset:
    return Reset(
        reset_no=number,
        cause=ResetCause.BY_BROKER,
        allowed=True,
        old_sender=9,
        old_target=8,
        new_sender=1,
        new_target=1,
        at_us=1,
    )


@dataclass
class Parts:
    """What events are taken to: it notes what it is asked, in one list."""

    done: list[str] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    found: list[Reset] = field(default_factory=list)
    session: str = SESSION
    offset: int = 100
    differs: int = 0
    state: SessionState = SessionState.RECONCILING
    logon_no: int = 1
    trouble: Exception | None = None
    refuses: Exception | None = None

    def wake(self) -> None:
        self.done.append("woken")

    def drop(self) -> None:
        self.done.append("dropped")

    def resets(self) -> tuple[Reset, ...]:
        return tuple(self.found)

    def inbox_since(self, offset: int) -> list[Any]:
        self.done.append(f"read from {offset}")
        return []

    def live_orders(self) -> tuple[Any, ...]:
        return ()

    def set_reconciled(self, logon_no: int) -> bool:
        self.done.append(f"opened {logon_no}")
        return True

    def run(self, source: str) -> int:
        self.done.append(f"checked {source}")
        return self.differs

    def take(self) -> int:
        self.done.append("cancels")
        if self.trouble is not None:
            raise self.trouble
        return 0

    def record_outcome(self, **told: Any) -> None:  # noqa: ANN401 - as the switch takes it
        if self.refuses is not None:
            raise self.refuses
        self.done.append("outcome")
        self.outcomes.append(told)


@dataclass
class World:
    """Events with everything bound."""

    desk: MemoryDesk
    parts: Parts
    events: Events

    def notes(self) -> list[tuple[str, str]]:
        found = self.desk.log.of_kind(Kind.SESSION_EVENT)
        return [(one.stream, str(one.body["event"])) for one in found]


@pytest.fixture
def world(tmp_path: Path) -> World:
    desk, parts = memory_desk(tmp_path), Parts()
    events = Events("run-1", desk.small.desk.own.orders, Budget(20))
    bound: Any = parts
    events.settler = events.fix = events.kill_switch = events.cancels = events.book_check = bound
    events.ledger = desk.small.ledger
    return World(desk, parts, events)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the background's work be done before an event returns."""

    def does(work: Callable[..., None], *arguments: object) -> None:
        work(*arguments)

    monkeypatch.setattr(events_module, "_in_background", does)


def test_what_comes_before_anything_is_bound_is_of_no_consequence(
    at_once: None, tmp_path: Path
) -> None:
    del at_once
    events = Events("run-1", memory_desk(tmp_path).small.desk.own.orders, Budget(20))
    events.on_fix("inbox", {})
    events.on_fix("session", {"state": "RECONCILING", "logon_no": 1})
    events.on_fix("reset", {})
    events.on_fix("sweep", {"phase": "ended"})
    events.on_engine("died", {})
    events.record_resets()


def test_a_message_wakes_the_settler_and_nobody_else(world: World) -> None:
    world.events.on_fix("inbox", {})
    world.events.on_fix("started", {})
    assert world.parts.done == ["woken"]


def test_a_logon_is_reconciled_checked_and_opened_in_this_order(
    at_once: None, world: World
) -> None:
    del at_once
    world.parts.found = [reset(1)]
    world.events.on_fix("session", {"state": SessionState.RECONCILING.value, "logon_no": 3})
    assert world.parts.done[-2:] == ["checked reconciliation", "opened 3"]
    assert world.notes() == [(f"session/{SESSION}", "sequence_reset")]


@pytest.mark.parametrize("state", [s for s in SessionState if s is not SessionState.RECONCILING])
def test_another_state_is_no_reason_to_ask(
    at_once: None, world: World, state: SessionState
) -> None:
    del at_once
    world.events.on_fix("session", {"state": state.value, "logon_no": 3})
    assert world.parts.done == []


def test_a_stranger_on_the_port_is_dropped_before_anything_is_said_to_him(
    at_once: None, world: World
) -> None:
    del at_once
    world.events.stranger = lambda: "another process"
    world.events.on_fix("session", {"state": SessionState.RECONCILING.value, "logon_no": 3})
    assert world.parts.done == ["dropped"]
    assert world.notes() == [(f"session/{SESSION}", "stranger_at_port")]


def test_a_beginning_that_is_not_on_record_keeps_the_session_shut(
    at_once: None, world: World
) -> None:
    del at_once
    world.parts.found = [reset(1)]
    world.desk.log.refuses = LedgerWriteError("the database is away")
    world.events.on_fix("reset", {})
    world.events.on_fix("session", {"state": SessionState.RECONCILING.value, "logon_no": 3})
    assert not any(one.startswith("opened") for one in world.parts.done)
    world.desk.log.refuses = None
    world.events.on_fix("session", {"state": SessionState.RECONCILING.value, "logon_no": 4})
    assert world.parts.done[-1] == "opened 4"
    assert world.notes() == [(f"session/{SESSION}", "sequence_reset")]


@pytest.mark.parametrize(
    "trouble",
    [
        LedgerWriteError("the database is away"),
        NotReadyError(part="orders", state="a gap"),
        DatabaseError("gone"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_logon_that_could_not_be_reconciled_is_reconciled_as_soon_as_it_can_be(
    at_once: None, world: World, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    """The broker goes on answering heartbeats: no other logon would ever come."""
    del at_once
    now = [0]
    monkeypatch.setattr(clock, "monotonic_us", lambda: now[0])
    world.parts.logon_no = 3
    troubles = [trouble, trouble]

    def run(source: str) -> int:
        world.parts.done.append(f"checked {source}")
        if troubles:
            raise troubles.pop()
        return 0

    monkeypatch.setattr(world.parts, "run", run)
    world.events.on_fix("session", {"state": SessionState.RECONCILING.value, "logon_no": 3})
    for _ in range(2):
        world.parts.done.clear()
        now[0] += AGAIN_US - 1
        world.events.reconcile_again()
        assert world.parts.done == [], "a broker is not asked without a pause"
        now[0] += 1
        world.events.reconcile_again()
        assert "checked reconciliation" in world.parts.done
    assert world.parts.done[-1] == "opened 3"
    world.parts.done.clear()
    now[0] += AGAIN_US
    world.events.reconcile_again()
    assert world.parts.done == [], "it is reconciled"


@pytest.mark.parametrize(
    ("state", "logon_no"),
    [(SessionState.READY, 3), (SessionState.DOWN, 3), (SessionState.RECONCILING, 4)],
)
def test_a_logon_that_is_over_is_not_reconciled_again(
    at_once: None,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    state: SessionState,
    logon_no: int,
) -> None:
    del at_once
    now = [0]
    monkeypatch.setattr(clock, "monotonic_us", lambda: now[0])
    world.parts.found = [reset(1)]
    world.desk.log.refuses = LedgerWriteError("the database is away")
    world.events.on_fix("session", {"state": SessionState.RECONCILING.value, "logon_no": 3})
    world.desk.log.refuses = None
    world.parts.state, world.parts.logon_no = state, logon_no
    now[0] += AGAIN_US
    world.events.reconcile_again()
    assert world.parts.done == []


def test_each_new_beginning_is_put_on_record_once(at_once: None, world: World) -> None:
    del at_once
    appended: list[int] = []
    world.desk.log.before = lambda drafts: appended.append(len(drafts))
    for known in ([1], [1], [1, 2], [2, 1], [2, 3]):
        world.parts.found = [reset(number) for number in known]
        world.events.on_fix("reset", {})
    numbers = [int(one.body["reset_no"]) for one in world.desk.log.of_kind(Kind.SESSION_EVENT)]
    assert numbers == [1, 2, 3]
    assert appended == [1, 1, 1], "what is on record is not even tried again"


def test_the_book_is_compared_once_the_answers_are_settled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def pause(time_s: float) -> None:
        pauses.append(time_s)
        world.parts.offset += 30

    monkeypatch.setattr(clock, "pause", pause)
    world.events._hold_against_broker(160)  # noqa: SLF001 - called by the reconciliation
    assert (len(pauses), world.parts.done) == (2, ["checked reconciliation"])
    world.events._hold_against_broker(160)  # noqa: SLF001 - as above
    assert len(pauses) == 2, "nothing has to be waited for"


def test_answers_that_are_not_settled_are_waited_for_in_bounds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0]

    def pause(_time_s: float) -> None:
        now[0] += SETTLED_WITHIN_US // 4

    monkeypatch.setattr(clock, "pause", pause)
    monkeypatch.setattr(clock, "monotonic_us", lambda: now[0])
    world.events._hold_against_broker(10_000)  # noqa: SLF001 - as above
    assert world.parts.done == ["checked reconciliation"]
    assert now[0] == SETTLED_WITHIN_US


@pytest.mark.parametrize("phase", ["revived", "waiting", "ended"])
@pytest.mark.parametrize("trouble", [None, LedgerWriteError("the database is away")])
def test_how_far_a_sweep_is_comes_after_its_cancels_and_also_without_them(
    at_once: None, world: World, phase: str, trouble: Exception | None
) -> None:
    del at_once
    world.parts.trouble = trouble
    times = {step: 1_000 + place for place, step in enumerate(STEPS)}
    lists: dict[str, Any] = {"confirmed": ["A"], "unknown": ["B", "C"], "open": ["D"]}
    world.events.on_fix("sweep", {"phase": phase, "kill_epoch": 3, **lists, **times})
    assert world.parts.done == ["cancels", "outcome"]
    assert world.parts.outcomes == [
        {
            "kill_epoch": 3,
            "confirmed": ["A"],
            "unknown": ["B", "C"],
            "still_open": ["D"],
            "times_us": times,
        }
    ]


@pytest.mark.parametrize("named", [[], ["confirmed"], ["unknown"], ["open"]])
@pytest.mark.parametrize("settled", [True, False])
def test_an_order_that_works_for_the_gateway_is_never_gone_by_the_childs_word_alone(
    at_once: None, world: World, monkeypatch: pytest.MonkeyPatch, named: list[str], *, settled: bool
) -> None:
    """A kill left out an order that had ended for the child alone, and said that all were gone."""
    del at_once
    monkeypatch.setattr(clock, "monotonic_us", iter(range(0, 10**9, SETTLED_WITHIN_US)).__next__)
    monkeypatch.setattr(clock, "pause", lambda _: None)
    name = world.desk.rest().cl_ord_id
    asked = OpenCancelAll(cancel_id="c", live=(name, "ENDED"))
    ledger, outcomes = world.desk.small.ledger, Kind.CANCEL_ALL_OUTCOME
    live = CancelAll(ledger=ledger, sweep=lambda: True, live=tuple, open=asked)
    world.events.cancel_all = live
    world.events.on_fix("inbox", {"next_offset": world.parts.offset + (0 if settled else 1)})
    world.events.on_fix("sweep", {"phase": "ended", **{one: [name] for one in named}})
    (told,) = world.parts.outcomes
    (on_record,) = world.desk.log.of_kind(outcomes)
    gone = named == ["confirmed"] and not settled  # the gateway may not have read its end yet
    assert told["confirmed"] == ([name] if gone else [])
    assert told["unknown"] + told["still_open"] == ([] if gone else [name])
    assert on_record.body["unknown"] == told["unknown"]


def test_what_is_told_of_sweeps_goes_on_record_in_its_order_also_after_a_ledger_that_was_away(
    at_once: None, world: World
) -> None:
    """A last word that is recorded behind its taking back would stand as the last one."""
    del at_once
    world.parts.refuses = LedgerWriteError("the database is away")
    told: list[tuple[str, dict[str, Any]]] = [
        ("ended", {"confirmed": ["A"]}),
        ("revived", {"unknown": ["A"]}),
    ]
    for phase, lists in told:
        world.events.on_fix("sweep", {"phase": phase, **lists})
    assert world.parts.outcomes == []
    with pytest.raises(LedgerWriteError):
        world.events.record_outcomes()
    world.parts.refuses = None
    world.events.record_outcomes()
    assert [one["confirmed"] for one in world.parts.outcomes] == [["A"], []]
    assert [one["unknown"] for one in world.parts.outcomes] == [[], ["A"]]
    world.events.record_outcomes()
    assert len(world.parts.outcomes) == 2


def test_a_sweep_that_a_new_child_begins_takes_the_last_word_back(
    at_once: None, world: World
) -> None:
    """It has the journal, and does not know what the child before it had told."""
    del at_once
    for phase, epoch in (("began", 3), ("ended", 3), ("began", 4), ("began", 3), ("began", 0)):
        world.events.on_fix("sweep", {"phase": phase, "kill_epoch": epoch, "unknown": [phase]})
    told = [(one["kill_epoch"], one["unknown"]) for one in world.parts.outcomes]
    assert told == [(3, ["ended"]), (3, ["began"])]


def test_a_sweep_that_goes_on_has_cancels_and_no_outcome_yet(at_once: None, world: World) -> None:
    del at_once
    world.events.on_fix("sweep", {"phase": "began", "open": "not a list"})
    assert world.parts.done == ["cancels"]
    world.events.on_fix("sweep", {"phase": "ended", "open": "not a list"})
    (outcome,) = world.parts.outcomes
    assert (outcome["still_open"], set(outcome["times_us"].values())) == ([], {0})


def test_the_engines_life_is_on_record_but_for_its_ordered_end(at_once: None, world: World) -> None:
    del at_once
    world.events.on_engine("died", {"why": "memory", "exit": "9"})
    world.events.on_engine("stopped", {})
    (record,) = world.desk.log.of_kind(Kind.ENGINE_EVENT)
    body = {name: record.body[name] for name in ("event", "detail", "run_id")}
    assert body == {"event": "died", "detail": "exit=9; why=memory", "run_id": "run-1"}
    world.desk.log.refuses = LedgerWriteError("the database is away")
    world.events.on_engine("died", {})


def test_an_event_never_waits_for_what_it_leads_to(world: World) -> None:
    """The thread that brings an event is the one that reads the child's answers."""
    began, go_on = threading.Event(), threading.Event()
    threads: list[str] = []

    def take() -> int:
        threads.append(threading.current_thread().name)
        began.set()
        assert go_on.wait(BOUND_S)
        return 0

    world.events.cancels = cast("Any", type("Slow", (), {"take": staticmethod(take)}))
    world.events.on_fix("sweep", {"phase": "began"})
    assert began.wait(BOUND_S)
    go_on.set()
    assert threads != [threading.current_thread().name]
