"""An order that was over and of which the broker says that it works is open again, and reserved."""

from pathlib import Path
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from fix.dialects.profile import simulator_profile
from fix.durable.accounting import Accounting
from fix.durable.inbox import Entry
from fix.durable.journal import Journal, read_live
from gateway.evidence.replay.replay import replay
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.asked import fields_of
from gateway.walk.projections.outbox import Orders
from gateway.walk.settlement import WORKS_AGAIN
from tests.doubles.memory_desk import TABLE, MemoryDesk
from tests.doubles.told_kinds import told_kinds

EARLIER = "20180102-14:59:59"
NO_TRADE = {"t32": "0", "t31": "0", "t14": "0"}
ENDS = {
    "cancelled": {**NO_TRADE, "t150": "4", "t39": "4", "t151": "0"},
    "expired": {**NO_TRADE, "t150": "C", "t39": "C", "t151": "0"},
    "not_received": {**NO_TRADE, "t150": "I", "t39": "8", "t103": "5", "t151": "0", "t17": "0"},
}


def quantity(order: Standing) -> int:
    assert order.approving is not None
    return int(order.approving.body["intent"]["qty_lots"])


def now(desk: MemoryDesk, order: Standing) -> Standing:
    return desk.standing(order.decision_id)


def reported(records: list[Record]) -> Record:
    (found,) = (one for one in records if one.kind is Kind.ORDER_REPORTED)
    return found


def ended(desk: MemoryDesk, end: str = "cancelled") -> Standing:
    order = desk.rest(50)
    desk.settled(desk.report(order, **ENDS[end]))
    assert (now(desk, order).stage, desk.reserved()) == (Stage.SEALED, 0)
    assert desk.outcome(order.decision_id) == end
    return order


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("changes", "traded", "state"),
    [
        ({**NO_TRADE, "t150": "D", "t39": "0"}, 0, "NEW"),
        ({**NO_TRADE, "t150": "0", "t39": "0"}, 0, "NEW"),
        ({**NO_TRADE, "t150": "I", "t39": "0", "t17": "0"}, 0, "NEW"),
        ({**NO_TRADE, "t150": "E", "t39": "E"}, 0, "NEW"),
        ({}, 1, "PARTIAL"),
    ],
)
def test_an_order_that_works_again_is_open_with_its_reservation_until_it_ends_once_more(
    desk: MemoryDesk, end: str, changes: dict[str, str], traded: int, state: str
) -> None:
    order = ended(desk, end)
    left = quantity(order) - traded
    record = reported(desk.settled(desk.report(now(desk, order), t151=str(left), **changes)))
    assert (record.body["reopens"], record.body["terminal"]) == (True, False)
    assert (record.body["order_state"], record.body["anomaly"]) == (state, WORKS_AGAIN)
    standing = now(desk, order)
    assert (standing.stage, standing.sealed, standing.filled_lots) == (Stage.SENT, False, traded)
    orders = desk.small.desk.own.orders
    assert order.decision_id in {one.decision_id for one in orders.live()}, "a kill sees it"
    assert (desk.reserved(), desk.lots()) == (left, traded)
    again = Orders()
    again.fold(desk.log.records())
    assert again.get(order.decision_id) == standing, "also after a restart"
    last = ENDS["cancelled"] | {"t14": str(traded)}
    desk.settled(desk.report(standing, **last))
    assert (now(desk, order).stage, now(desk, order).seals) == (Stage.SEALED, 2)
    assert (desk.reserved(), desk.lots()) == (0, traded)
    lines = replay(cast("LedgerReader", desk.log), TABLE, order.decision_id).lines
    assert len(lines) == len(told_kinds(desk.log, order.decision_id))


@pytest.mark.parametrize(
    "changes",
    [
        # an ending word that repeats what was left, and one that tells of nothing left
        {**NO_TRADE, "t150": "4", "t39": "4", "t151": "50"},
        {**NO_TRADE, "t150": "D", "t39": "0", "t151": "0"},
        # sent again: an answer to a question, and a word that was said before the end
        {**NO_TRADE, "t150": "I", "t39": "0", "t17": "0", "t151": "50", "t43": "Y"},
        {
            **NO_TRADE,
            "t150": "0",
            "t39": "0",
            "t151": "50",
            "t43": "Y",
            "t122": "20180102-14:59:59",
        },
    ],
)
def test_what_is_no_news_leaves_an_ended_order_ended(
    desk: MemoryDesk, changes: dict[str, str]
) -> None:
    order = ended(desk)
    desk.settled(desk.report(now(desk, order), **changes))
    assert (now(desk, order).stage, desk.reserved()) == (Stage.SEALED, 0)


@pytest.mark.parametrize("mark", [{}, {"t43": "Y"}])
def test_the_same_acknowledgement_again_leaves_an_ended_order_ended(
    desk: MemoryDesk, mark: dict[str, str]
) -> None:
    order = desk.rest(50)
    ack = {**NO_TRADE, "t150": "0", "t39": "0", "t17": "ACK", "t151": str(quantity(order))}
    desk.settled(desk.report(order, **ack))
    desk.settled(desk.report(now(desk, order), **ENDS["cancelled"]))
    records = desk.settled(desk.report(now(desk, order), **ack, **mark))
    assert [one.kind for one in records] == [Kind.FIX_INBOUND]
    assert (now(desk, order).stage, desk.reserved()) == (Stage.SEALED, 0)


@pytest.mark.parametrize(
    ("changes", "works"),
    [
        ({"t150": "0", "t39": "0"}, False),
        ({"t150": "A", "t39": "A"}, False),
        ({"t150": "6", "t39": "6"}, False),
        ({"t150": "D", "t39": "0"}, True),
        ({"t150": "I", "t39": "0", "t17": "0"}, True),  # asked for now, after a bust unheard
    ],
)
def test_an_acknowledgement_behind_the_fill_is_old_news_and_a_reinstatement_is_not(
    desk: MemoryDesk, tmp_path: Path, changes: dict[str, str], *, works: bool
) -> None:
    """For the FIX child as for the gateway, also after the child's restart."""
    order = desk.rest(50)
    total = str(quantity(order))
    fill = desk.report(order, t32=total, t14=total, t151="0", t39="2")
    desk.settled(fill)
    assert now(desk, order).stage is Stage.SEALED
    said = desk.report(now(desk, order), **(NO_TRADE | changes), t151=total)
    desk.settled(said)
    assert now(desk, order).stage is (Stage.SENT if works else Stage.SEALED)
    assert desk.lots() == quantity(order)
    for place, raw in enumerate((fill, said)):
        journal = Journal(tmp_path / "journal")
        child = Accounting(journal, simulator_profile(1).capabilities)
        if raw is fill:
            child.leaving(fields_of(order), 0)
        child.take(Entry(place, place + 1, raw), lambda one, _: one != order.cl_ord_id)
        journal.close()
    live = [one.cl_ord_id for one in read_live(tmp_path / "journal")]
    assert live == ([order.cl_ord_id] if works else [])
