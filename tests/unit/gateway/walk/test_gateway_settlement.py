"""What a broker reports is booked once, as it was reported, and closes what it really ended."""

from typing import Any

import pytest

from audit.errors import LedgerWriteError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from gateway.walk.journal.standing import Stage, Standing
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk

LATER = "20180102-15:00:09"


def quantity(order: Standing) -> int:
    assert order.approving is not None
    return int(order.approving.body["intent"]["qty_lots"])


def anomalies(records: list[Record]) -> list[str]:
    return [str(one.body["reason"]) for one in records if one.kind is Kind.FIX_ANOMALY]


def booked(records: list[Record]) -> list[int]:
    return [
        int(one.body["fill"]["qty_lots"])
        for one in records
        if one.kind is Kind.ORDER_REPORTED and one.body["fill"] is not None
    ]


def now(desk: MemoryDesk, order: Standing) -> Standing:
    return desk.standing(order.decision_id)


def all_of(desk: MemoryDesk, order: Standing, **changes: str) -> str:
    """A report that fills what is left of an order."""
    left = quantity(order) - now(desk, order).filled_lots
    fields = {"t32": str(left), "t14": str(quantity(order)), "t151": "0", "t39": "2", **changes}
    return desk.report(now(desk, order), **fields)


def test_fills_are_booked_one_by_one_and_the_last_seals(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    total = quantity(order)
    records = desk.settled(desk.report(order))
    assert (booked(records), anomalies(records)) == ([1], [])
    assert (desk.lots(), desk.reserved()) == (1, total - 1)
    assert now(desk, order).stage is Stage.SENT
    records = desk.settled(all_of(desk, order))
    assert (booked(records), anomalies(records)) == ([total - 1], [])
    assert (desk.lots(), desk.reserved()) == (total, 0)
    assert now(desk, order).stage is Stage.SEALED
    assert desk.outcome(order.decision_id) == "filled"


def test_an_order_is_open_while_trades_are_missing(desk: MemoryDesk) -> None:
    """The broker says that all is done; the trades that we have do not add up to it."""
    order = desk.rest(50)
    total = quantity(order)
    last = desk.report(order, t32="20", t14=str(total), t151="0", t39="2")
    records = desk.settled(last)
    assert booked(records) == [20]
    (reported,) = (one for one in records if one.kind is Kind.ORDER_REPORTED)
    assert (reported.body["terminal"], reported.body["anomaly"]) == (False, "missing_trades")
    standing = now(desk, order)
    assert (standing.stage, standing.sealed) == (Stage.SENT, False)
    assert desk.reserved() == total - 20, "what is missing may still arrive"
    missing = desk.report(standing, t32=str(total - 20), t14=str(total), t151="0", t39="2")
    assert booked(desk.settled(missing)) == [total - 20]
    assert desk.lots() == total


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"t150": "4", "t39": "4"}, "cancelled"),
        ({"t150": "C", "t39": "C"}, "expired"),
        ({"t150": "8", "t39": "8"}, "rejected_by_broker"),
    ],
)
def test_the_brokers_last_word_without_a_trade_frees_and_seals(
    desk: MemoryDesk, changes: dict[str, str], outcome: str
) -> None:
    order = desk.rest()
    raw = desk.report(order, **{"t32": "0", "t31": "0", "t14": "0", "t151": "0", **changes})
    records = desk.settled(raw)
    assert (booked(records), anomalies(records)) == ([], [])
    assert desk.reserved() == 0
    assert desk.outcome(order.decision_id) == outcome


def test_a_report_that_comes_twice_is_booked_once(desk: MemoryDesk) -> None:
    order = desk.rest()
    raw = desk.report(order)
    assert booked(desk.settled(raw)) == [1]
    again = desk.settled(raw)
    assert (booked(again), anomalies(again)) == ([], [])
    assert [one.kind for one in again] == [Kind.FIX_INBOUND], "that it came again is on record"
    assert (desk.lots(), now(desk, order).filled_lots) == (1, 1)


def test_the_same_offset_again_changes_nothing(desk: MemoryDesk) -> None:
    order = desk.rest()
    raw = desk.report(order)
    desk.settled(raw, offset=77)
    assert desk.settled(raw, offset=77) == []
    assert desk.lots() == 1


