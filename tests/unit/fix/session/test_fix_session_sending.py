"""What the session sends, when it tries to log on, and how it ends. The engine does not connect."""

import threading
from pathlib import Path

import pytest
import quickfix

from fix.session import line as line_module
from fix.session.guard import Refusal
from fix.session.initiator import Callbacks
from fix.session.listener import Sent
from fix.wire.messages import parse
from tests.doubles.fix_world import PROFILE, until
from tests.doubles.unstarted_engine import ORDER, Engine, engine

BOUND_S = 10.0
SECOND_US = 1_000_000
SLOW = PROFILE.model_copy(update={"reconnect_s": 5, "logon_timeout_s": 10})


@pytest.fixture
def world(tmp_path: Path) -> Engine:
    return engine(tmp_path)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often the engine was started; it is not."""
    found: list[str] = []
    monkeypatch.setattr(quickfix.SocketInitiator, "start", lambda _self: found.append("start"))
    return found


def test_a_session_is_up_only_if_the_engine_says_so_too(tmp_path: Path) -> None:
    world = engine(tmp_path, kind=Callbacks)
    assert not world.session.is_logged_on
    world.callbacks.onLogon(world.callbacks.session_id)
    assert not world.session.is_logged_on, "the engine has no connection"
    assert world.session.send(ORDER) is Refusal.NOT_LOGGED_ON
    assert world.session.numbers() == (1, 1)


def test_an_order_leaves_under_the_engines_number(world: Engine) -> None:
    world.ready()
    world.session.raise_sender(12)
    world.ticket("A")
    sent = world.session.send(ORDER)
    assert isinstance(sent, Sent)
    assert (sent.msg_seq_num, sent.epoch) == (12, 0)
    written = dict(parse(sent.raw))
    assert (written[11], written[34], written[49]) == ("A", "12", world.profile.sender_comp_id)
    assert world.session.numbers() == (13, 1)
    again = world.session.send(ORDER)
    assert again is Refusal.ALREADY_USED
    assert world.session.numbers() == (13, 1), "a refusal uses no number"
    assert world.session.send(((35, "D"), (11, "B"))) is Refusal.NOT_HANDED
    cancel = world.session.send(((35, "F"), (41, "A"), (11, "C")))
    assert isinstance(cancel, Sent)
    assert cancel.msg_seq_num == 13
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.send(((35, "F"), (41, "A"), (11, "C"))) is Refusal.NOT_LOGGED_ON
    assert world.session.resent_us == 0


def test_a_send_that_does_not_return_holds_the_way(
    world: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.session.nothing_in_flight(0.01)
    assert world.session.nothing_in_flight(0.01), "asking leaves it free"
    world.ready()
    inside, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> bool:
        inside.set()
        return go_on.wait(BOUND_S)

    monkeypatch.setattr(quickfix.Session, "sendToTarget", slow)
    sender = threading.Thread(target=world.session.send, args=(ORDER,))
    sender.start()
    try:
        assert inside.wait(BOUND_S)
        assert not world.session.nothing_in_flight(0.01)
    finally:
        go_on.set()
        sender.join(BOUND_S)
    assert world.session.nothing_in_flight(BOUND_S)


def test_a_question_for_a_sign_of_life_leaves(world: Engine) -> None:
    world.session.probe("logon-1-1")
    assert world.asked() == ["logon-1-1"]
    assert world.callbacks.sequence.too_low(1).old_sender == 2, "its number counts"


def test_a_session_is_started_once(world: Engine, starts: list[str]) -> None:
    assert not world.session.is_started
    world.session.start()
    world.session.start()
    assert starts == ["start"]
    assert world.session.is_started


# -- the end


def test_a_session_that_was_never_up_ends_at_once(world: Engine) -> None:
    world.session.stop()
    assert world.callbacks.is_leaving
    assert world.asked() == []


def test_a_session_that_is_up_logs_out_and_waits_for_it(world: Engine, starts: list[str]) -> None:
    world.session.start()
    world.ready()
    assert len(starts) == 1
    end = threading.Thread(target=world.session.stop)
    end.start()
    try:
        assert until(world.asked, BOUND_S)
        assert world.asked() == ["before logout"]
        assert not world.session.is_logged_on, "no order leaves while it logs out"
        assert not world.engines.isEnabled()
        assert end.is_alive(), "it waits for the end"
    finally:
        world.callbacks.onLogout(world.callbacks.session_id)
        end.join(BOUND_S)
    assert not end.is_alive()


# -- trying to log on


@pytest.fixture
def slow(tmp_path: Path, starts: list[str]) -> Engine:
    """A session that is started and not up; the profile allows a try every five seconds."""
    world = engine(tmp_path, SLOW)
    world.session.start()
    assert starts == ["start"]
    return world


def tries(world: Engine, now_s: float, *, hurry: bool = False) -> bool:
    world.session.redial(int(now_s * SECOND_US), hurry=hurry)
    return bool(world.engines.isEnabled())


def test_the_engine_may_try_at_the_profiles_pace_and_always_while_killed(slow: Engine) -> None:
    assert tries(slow, 100.0)
    assert tries(slow, 101.0), "it has not tried yet"
    slow.engines.setNextSenderMsgSeqNum(slow.engines.getExpectedSenderNum() + 1)
    assert not tries(slow, 101.1), "the pause after a try that nobody saw"
    assert not tries(slow, 104.0)
    assert tries(slow, 104.0, hurry=True)
    assert not tries(slow, 104.1)
    assert tries(slow, 106.2)
    assert not tries(slow, 111.2), "a connect that hangs"


def test_a_logon_gets_the_patience_that_holds(slow: Engine) -> None:
    assert slow.engines.getLogonTimeout() == 10
    tries(slow, 100.0, hurry=True)
    assert slow.engines.getLogonTimeout() == 1
    tries(slow, 100.1)
    assert slow.engines.getLogonTimeout() == 10


@pytest.mark.parametrize("why", ["not started", "up", "leaving"])
def test_a_session_that_need_not_try_is_left_alone(
    tmp_path: Path, starts: list[str], why: str
) -> None:
    world = engine(tmp_path, SLOW)
    if why != "not started":
        world.session.start()
    if why == "up":
        world.ready()
    if why == "leaving":
        world.callbacks.logout_begins()
    assert len(starts) <= 1
    assert tries(world, 100.0)
    assert tries(world, 102.0), "nobody tells the engine to stop trying"
    world.engines.logout()
    assert not tries(world, 103.0, hurry=True), "or to go on"


def test_a_connect_that_hangs_is_given_up_after_the_patience_and_only_while_killed(
    slow: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up: list[frozenset[int]] = []
    found = iter(frozenset({number}) for number in range(1, 99))

    def abandon(inodes: frozenset[int]) -> int:
        given_up.append(inodes)
        return len(inodes)

    monkeypatch.setattr(line_module, "abandon", abandon)
    monkeypatch.setattr(line_module, "hanging", lambda: next(found))
    tries(slow, 100.0)
    tries(slow, 200.0)
    assert given_up == [], "without a kill it may wait"
    tries(slow, 300.0, hurry=True)
    assert given_up == [frozenset()], "nothing was seen to hang before"
    tries(slow, 300.9, hurry=True)
    assert len(given_up) == 1, "it gets its second"
    tries(slow, 301.0, hurry=True)
    assert given_up[1:] == [frozenset({1})]
    tries(slow, 302.0, hurry=True)
    assert given_up[2:] == [frozenset({2})], "one second more, then three, then the profile's"
    tries(slow, 304.9, hurry=True)
    assert len(given_up) == 3
    tries(slow, 305.0, hurry=True)
    assert given_up[3:] == [frozenset({3})]
    assert slow.engines.getLogonTimeout() == 3
    tries(slow, 305.1, hurry=True)
    assert slow.engines.getLogonTimeout() == 10
