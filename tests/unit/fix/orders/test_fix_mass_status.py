"""The mass status request at a logon: when it is over, and what is asked singly afterwards."""

from dataclasses import replace

import pytest

from fix.orders.reconcile import MASS_PATIENCE_US, Fate, MassAsked, OpenOrder, Reconciliation
from fix.wire.messages import Fields, wire_text
from fix.wire.reports import Inbound, parse_inbound
from tests.doubles.child_desk import report
from tests.unit.fix.orders.test_fix_sweep import live

ASKED = MassAsked(request_id="M1").left(7, 1_000)


def said(fields: Fields) -> Inbound:
    return parse_inbound(wire_text(fields))


def status(name: str, **changes: str) -> Inbound:
    return said(report(name, "I", "0", t17="0", t151="5", **({"t584": "M1"} | changes)))


def begin(*names: str) -> Reconciliation:
    orders = [OpenOrder(cl_ord_id=name, fields=live(name).fields) for name in names]
    return Reconciliation.begin(orders, logon_no=1, now_us=1_000, mass=ASKED)


@pytest.mark.parametrize(
    ("inbound", "over"),
    [
        (status("A", t912="Y"), "answered: 1 orders"),
        (status("A", t911="1"), "answered: 1 orders"),
        (status("A", t911="2"), ""),
        (status("A"), ""),
        (status("A", t584="M0", t912="Y"), ""),
        (said(report("NONE", "I", "8", t584="M1", t17="0", t103="5")), "answered: 0 orders"),
        (said(((35, "j"), (34, "3"), (372, "AF"), (380, "3"))), "refused: 35=j 380=3 "),
        (said(((35, "j"), (34, "3"), (372, "H"), (380, "3"))), ""),
        (said(((35, "3"), (34, "3"), (45, "7"), (373, "11"))), "refused: 35=3 373=11 "),
        (said(((35, "3"), (34, "3"), (45, "8"), (373, "11"))), ""),
        (said(((35, "3"), (34, "3"), (45, "8"), (372, "AF"))), "refused: 35=3 373= "),
        (said(((35, "3"), (34, "3"), (45, "7"), (372, "H"))), ""),
    ],
)
def test_what_ends_the_mass_answer(inbound: Inbound, over: str) -> None:
    assert ASKED.heard(inbound, 2_000).over == over


def test_a_silent_broker_ends_it_after_its_last_word() -> None:
    heard = ASKED.heard(status("A"), 500_000)
    assert not heard.waited(500_000 + MASS_PATIENCE_US - 1).over
    assert heard.waited(500_000 + MASS_PATIENCE_US).over == "not answered to the end: 1 orders"


def test_one_that_did_not_leave_is_over_at_once() -> None:
    left = MassAsked(request_id="M1").left(0, 1_000, "NOT_LOGGED_ON")
    assert left.over == "not sent: NOT_LOGGED_ON"
    assert replace(begin("A"), mass=left).mass_over(1_000)[1] != ()


def test_single_questions_wait_for_the_end_of_the_mass_answer_and_come_once() -> None:
    asked = begin("A", "B")
    assert asked.questions() == ()
    assert not asked.is_over(10**12), "only the broker's silence ends it, not the clock of orders"
    asked = asked.heard(status("A"), 2_000)
    assert asked.fates == (Fate.KNOWN, Fate.ASKED)
    asked, questions = asked.mass_over(3_000)
    assert questions == ()
    assert asked.ask_again_at(10**9)[1] == ()
    asked = asked.heard(status("X", t912="Y"), 4_000)
    asked, questions = asked.mass_over(5_000)
    assert [dict(one)[11] for one in questions] == ["B"]
    assert asked.mass_over(6_000)[1] == ()
    assert not asked.is_over(5_000 + asked.patience_us - 1), "their time begins now"
    assert asked.is_over(5_000 + asked.patience_us)


def test_without_an_open_order_the_answer_is_waited_for_too() -> None:
    asked = begin()
    assert not asked.is_over(2_000)
    asked = asked.heard(said(report("NONE", "I", "8", t584="M1", t17="0", t103="5")), 2_000)
    asked, questions = asked.mass_over(3_000)
    assert questions == ()
    assert asked.is_over(3_000)