def test_a_fill_that_is_repeated_under_a_new_transact_time_is_booked_once(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t17="SAME"))
    again = desk.report(order, t17="SAME", t60=LATER, t58="once more")
    assert [one.kind for one in desk.settled(again)] == [Kind.FIX_INBOUND]
    assert (desk.lots(), now(desk, order).filled_lots) == (1, 1)
    assert not desk.small.desk.own.section.differences.open(), "nothing is blocked"
    left = {"t32": str(quantity(order) - 1), "t14": str(quantity(order))}
    last = {"t17": "LAST", "t39": "2", "t151": "0", **left}
    assert anomalies(desk.settled(desk.report(order, **last))) == []
    later = desk.settled(desk.report(now(desk, order), t60=LATER, **last))
    assert (booked(later), anomalies(later), desk.lots()) == ([], [], quantity(order))


@pytest.mark.parametrize(
    "changes",
    [{"t32": "2"}, {"t31": "1.00"}, {"t39": "2"}, {"t14": "2"}, {"t60": LATER, "t32": "2"}],
)
def test_another_report_under_a_known_execid_is_an_alarm_and_not_booked(
    desk: MemoryDesk, changes: dict[str, str]
) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t17="SAME"))
    again = desk.settled(desk.report(order, t17="SAME", **changes))
    assert (booked(again), anomalies(again)) == ([], ["exec_id_reused"])
    assert desk.lots() == 1


def test_the_execid_of_another_day_is_another_report(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t17="SAME"))
    later = desk.report(now(desk, order), t17="SAME", t60="20180103-15:00:00")
    assert booked(desk.settled(later)) == [1]
    assert desk.lots() == 2


def test_a_fill_that_is_repeated_on_another_day_is_booked_once(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t17="SAME"))
    again = desk.settled(
        desk.report(now(desk, order), t17="SAME", t60="20180103-15:00:00", t14="1")
    )
    assert [one.kind for one in again] == [Kind.FIX_INBOUND]
    assert desk.lots() == 1


def test_a_report_that_comes_again_after_a_crash_before_the_seal_seals(desk: MemoryDesk) -> None:
    order = desk.rest()
    raw = all_of(desk, order)

    def refuse(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.DECISION_SEALED for one in drafts):
            raise LedgerWriteError("the database is away")

    desk.log.before = refuse
    with pytest.raises(LedgerWriteError):
        desk.settled(raw, offset=5)
    desk.log.before = lambda _: None
    assert now(desk, order).stage is Stage.CLOSED
    desk.settled(raw, offset=5)
    assert desk.outcome(order.decision_id) == "filled"
    assert desk.lots() == quantity(order)


def test_a_status_is_no_trade_and_may_come_often(desk: MemoryDesk) -> None:
    order = desk.rest()
    for _ in range(2):
        records = desk.settled(
            desk.report(order, t17="0", t150="I", t39="0", t32="0", t31="0", t14="0")
        )
        assert (booked(records), anomalies(records)) == ([], [])
        assert [one.kind for one in records] == [Kind.FIX_INBOUND, Kind.ORDER_REPORTED]
    assert now(desk, order).order_state == "NEW"


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [({"t55": "NDXN"}, "55"), ({"t54": "2"}, "54")],
)
def test_a_trade_in_another_instrument_or_side_is_not_booked(
    desk: MemoryDesk, changes: dict[str, str], wrong: str
) -> None:
    order = desk.rest()
    records = desk.settled(desk.report(order, **changes))
    assert (booked(records), anomalies(records)) == ([], ["unbookable"])
    (alarm,) = (one for one in records if one.kind is Kind.FIX_ANOMALY)
    assert f"tag {wrong}" in alarm.body["detail"]
    assert desk.lots() == 0


@pytest.mark.parametrize(
    ("price", "lots", "reasons"),
    [
        ("limit", 1, []),
        ("above", 1, ["price_beyond_limit"]),
        ("below", 1, []),
        ("limit", 0, []),
        ("limit", -1, ["overfilled"]),
    ],
)
def test_a_trade_beyond_the_limit_or_the_quantity_is_booked_and_an_alarm(
    desk: MemoryDesk, price: str, lots: int, reasons: list[str]
) -> None:
    """`lots`: 1 trades one lot, 0 all of them, -1 one more than all."""
    order = desk.rest()
    assert order.approving is not None
    ticks = int(order.approving.body["intent"]["limit_ticks"])
    ticks += {"limit": 0, "above": 1, "below": -1}[price]
    traded = lots if lots > 0 else quantity(order) - lots
    fields = {"t31": f"{ticks / 100:.2f}", "t32": str(traded), "t14": str(traded)}
    records = desk.settled(desk.report(order, **fields))
    assert (booked(records), anomalies(records)) == ([traded], reasons)
    assert desk.lots() == traded


