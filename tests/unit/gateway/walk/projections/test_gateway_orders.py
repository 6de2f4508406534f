from collections.abc import Iterable
from typing import Any

import pytest

from audit.errors import LedgerWriteError
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import NotReadyError
from gateway.walk.journal.standing import Stage
from gateway.walk.projections import outbox as orders_module
from gateway.walk.projections.outbox import Orders
from tests.doubles.whole_records import whole

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
        payload=canonical(whole(kind, body)),
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


class Log:
    """A log in memory, as the projection reads it."""

    def __init__(self, *records: Record) -> None:
        self.records = list(records)
        self.read = 0
        self.broken = False

    def __call__(self) -> tuple[int, Iterable[Record]]:
        self.read += 1
        if self.broken:
            raise LedgerWriteError("the database is away")
        return len(self.records), tuple(self.records)

    def append(self, *records: Record) -> tuple[Record, ...]:
        self.records += records
        return records


WALK = (
    record(0, Kind.SNAPSHOT_TAKEN, {}),
    verdict(1, "approved"),
    SENDING,
    SENT,
    report(4, "PARTIALLY_FILLED", 2, terminal=False),
    report(5, "FILLED", 3, terminal=True, exec_id="2"),
)


def following(log: Log) -> Orders:
    orders = Orders()
    orders.begin(log)
    return orders


def test_batches_in_order_are_followed_without_reading_the_log_again() -> None:
    log = Log(WALK[0])
    orders = following(log)
    for one in WALK[1:]:
        orders.follow(log.append(one))
    assert (stage(orders), log.read, orders.state) == (Stage.CLOSED, 1, "ready")
    standing = orders.get(DECISION)
    assert standing is not None
    assert standing.filled_lots == 5


def test_a_batch_that_was_read_from_the_log_already_is_no_late_one() -> None:
    log = Log(*WALK)
    orders = following(log)
    orders.follow(WALK[4:])
    standing = orders.get(DECISION)
    assert standing is not None
    assert (standing.filled_lots, log.read) == (5, 1)


def test_a_gap_and_a_late_batch_are_alarms_and_lose_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    log.append(*WALK[2:])
    orders.follow(WALK[3:4])  # told before the one that announces the order
    assert "a gap: received record 3, expected 2" in caplog.text
    orders.follow(WALK[2:3])  # comes late, was read from the log by then
    assert orders.state == "ready"
    assert orders.by_cl_ord_id(NAME) is not None
    orders.follow(log.append(record(6, Kind.ORDER_SENT, {"cl_ord_id": NAME})))
    orders.follow(log.records[6:7])
    assert "a late batch: received record 6, expected 7" in caplog.text
    assert log.read == 3
    standing = orders.get(DECISION)
    assert standing is not None
    assert (standing.filled_lots, standing.stage) == (5, Stage.CLOSED)


def test_while_the_log_cannot_be_read_nobody_acts_on_the_standings() -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    log.broken = True
    log.append(*WALK[2:4])
    orders.follow(WALK[3:4])
    assert not orders.ready
    for ask in (
        lambda: orders.get(DECISION),
        lambda: orders.by_cl_ord_id(NAME),
        orders.unsent,
        orders.held,
        orders.in_doubt,
        lambda: list(orders.unsealed()),
        lambda: orders.reports,
    ):
        with pytest.raises(NotReadyError, match="a gap"):
            ask()
    assert orders.live() == ()  # a kill asks at any time
    log.broken = False
    orders.mend()
    assert orders.ready
    assert orders.by_cl_ord_id(NAME) is not None


def test_a_record_that_cannot_be_folded_stops_the_projection() -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    log.append(record(2, Kind.ORDER_SENDING, {"cl_ord_id": None}))
    orders.follow(log.records[2:])
    assert "records 2 to 2 cannot be folded" in orders.state


def test_who_appends_folds_his_own_record_and_the_notifier_brings_it_again() -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    (sending,) = log.append(SENDING)
    orders.take_own(sending)
    assert orders.by_cl_ord_id(NAME) is not None
    orders.catch_up((sending,))
    orders.take_own(sending)  # an append that was answered from the log folds nothing twice
    orders.follow((sending, *log.append(*WALK[3:])))
    standing = orders.get(DECISION)
    assert standing is not None
    assert (standing.filled_lots, log.read, orders.state) == (5, 1, "ready")
    orders.follow((sending,))
    assert log.read == 2, "a batch that comes twice is an alarm, as before"


def test_an_own_record_waits_for_those_before_it() -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    sending, sent = log.append(*WALK[2:4])
    orders.take_own(sent)
    assert orders.by_cl_ord_id(NAME) is None
    assert stage(orders) is Stage.APPROVED
    orders.follow((sending, sent))
    assert (stage(orders), orders.state) == (Stage.SENT, "ready")


def test_an_own_record_that_cannot_be_folded_stops_the_projection() -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    (bad,) = log.append(record(2, Kind.ORDER_SENDING, {"cl_ord_id": None}))
    orders.take_own(bad)
    assert "records 2 to 2 cannot be folded" in orders.state
    orders.take_own(bad)
    with pytest.raises(NotReadyError):
        orders.get(DECISION)


def test_a_fold_from_the_log_forgets_what_was_folded_early() -> None:
    log = Log(*WALK[:2])
    orders = following(log)
    (sending,) = log.append(SENDING)
    orders.take_own(sending)
    log.append(*WALK[3:])
    orders.follow(WALK[4:5])  # a gap: the log is folded again, the early record with it
    assert (log.read, orders.state) == (2, "ready")
    orders.follow((sending,))
    assert (log.read, orders.state) == (2, "ready"), "it was read from the log by then"


def test_a_sealed_decision_is_nobodys_business() -> None:
    orders = folded(
        verdict(1, "approved"),
        SENDING,
        record(3, Kind.ORDER_UNKNOWN, {"cl_ord_id": NAME}),
        record(4, Kind.DECISION_SEALED, {"outcome": "filled"}),
    )
    assert (orders.in_doubt(), orders.live(), orders.held(), orders.unsent()) == ((), (), (), ())
    assert list(orders.unsealed()) == []


def test_an_answer_that_crossed_the_last_fill_leaves_the_decision_sealed() -> None:
    last = report(4, "FILLED", 3, terminal=True)
    late = report(6, "FILLED", 0, terminal=True, exec_id="0")
    seal = record(5, Kind.DECISION_SEALED, {"outcome": "filled"})
    orders = folded(SENDING, SENT, last, seal, late)
    assert stage(orders) is Stage.SEALED
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


def test_what_is_told_before_anything_was_read_begins_at_the_first_record() -> None:
    orders = Orders()
    orders.follow((record(0, Kind.VERDICT_GIVEN, {"account": "a", "result": "held"}),))
    assert stage(orders) is Stage.HELD
    orders.follow((record(2, Kind.DECISION_SEALED, {}),))
    assert not orders.ready, "a gap, and no log to read it from"


def test_who_appends_waits_until_his_own_record_is_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fold that ends just before it does not know the order yet: its fill would be a stranger."""
    monkeypatch.setattr(orders_module, "CATCH_UP_S", 0.01)
    log = Log(*WALK[:2])
    orders = following(log)
    appended = log.append(SENDING)
    with pytest.raises(NotReadyError, match="behind"):
        orders.catch_up(appended)
    orders.follow(appended)
    orders.catch_up(appended)
    assert orders.by_cl_ord_id(NAME) is not None
