"""Orders over real TCP: what the published table does, and what the broker's capture holds."""

from functools import partial
from pathlib import Path

import pytest

from fix.session.link import SessionState
from fix.simulator.control import set_session
from fix.simulator.market import outcome_of
from fix.wire import messages
from fix.wire.messages import parse
from tests.doubles.fix_world import (
    Desk,
    broker_at,
    desk_at,
    order_fields,
    quotes_above,
    until,
)

pytestmark = pytest.mark.broker


def test_the_table_fills_splits_rejects_and_keeps_silent_until_asked(tmp_path: Path) -> None:
    script = ("fill", "partial", "reject", "silence")
    with (
        broker_at(tmp_path, script=script) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        orders = {name: order_fields(name) for name in script}
        ids = {name: dict(fields)[11] for name, fields in orders.items()}
        for fields in orders.values():
            assert desk.hand(fields).outcome == "sent"
        assert until(lambda: desk.statuses(ids["fill"]) == ["0", "2"])
        assert until(lambda: desk.statuses(ids["partial"]) == ["0", "1", "2"])
        assert until(lambda: desk.statuses(ids["reject"]) == ["8"])
        assert desk.statuses(ids["silence"]) == []
        desk.child.status_request(messages.status_request(orders["silence"]))
        assert until(lambda: desk.statuses(ids["silence"]) == ["0", "2", "2"])
        assert until(lambda: desk.child.live_orders() == ()), "the journal follows the inbox"


def test_what_the_child_says_it_sent_is_what_the_broker_received(tmp_path: Path) -> None:
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as desk:
        desk.open()
        sent = [desk.hand(order_fields(f"order {number}")) for number in range(12)]
        assert until(lambda: len(broker.captured("D")) == 12)
        assert [one.raw for one in broker.captured("D")] == [one.raw for one in sent]
        assert [dict(parse(one.raw))[34] for one in sent] == [str(s.msg_seq_num) for s in sent]


def test_outcomes_follow_the_published_table_also_after_the_broker_restarts(tmp_path: Path) -> None:
    words = {"fill": "2", "partial": "2", "reject": "8", "silence": ""}
    with (
        broker_at(tmp_path, seed="published") as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        expected, ids = [], []
        for number in range(14):
            if number == 7:
                broker.stop()
                broker.start()
                assert desk.child.wait_for(SessionState.RECONCILING, 60.0)
                desk.ready()
            fields = order_fields(f"order {number}")
            assert desk.hand(fields).outcome == "sent"
            ids.append(dict(fields)[11])
            expected.append(words[outcome_of("published", number)])
            assert until(partial(ends_with, desk, ids[-1], expected[-1]))


def ends_with(desk: Desk, cl_ord_id: str, status: str) -> bool:
    return (desk.statuses(cl_ord_id) or [""])[-1] == status


def test_an_order_below_the_market_rests_until_the_session_moves(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill", "fill")) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        resting, cancelled = order_fields("rests"), order_fields("cancelled")
        for fields in (resting, cancelled):
            desk.hand(fields)
        first, second = dict(resting)[11], dict(cancelled)[11]
        assert until(lambda: desk.statuses(second) == ["0"])
        wish = messages.cancel(cancelled, cancel_id="C" * 20, transact_time_us=1)
        assert desk.child.cancel(wish).outcome == "sent"
        assert until(lambda: desk.statuses(second)[-1:] == ["4"])
        set_session(broker.config.control, 1)
        assert until(lambda: desk.statuses(first) == ["0", "2"])
        fill = desk.reports(first)[-1]
        assert (fill[31], fill[32], fill[12]) == ("260.00", "700", "18.20")


def test_an_immediate_order_that_is_not_marketable_is_cancelled_at_once(tmp_path: Path) -> None:
    with (
        broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",)) as broker,
        desk_at(tmp_path, broker.profile) as desk,
    ):
        desk.open()
        fields = order_fields("now or never", tif="IOC")
        desk.hand(fields)
        assert until(lambda: desk.statuses(dict(fields)[11]) == ["0", "4"])


def test_an_order_that_a_resend_tells_of_is_not_handed_out_again(tmp_path: Path) -> None:
    with broker_at(tmp_path, script=("fill", "fill")) as broker:
        fields = order_fields("once")
        for folder in (tmp_path / "one", tmp_path / "two"):
            folder.mkdir()
        with desk_at(tmp_path / "one", broker.profile) as desk:
            desk.open()
            assert desk.hand(fields).outcome == "sent"
            assert until(lambda: desk.statuses(dict(fields)[11]) == ["0", "2"])
            next_number = desk.said("session")[-1]["next_sender"]
        with desk_at(tmp_path / "two", broker.profile) as other:
            numbers = other.child.start()
            assert numbers.next_sender == 1
            assert isinstance(next_number, int)
            other.child.logon(min_next_sender=next_number + 5, adopt=True)
            other.ready()
            # the broker says it all again: a child that lost its folder knows the order by that
            again = other.hand(fields)
            assert (again.outcome, again.reason) == ("refused", "ALREADY_USED")
