"""Where a lot has many shares, the broker counts shares and the book counts lots."""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.order import OrderSending, order_draft
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.settlement import SettleTools
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk

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


@pytest.fixture
def plain(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def test_a_trade_at_one_tick_is_booked(plain: MemoryDesk) -> None:
    records = plain.settled(plain.report(plain.rest(), t31="0.01"))
    assert reported(records).body["fill"]["price_ticks"] == 1


@pytest.mark.parametrize(
    ("changes", "fee_minor"),
    [({}, 123), ({"t12": "0", "t13": "3"}, 0), ({"t12": "9.00", "t13": "3"}, 900)],
)
def test_a_correction_that_names_no_commission_leaves_it(
    plain: MemoryDesk, changes: dict[str, str], fee_minor: int
) -> None:
    order = plain.rest()
    first = plain.report(order, t17="T1", t32="3", t14="3", t31="268.11", t12="1.23", t13="3")
    plain.settled(first)
    corrected = {"t150": "G", "t19": "T1", "t32": "2", "t14": "2", "t31": "268.10", **changes}
    body = reported(plain.settled(plain.report(order, **corrected))).body
    assert body.get("anomaly") is None
    fill = body["fill"]
    assert (fill["qty_lots"], fill["price_ticks"], fill["fee_minor"]) == (2, 26_810, fee_minor)
    assert plain.lots() == 2
    book = plain.small.desk.own.section.book(order.account)
    assert book.cash_minor == 100_000_000 - 2 * 26_810 - fee_minor


def test_a_bust_takes_its_trade_back_once_and_reserves_what_is_open_again(
    plain: MemoryDesk,
) -> None:
    order = plain.rest()
    total = quantity(order)
    plain.settled(plain.report(order, t17="T1", t32=str(total), t14=str(total), t151="0", t39="2"))
    assert plain.outcome(order.decision_id) == "filled"
    bust = {"t150": "H", "t19": "T1", "t39": "0", "t14": "0", "t32": "0", "t31": "0"}
    body = reported(plain.settled(plain.report(order, t17="T2", **bust))).body
    assert (body["fill"], body["last_lots"], body["reopens"]) == (None, -total, True)
    now = plain.standing(order.decision_id)
    assert (now.stage, now.filled_lots, now.sealed) == (Stage.SENT, 0, False)
    assert (plain.lots(), plain.reserved()) == (0, total)
    (alarm, *_) = (
        one
        for one in plain.settled(plain.report(order, t17="T3", **bust))
        if one.kind is Kind.FIX_ANOMALY
    )
    assert alarm.body["reason"] == "trade_undone_twice"
    (alarm, *_) = (
        one
        for one in plain.settled(plain.report(order, t17="T4", **{**bust, "t19": "NONE"}))
        if one.kind is Kind.FIX_ANOMALY
    )
    assert alarm.body["reason"] == "undoes_unknown_trade"
    plain.settled(plain.report(now, t17="T5", t32=str(total), t14=str(total), t151="0", t39="2"))
    assert (plain.lots(), plain.reserved()) == (total, 0)
    assert plain.standing(order.decision_id).seals == 2, "it is sealed anew"


def test_the_last_word_on_an_order_whose_verdict_does_not_count_stops_nothing(
    plain: MemoryDesk,
) -> None:
    """As when officers disavowed its row: no account is known, so a person has to say."""
    other = plain.rest()
    stray = Standing(decision_id="stray", account=AGENT_ACCOUNT, cl_ord_id="STRAY")
    sending = OrderSending(
        cl_ord_id="STRAY",
        fields=((55, "SPXN"), (54, "1"), (38, "7"), (44, "268.11")),
        approving_seq=0,
        approving_leaf="",
        kill_epoch=0,
        send_before_us=0,
        market_now_us=plain.small.desk.own.market.now_us(),
        decided_us=0,
    )
    plain.log.append(order_draft(stray, sending))
    order = plain.standing("stray")
    assert order.verdict is None
    last = plain.report(order, t150="F", t39="2", t32="7", t14="7", t151="0")
    records = plain.settled(last)
    assert [one.kind for one in records] == [
        Kind.FIX_INBOUND,
        Kind.FIX_ANOMALY,
        Kind.BOOK_DIFFERENCE,
    ]
    assert records[1].body["reason"] == "unbookable"
    assert plain.standing("stray").stage is Stage.SENDING
    assert plain.ask().result == "rejected", "until a person has resolved it"
    plain.settled(plain.report(other))
    assert plain.lots() == 1, "what comes behind it is settled"


@pytest.mark.parametrize(("total", "news"), [("1", False), ("2", True)])
def test_without_a_memory_of_differences_only_equal_totals_are_no_news(
    plain: MemoryDesk, total: str, *, news: bool
) -> None:
    plain.small = replace(plain.small, settling=replace(plain.small.settling, differences=None))
    order = plain.rest()
    records = plain.settled(plain.report(order, t14=total))
    assert [one.kind for one in records if one.kind is Kind.BOOK_DIFFERENCE] == (
        [Kind.BOOK_DIFFERENCE] if news else []
    )
    strange = plain.report(order, t11="STRANGER", t14="0")
    (alarm,) = (one for one in plain.settled(strange) if one.kind is Kind.BOOK_DIFFERENCE)
    assert (alarm.body["reason"], alarm.body["book_lots"], alarm.body["broker_lots"]) == (
        "UNKNOWN_ORDER",
        0,
        0,
    )


def test_a_trade_that_is_told_again_on_another_day_is_booked_once(desk: MemoryDesk) -> None:
    """Its ExecID may come again on that day; the total, in shares, says that nothing traded."""
    order = desk.rest()
    trade = {"t17": "T1", "t32": "30", "t14": "30"}
    reported(desk.settled(desk.report(order, **trade)))
    again = desk.settled(desk.report(order, **trade, t60="20180103-15:00:00"))
    assert [one.kind for one in again] == [Kind.FIX_INBOUND]
    assert desk.lots() == 3
