"""The FIX child with the plain profiles: another engine in 4.4, QuickFIX in every version."""

from pathlib import Path

import pytest

from fix.wire import messages
from tests.doubles.fix_world import desk_at, order_fields, until
from tests.doubles.outside_broker import BROKERS, OTHER_ENGINE, outside_broker, plain

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("name", BROKERS)
def test_a_plain_order_is_taken_filled_cancelled_and_refused(name: str, tmp_path: Path) -> None:
    script = ("fill", "rest", "reject", "bust", "correct")
    with outside_broker(tmp_path / "broker", BROKERS[name], *script) as broker:
        profile = plain(name.split(maxsplit=1)[0], broker.port)
        with desk_at(tmp_path, profile) as desk:
            desk.open()
            orders = {word: order_fields(word, profile) for word in script}
            ids = {word: dict(fields)[11] for word, fields in orders.items()}
            for fields in orders.values():
                assert desk.hand(fields).outcome == "sent"
            assert until(lambda: desk.statuses(ids["fill"]) == ["0", "1", "2"]), broker.log()
            assert until(lambda: desk.statuses(ids["reject"]) == ["8"])
            assert until(lambda: desk.statuses(ids["bust"]) == ["0", "2", "0"])
            assert until(lambda: desk.statuses(ids["correct"]) == ["0", "2", "1"])
            wish = messages.cancel(orders["rest"], cancel_id="C" * 20, transact_time_us=1)
            assert desk.child.cancel(wish).outcome == "sent"
            assert until(lambda: desk.statuses(ids["rest"]) == ["0", "4"])
            desk.child.status_request(messages.status_request(orders["bust"]))
            assert until(lambda: desk.statuses(ids["bust"])[3:] == ["0"])
            assert broker.wire("3", "out") == []
            assert [one[11] for one in broker.wire("D")] == list(ids.values())
            live = {order.cl_ord_id for order in desk.child.live_orders()}
            assert live == {ids["bust"], ids["correct"]}


def test_the_simulators_order_is_answered_with_a_reject(tmp_path: Path) -> None:
    """The other engine has teeth: it refuses what FIX 4.4 does not have."""
    with outside_broker(tmp_path / "broker", OTHER_ENGINE, "fill") as broker:
        tags = {"algorithm_code": "1001", "trader_code": "2001", "origination": "5"}
        profile = plain("plain-4.4", broker.port, tags=tags)
        with desk_at(tmp_path, profile) as desk:
            desk.open()
            assert desk.hand(order_fields("mifid", profile)).outcome == "sent"
            assert until(lambda: broker.wire("3", "out") != []), broker.log()
            assert broker.orders() == {}
