"""Each check names its own reason when it is broken."""

import json
from dataclasses import replace
from typing import Any

import pytest

from risk.errors import DocumentError
from risk.evaluate import evaluate
from risk.forms.documents import document_of, value_of
from risk.intent import Side
from risk.policy.policy import RULES_OF_1
from risk.state.state import HISTORY_US, RiskState, relevant_history, seen
from risk.verdict import Action, Outcome, Reason
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
    assert {one.rule_id for one in verdict.results} == RULES_OF_1
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


@pytest.mark.parametrize(
    "rule", [str(one) for one in sorted(RULES_OF_1) if one not in {"R00", "R01"}]
)
def test_a_disarmed_rule_is_silent_and_no_other_with_it(rule: str) -> None:
    policy = disarmed(rule)
    results = evaluate(policy, state_with(policy), INTENT).results
    silent = {str(one.rule_id) for one in results if one.reason is Reason.DISARMED}
    assert silent == {rule}


@pytest.mark.parametrize(
    ("missing", "rules"),
    [
        ("quote", {"R04", "R05", "R06", "R07", "R08", "R09", "R24", "R31"}),
        ("forecast", {"R25", "R26"}),
        ("narrative_as_of_us", {"R25"}),
    ],
)
def test_what_is_missing_is_said_to_be_missing(missing: str, rules: set[str]) -> None:
    nothing: dict[str, Any] = {missing: None}
    results = evaluate(PLAYBACK, state_with(**nothing), INTENT).results
    refused = {str(one.rule_id) for one in results if one.outcome is Outcome.REFUSED}
    assert refused == rules
    assert {one.reason for one in results if one.outcome is Outcome.REFUSED} == {
        Reason.INPUT_MISSING
    }


def test_what_has_no_digest_is_named_by_zeros_and_refused() -> None:
    verdict = evaluate(PLAYBACK, state_with(), intent_with(qty_lots=1.5))
    assert (verdict.intent_digest, verdict.action) == ("0" * 64, Action.REJECT)
    result = found(verdict, "R00", "intent_readable")
    assert (result.observed, result.limit, result.margin) == (1, 0, -1)
    assert (result.outcome, result.reason) == (Outcome.BREACH, Reason.INTENT_MALFORMED)
    other = found(verdict, "R00", "state_readable")
    assert (other.observed, other.limit, other.margin, other.outcome) == (0, 0, 0, Outcome.PASS)


def test_a_book_that_differs_is_a_breach_of_its_own() -> None:
    result = found(evaluate(PLAYBACK, state_with(book_differs=True), INTENT), "R00", "book_agrees")
    assert (result.observed, result.limit, result.margin) == (1, 0, -1)
    assert (result.outcome, result.action) == (Outcome.BREACH, Action.REJECT)
    assert result.reason is Reason.BOOK_DIFFERS


def test_duplicates_are_counted_each_once() -> None:
    same = [replace(seen(INTENT, NOW_US - one), decision_id=f"d-{one}") for one in range(3)]
    verdict = evaluate(PLAYBACK, state_with(recent=tuple(same)), INTENT)
    assert [found(verdict, "R16", check).observed for check in ("intent", "order")] == [3, 3]


@pytest.mark.parametrize("name", ["quote", "policy_status", "kill", "instrument", "book"])
def test_a_state_with_a_field_too_many_is_no_state(name: str) -> None:
    document: Any = json.loads(json.dumps(document_of(state_with())))
    assert value_of(RiskState, document) == state_with()
    document[name]["more"] = "1"
    with pytest.raises(DocumentError):
        value_of(RiskState, document)


@pytest.mark.parametrize(("part", "field"), [("quote", "phase"), ("policy_status", "standing")])
def test_a_state_with_an_unknown_word_is_no_state(part: str, field: str) -> None:
    document: Any = json.loads(json.dumps(document_of(state_with())))
    document[part][field] = "ELSEWHERE"
    with pytest.raises(DocumentError, match=f"unknown {field}"):
        value_of(RiskState, document)
