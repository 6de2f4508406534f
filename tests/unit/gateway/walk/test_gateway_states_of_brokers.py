"""States that a broker may report beside fills: each is followed, and what changes is an alarm."""

from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.walk.projections.standing import Stage, Standing
from tests.doubles.memory_desk import MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def said(desk: MemoryDesk, order: Standing, exec_type: str, status: str, **more: str) -> list[str]:
    """Settle a report without a trade; return the reasons of its anomalies."""
    now = desk.standing(order.decision_id)
    fields = {"t150": exec_type, "t39": status, "t32": "0", "t31": "0", "t14": str(now.filled_lots)}
    records = desk.settled(desk.report(now, **(fields | {"t151": "5"} | more)))
    found = [str(one.body["reason"]) for one in records if one.kind is Kind.FIX_ANOMALY]
    return found + [str(one.body["anomaly"]) for one in records if "anomaly" in one.body]


@pytest.mark.parametrize(
    ("exec_type", "status", "state"),
    [
        ("3", "3", "DONE_FOR_DAY"),
        ("6", "6", "PENDING_CANCEL"),
        ("7", "7", "STOPPED"),
        ("9", "9", "SUSPENDED"),
        ("E", "E", "PENDING_REPLACE"),
    ],
)
def test_a_state_between_is_followed_and_works_on(
    desk: MemoryDesk, exec_type: str, status: str, state: str
) -> None:
    order = desk.rest()
    reserved = desk.reserved()
    assert said(desk, order, "0", "0") == []
    assert said(desk, order, exec_type, status) == []
    assert desk.standing(order.decision_id).order_state == state
    assert said(desk, order, "I", status, t17="0") == [], "asked for, it is still so"
    assert desk.standing(order.decision_id).stage is Stage.SENT
    assert desk.reserved() == reserved, "the broker may still trade it"
    assert said(desk, order, "0", "0", t17="again") == []
    assert desk.standing(order.decision_id).order_state == "NEW"


def test_a_state_out_of_place_is_an_anomaly_and_not_applied(desk: MemoryDesk) -> None:
    order = desk.rest()
    said(desk, order, "0", "0")
    assert said(desk, order, "A", "Z") == ["unknown_status"]
    assert said(desk, order, "4", "4", t151="0") == []
    assert said(desk, order, "E", "E", t151="0") == ["not_in_table"]
    assert desk.standing(order.decision_id).order_state == "CANCELED"


def test_a_broker_that_changes_an_order_by_itself_raises_an_alarm(desk: MemoryDesk) -> None:
    order = desk.rest()
    reserved = desk.reserved()
    said(desk, order, "0", "0")
    assert said(desk, order, "D", "0") == [], "nothing changed"
    assert said(desk, order, "D", "0", t38="7", t378="5", t17="D2") == ["restated"]
    alarm = list(desk.log.records(kinds=(Kind.FIX_ANOMALY,)))[-1]
    assert str(alarm.body["detail"]).startswith(f"{order.cl_ord_id}: 38=7, sent ")
    assert str(alarm.body["detail"]).endswith("; 378=5")
    assert desk.standing(order.decision_id).order_state == "NEW"
    assert desk.reserved() == reserved, "a broker's own change makes no room"
