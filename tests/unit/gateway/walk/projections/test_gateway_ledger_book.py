"""Which record frees what an order reserved."""

from typing import Any

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.projections.book import book_events
from risk.state.book import Book
from risk.state.busts import BookFold
from tests.doubles.whole_records import whole

RESERVED: dict[str, Any] = {
    "decision_id": "d-1",
    "market_now_us": 10,
    "reservation": {
        "instrument": "SPXN",
        "side": "BUY",
        "qty_lots": 100,
        "limit_ticks": 26_958,
        "unit_minor": 1,
    },
}
ENDED: dict[str, Any] = {"market_time_us": 12, "fill": None, "terminal": True}


def record(kind: Kind, body: dict[str, Any]) -> Record:
    return Record(
        seq=0,
        stream="decision/d-1",
        stream_seq=0,
        kind=kind,
        version=1,
        recorded_at_us=1,
        actor="test",
        prev=bytes(32),
        payload_digest=bytes(32),
        header=b"",
        payload=canonical(whole(kind, body)),
        leaf=bytes(32),
        idem_key="",
    )


def open_lots(*records: Record) -> int:
    fold = BookFold(Book.empty("run-1", 100_000_000))
    for one in records:
        for event in book_events(one):
            fold.take(event)
    return sum(held.open_lots for held in fold.book.reservations)


VERDICT = record(Kind.VERDICT_GIVEN, RESERVED)
SENDING = record(Kind.ORDER_SENDING, {"market_now_us": 11})


@pytest.mark.parametrize(
    "kind", [Kind.APPROVAL_REFUSED, Kind.RESERVATION_RELEASED, Kind.ORDER_WITHDRAWN]
)
def test_an_order_never_announced_is_freed_by_its_end(kind: Kind) -> None:
    assert open_lots(VERDICT, record(kind, ENDED)) == 0


@pytest.mark.parametrize("kind", [Kind.ORDER_REFUSED, Kind.ORDER_REPORTED])
def test_an_announced_order_is_freed_by_refusal_and_by_the_brokers_last_word(kind: Kind) -> None:
    assert open_lots(VERDICT, SENDING, record(kind, ENDED)) == 0


@pytest.mark.parametrize(
    "kind", [Kind.ORDER_UNKNOWN, Kind.ORDER_SENT, Kind.ORDER_WITHDRAWN, Kind.RESERVATION_RELEASED]
)
def test_an_announced_order_reserves_its_worst_case_until_then(kind: Kind) -> None:
    assert open_lots(VERDICT, SENDING, record(kind, ENDED)) == 100
