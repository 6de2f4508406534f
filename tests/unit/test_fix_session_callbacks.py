"""The engine's callbacks: what leaves, what is kept, what is told. The engine is never started."""

import gc
import os
from pathlib import Path
from typing import NoReturn

import pytest
import quickfix

from fix.guard import Gate, Refusal
from fix.inbox import Entry, Inbox
from fix.listener import Sent
from fix.messages import parse
from fix.profile import Profile, Resets
from fix.resets import Cause, Reset, resets_of
from fix.session import EXIT_INBOX_LOST
from tests.doubles.fix_world import PROFILE
from tests.doubles.unstarted_engine import ORDER, Engine, engine, reopened

BY_BROKER = PROFILE.model_copy(update={"resets": Resets.BY_BROKER})
FILL = ((35, "8"), (37, "E1"), (11, "A"), (17, "X"), (150, "F"), (39, "2"))
LOGON = ((35, "A"), (98, "0"), (108, "10"))
FLAGGED = (*LOGON, (141, "Y"))
TOO_LOW = (35, "5"), (58, "MsgSeqNum too low, expecting 31 but received 1")


@pytest.fixture
def world(tmp_path: Path) -> Engine:
    return engine(tmp_path)


# -- what leaves


def test_what_leaves_is_noted_with_number_epoch_and_text(tmp_path: Path) -> None:
    world = engine(tmp_path, on_record=4)
    world.ready()
    world.ticket("A")
    assert world.leaves(*ORDER, number=23)
    sent = world.callbacks.leaving.sent
    assert isinstance(sent, Sent)
    assert (sent.msg_seq_num, sent.epoch) == (23, 4)
    assert dict(parse(sent.raw))[11] == "A"
    found = world.callbacks.sequence.too_low(1)
    assert found.old_sender == 24, "the number counts as used"


def test_what_the_gate_refuses_does_not_leave_and_says_why(world: Engine) -> None:
    said: list[Refusal] = []
    assert not world.leaves(*ORDER)
    said.append(world.callbacks.leaving.refusal)
    world.ready()
    world.ticket("A")
    assert world.leaves(*ORDER, number=1)
    assert not world.leaves(*ORDER, number=2)
    said.append(world.callbacks.leaving.refusal)
    assert said == [Refusal.NOT_LOGGED_ON, Refusal.ALREADY_USED]
    assert world.callbacks.leaving.sent is None, "or the first one's would be taken for its own"
    assert world.callbacks.sequence.too_low(1).old_sender == 2, "a refusal uses no number"


def test_after_a_logout_has_begun_nothing_new_leaves(world: Engine) -> None:
    world.ready()
    world.ticket("A")
    world.callbacks.logout_begins()
    assert not world.leaves(*ORDER)
    assert world.callbacks.leaving.refusal is Refusal.NOT_LOGGED_ON
    assert world.callbacks.is_leaving


def test_a_message_without_a_number_does_not_leave(world: Engine) -> None:
    world.ready()
    world.ticket("A")
    message = world.message(*ORDER)
    message.getHeader().removeField(34)
    with pytest.raises(quickfix.DoNotSend):
        world.callbacks.toApp(message, world.callbacks.session_id)
    assert world.callbacks.leaving.refusal is Refusal.MALFORMED


def broken(*_: object, **__: object) -> NoReturn:
    raise ValueError("a mistake")


