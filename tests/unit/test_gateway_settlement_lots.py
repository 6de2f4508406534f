"""Where a lot has many shares, the broker counts shares and the book counts lots."""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.kinds import Kind
from audit.record import Record
from gateway.orders import Stage, Standing
from gateway.settlement import SettleTools
from tests.doubles.memory_desk import MemoryDesk, memory_desk

LOT = 10


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """A desk that settles as if each lot had ten shares."""
    desk = memory_desk(tmp_path)
    plain = desk.small.settling.instrument
    tools: SettleTools = replace(
        desk.small.settling, instrument=lambda symbol: replace(plain(symbol), lot=LOT)
    )
    desk.small = replace(desk.small, settling=tools)
    return desk


def quantity(order: Standing) -> int:
    assert order.approving is not None
    return int(order.approving.body["intent"]["qty_lots"])


def reported(records: list[Record]) -> Record:
    (found,) = (one for one in records if one.kind is Kind.ORDER_REPORTED)
    return found


def test_shares_that_are_whole_lots_are_booked_as_lots(desk: MemoryDesk) -> None:
    order = desk.rest()
    body = reported(desk.settled(desk.report(order, t32="30", t14="30"))).body
    assert (body["fill"]["qty_lots"], body.get("anomaly")) == (3, None)
    assert desk.lots() == 3


@pytest.mark.parametrize("shares", ["1", "9", "11", "15"])
def test_shares_that_are_no_whole_lots_are_not_booked(desk: MemoryDesk, shares: str) -> None:
    records = desk.settled(desk.report(desk.rest(), t32=shares, t14=shares))
    (alarm,) = (one for one in records if one.kind is Kind.FIX_ANOMALY)
    assert alarm.body["reason"] == "unbookable"
    assert desk.lots() == 0


@pytest.mark.parametrize(
    ("beyond", "stage", "anomaly"),
    [(0, Stage.SEALED, None), (1, Stage.SENT, "missing_trades")],
)
def test_an_order_ends_when_its_shares_are_those_of_its_lots(
    desk: MemoryDesk, beyond: int, stage: Stage, anomaly: str | None
) -> None:
    """`beyond`: what the broker counts more than the trades that were told."""
    order = desk.rest()
    total = quantity(order)
    last = desk.report(
        order, t32=str(total * LOT), t14=str(total * LOT + beyond), t151="0", t39="2"
    )
    body = reported(desk.settled(last)).body
    assert (body.get("anomaly"), body["terminal"]) == (anomaly, anomaly is None)
    assert desk.standing(order.decision_id).stage is stage
    assert desk.lots() == total


def test_a_cancel_after_a_part_ends_the_order(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t32="20", t14="20"))
    now = desk.standing(order.decision_id)
    word = desk.report(now, t150="4", t39="4", t32="0", t31="0", t14="20", t151="0")
    assert reported(desk.settled(word)).body.get("anomaly") is None
    assert desk.outcome(order.decision_id) == "cancelled"
    assert (desk.lots(), desk.reserved()) == (2, 0)
