"""Sweeps: mass cancel first, largest first, paced, and an honest outcome."""

import pytest

from fix.dialects.profile import Profile
from fix.orders.live import LiveOrder
from fix.orders.reconcile import Fate, OpenOrder, Reconciliation, strangers
from fix.orders.sweep import (
    ACCEPTED_GRACE_US,
    GRACE_US,
    RETRY_US,
    Sweep,
    SweepOutcome,
    largest_first,
)
from fix.wire.messages import Fields, wire_text
from fix.wire.reports import parse_inbound
from tests.doubles.fix_world import PROFILE, replace_pace
from tests.unit.fix.wire.test_fix_reports import raw

SIZES = {"small": "1", "large": "9", "middle": "5"}


def live(name: str, qty: str = "1", price: str = "10") -> LiveOrder:
    fields = ((35, "D"), (11, name), (55, "SPXN"), (54, "1"), (38, qty), (44, price))
    return LiveOrder(cl_ord_id=name, fields=fields, inbox_offset=0)


ORDERS = tuple(live(name, qty) for name, qty in SIZES.items())


def kinds(messages: tuple[Fields, ...]) -> list[tuple[str, str]]:
    return [(dict(one)[35], dict(one).get(41, "")) for one in messages]


def without_mass_cancel() -> Profile:
    capabilities = PROFILE.capabilities.model_copy(update={"mass_cancel": False})
    return PROFILE.model_copy(update={"capabilities": capabilities})


def test_value_decides_the_order_and_an_unreadable_value_comes_first() -> None:
    odd = live("odd", qty="x")
    names = [order.cl_ord_id for order in largest_first((*ORDERS, odd))]
    assert names == ["odd", "large", "middle", "small"]


def test_a_mass_cancel_goes_first_and_single_ones_follow_for_what_it_left() -> None:
    sweep = Sweep(ORDERS, PROFILE, attempt=1, now_us=0)
    assert kinds(sweep.due(0, 0)) == [("q", "")]
    assert sweep.due(GRACE_US - 1, 0) == ()
    sweep.closed("middle")
    assert kinds(sweep.due(GRACE_US, 0)) == [("F", "large"), ("F", "small")]
    assert sweep.due(GRACE_US + 1, 0) == ()


def test_a_broker_that_accepts_the_mass_cancel_gets_time_and_one_that_refuses_gets_none() -> None:
    for accepted, left_at in ((True, 10 + ACCEPTED_GRACE_US), (False, 10)):
        sweep = Sweep(ORDERS, PROFILE, attempt=1, now_us=0)
        sweep.due(0, 0)
        sweep.mass_answered(10, accepted=accepted)
        assert sweep.due(left_at - 1, 0) == ()
        assert len(sweep.due(left_at, 0)) == 3


def test_without_a_mass_cancel_single_ones_go_at_once() -> None:
    sweep = Sweep(ORDERS, without_mass_cancel(), attempt=1, now_us=0)
    assert [name for _, name in kinds(sweep.due(0, 0))] == ["large", "middle", "small"]


def test_the_pace_of_the_profile_is_kept() -> None:
    slow = replace_pace(without_mass_cancel(), cancel_burst=1, cancels_per_s=2)
    sweep = Sweep(ORDERS, slow, attempt=1, now_us=0)
    assert len(sweep.due(0, 0)) == 1
    assert sweep.due(400_000, 0) == ()
    assert len(sweep.due(500_000, 0)) == 1
    assert len(sweep.due(1_000_000, 0)) >= 1


def test_an_order_without_an_answer_is_asked_for_and_cancelled_again_under_a_new_id() -> None:
    sweep = Sweep(ORDERS[:1], without_mass_cancel(), attempt=1, now_us=0)
    (first,) = sweep.due(0, 0)
    again = sweep.due(RETRY_US, 0)
    assert [dict(one)[35] for one in again] == ["H", "F"]
    assert dict(first)[11] != dict(again[1])[11]
    assert sweep.due(2 * RETRY_US, 0) == ()
    assert len(sweep.due(3 * RETRY_US, 0)) == 2


def test_the_outcome_tells_confirmed_open_and_unknown_apart() -> None:
    sweep = Sweep(ORDERS, PROFILE, attempt=1, now_us=0)
    sweep.closed("large")
    sweep.answered("small")
    sweep.closed("stranger")
    outcome = sweep.outcome()
    assert (outcome.confirmed, outcome.open) == (("large",), ("small",))
    assert outcome.unknown == ("middle",)
    assert not outcome.is_done
    assert not sweep.is_late(0)
    assert sweep.is_late(PROFILE.pace.sweep_timeout_s * 1_000_000)
    for name in SIZES:
        sweep.closed(name)
    assert sweep.is_done
    assert sweep.outcome().is_done


def begin(*names: str) -> Reconciliation:
    orders = [OpenOrder(cl_ord_id=name, fields=live(name).fields) for name in names]
    return Reconciliation.begin(orders, logon_no=1, now_us=0, patience_us=100)


