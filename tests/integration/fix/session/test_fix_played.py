"""The simulator played over its control door while a real FIX child trades with it."""

from pathlib import Path

import pytest

from fix.session.link import SessionState
from fix.simulator.acts import BrokerAct
from fix.simulator.play import answer, deal, play
from fix.wire.messages import cancel
from tests.doubles.fix_world import (
    Broker,
    Desk,
    broker_at,
    desk_at,
    order_fields,
    quotes_above,
    until,
    wall_us,
)

pytestmark = pytest.mark.timeout(240)


def types(desk: Desk, name: str) -> str:
    """ExecTypes of an order's reports, in order; 9 is a cancel reject."""
    return "".join(one.get(150, one[35]) for one in desk.reports(name))


def becomes(desk: Desk, name: str, told: str) -> bool:
    return until(lambda: types(desk, name) == told)


def logs_on_again(desk: Desk, number: int) -> bool:
    return until(lambda: desk.child.logon_no > number)


def handed(desk: Desk, broker: Broker, name: str) -> str:
    fields = order_fields(name, broker.profile)
    assert desk.hand(fields).outcome == "sent"
    return dict(fields)[11]


def test_acts_outcomes_and_answers_are_played_while_it_trades(tmp_path: Path) -> None:
    quotes = quotes_above(tmp_path)
    with (
        broker_at(tmp_path, script=("rest",), quotes=quotes) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        door = broker.config.control
        desk.open()
        one = handed(desk, broker, "one")
        assert until(lambda: types(desk, one) == "0"), desk.log()
        for what, told in (("fill", "0F"), ("correct", "0FG"), ("bust", "0FGH")):
            play(door, BrokerAct(what, one, 1))
            assert becomes(desk, one, told)
        play(door, BrokerAct("suspend", one))
        play(door, BrokerAct("resume", one))
        assert until(lambda: types(desk, one) == "0FGH9D"), types(desk, one)
        answer(door, "cancels", "reject")
        fields = order_fields("one", broker.profile)
        first = cancel(fields, cancel_id="C1", transact_time_us=wall_us())
        assert until(lambda: broker.fields("D"))
        assert desk.child.cancel(first).outcome == "sent"
        assert until(lambda: types(desk, one).endswith("9")), types(desk, one)
        answer(door, "cancels", "pending")
        second = cancel(fields, cancel_id="C2", transact_time_us=wall_us())
        assert desk.child.cancel(second).outcome == "sent"
        assert until(lambda: types(desk, one).endswith("964")), types(desk, one)
        deal(door, "expire")
        two = handed(desk, broker, "two")
        assert until(lambda: types(desk, two) == "0FC"), types(desk, two)


def test_what_happens_while_the_line_is_cut_comes_with_the_next_logon(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path, script=("drop_before", "drop_after")) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        for name in ("one", "two"):
            number = desk.child.logon_no
            order = handed(desk, broker, name)
            assert logs_on_again(desk, number), desk.log()
            assert becomes(desk, order, "0F")
            assert until(lambda: desk.child.state is SessionState.RECONCILING)
            desk.ready()
        assert len(broker.order_ids()) == 2


@pytest.mark.parametrize("what", ["disconnect", "logout"])
def test_a_session_that_the_broker_ends_by_hand_comes_back(what: str, tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        number = desk.child.logon_no
        play(broker.config.control, BrokerAct(what))
        assert until(lambda: desk.child.logon_no > number), desk.log()
        assert until(lambda: desk.child.state is SessionState.RECONCILING), desk.log()
