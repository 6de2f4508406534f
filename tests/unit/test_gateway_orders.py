from typing import Any

import pytest

from audit.canonical import canonical
from audit.kinds import Kind
from audit.record import Record
from gateway.orders import Orders, Stage

DECISION = "d1"
NAME = "A" * 20


def record(
    seq: int, kind: Kind, body: dict[str, Any], stream: str = f"decision/{DECISION}"
) -> Record:
    return Record(
        seq=seq,
        stream=stream,
        stream_seq=seq,
        kind=kind,
        version=1,
        recorded_at_us=seq,
        actor="gateway",
        prev=bytes(32),
        payload_digest=bytes(32),
        header=b"",
        payload=canonical(body),
        leaf=bytes(32),
        idem_key=str(seq),
    )


def verdict(seq: int, result: str) -> Record:
    return record(seq, Kind.VERDICT_GIVEN, {"account": "a", "result": result})


def report(seq: int, state: str, lots: int, *, terminal: bool, exec_id: str = "1") -> Record:
    body = {
        "terminal": terminal,
        "order_state": state,
        "last_lots": lots,
        "ord_status": state[:1],
        "session": "s",
        "trade_date": "20180102",
        "exec_id": exec_id,
        "report": {"exec_id": exec_id},
    }
    return record(seq, Kind.ORDER_REPORTED, body)


SENDING = record(2, Kind.ORDER_SENDING, {"cl_ord_id": NAME})
SENT = record(3, Kind.ORDER_SENT, {"cl_ord_id": NAME})


def folded(*records: Record) -> Orders:
    orders = Orders()
    orders.fold(records)
    return orders


def stage(orders: Orders) -> Stage:
    standing = orders.get(DECISION)
    assert standing is not None
    return standing.stage


@pytest.mark.parametrize(
    ("result", "expected"),
    [("approved", Stage.APPROVED), ("held", Stage.HELD), ("rejected", Stage.CLOSED)],
)
def test_a_verdict_opens_closes_or_holds(result: str, expected: Stage) -> None:
    orders = folded(verdict(1, result))
    assert stage(orders) is expected
    assert bool(orders.unsent()) is (expected is Stage.APPROVED)
    assert bool(orders.held()) is (expected is Stage.HELD)


def test_an_announced_order_is_in_doubt_until_something_follows() -> None:
    orders = folded(verdict(1, "approved"), SENDING)
    assert [s.decision_id for s in orders.in_doubt()] == [DECISION]
    assert orders.unsent() == ()
    orders.fold([SENT])
    assert orders.in_doubt() == ()
    assert len(orders.live()) == 1
    by_name = orders.by_cl_ord_id(NAME)
    assert by_name is not None
    assert by_name.decision_id == DECISION


def test_a_fill_booked_before_sent_is_recorded_stays_closed() -> None:
    orders = folded(
        verdict(1, "approved"),
        SENDING,
        report(3, "FILLED", 5, terminal=True),
        record(4, Kind.ORDER_SENT, {"cl_ord_id": NAME}),
    )
    assert stage(orders) is Stage.CLOSED
    assert orders.live() == ()


def test_a_partial_fill_before_sent_keeps_the_brokers_state() -> None:
    orders = folded(
        verdict(1, "approved"),
        SENDING,
        report(3, "PARTIALLY_FILLED", 2, terminal=False),
        record(4, Kind.ORDER_SENT, {"cl_ord_id": NAME}),
    )
    standing = orders.get(DECISION)
    assert standing is not None
    assert (standing.stage, standing.order_state, standing.filled_lots) == (
        Stage.SENT,
        "PARTIALLY_FILLED",
        2,
    )


def test_folding_the_same_records_again_changes_nothing() -> None:
    records = (
        verdict(1, "approved"),
        SENDING,
        SENT,
        report(4, "PARTIALLY_FILLED", 2, terminal=False),
        report(5, "FILLED", 3, terminal=True, exec_id="2"),
    )
    orders = folded(*records)
    before = orders.get(DECISION)
    orders.fold(records)
    assert orders.get(DECISION) == before
    assert before is not None
    assert before.filled_lots == 5


def test_a_sealed_decision_is_nobodys_business() -> None:
    orders = folded(
        verdict(1, "approved"),
        SENDING,
        record(3, Kind.ORDER_UNKNOWN, {"cl_ord_id": NAME}),
        record(4, Kind.DECISION_SEALED, {"outcome": "filled"}),
    )
    assert (orders.in_doubt(), orders.live(), orders.held(), orders.unsent()) == ((), (), (), ())
    assert list(orders.unsealed()) == []


@pytest.mark.parametrize(
    "kind",
    [
        Kind.ORDER_REFUSED,
        Kind.ORDER_WITHDRAWN,
        Kind.APPROVAL_REFUSED,
        Kind.RESERVATION_RELEASED,
    ],
)
def test_a_refusal_closes(kind: Kind) -> None:
    assert stage(folded(verdict(1, "held"), record(2, kind, {}))) is Stage.CLOSED


def test_other_streams_move_no_order() -> None:
    orders = folded(record(1, Kind.OPERATOR_NOTE, {"text": "x"}, stream="control"))
    assert list(orders.unsealed()) == []
