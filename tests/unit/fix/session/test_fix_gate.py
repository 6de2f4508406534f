"""The gate's rules one by one, without a session."""

from collections.abc import Callable

import pytest

from fix.durable.kill_word import KillWordState
from fix.session.guard import Gate, Refusal, Ticket

NOW_US = 1000
ORDER = {35: "D", 11: "ORDER"}


class World:
    def __init__(self) -> None:
        self.word = KillWordState(4, killed=False)
        self.now_us = NOW_US
        self.logged_on = True
        self.passed_us = 0
        self.gate = Gate(lambda: self.word, lambda: self.now_us, lambda: self.passed_us)
        assert self.gate.reconciled(self.gate.begin_logon())
        self.ticket("ORDER")

    def ticket(self, name: str, kill_epoch: int = 4) -> Refusal | None:
        ticket = Ticket(
            cl_ord_id=name, kill_epoch=kill_epoch, send_before_us=NOW_US + 10, send_until_us=10
        )
        return self.gate.hand(ticket)

    def judge(self, **changes: str) -> Refusal | None:
        fields = ORDER | {int(tag[1:]): value for tag, value in changes.items()}
        return self.gate.judge(fields, logged_on=self.logged_on)


def log_off(world: World) -> None:
    world.logged_on = False


def next_logon(world: World) -> None:
    world.gate.begin_logon()


def session_down(world: World) -> None:
    world.gate.end_logon()


def close(world: World) -> None:
    world.gate.close("the gateway is gone")


def kill(world: World) -> None:
    world.word = KillWordState(4, killed=True)


def kill_and_release(world: World) -> None:
    world.word = KillWordState(5, killed=False)


def arrive_late(world: World) -> None:
    world.now_us = NOW_US + 10


def arrive_late_by_a_clock_set_back(world: World) -> None:
    world.now_us = NOW_US - 1
    world.passed_us = 10


def use_it(world: World) -> None:
    assert world.judge() is None


def take_it_back(world: World) -> None:
    world.gate.spend("ORDER")


CASES: list[tuple[Callable[[World], None], Refusal]] = [
    (log_off, Refusal.NOT_LOGGED_ON),
    (next_logon, Refusal.NOT_RECONCILED),
    (session_down, Refusal.NOT_RECONCILED),
    (close, Refusal.EGRESS_CLOSED),
    (kill, Refusal.KILLED),
    (kill_and_release, Refusal.KILL_EPOCH_OLD),
    (arrive_late, Refusal.SEND_BEFORE_PASSED),
    (arrive_late_by_a_clock_set_back, Refusal.SEND_BEFORE_PASSED),
    (use_it, Refusal.ALREADY_USED),
    (take_it_back, Refusal.ALREADY_USED),
]


def test_an_order_with_everything_in_order_passes_once() -> None:
    world = World()
    assert world.judge() is None
    assert world.judge() is Refusal.ALREADY_USED
    assert world.ticket("ORDER") is Refusal.ALREADY_USED


@pytest.mark.parametrize(("change", "refusal"), CASES)
def test_one_thing_wrong_refuses_the_order(
    change: Callable[[World], None], refusal: Refusal
) -> None:
    world = World()
    change(world)
    assert world.judge() is refusal


def test_an_order_that_was_never_handed_in_is_refused() -> None:
    assert World().judge(t11="OTHER") is Refusal.NOT_HANDED


@pytest.mark.parametrize("msg_type", ["D", "G", "F"])
def test_nothing_that_moves_an_order_is_ever_resent(msg_type: str) -> None:
    assert World().judge(t35=msg_type, t43="Y") is Refusal.POSS_DUP


@pytest.mark.parametrize("msg_type", ["F", "q", "H", "AF"])
@pytest.mark.parametrize("change", [close, kill, next_logon, arrive_late])
def test_cancels_and_questions_pass_in_every_logged_on_state(
    msg_type: str, change: Callable[[World], None]
) -> None:
    world = World()
    change(world)
    assert world.judge(t35=msg_type) is None
    world.logged_on = False
    assert world.judge(t35=msg_type) is Refusal.NOT_LOGGED_ON


@pytest.mark.parametrize("msg_type", ["E", "8", "AB", "", "s"])
def test_every_other_message_is_refused(msg_type: str) -> None:
    assert World().judge(t35=msg_type) is Refusal.NOT_ALLOWED


def test_a_refused_order_does_not_pass_when_the_reason_is_gone() -> None:
    world = World()
    kill(world)
    assert world.judge() is Refusal.KILLED
    world.word = KillWordState(4, killed=False)
    assert world.judge() is Refusal.ALREADY_USED


def test_a_reconciliation_of_an_earlier_logon_opens_nothing() -> None:
    world = World()
    old = world.gate.begin_logon()
    world.gate.begin_logon()
    assert not world.gate.reconciled(old)
    assert world.judge() is Refusal.NOT_RECONCILED


def test_the_first_reason_for_a_closed_gate_stays_the_one_that_is_told() -> None:
    world = World()
    world.gate.close("fault in toApp")
    world.gate.close("stopping")
    assert world.gate.closed == "fault in toApp"


def test_a_word_about_an_earlier_logon_is_refused_also_once_this_one_is_reconciled() -> None:
    world = World()
    assert not world.gate.reconciled(world.gate.logon_no - 1)
    assert world.judge() is Refusal.NOT_RECONCILED, "in doubt nothing leaves"


def test_a_name_is_handed_in_once_also_before_it_is_used() -> None:
    world = World()
    assert world.ticket("ORDER") is Refusal.ALREADY_USED
    assert world.ticket("OTHER") is None
    assert world.judge() is None
    assert world.judge(t11="OTHER") is None