def test_reconciliation_settles_each_order_by_what_the_broker_says() -> None:
    asked = begin("KNOWN", "LOST", "QUIET")
    assert [dict(one)[11] for one in asked.questions()] == ["KNOWN", "LOST", "QUIET"]
    asked = asked.heard(parse_inbound(raw(t11="KNOWN")))
    asked = asked.heard(parse_inbound(raw(t11="LOST", t150="I", t39="8", t103="5")))
    asked = asked.heard(parse_inbound(raw(t11="STRANGER")))
    assert [dict(one)[11] for one in asked.questions()] == ["QUIET"]
    assert not asked.is_over(99)
    assert asked.is_over(100)
    assert asked.closed() == {
        "KNOWN": Fate.KNOWN,
        "LOST": Fate.NOT_RECEIVED,
        "QUIET": Fate.QUARANTINED,
    }


def test_a_report_outweighs_a_broker_that_says_it_knows_nothing() -> None:
    lost = parse_inbound(raw(t11="A", t150="I", t39="8", t103="5"))
    known = parse_inbound(raw(t11="A"))
    for story in ((lost, known), (known, lost)):
        asked = begin("A")
        for inbound in story:
            asked = asked.heard(inbound)
        assert asked.closed() == {"A": Fate.KNOWN}


def reject(msg_type: str, name: str) -> str:
    fields = ((35, "j"), (34, "3"), (45, "2"), (372, msg_type), (379, name), (380, "0"))
    return wire_text(fields)


def test_a_question_that_is_refused_needs_a_person_and_another_refusal_says_nothing() -> None:
    asked = begin("A").heard(parse_inbound(reject("F", "A"))).heard(parse_inbound(reject("D", "A")))
    assert [dict(one)[11] for one in asked.questions()] == ["A"], "it is still asked for"
    asked = asked.heard(parse_inbound(reject("H", "A")))
    assert asked.questions() == ()
    assert asked.closed() == {"A": Fate.QUARANTINED}


def test_a_report_about_a_cancel_settles_the_order_that_it_names() -> None:
    asked = begin("A", "C").heard(parse_inbound(raw(t11="C", t41="A", t150="4", t39="4")))
    assert asked.fates == (Fate.KNOWN, Fate.ASKED)


def test_a_reconciliation_takes_five_seconds_at_most() -> None:
    order = OpenOrder(cl_ord_id="A", fields=live("A").fields)
    asked = Reconciliation.begin([order], logon_no=3, now_us=7)
    assert (asked.logon_no, asked.is_over(7 + 4_999_999)) == (3, False)
    assert asked.is_over(7 + 5_000_000)


def test_questions_are_asked_once_more_at_half_time() -> None:
    asked = begin("A", "B").heard(parse_inbound(raw(t11="A")))
    asked, questions = asked.ask_again_at(49)
    assert questions == ()
    asked, questions = asked.ask_again_at(50)
    assert [dict(one)[11] for one in questions] == ["B"]
    assert asked.ask_again_at(60)[1] == ()


def test_nothing_to_ask_is_over_at_once() -> None:
    assert begin().is_over(0)
    assert begin().closed() == {}


def test_a_journal_order_that_the_ledger_lacks_is_a_stranger() -> None:
    assert strangers(ORDERS, ["small", "large"]) == (ORDERS[2],)


@pytest.mark.parametrize(
    ("unknown", "still_open", "done"),
    [((), (), True), (("A",), (), False), ((), ("A",), False), (("A",), ("B",), False)],
)
def test_a_sweep_is_done_when_nothing_may_trade(
    unknown: tuple[str, ...], still_open: tuple[str, ...], *, done: bool
) -> None:
    assert SweepOutcome(confirmed=("C",), unknown=unknown, open=still_open).is_done is done


@pytest.mark.parametrize("takes_more", [True, False])
def test_an_order_that_lives_again_is_cancelled_again(*, takes_more: bool) -> None:
    sweep = Sweep(ORDERS, without_mass_cancel(), attempt=1, now_us=0)
    sweep.due(0, 0)
    sweep.follow((), 5, takes_more=takes_more)
    assert sweep.is_done
    sweep.follow(ORDERS[:1], 9, takes_more=takes_more)
    assert not sweep.is_done
    assert sweep.outcome().unknown == ("small",)
    assert kinds(sweep.due(9, 0)) == [("F", "small")]


@pytest.mark.parametrize("takes_more", [True, False])
def test_only_a_kill_takes_orders_that_the_sweep_did_not_know(*, takes_more: bool) -> None:
    sweep = Sweep(ORDERS[:1], without_mass_cancel(), attempt=1, now_us=0)
    sweep.due(0, 0)
    sweep.follow((*ORDERS[:1], live("new")), 5, takes_more=takes_more)
    assert kinds(sweep.due(5, 0)) == ([("F", "new")] if takes_more else [])
    assert sweep.outcome().unknown == (("small", "new") if takes_more else ("small",))
