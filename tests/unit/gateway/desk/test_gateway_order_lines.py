"""What an order's line says of it: what was traded, at which price, and what may still trade."""

import pytest

from gateway.desk.bodies.order_requests import OrderLine, ReplaceRequest
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import terms_of
from tests.doubles.memory_desk import AGENT, MemoryDesk

QUIET = {"t32": "0", "t31": "0"}


def line(desk: MemoryDesk, order: Standing) -> OrderLine:
    return desk.small.desk.order_desk.order(AGENT, order.cl_ord_id)


def acknowledged(desk: MemoryDesk) -> Standing:
    order = desk.rest(50)
    total = terms_of(order).quantity
    desk.settled(desk.report(order, **QUIET, t150="0", t39="0", t14="0", t151=total))
    return desk.standing(order.decision_id)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ({}, "PARTIAL"),
        ({"t150": "4", "t39": "4"}, "CANCELED"),
        ({"t150": "C", "t39": "C"}, "EXPIRED"),
        ({"t150": "8", "t39": "8"}, "REJECTED"),
    ],
)
def test_what_is_left_of_an_order_is_told_while_it_may_trade(
    desk: MemoryDesk, end: dict[str, str], state: str
) -> None:
    order = acknowledged(desk)
    lots = terms_of(order).qty_lots
    desk.settled(desk.report(order, t32="4", t14="4", t151=str(lots - 4), t31="268.00"))
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, t32="2", t14="6", t151=str(lots - 6), t31="265.00"))
    if end:
        now = desk.standing(order.decision_id)
        desk.settled(desk.report(now, **QUIET, **end, t14="6", t151="0"))
    told = line(desk, order)
    live = not end
    assert (told.state, told.live, told.filled_lots) == (state, live, 6)
    assert told.leaves_lots == (lots - 6 if live else 0)
    assert (told.age_s is not None) is live
    assert told.average_price == "267"


def test_what_is_left_follows_the_terms_that_the_broker_confirmed(desk: MemoryDesk) -> None:
    order = acknowledged(desk)
    lots = terms_of(order).qty_lots
    request = ReplaceRequest(client_key="r", qty_lots=lots - 10)
    name = desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request).replace.replace_id
    assert line(desk, order).leaves_lots == lots
    done = {"t150": "5", "t39": "0", "t14": "0", "t38": str(lots - 10), "t151": str(lots - 10)}
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, **QUIET, **done, t11=name, t41=order.cl_ord_id))
    assert (line(desk, order).qty_lots, line(desk, order).leaves_lots) == (lots - 10, lots - 10)
