"""Each check names its own reason when it is broken."""

from dataclasses import replace

import pytest

from risk.evaluate import evaluate
from risk.intent import Side
from risk.state import HISTORY_US, relevant_history, seen
from risk.verdict import Action, Outcome, Reason, RuleId
from tests.doubles.broken_rules import BROKEN
from tests.doubles.risk_cases import (
    HOUR_US,
    INTENT,
    NOW_US,
    PLAYBACK,
    bought,
    disarmed,
    fold,
    found,
    intent_with,
    policy_with,
    reserved,
    state_with,
)


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_says_so_in_its_own_word(name: str) -> None:
    rule, check, reason, action, made = BROKEN[name]
    policy, state, intent = made()
    result = found(evaluate(policy, state, intent), rule, check)
    assert (result.outcome, result.reason, result.action) == (Outcome.BREACH, reason, action)


def test_every_rule_and_check_of_a_verdict_is_broken_by_one_of_these() -> None:
    verdict = evaluate(PLAYBACK, state_with(), INTENT)
    assert verdict.action is Action.ALLOW
    assert {one.rule_id for one in verdict.results} == set(RuleId)
    checks = {(str(one.rule_id), one.check) for one in verdict.results}
    readable = {("R00", f"{part}_readable") for part in ("policy", "state", "intent")}
    assert checks - readable == {(rule, check) for rule, check, *_ in BROKEN.values()}


WAIVED = ("R06", "R07", "R08", "R09")


@pytest.mark.parametrize("rule", WAIVED)
@pytest.mark.parametrize(("lots", "yields"), [(699, False), (700, True), (701, True)])
def test_limits_of_exposure_yield_to_what_only_reduces(
    rule: str, lots: int, *, yields: bool
) -> None:
    tight = policy_with(
        account__gross_max=1,
        account__net_max=1,
        account__leverage_max=1,
        instruments__0__position_max=1,
        instruments__0__short_max=0,
    )
    intent = intent_with(side=Side.SELL, limit_ticks=26_947)
    state = state_with(tight, book=fold(bought(lots)))
    results = [one for one in evaluate(tight, state, intent).results if one.rule_id == rule]
    waived = [one for one in results if one.reason is Reason.REDUCES_RISK]
    breached = [one for one in results if one.outcome is Outcome.BREACH]
    assert bool(waived) == yields
    assert bool(breached) != yields


def test_pending_orders_of_the_same_side_are_counted_before_one_reduces() -> None:
    tight = policy_with(instruments__0__position_max=1)
    intent = intent_with(side=Side.SELL, limit_ticks=26_947)
    for pending, yields in ((100, True), (101, False)):
        book = fold(bought(800), reserved("d-0", -pending))
        result = found(evaluate(tight, state_with(tight, book=book), intent), "R06", "position")
        assert (result.reason is Reason.REDUCES_RISK) == yields


@pytest.mark.parametrize(("beyond", "refused"), [(0, False), (1, True)])
def test_a_window_longer_than_what_is_remembered_cannot_be_judged(
    beyond: int, *, refused: bool
) -> None:
    policy = policy_with(account__duplicate_window=HISTORY_US + beyond)
    result = found(evaluate(policy, state_with(policy), INTENT), "R16", "order")
    assert (result.reason is Reason.OUT_OF_RANGE) == refused
    assert (result.outcome is Outcome.PASS) != refused


@pytest.mark.parametrize(("age", "kept"), [(HISTORY_US, True), (HISTORY_US + 1, False)])
def test_what_a_state_carries_of_other_intents(age: int, *, kept: bool) -> None:
    other = seen(intent_with(decision_id="d-9", qty_lots=9), NOW_US - age)
    mine = seen(intent_with(qty_lots=9), NOW_US - 9_999 * HOUR_US)
    same = replace(seen(INTENT, NOW_US - 9_999 * HOUR_US), decision_id="d-8")
    carried = relevant_history([other, mine, same], INTENT, NOW_US)
    assert set(carried) == {mine, same, *((other,) if kept else ())}
    assert list(carried) == sorted(carried, key=lambda one: (one.time_us, one.decision_id))


@pytest.mark.parametrize("rule", [str(one) for one in RuleId if one not in {"R00", "R01"}])
def test_a_disarmed_rule_is_silent_and_no_other_with_it(rule: str) -> None:
    policy = disarmed(rule)
    results = evaluate(policy, state_with(policy), INTENT).results
    silent = {str(one.rule_id) for one in results if one.reason is Reason.DISARMED}
    assert silent == {rule}