def fill_of(desk: MemoryDesk, order: Standing, **changes: str) -> dict[str, Any]:
    (reported,) = (
        one
        for one in desk.settled(desk.report(order, **changes))
        if one.kind is Kind.ORDER_REPORTED
    )
    body: dict[str, Any] = reported.body
    return body


def test_a_fill_is_booked_in_our_units(desk: MemoryDesk) -> None:
    order = desk.rest()
    body = fill_of(desk, order, t32="3", t31="268.11", t12="1.23", t13="3", t14="3")
    assert body["fill"] == {
        "instrument": "SPXN",
        "side": "BUY",
        "qty_lots": 3,
        "price_ticks": 26_811,
        "fee_minor": 123,
        "unit_minor": 1,
    }
    assert (body["last_lots"], body["ord_status"], body["session"]) == (3, "1", "EMSSIM")
    book = desk.small.desk.own.section.book(order.account)
    assert book.cash_minor == 100_000_000 - 3 * 26_811 - 123


@pytest.mark.parametrize(
    "changes",
    [
        {"t32": "0"},
        {"t32": "-1"},
        {"t32": "1.5"},
        {"t31": "0"},
        {"t31": "-1.00"},
        {"t31": "1.005"},
        {"t31": "100000000000.00", "t32": "11"},
    ],
)
def test_what_is_not_whole_lots_and_ticks_within_range_is_not_booked(
    desk: MemoryDesk, changes: dict[str, str]
) -> None:
    records = desk.settled(desk.report(desk.rest(), **changes))
    assert (booked(records), anomalies(records)) == ([], ["unbookable"])


def test_the_largest_value_that_is_booked(desk: MemoryDesk) -> None:
    order = desk.rest()
    at_most = fill_of(desk, order, t32="1", t31=f"{10**12}.00", t12=f"{10**12}.00", t13="3")
    assert at_most["fill"]["fee_minor"] == 10**14
    records = desk.settled(desk.report(order, t31=f"{10**12}.01"))
    assert anomalies(records) == ["unbookable"]
    records = desk.settled(desk.report(order, t12=f"{10**12}.01", t13="3"))
    assert (booked(records), anomalies(records)) == ([1], ["fee_open"])


def test_a_report_on_an_order_that_nobody_sent_is_an_alarm(desk: MemoryDesk) -> None:
    order = desk.rest()
    records = desk.settled(desk.report(order, t11="UNKNOWNUNKNOWNUNKNOW"))
    assert (booked(records), anomalies(records)) == ([], ["unknown_order"])
    assert (desk.lots(), desk.reserved()) == (0, quantity(order))


@pytest.mark.parametrize("raw", ["", "8=FIX.4.4", "no fix at all"])
def test_what_cannot_be_read_is_on_record_and_an_alarm(desk: MemoryDesk, raw: str) -> None:
    records = desk.settled(raw)
    assert [one.kind for one in records] == [Kind.FIX_INBOUND, Kind.FIX_ANOMALY]
    assert (records[0].body["raw"], anomalies(records)) == (raw, ["unreadable"])


def test_a_cancel_that_the_broker_refused_is_an_alarm(desk: MemoryDesk) -> None:
    order = desk.rest()
    fields = (
        (49, "EMSSIM"),
        (56, "COUNTERSIGN"),
        (34, "9"),
        (52, "20180102-15:00:00"),
        (37, "X1"),
        (11, "CANCEL"),
        (41, order.cl_ord_id),
        (39, "0"),
        (434, "1"),
    )
    records = desk.settled(framed("9", fields))
    assert anomalies(records) == ["cancel_rejected"]
    (alarm,) = (one for one in records if one.kind is Kind.FIX_ANOMALY)
    assert alarm.body["detail"] == order.cl_ord_id


def test_a_report_on_a_cancel_is_that_of_its_order(desk: MemoryDesk) -> None:
    order = desk.rest()
    raw = desk.report(
        order,
        t11="CANCEL",
        t41=order.cl_ord_id,
        t150="4",
        t39="4",
        t32="0",
        t31="0",
        t14="0",
        t151="0",
    )
    assert anomalies(desk.settled(raw)) == []
    assert desk.outcome(order.decision_id) == "cancelled"