def test_a_mistake_in_a_callback_closes_egress_and_the_message_stays(
    world: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ready()
    world.ticket("A")
    with monkeypatch.context() as wrong:
        wrong.setattr(Gate, "judge", broken)
        assert not world.leaves(*ORDER)
    assert world.callbacks.leaving.refusal is Refusal.FAULT
    assert world.gate.closed == "fault in toApp"
    ((where, what),) = world.told("fault")
    assert (where, what) == ("toApp", "ValueError('a mistake')")


@pytest.mark.parametrize("where", ["onLogon", "onLogout", "toAdmin", "fromAdmin", "fromApp"])
def test_a_mistake_never_reaches_the_engine(
    world: Engine, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {
        "onLogon": "_on_logon",
        "onLogout": "_on_logout",
        "toAdmin": "_on_own_admin",
        "fromAdmin": "_on_admin",
        "fromApp": "_on_app",
    }
    monkeypatch.setattr(type(world.callbacks), bodies[where], broken)
    call = getattr(world.callbacks, where)
    if where in {"onLogon", "onLogout"}:
        call(world.callbacks.session_id)
    else:
        call(world.message(*FILL), world.callbacks.session_id)
    assert world.told("fault") == [(where, "ValueError('a mistake')")]
    assert world.gate.closed == f"fault in {where}"


# -- what is kept


@pytest.mark.parametrize(
    "fields", [FILL, ((35, "3"), (45, "7")), ((35, "j"), (45, "7"), (380, "0"))]
)
def test_what_decides_an_orders_fate_is_kept_before_it_is_told(
    world: Engine, fields: tuple[tuple[int, str], ...]
) -> None:
    world.comes_in(*fields)
    ((entry,),) = world.told("received")
    assert isinstance(entry, Entry)
    (kept,) = world.kept()
    assert entry == (0, world.inbox.end, entry.raw)
    assert kept[35] == fields[0][1]


@pytest.mark.parametrize(
    "fields", [((35, "0"),), ((35, "1"), (112, "x")), ((35, "2"), (7, "1"), (16, "0")), LOGON]
)
def test_the_sessions_own_talk_is_not_kept(
    world: Engine, fields: tuple[tuple[int, str], ...]
) -> None:
    world.comes_in(*fields)
    assert world.kept() == []
    assert world.told("received") == []


def test_a_report_that_the_disk_refuses_ends_the_process_before_it_counts(
    world: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(BaseException):
        pass

    ends: list[int] = []

    def leave(code: int) -> NoReturn:
        ends.append(code)
        raise Gone

    monkeypatch.setattr(Inbox, "append", broken)
    monkeypatch.setattr(os, "_exit", leave)
    world.comes_in(*FILL)
    assert ends == [EXIT_INBOX_LOST]
    assert world.told("fault")[0] == ("inbox", "ValueError('a mistake')")
    assert world.told("received") == []
    assert world.gate.closed == "fault in inbox"
    assert world.callbacks.sequence.too_low(1).old_target == 1, "it was not counted"


def test_their_numbers_are_counted_as_the_engine_takes_them(world: Engine) -> None:
    def counted() -> int:
        sequence = world.callbacks.sequence
        return int(sequence._received)  # noqa: SLF001 - too_low and flagged change it

    world.comes_in(*FILL, number=1)
    assert counted() == 1
    world.comes_in(*FILL, number=3)
    assert counted() == 1, "one too high is asked for first"
    world.comes_in((35, "4"), (123, "Y"), (36, "9"), number=1)
    assert counted() == 8, "a gap fill counts up to its NewSeqNo"
    world.comes_in((35, "0"), number=1)
    assert counted() == 8


# -- what is told


def test_a_logon_is_counted_and_told_and_forgets_the_last_one(world: Engine) -> None:
    world.comes_in((35, "5"), (58, "maintenance"))
    world.comes_in((35, "2"), (7, "1"), (16, "0"))
    assert world.callbacks.resent_us > 0
    world.callbacks.ended.set()
    world.callbacks.onLogon(world.callbacks.session_id)
    assert world.told("logged_on") == [(1,)]
    assert world.gate.logon_no == 1
    assert world.callbacks.resent_us == 0
    assert not world.callbacks.ended.is_set()
    assert world.callbacks.is_logged_on
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.told("logged_off") == [("",)], "the reason was another logon's"
    assert world.callbacks.ended.is_set()
    assert not world.callbacks.is_logged_on


def test_a_logout_gives_the_peers_reason_and_shuts_the_gate(world: Engine) -> None:
    world.ready()
    world.ticket("A")
    world.comes_in((35, "5"), (58, "maintenance"))
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.told("logged_off") == [("maintenance",)]
    assert world.gate.judge(dict(ORDER), logged_on=True) is Refusal.NOT_RECONCILED


def test_only_an_answer_to_a_question_is_told_as_a_sign_of_life(world: Engine) -> None:
    world.comes_in((35, "0"))
    world.comes_in((35, "0"), (112, "logon-1-1"), number=2)
    world.comes_in((35, "1"), (112, "theirs"), number=3)
    assert world.told("heartbeat") == [("logon-1-1",)]
    assert world.callbacks.resent_us == 0


# -- numbers that begin anew


def counted(tmp_path: Path, profile: Profile) -> Engine:
    """A session that has used 40 numbers and taken 30."""
    world = engine(tmp_path, profile)
    world.session.raise_sender(41)
    quickfix.Session.lookupSession(world.callbacks.session_id).setNextTargetMsgSeqNum(31)
    world.callbacks.sequence.sent(40)
    world.callbacks.sequence.received(30)
    return world


def begun_anew(world: Engine) -> None:
    """As the engine does before it asks about a logon with 141=Y."""
    session = quickfix.Session.lookupSession(world.callbacks.session_id)
    session.setNextSenderMsgSeqNum(1)
    session.setNextTargetMsgSeqNum(1)


def resets_at_logon(world: Engine) -> bool:
    return bool(quickfix.Session.lookupSession(world.callbacks.session_id).getResetOnLogon())


def enabled(world: Engine) -> bool:
    return bool(quickfix.Session.lookupSession(world.callbacks.session_id).isEnabled())


def test_a_beginning_by_the_broker_that_is_refused_puts_the_numbers_back(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    begun_anew(world)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    ((found,),) = world.told("reset")
    assert isinstance(found, Reset)
    assert (found.allowed, found.cause) == (False, Cause.BY_BROKER)
    assert resets_of(tmp_path) == (found,)
    assert not enabled(world), "each further try would use numbers"
    assert world.callbacks.is_leaving
    assert not resets_at_logon(world)
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.numbers() == (41, 31)
    begun_anew(world)
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.numbers() == (1, 1), "once"


def test_a_beginning_by_the_broker_that_is_allowed_is_agreed_to_at_our_next_logon(
    tmp_path: Path,
) -> None:
    world = counted(tmp_path, BY_BROKER)
    begun_anew(world)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    ((found,),) = world.told("reset")
    assert isinstance(found, Reset)
    assert found.allowed
    assert enabled(world)
    assert resets_at_logon(world)
    world.callbacks.onLogout(world.callbacks.session_id)
    assert world.session.numbers() == (1, 1)
    world.goes_out(*FLAGGED)
    world.comes_in(*FLAGGED)
    assert world.told("reset") == [(found,)], "the answer to our own 141=Y is no new beginning"
    world.callbacks.onLogon(world.callbacks.session_id)
    assert not resets_at_logon(world), "agreed once"
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)


def test_a_logon_without_the_flag_is_let_in(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.comes_in(*LOGON, number=31)
    world.comes_in(*LOGON, (141, "N"), number=31)
    assert world.told("reset") == []
    assert world.told("fault") == []


def test_a_flag_after_a_try_of_ours_that_failed_is_the_brokers_own(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.goes_out(*FLAGGED, number=41)
    world.callbacks.onLogout(world.callbacks.session_id)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)


def test_our_own_logon_under_a_used_number_shows_the_schedules_beginning(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.goes_out(*LOGON, number=41)
    assert world.told("reset") == []
    begun_anew(world)
    world.goes_out(*LOGON, number=1)
    ((found,),) = world.told("reset")
    assert isinstance(found, Reset)
    assert (found.cause, found.old_sender, found.old_target) == (Cause.NIGHTLY, 42, 31)


def test_a_broker_that_begins_again_at_one_is_refused_or_followed_by_profile(
    tmp_path: Path,
) -> None:
    for profile, allowed in ((PROFILE, False), (BY_BROKER, True)):
        folder = tmp_path / profile.resets
        folder.mkdir()
        world = counted(folder, profile)
        world.goes_out(*TOO_LOW, number=41)
        ((found,),) = world.told("reset")
        assert isinstance(found, Reset)
        assert (found.cause, found.allowed) == (Cause.BEGUN_AGAIN, allowed)
        assert (found.old_sender, found.old_target) == (42, 31)
        assert enabled(world) is allowed
        assert world.callbacks.is_leaving is not allowed
        assert world.session.numbers() == (41, 1 if allowed else 31)


@pytest.mark.parametrize("fields", [((35, "5"), (58, "good night")), ((35, "0"),)])
def test_other_talk_of_ours_only_counts(
    tmp_path: Path, fields: tuple[tuple[int, str], ...]
) -> None:
    world = counted(tmp_path, PROFILE)
    world.goes_out(*fields, number=44)
    assert world.told("reset") == []
    assert world.callbacks.sequence.too_low(1).old_sender == 45


def test_the_same_words_in_a_session_that_is_up_are_no_new_beginning(tmp_path: Path) -> None:
    world = counted(tmp_path, BY_BROKER)
    world.ready()
    world.goes_out(*TOO_LOW, number=41)
    assert world.told("reset") == []


# -- the store


def test_a_store_that_a_crash_left_begun_anew_is_put_back_if_that_was_refused(
    tmp_path: Path,
) -> None:
    world = counted(tmp_path, PROFILE)
    begun_anew(world)
    with pytest.raises(quickfix.RejectLogon):
        world.comes_in(*FLAGGED)
    profile = world.profile
    del world
    gc.collect()
    again = reopened(tmp_path, profile)
    assert again.session.numbers() == (1, 1)
    assert again.session.opened() is None
    assert again.session.numbers() == (41, 31)


def test_a_store_that_goes_on_opens_nothing_anew(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    assert world.session.opened() is None
    assert world.session.numbers() == (41, 31)
    begun_anew(world)
    found = world.session.opened()
    assert found is not None
    assert (found.cause, found.old_sender, found.new_sender) == (Cause.NIGHTLY, 41, 1)


def test_numbers_are_raised_and_asked_for_from_the_first(tmp_path: Path) -> None:
    world = counted(tmp_path, PROFILE)
    world.session.raise_sender(99)
    assert world.session.numbers() == (99, 31)
    world.session.expect_from_first()
    assert world.session.numbers() == (99, 1)


def test_a_session_that_is_down_sends_nothing(world: Engine) -> None:
    assert not world.session.is_logged_on
    assert not world.session.is_started
    assert world.session.send(ORDER) is Refusal.NOT_LOGGED_ON
    assert world.session.numbers() == (1, 1)


def test_nothing_is_in_flight_once_no_send_holds_the_way(world: Engine) -> None:
    assert world.session.nothing_in_flight(0.01)
    assert world.session.nothing_in_flight(0.01), "asking leaves it free"
    with world.session._egress:  # noqa: SLF001 - a send that does not return
        assert not world.session.nothing_in_flight(0.01)
