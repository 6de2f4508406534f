"""A trade books only the money of its book, and a fee is known exactly or stays open."""

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from tests.doubles.memory_desk import MemoryDesk


def fees(records: list[Record]) -> list[int]:
    return [
        one.body["fill"]["fee_minor"]
        for one in records
        if one.kind is Kind.ORDER_REPORTED and one.body["fill"]
    ]


def reasons(records: list[Record]) -> list[str]:
    return [one.body["reason"] for one in records if one.kind is Kind.FIX_ANOMALY]


def differences(records: list[Record]) -> list[tuple[str, str, str]]:
    found = (one.body for one in records if one.kind is Kind.BOOK_DIFFERENCE)
    return [(one["reason"], one["instrument"], one.get("detail", "")) for one in found]


@pytest.mark.parametrize("tag", [15, 120])
@pytest.mark.parametrize("money", ["GBX", "GBp", "JPY", "usd", "EUR", "\xe9"])
def test_a_trade_in_another_currency_is_not_booked_and_the_alarm_names_the_tag(
    desk: MemoryDesk, tag: int, money: str
) -> None:
    """Repro r03."""
    records = desk.settled(desk.report(desk.rest(), **{f"t{tag}": money}))
    assert (fees(records), reasons(records), desk.lots()) == ([], ["unbookable"], 0)
    ((cause, instrument, detail),) = differences(records)
    assert (cause, instrument) == ("UNBOOKABLE", "SPXN")
    assert f"tag {tag} is" in detail
    assert desk.ask().result == "rejected"


def test_an_acknowledgement_in_another_currency_is_applied_and_alarms(desk: MemoryDesk) -> None:
    order = desk.rest()
    raw = desk.report(order, t150="0", t39="0", t32="0", t31="0", t14="0", t15="GBX")
    assert reasons(desk.settled(raw)) == ["other_currency"]
    assert desk.standing(order.decision_id).order_state == "NEW"


@pytest.mark.parametrize(
    ("changes", "fee_minor"),
    [
        ({"t15": "USD", "t120": "USD", "t12": "0.35", "t13": "3", "t479": "USD"}, 35),
        ({"t12": "0.35"}, 35),
        ({"t12": "0.02", "t13": "1"}, 2),
        ({"t12": "-0.10", "t13": "3"}, -10),
        ({"t31": "200.00", "t12": "0.0005", "t13": "2"}, 10),
        ({"t12": "0", "t13": "4"}, 0),
        ({"t12": "0.00", "t13": "3", "t479": "EUR"}, 0),
        ({"t136": "1", "t137": "0.07", "t138": "USD", "t139": "4"}, 7),
        ({"t12": "0.35", "t13": "3", "t136": "1", "t137": "0.07", "t139": "1"}, 42),
        ({"t136": "1", "t137": "0.03", "t139": "2", "t891": "1"}, 3),
        ({"t136": "0"}, 0),
    ],
)
def test_a_fee_that_is_understood_is_booked_exactly(
    desk: MemoryDesk, changes: dict[str, str], fee_minor: int
) -> None:
    """Repro r21."""
    records = desk.settled(desk.report(desk.rest(), **changes))
    assert (fees(records), reasons(records), differences(records)) == ([fee_minor], [], [])


@pytest.mark.parametrize(
    ("changes", "booked", "named"),
    [
        ({"t12": "0.0035", "t13": "1"}, 0, "12=0.0035"),
        ({"t12": "0.355", "t13": "3"}, 0, "finer than 2"),
        ({"t12": "0.0005", "t13": "2"}, 0, "13=2: percent, comes to 0.13426 USD, finer than 2"),
        ({"t12": "1.00", "t13": "3", "t479": "EUR"}, 0, "tag 479 is EUR, not USD"),
        ({"t12": "1.00", "t13": "4"}, 0, "13=4"),
        ({"t12": "1.00", "t13": "5"}, 0, "13=5"),
        ({"t12": "1.00", "t13": "6"}, 0, "13=6"),
        ({"t12": "1.00", "t13": "Z"}, 0, "13=Z"),
        ({"t12": "many", "t13": "3"}, 0, "12=many"),
        ({"t13": "3"}, 0, "13=3"),
        ({"t12": "0.35", "t136": "1", "t137": "0.07", "t138": "GBX"}, 35, "tag 138 is GBX"),
        ({"t12": "0.35", "t136": "2", "t137": "0.07", "t139": "4"}, 35, "136=2"),
        ({"t136": "1"}, 0, "136=1"),
        ({"t137": "0.07"}, 0, "137=0.07"),
        ({"t136": "1", "t137": "0.07", "t139": "8"}, 0, "139=8"),
        ({"t136": "1", "t137": "0.07", "t891": "9"}, 0, "891=9"),
    ],
)
def test_a_fee_that_is_not_understood_stays_open_and_the_trade_is_booked(
    desk: MemoryDesk, changes: dict[str, str], booked: int, named: str
) -> None:
    """Repro r21. The difference blocks nothing: the lots are right."""
    records = desk.settled(desk.report(desk.rest(), **changes))
    assert (fees(records), reasons(records), desk.lots()) == ([booked], ["fee_open"], 1)
    ((cause, instrument, detail),) = differences(records)
    assert (cause, instrument) == ("FEE_OPEN", "")
    assert named in detail
    assert desk.ask().result == "approved"


def test_each_trade_with_an_open_fee_is_told(desk: MemoryDesk) -> None:
    order = desk.rest()
    for lots in (1, 2):
        raw = desk.report(desk.standing(order.decision_id), t12="1.00", t13="4")
        records = desk.settled(raw)
        assert [cause for cause, *_ in differences(records)] == ["FEE_OPEN"]
        assert desk.lots() == lots
