"""Where book and broker differ, the instrument takes no new order until a person resolved it."""

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.order_requests import CancelRequest
from gateway.walk.journal.control.difference import DifferenceCause
from gateway.walk.journal.standing import Stage
from gateway.walk.projections.differences import Differences
from risk.verdict import Reason
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk


def told(records: list[Record]) -> list[tuple[str, str, object, object]]:
    return [
        (one.body["reason"], one.body["instrument"], one.body["book_lots"], one.body["broker_lots"])
        for one in records
        if one.kind is Kind.BOOK_DIFFERENCE
    ]


def differences(desk: MemoryDesk) -> Differences:
    return desk.small.desk.own.section.differences


def refused(desk: MemoryDesk) -> str:
    """Ask for another order; return why it is refused, empty if it is not."""
    response = desk.ask(33)
    verdict = desk.verdict(response.decision_id)
    found = [
        rule["reason"] for rule in verdict.body["verdict"]["results"] if rule["action"] == "REJECT"
    ]
    return "" if response.result == "approved" else str(found)


def test_equal_totals_are_no_difference(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    assert told(desk.settled(desk.report(order))) == []
    assert told(desk.settled(desk.report(desk.standing(order.decision_id)))) == []
    assert (
        told(desk.settled(desk.report(desk.standing(order.decision_id), t150="I", t14="2"))) == []
    )
    assert differences(desk).state == "ready"
    assert refused(desk) == ""


def test_a_total_above_the_booked_fills_stops_the_instrument_also_after_a_restart(
    desk: MemoryDesk,
) -> None:
    order, waiting = desk.rest(50), desk.approved()
    found = told(desk.settled(desk.report(order, t14="7")))
    assert found == [("CUM_QTY", "SPXN", 1, 7)]
    assert differences(desk).blocks("SPXN")
    assert differences(desk).state.startswith("1 unresolved")
    assert refused(desk) == str([Reason.BOOK_DIFFERS.value])
    assert desk.dispatch(waiting) is None
    assert "differs" in desk.withdrawn(waiting.decision_id)
    # reports and cancels of what is at the broker go on
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, t150="4", t39="4", t151="0", t14="7"))
    assert desk.standing(order.decision_id).stage is Stage.SENT, "trades are missing"
    again = Differences(desk.small.reader)
    again.read(desk.log.size)
    assert again.open() == differences(desk).open() != ()


def test_the_same_difference_is_told_once_and_another_takes_its_place(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t14="7"))
    now = desk.standing(order.decision_id)
    assert told(desk.settled(desk.report(now, t150="I", t14="7"))) == []
    assert told(desk.settled(desk.report(now, t150="I", t14="9"))) == [("CUM_QTY", "SPXN", 1, 9)]
    assert [d.found.broker_lots for d in differences(desk).open()] == [9]


def test_a_late_acknowledgement_is_no_difference(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order))
    now = desk.standing(order.decision_id)
    assert told(desk.settled(desk.report(now, t150="0", t39="0", t14="0"))) == []


@pytest.mark.parametrize(
    ("changes", "cause", "instrument", "broker"),
    [
        ({"t11": "NOBODYSORDERNOBODYSO"}, DifferenceCause.UNKNOWN_ORDER, "SPXN", 1),
        ({"t31": "1.005"}, DifferenceCause.UNBOOKABLE, "SPXN", 1),
        ({"t55": "NDXN"}, DifferenceCause.UNBOOKABLE, "SPXN", 1),
        ({"t31": "ten"}, DifferenceCause.UNREADABLE, "SPXN", 1),
        ({"t150": "H", "t19": "none"}, DifferenceCause.UNDOES_UNKNOWN_TRADE, "SPXN", 1),
    ],
)
def test_a_trade_that_cannot_be_booked_is_a_difference(
    desk: MemoryDesk, changes: dict[str, str], cause: DifferenceCause, instrument: str, broker: int
) -> None:
    order = desk.rest(50)
    assert told(desk.settled(desk.report(order, **changes))) == [(cause, instrument, 0, broker)]
    assert refused(desk) == str([Reason.BOOK_DIFFERS.value])


def test_a_status_of_a_strange_order_that_traded_nothing_is_none(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    raw = desk.report(order, t11="NOBODYSORDERNOBODYSO", t150="I", t39="8", t14="0")
    assert told(desk.settled(raw)) == []


def test_a_refusal_that_matches_no_order_blocks_no_instrument_but_waits_for_a_person(
    desk: MemoryDesk,
) -> None:
    desk.rest(50)
    fields = ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "9"), (45, "999"), (372, "D"))
    assert told(desk.settled(framed("3", fields))) == [("REJECT_UNMATCHED", "", None, None)]
    assert differences(desk).state != "ready"
    assert refused(desk) == ""


def test_other_instruments_trade_on(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t14="7"))
    assert differences(desk).blocks("SPXN")
    assert not differences(desk).blocks("NDXN")
    (open_one,) = differences(desk).open()
    assert open_one.found.account == AGENT_ACCOUNT


@pytest.mark.parametrize("both", [True, False], ids=["11 and 41", "11 alone"])
def test_an_answer_to_a_cancel_that_cannot_be_booked_is_of_the_order_that_it_cancels(
    desk: MemoryDesk, *, both: bool
) -> None:
    """ClOrdID (11) names the cancel, OrigClOrdID (41) the order; the symbol is another's."""
    order = desk.rest(50)
    done = desk.small.desk.order_desk.cancel(AGENT, order.cl_ord_id, CancelRequest(client_key="c"))
    named = {"t11": done.cancel.cancel_id, "t55": "NDXN", "t37": "NONE"}
    named |= {"t41": order.cl_ord_id} if both else {}
    raw = desk.report(order, **named, t150="4", t39="4", t32="0", t31="0", t14="3", t151="0")
    assert told(desk.settled(raw)) == [("UNBOOKABLE", "SPXN", 0, 3)]
    (one,) = differences(desk).open()
    assert (one.found.account, one.found.cl_ord_id) == (AGENT_ACCOUNT, order.cl_ord_id)
