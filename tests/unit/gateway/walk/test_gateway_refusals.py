"""A Reject (3) or BusinessMessageReject (j) ends the order that it names, and no other."""

from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.session.link import HandResult
from fix.wire.messages import parse
from gateway.errors import NotReadyError
from gateway.evidence.replay.orders import order as replay_orders
from gateway.evidence.replay.past import Past
from gateway.walk.journal.standing import Stage, Standing
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk


def number_of(desk: MemoryDesk, order: Standing) -> int:
    """Return the MsgSeqNum under which an order left."""
    stream = f"decision/{order.decision_id}"
    (sent,) = desk.log.records(stream=stream, kinds=(Kind.ORDER_SENT,))
    return int(dict(parse(str(sent.body["raw"])))[34])


def refusal(msg_type: str, **tags: str) -> str:
    """Return a Reject (3) or BusinessMessageReject (j)."""
    fields = {49: "EMSSIM", 56: "COUNTERSIGN", 34: "9", 52: "20180102-15:00:00", 372: "D"}
    fields |= {373: "99"} if msg_type == "3" else {380: "0"}
    fields |= {int(name.removeprefix("t")): text for name, text in tags.items()}
    return framed(msg_type, tuple((tag, text) for tag, text in fields.items() if text))


def anomalies(records: list[Record]) -> list[str]:
    return [str(one.body["reason"]) for one in records if one.kind is Kind.FIX_ANOMALY]


@pytest.mark.parametrize("how", ["3 by number", "3 without a type", "j by ClOrdID", "j by number"])
def test_a_refused_order_is_ended_and_reserves_nothing(desk: MemoryDesk, how: str) -> None:
    order, other = desk.rest(50), desk.rest(60)
    number = str(number_of(desk, order))
    raw = {
        "3 by number": refusal("3", t45=number),
        "3 without a type": refusal("3", t45=number, t372=""),
        "j by ClOrdID": refusal("j", t45="1", t379=order.cl_ord_id),
        "j by number": refusal("j", t45=number),
    }[how]
    before = desk.reserved()
    records = desk.settled(raw)
    assert anomalies(records) == []
    now = desk.standing(order.decision_id)
    assert (now.stage, now.order_state) == (Stage.SEALED, "REJECTED")
    assert desk.standing(other.decision_id).stage is Stage.SENT
    intent = order.verdict.body["intent"] if order.verdict else {}
    assert before - desk.reserved() == intent["qty_lots"]
    (seal,) = (r for r in records if r.kind is Kind.DECISION_SEALED)
    assert seal.body["outcome"] == "rejected_by_broker"

    again = desk.settled(raw)
    assert [r.kind for r in again] == [Kind.FIX_INBOUND], "told twice, ended once"
    reader, stream = desk.small.reader, f"decision/{order.decision_id}"
    past = Past.of(reader, desk.small.table, order.decision_id, list(reader.records(stream=stream)))
    (ended,) = (r for r in records if r.kind is Kind.ORDER_ENDED)
    assert replay_orders.order_ended(past, ended).startswith("REJECTED")
    assert replay_orders.decision_sealed(past, seal) == "rejected_by_broker"


def test_a_refusal_of_another_message_ends_nothing(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    records = desk.settled(refusal("3", t45=str(number_of(desk, order)), t372="H"))
    assert anomalies(records) == ["rejected_by_peer"]
    assert desk.standing(order.decision_id).stage is Stage.SENT


def test_a_refusal_that_names_no_order_of_ours_ends_nothing(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    records = desk.settled(refusal("j", t45="999", t379="NOBODY"))
    assert anomalies(records) == ["reject_unmatched"]
    assert desk.standing(order.decision_id).stage is Stage.SENT


def test_a_refusal_of_an_order_that_has_traded_is_a_contradiction(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order))
    records = desk.settled(refusal("3", t45=str(number_of(desk, order))))
    assert anomalies(records) == ["reject_unmatched"]
    assert desk.standing(order.decision_id).stage is Stage.SENT
    assert desk.lots() == 1


def test_a_refusal_that_overtakes_the_orders_own_record_waits_for_it(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, broker = desk.approved(), desk.small.broker
    hand, told = broker.hand, refusal("3", t45=str(len(broker.orders) + 2))

    def refused_at_once(*order: Any) -> HandResult:  # noqa: ANN401 - as it is handed
        with pytest.raises(NotReadyError, match="number"):
            desk.settled(told, offset=77)
        return hand(*order)

    monkeypatch.setattr(broker, "hand", refused_at_once)
    desk.dispatch(waiting)
    assert desk.standing(waiting.decision_id).stage is Stage.SENT
    desk.settled(told, offset=77)
    assert desk.standing(waiting.decision_id).stage is Stage.SEALED
    assert desk.reserved() == 0
