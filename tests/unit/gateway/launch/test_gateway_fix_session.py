"""A session whose folder is behind the ledger starts on a person's word only."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.dialects.profile import SessionMode, simulator_profile
from fix.durable.inbox import Inbox, base_of
from fix.durable.resets import Reset
from fix.durable.resets import ResetCause as Why
from fix.session.link import SessionState
from gateway.errors import NotReadyError, RequestError, SessionLostError, SettingsError
from gateway.installation.children.fix import FixChild
from gateway.launch.plan import Plan
from gateway.launch.session import (
    OWN_PEER_S,
    PEER_S,
    SKIPPED,
    Beginning,
    await_session,
    begin_anew,
    numbers_of,
    refuse_lost,
    simulator_after,
)
from gateway.walk.projections.outbox import Orders
from gateway.walk.projections.sequence import record_resets
from tests.doubles.memory_ledger import MemoryLedger

NAME = simulator_profile(1).name
RESET = Reset(
    reset_no=1,
    cause=Why.BY_BROKER,
    allowed=False,
    old_sender=9,
    old_target=8,
    new_sender=1,
    new_target=1,
    at_us=1,
)


class World:
    """A ledger, a folder and a plan of a session."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = MemoryLedger()
        self.any: Any = self.log
        self.mode = SessionMode.RESUME

    def plan(self, word: str = "", port: int | None = None) -> Plan:
        def profile(port: int) -> Any:  # noqa: ANN401 - a profile
            made = simulator_profile(port)
            return made.model_copy(update={"mode": self.mode})

        fix = SimpleNamespace(new_session=word, port=port)
        plan = SimpleNamespace(
            state=SimpleNamespace(root=self.root, fix=self.root / "fix"),
            settings=SimpleNamespace(fix=fix),
            tags=SimpleNamespace(run_id="run-1", mode="paper"),
            profile=profile,
        )
        return cast("Plan", plan)

    def heard(self, offset: int) -> None:
        self.log.append(
            Draft(
                stream=f"session/{NAME}",
                kind=Kind.FIX_INBOUND,
                payload={"offset": offset, "raw": "8=", "msg_type": "8", "digest": ""},
                actor="fix",
                idem_key=f"inbound:{offset}",
            )
        )

    def sent(self, number: int) -> None:
        self.log.append(
            Draft(
                stream="decision/d",
                kind=Kind.ORDER_SENT,
                payload={
                    "account": "a",
                    "decision_id": "d",
                    "cl_ord_id": "N",
                    "msg_seq_num": number,
                    "raw": "",
                    "raw_digest": "",
                    "decision_to_wire_us": 0,
                },
                actor="gateway",
                idem_key="sent",
            )
        )

    def refused(self) -> None:
        record_resets(self.any, NAME, "run-0", (RESET,))

    def notes(self) -> list[tuple[str, str]]:
        return [
            (str(one.body["event"]), str(one.body["detail"]))
            for one in self.log.of_kind(Kind.SESSION_EVENT)
            if one.body["run_id"] == "run-1"
        ]

    def stored(self, number: int) -> None:
        folder = self.root / "fix" / "store"
        folder.mkdir(parents=True)
        (folder / "s.seqnums").write_text(f"{number:020d} : {1:020d}")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_session_of_which_nothing_is_on_record_begins(world: World) -> None:
    refuse_lost(world.plan(), world.any)
    begun = begin_anew(world.plan(), world.any, world.any)
    assert (begun.skipped, begun.accept) == (0, False)
    assert world.notes() == []


def test_a_lost_inbox_stops_the_start_until_a_person_speaks(world: World) -> None:
    world.heard(40)
    size = world.log.size
    with pytest.raises(SessionLostError) as lost:
        refuse_lost(world.plan(), world.any)
    assert lost.value.folder == str(world.root / "fix")
    assert "message at 40" in " ".join(lost.value.lacking)
    assert (world.log.size, (world.root / "fix").exists()) == (size, False), "nothing was written"
    refuse_lost(world.plan("the disk is lost"), world.any)


@pytest.mark.parametrize(("mode", "lost"), [(SessionMode.RESUME, True), (SessionMode.RESET, False)])
def test_a_store_that_is_behind_stops_a_session_that_goes_on_with_its_numbers(
    world: World, mode: SessionMode, *, lost: bool
) -> None:
    world.sent(6)
    world.mode = mode
    if not lost:
        refuse_lost(world.plan(), world.any)
        return
    with pytest.raises(SessionLostError, match="number 1 next, 6 is on record"):
        refuse_lost(world.plan(), world.any)
    world.stored(7)
    refuse_lost(world.plan(), world.any)


def test_what_a_refused_beginning_left_of_the_numbers_is_no_loss(world: World) -> None:
    world.sent(6)
    world.refused()
    refuse_lost(world.plan(), world.any)


