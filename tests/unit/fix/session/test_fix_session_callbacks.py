"""The engine's callbacks: what leaves, what is kept, what is told. The engine is never started."""

import os
from pathlib import Path
from typing import NoReturn

import pytest
import quickfix

from fix.durable.inbox import Entry, Inbox
from fix.session.guard import Gate, Refusal
from fix.session.initiator import EXIT_INBOX_LOST
from fix.session.listener import Sent
from fix.wire.messages import parse
from tests.doubles.unstarted_engine import ORDER, Engine, engine

FILL = ((35, "8"), (37, "E1"), (11, "A"), (17, "X"), (150, "F"), (39, "2"))
LOGON = ((35, "A"), (98, "0"), (108, "10"))


class Gone(BaseException):
    """The process would have ended here."""


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Exit codes with which the process would have ended."""
    found: list[int] = []

    def leave(code: int) -> NoReturn:
        found.append(code)
        raise Gone

    monkeypatch.setattr(os, "_exit", leave)
    return found


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
    world: Engine, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "append", broken)
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
