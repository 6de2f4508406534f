"""An order at the broker that is not ours: told apart by its name, spared by sweeps."""

from dataclasses import replace

import pytest

from fix.dialects.profile import ForeignTreatment
from fix.orders.foreign import Strangers, is_foreign, name_of
from fix.orders.sweep import SweepOutcome
from fix.orders.sweeper import Sweeper, SweepPhase
from fix.wire.identity import cl_ord_id, has_our_form, sweep_id
from fix.wire.messages import Fields, wire_text
from fix.wire.reports import CancelReject, ExecutionReport, parse_inbound
from tests.doubles.child_desk import report
from tests.doubles.fix_world import PROFILE
from tests.unit.fix.orders.test_fix_sweep import kinds, live
from tests.unit.fix.orders.test_fix_sweep_phases import KILLED, QUIET, phases

OURS = cl_ord_id(b"\x07" * 32)


def heard(fields: Fields) -> ExecutionReport | CancelReject:
    found = parse_inbound(wire_text(fields))
    assert isinstance(found, ExecutionReport | CancelReject)
    return found


@pytest.mark.parametrize(
    "name",
    ["", "TRADER-1", "12345678901234567890", OURS.lower(), OURS[:-1], OURS + "A", "NONE"],
)
def test_a_name_that_we_never_make_is_a_strangers(name: str) -> None:
    assert not has_our_form(name)
    assert is_foreign(heard(report(name or "x", "0", "0", t151="5")))


def test_our_names_and_those_of_our_cancels_have_our_form() -> None:
    assert has_our_form(OURS)
    assert has_our_form(sweep_id("F", OURS, 7))
    assert not is_foreign(heard(report(OURS, "0", "0")))


def test_one_name_in_our_form_is_enough_to_be_ours() -> None:
    """The broker's own change of our order may carry the broker's name and ours in 41."""
    assert not is_foreign(heard(report("BROKER-9", "5", "0", t41=OURS)))
    assert not is_foreign(heard(report(OURS, "5", "0", t41="BROKER-9")))


def test_a_trade_without_any_clordid_is_nobodys_for_certain() -> None:
    assert not is_foreign(heard(report("", "F", "1", t32="2", t31="9", t151="3")))
    assert is_foreign(heard(report("", "0", "0", t151="5")))


def test_a_cancel_reject_is_a_strangers_by_the_same_rule() -> None:
    fields: Fields = ((35, "9"), (34, "3"), (37, "B7"), (11, "T-2"), (41, "T-1"), (39, "0"))
    refused = heard((*fields, (434, "1"), (102, "3")))
    assert is_foreign(refused)
    assert name_of(refused) == "B7"


def test_that_there_is_no_order_is_no_order() -> None:
    """The answer to a mass status request that finds nothing has no ClOrdID of anybody."""
    nothing = report("NONE", "I", "8", t37="NONE", t17="0", t584="M1", t103="5")
    assert not is_foreign(heard(nothing))


@pytest.mark.parametrize(
    ("said", "spared"),
    [
        (report("T-1", "0", "0", t151="5"), True),
        (report("T-1", "F", "1", t151="3", t32="2", t31="9"), True),
        (report("T-1", "4", "4", t151="0"), False),
        (report("T-1", "F", "2", t151="0", t32="5", t31="9"), False),
        (report("T-1", "4", "4", t151="5"), False),
    ],
)
def test_while_a_strangers_order_works_it_is_spared(said: Fields, *, spared: bool) -> None:
    strangers = Strangers(ForeignTreatment.SHOW)
    strangers.told(frozenset({"E1"}))
    assert strangers.took(heard(said))
    assert strangers.are_spared is spared


def test_a_profile_that_cancels_them_leaves_them_to_the_sweep() -> None:
    strangers = Strangers(ForeignTreatment.CANCEL)
    assert not strangers.took(heard(report("T-1", "0", "0", t151="5")))
    assert not strangers.are_spared


def test_a_kill_sends_no_mass_cancel_while_a_strangers_order_works() -> None:
    sweeper = Sweeper(PROFILE)
    spared = replace(KILLED, spares=True)
    assert kinds(sweeper.step(spared).messages) == [("F", "A")], "at once, not after a mass cancel"
    none_live = replace(spared, live=(), kill_epoch=2)
    assert sweeper.step(none_live).messages == ()
    again = replace(none_live, spares=False)
    assert [one[0] for one in kinds(sweeper.step(again).messages)] == ["q"], "the stranger is gone"


def test_a_sweep_of_named_orders_leaves_the_others_alone() -> None:
    sweeper = Sweeper(PROFILE)
    sweeper.want(frozenset({"A", "GONE"}))
    view = replace(QUIET, live=(live("A"), live("B")))
    step = sweeper.step(view)
    assert step.told == ((SweepPhase.BEGAN, SweepOutcome(unknown=("A",))),)
    assert kinds(step.messages) == [("F", "A")], "a mass cancel would take B along"
    ended = sweeper.step(replace(view, live=(live("B"),)))
    assert ended.told == ((SweepPhase.ENDED, SweepOutcome(confirmed=("A",))),)
    assert not sweeper.is_sweeping


def test_named_orders_that_are_gone_end_their_sweep_at_once() -> None:
    sweeper = Sweeper(PROFILE)
    sweeper.want(frozenset({"GONE"}))
    assert phases(sweeper.step(QUIET)) == [SweepPhase.ENDED]
    assert phases(sweeper.step(QUIET)) == []


def test_a_command_during_a_sweep_takes_in_what_is_live_now() -> None:
    sweeper = Sweeper(PROFILE)
    sweeper.want()
    sweeper.step(QUIET)
    later = replace(QUIET, live=(live("A"), live("B")), now_us=QUIET.now_us + 100_000)
    assert [name for _, name in kinds(sweeper.step(later).messages)] == ["A"]
    sweeper.want()
    assert ("F", "B") in kinds(sweeper.step(later).messages)


def test_a_kill_widens_a_sweep_of_named_orders() -> None:
    sweeper = Sweeper(PROFILE)
    sweeper.want(frozenset({"A"}))
    both = replace(QUIET, live=(live("A"), live("B")))
    sweeper.step(both)
    killed = replace(both, killed=True, kill_epoch=1, now_us=both.now_us + 1)
    assert ("F", "B") in kinds(sweeper.step(killed).messages)
