"""States that a broker may report beside fills: each is followed, and what changes is an alarm."""

from dataclasses import replace
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.replay.replay import replay
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.outbox import Orders
from tests.doubles.memory_desk import AGENT_ACCOUNT, TABLE, MemoryDesk
from tests.doubles.told_kinds import told_kinds


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
    assert reserved > desk.reserved() == 7, "what the broker will not fill is free"


def test_two_anomalies_of_one_message_are_two_records(desk: MemoryDesk) -> None:
    """Their keys were the message's offset alone: the ledger took neither."""
    order = desk.rest()
    said(desk, order, "0", "0")
    no_trade = {"t32": "0", "t31": "0", "t14": "0", "t151": "7"}
    raw = desk.report(order, **no_trade, t150="D", t39="0", t38="7", t15="EUR")
    records = desk.settled(raw)
    told = [one for one in records if one.kind is Kind.FIX_ANOMALY]
    assert {one.body["reason"] for one in told} == {"other_currency", "restated"}
    assert len({(one.stream, one.idem_key) for one in records}) == len(records)


def quantity(order: Standing) -> int:
    assert order.approving is not None
    return int(order.approving.body["intent"]["qty_lots"])


def open_terms(desk: MemoryDesk) -> tuple[int, int]:
    """Return what is reserved: open lots, and their limit."""
    (held,) = desk.small.desk.own.section.book(AGENT_ACCOUNT).reservations
    return held.open_lots, held.limit_ticks


def test_a_restatement_reserves_what_the_broker_can_still_fill(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    total, (_, limit) = quantity(order), open_terms(desk)
    said(desk, order, "0", "0")
    desk.settled(desk.report(order, t14="1", t151=str(total - 1)))
    for name, changes, reserved in (
        ("smaller", {"t38": "20", "t151": "19"}, 19),
        ("smaller again, what works counts", {"t38": "5", "t151": "10"}, 10),
        ("as it was", {"t38": str(total), "t151": str(total - 1)}, total - 1),
        ("larger", {"t38": str(total + 9), "t151": str(total + 8)}, total + 8),
    ):
        said(desk, order, "D", "1", t378="5", t17=name, **changes)
        assert open_terms(desk) == (reserved, limit), name
    dear = f"{(limit + 5) / 100:.2f}"
    said(desk, order, "D", "1", t38=str(total + 9), t151=str(total + 8), t44=dear, t17="dearer")
    assert open_terms(desk) == (total + 8, limit + 5)
    now = desk.standing(order.decision_id)
    whole = {"t32": str(total + 8), "t14": str(total + 9), "t38": str(total + 9), "t151": "0"}
    records = desk.settled(desk.report(now, **whole, t39="2"))
    (booked,) = [one for one in records if one.kind is Kind.ORDER_REPORTED]
    assert booked.body["anomaly"] == "overfilled", "nobody approved more than the order"
    assert desk.reserved() == 0
    again = Orders()
    again.fold(desk.log.records())
    assert again.get(order.decision_id) == desk.standing(order.decision_id)
    lines = replay(cast("LedgerReader", desk.log), TABLE, order.decision_id).lines
    assert len(lines) == len(told_kinds(desk.log, order.decision_id))


def test_an_earlier_versions_restatement_replays_without_a_reservation_of_its_own(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(50)
    said(desk, order, "0", "0")
    reserved, now = desk.reserved(), desk.small.settling
    desk.small = replace(desk.small, settling=replace(now, restates=False))
    said(desk, order, "D", "0", t38="7", t151="7", t17="D2")
    assert desk.reserved() == reserved
    replay(cast("LedgerReader", desk.log), TABLE, order.decision_id)