def test_a_word_is_refused_where_nothing_is_lost(world: World) -> None:
    with pytest.raises(RequestError, match="lacks nothing"):
        refuse_lost(world.plan("the disk is lost"), world.any)
    world.refused()
    refuse_lost(world.plan("the broker says so"), world.any)


def test_a_new_beginning_is_on_record_and_goes_on_behind_what_is(world: World) -> None:
    world.heard(40)
    world.heard(30)
    world.heard(70)
    begun = begin_anew(world.plan("the disk is lost"), world.any, world.any)
    assert begun == Beginning(skipped=SKIPPED, accept=False)
    ((event, detail),) = world.notes()
    assert event == "new_fix_session"
    assert detail.startswith("the disk is lost: ")
    assert "message at 70" in detail
    assert base_of(world.root / "fix" / "inbox") == 71
    refuse_lost(world.plan(), world.any)


def test_a_beginning_that_is_not_on_record_is_not_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.heard(40)

    def refuses(_drafts: object) -> None:
        raise NotReadyError(part="ledger", state="away")

    monkeypatch.setattr(world.log, "before", refuses)
    with pytest.raises(NotReadyError):
        begin_anew(world.plan("the disk is lost"), world.any, world.any)
    assert not (world.root / "fix").exists()


def test_a_persons_word_lets_the_broker_begin_anew_once_and_skips_nothing(world: World) -> None:
    world.refused()
    begun = begin_anew(world.plan("the broker says so"), world.any, world.any)
    assert begun == Beginning(skipped=0, accept=True)
    ((_, detail),) = world.notes()
    assert detail == f"the broker says so: {numbers_of(world.plan(), world.any).refused}"


def test_a_lost_folder_and_a_refused_beginning_are_both_gone_on_from(world: World) -> None:
    world.heard(40)
    world.refused()
    begun = begin_anew(world.plan("both"), world.any, world.any)
    assert begun == Beginning(skipped=SKIPPED, accept=True)


def test_a_whole_inbox_is_kept(world: World) -> None:
    (world.root / "fix").mkdir()
    inbox = Inbox(world.root / "fix" / "inbox")
    world.heard(inbox.append("8=FIX.4.4\x019=5\x0135=8\x0110=000\x01").offset)
    inbox.close()
    refuse_lost(world.plan(), world.any)
    world.heard(10_000)
    with pytest.raises(SessionLostError, match="10000"):
        refuse_lost(world.plan(), world.any)


def test_the_lost_simulator_goes_on_behind_the_last_number_on_record(world: World) -> None:
    orders = SimpleNamespace(
        reports={("S", "20180102", "X7"): {}, ("S", "20180102", "X31"): {}, ("S", "d", "other"): {}}
    )
    given = cast("Orders", orders)
    assert simulator_after(world.plan("lost"), given) == 31
    assert simulator_after(world.plan(), given) == 0, "nothing is lost"
    assert simulator_after(world.plan("lost"), cast("Orders", SimpleNamespace(reports={}))) == 0


class Child:
    """A child in one state."""

    def __init__(self, state: SessionState, refused: str = "") -> None:
        self.state, self.refused, self.detail = state, refused, refused
        self.waited: list[tuple[SessionState, float]] = []

    def wait_for(self, state: SessionState, timeout_s: float) -> bool:
        self.waited.append((state, timeout_s))
        return self.state is state


@pytest.mark.parametrize(("ours", "wait_s"), [(True, OWN_PEER_S), (False, PEER_S)])
def test_a_start_waits_for_a_session_that_is_ready(wait_s: float, *, ours: bool) -> None:
    child = Child(SessionState.READY)
    assert await_session(cast("FixChild", child), ours=ours) == "FIX logged on and reconciled"
    assert child.waited == [(SessionState.READY, wait_s)]


def test_a_broker_that_is_away_is_no_reason_not_to_serve() -> None:
    away = cast("FixChild", Child(SessionState.DOWN))
    assert "not sent" in await_session(away, ours=False)
    with pytest.raises(NotReadyError, match="after 15 s"):
        await_session(away, ours=True)


def test_a_refused_beginning_says_the_way_on() -> None:
    child = cast("FixChild", Child(SessionState.REFUSED, "the broker began anew"))
    with pytest.raises(NotReadyError) as ours:
        await_session(child, ours=True)
    for word in (await_session(child, ours=False), str(ours.value)):
        assert "the broker began anew" in word
        assert "--new-fix-session" in word


def test_a_folder_of_another_session_is_refused_before_anything_is_written(world: World) -> None:
    begin_anew(world.plan(), world.any, world.any)
    refuse_lost(world.plan(), world.any)
    owner = world.root / "fix" / "session.owner"
    assert owner.read_text() == "simulator FIX.4.4-COUNTERSIGN-EMSSIM\n"
    owner.write_text("plain-4.4 FIX.4.4-COUNTERSIGN-EMSSIM\n")
    with pytest.raises(SettingsError, match=r"belongs to the session plain-4\.4 FIX\.4\.4-"):
        refuse_lost(world.plan(), world.any)
