"""What one session's broker says changes no order of another's: it is told, and nothing else.

Two sessions count MsgSeqNum from 1, and two brokers may give the same OrderID.
"""

from dataclasses import replace

import pytest

from audit.records.kinds import Kind
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.session_orders import SessionOrders
from gateway.walk.settlement import Received, SettleTools, settle
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk

HEAD = ((49, "OTHER"), (56, "COUNTERSIGN"), (34, "7"), (52, "20180102-15:00:00"))
OURS = "EMSSIM"


def number_of(desk: MemoryDesk, order: Standing) -> str:
    (sent,) = desk.log.records(stream=f"decision/{order.decision_id}", kinds=(Kind.ORDER_SENT,))
    return str(sent.body["msg_seq_num"])


def said(desk: MemoryDesk, order: Standing, sort: str) -> str:
    """Return a message that ends or changes the order, if its own broker says it."""
    name, number = order.cl_ord_id, number_of(desk, order)
    over = {"t150": "8", "t39": "8", "t32": "0", "t31": "0", "t14": "0", "t151": "0"}
    match sort:
        case "reject":
            return framed("3", (*HEAD, (45, number), (372, "D"), (373, "5")))
        case "business reject by number":
            return framed("j", (*HEAD, (45, number), (372, "D"), (380, "0")))
        case "business reject by name":
            return framed("j", (*HEAD, (45, "1"), (372, "D"), (379, name), (380, "0")))
        case "rejected":
            return desk.report(order, **over)
        case "filled by name":
            return desk.report(order, t37="Y9")
        case "filled by OrderID":
            return desk.report(order, t11="NOBODYNOBODYNOBODYNO", t37="X1")
        case _:
            fields = ((37, "X1"), (11, "NOBODYNOBODYNOBODYNO"), (41, name), (39, "4"), (434, "1"))
            return framed("9", (*HEAD, *fields))


SORTS = (
    "reject",
    "business reject by number",
    "business reject by name",
    "rejected",
    "filled by name",
    "filled by OrderID",
    "cancel reject",
)


def settled(desk: MemoryDesk, raw: str, tools: SettleTools, offset: int) -> list[Kind]:
    before = desk.log.size
    settle(Received(offset=offset, raw=raw), tools)
    return [one.kind for one in desk.log.records(after_seq=before - 1)]


@pytest.mark.parametrize("sort", SORTS)
def test_another_sessions_word_changes_no_order(desk: MemoryDesk, sort: str) -> None:
    order = desk.rest(50)
    acknowledged = {"t150": "0", "t39": "0", "t32": "0", "t31": "0", "t14": "0"}
    desk.settled(desk.report(order, **acknowledged))
    order = desk.standing(order.decision_id)
    assert (order.session, order.broker_id) == (OURS, "X1")
    raw, lots = said(desk, order, sort), desk.lots()
    elsewhere = replace(desk.small.settling, session="OTHER")
    kinds = settled(desk, raw, elsewhere, 1)
    assert kinds[:2] == [Kind.FIX_INBOUND, Kind.FIX_ANOMALY], "it is told"
    assert desk.standing(order.decision_id) == order
    assert desk.lots() == lots


@pytest.mark.parametrize("sort", ["reject", "business reject by name", "rejected"])
def test_its_own_sessions_word_ends_it(desk: MemoryDesk, sort: str) -> None:
    order = desk.rest(50)
    settled(desk, said(desk, order, sort), desk.small.settling, 1)
    assert desk.standing(order.decision_id).order_state == "REJECTED"


def test_one_broker_is_not_asked_for_anothers_orders(desk: MemoryDesk) -> None:
    order, orders = desk.rest(50), desk.small.desk.own.orders
    here, there = (SessionOrders(orders, name) for name in (OURS, "OTHER"))
    assert ([one.cl_ord_id for one in here.live()], here.elsewhere()) == ([order.cl_ord_id], ())
    assert (there.live(), [one.cl_ord_id for one in there.elsewhere()]) == ((), [order.cl_ord_id])
    assert there.names() == here.names()


def test_an_order_of_before_sessions_were_named_is_every_sessions(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    unnamed = replace(order, session="")
    assert unnamed.is_at(OURS)
    assert unnamed.is_at("OTHER")
    assert not order.is_at("OTHER")
