"""What ends an order at the broker ends it here, and what is odd about it is told."""

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.difference import DifferenceCause
from gateway.walk.journal.standing import Standing
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk

NO_TRADE = {"t32": "0", "t31": "0"}
FORGOTTEN = {"t17": "0", "t150": "I", "t39": "8", **NO_TRADE, "t14": "0", "t151": "0", "t103": "5"}


def says(desk: MemoryDesk, order: Standing, **tags: str) -> list[Record]:
    return desk.settled(desk.report(desk.standing(order.decision_id), **tags))


def told(records: list[Record]) -> list[str]:
    kinds = (Kind.FIX_ANOMALY, Kind.BOOK_DIFFERENCE)
    return [str(one.body["reason"]) for one in records if one.kind in kinds]


@pytest.mark.parametrize("status", [False, True])
def test_a_rejection_after_a_partial_fill_ends_the_order_with_what_was_filled(
    desk: MemoryDesk, *, status: bool
) -> None:
    """Repro r11; also by the answer to a status request alone."""
    order = desk.rest(50)
    says(desk, order, t32="2", t14="2")
    over = {"t39": "8", **NO_TRADE, "t14": "2", "t151": "0", "t103": "99"}
    over |= {"t17": "0", "t150": "I"} if status else {"t150": "8"}
    assert told(says(desk, order, **over)) == ["rejected_late"]
    now = desk.standing(order.decision_id)
    assert (now.order_state, now.is_live, desk.reserved(), desk.lots()) == ("REJECTED", False, 0, 2)
    assert desk.outcome(order.decision_id) == "rejected_by_broker"


@pytest.mark.parametrize(
    ("day", "reasons"),
    [("20180102", ["no_longer_known", "NO_LONGER_KNOWN"]), ("20991231", [])],
)
def test_an_order_that_the_broker_forgot_ends_and_is_told_unless_its_day_is_over(
    desk: MemoryDesk, day: str, reasons: list[str]
) -> None:
    """Repro r12: a DAY order that is unknown on the next morning."""
    order = desk.rest(50)
    says(desk, order, t150="0", t39="0", **NO_TRADE, t14="0", t151="51")
    assert told(says(desk, order, **FORGOTTEN, t37="NONE", t52=f"{day}-09:00:00")) == reasons
    now = desk.standing(order.decision_id)
    assert (now.order_state, now.is_live, desk.reserved()) == ("EXPIRED", False, 0)


@pytest.mark.parametrize("orig", [False, True])
def test_a_fill_under_our_own_cancels_name_belongs_to_the_order(
    desk: MemoryDesk, *, orig: bool
) -> None:
    order = desk.rest(50)
    says(desk, order, t37="O7", t150="0", t39="0", **NO_TRADE, t14="0", t151="51")
    named = {"t11": "C" * 20, "t37": "O7"}  # of a sweep, which no record names
    if orig:
        named = {"t11": "C" * 20, "t41": order.cl_ord_id, "t37": "O8"}
    assert told(says(desk, order, **named, t32="3", t14="3")) == []
    assert (desk.lots(), desk.standing(order.decision_id).filled_lots) == (3, 3)


def test_an_order_id_of_two_orders_names_neither(desk: MemoryDesk) -> None:
    first, second = desk.rest(50), desk.rest(20)
    for order in (first, second):
        says(desk, order, t37="O7", t150="0", t39="0", **NO_TRADE, t14="0", t151="51")
    strange = says(desk, second, t11="C" * 20, t37="O7", t32="3", t14="3")
    assert "UNKNOWN_ORDER" in told(strange)
    assert desk.lots() == 0


def test_an_unknown_order_stops_its_instrument_and_not_the_accounts(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    says(desk, order, t11="Q" * 20, t37="ZZ", t55="NDXN", t32="3", t14="3")
    section = desk.small.desk.own.section
    (found,) = section.differences.open()
    assert found.found.cause is DifferenceCause.UNKNOWN_ORDER
    assert (section.differences.blocks("NDXN"), section.differences.blocks("SPXN")) == (True, False)
    gathered = section._gathering  # noqa: SLF001 - what R51 is given
    assert gathered is not None
    assert desk.ask().result == "approved"


def test_a_total_after_a_reused_exec_id_ends_the_order_for_all(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    says(desk, order, t17="SAME", t32="2", t14="2")
    whole = {"t39": "2", "t151": "0", "t14": "51", "t32": "49"}
    assert told(says(desk, order, t17="SAME", **whole)) == ["exec_id_reused", "EXEC_ID_REUSED"]
    now = desk.standing(order.decision_id)
    assert (now.order_state, now.is_live, desk.lots()) == ("FILLED", False, 2)
    assert desk.reserved() > 0, "until persons say what was traded"
    assert now.account == AGENT_ACCOUNT
