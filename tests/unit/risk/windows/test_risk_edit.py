"""The minimal edit passes, one step more does not, and rules that are not monotone are seen."""

from dataclasses import replace

import pytest

from risk.evaluate import evaluate
from risk.intent import Intent, Side
from risk.state.state import RiskState
from risk.verdict import Action, Reason, RuleId, Verdict
from risk.windows.edit import EVERY, MinimalEdit, minimal_edit
from tests.doubles.full_policy import FULL, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import (
    INTENT,
    QUOTE,
    bought,
    fold,
    intent_with,
    policy_with,
    state_with,
)

MID = (QUOTE.bid_ticks + QUOTE.ask_ticks) // 2


def edited(intent: Intent, state: RiskState | None = None, policy: object = FULL) -> MinimalEdit:
    state = state or full_state()
    return minimal_edit(
        lambda one: evaluate(policy, state, one),  # type: ignore[arg-type]
        intent,
        step_lots=1,
        mid_ticks=MID,
    )


def test_the_largest_quantity_passes_and_one_more_does_not() -> None:
    policy = policy_with(instruments__0__order_qty_max=411)
    found = edited(INTENT, state_with(policy), policy)
    assert (found.qty_lots, found.limit_ticks) == (411, INTENT.limit_ticks)
    passing = evaluate(policy, state_with(policy), replace(INTENT, qty_lots=411))
    assert passing.action <= Action.WARN
    (stop,) = found.in_the_way
    assert (stop.rule_id, stop.reason, stop.margin) == (
        RuleId.R03,
        Reason.QUANTITY_ABOVE_MAXIMUM,
        -1,
    )


@pytest.mark.parametrize("largest", [1, EVERY - 1, EVERY, EVERY + 1, 699])
def test_every_edge_is_found(largest: int) -> None:
    policy = policy_with(instruments__0__order_qty_max=largest)
    assert edited(INTENT, state_with(policy), policy).qty_lots == largest


def test_what_asks_a_person_is_edited_below_the_question() -> None:
    """R31 holds above 100 lots' worth: the edit is what passes without a person."""
    worth = 100 * INTENT.limit_ticks
    policy = policy_with(approval__human_notional=worth)
    found = edited(INTENT, state_with(policy), policy)
    assert found.qty_lots == 100
    assert [one.rule_id for one in found.in_the_way] == [RuleId.R31]


def test_a_price_outside_the_collar_is_moved_to_its_bound() -> None:
    policy = full_policy()
    far = intent_with(limit_ticks=40_000)
    found = edited(far, full_state(policy), policy)
    assert found.high_ticks is not None
    assert found.low_ticks is not None
    assert (found.qty_lots, found.limit_ticks) == (INTENT.qty_lots, found.high_ticks)
    for ticks, inside in (
        (found.high_ticks, True),
        (found.high_ticks + 1, False),
        (found.low_ticks, True),
        (found.low_ticks - 1, False),
    ):
        verdict = evaluate(policy, full_state(policy), intent_with(limit_ticks=ticks))
        (collar,) = (one for one in verdict.results if one.rule_id is RuleId.R05)
        assert (collar.action is Action.ALLOW) is inside


def test_where_no_quantity_passes_the_reason_is_given() -> None:
    found = edited(INTENT, full_state(inputs=inputs_with(health=None)))
    assert found.qty_lots == 0
    assert {one.rule_id for one in found.in_the_way} == {RuleId.R50}
    without_quote = edited(INTENT, full_state(quote=None))
    assert (without_quote.qty_lots, without_quote.low_ticks) == (0, None)


def test_an_intent_that_passes_is_its_own_edit() -> None:
    found = edited(INTENT)
    assert (found.qty_lots, found.in_the_way) == (INTENT.qty_lots, ())


def island(low: int, high: int, edge: int) -> MinimalEdit:
    """Rules that let small quantities pass, and again those from `low` to `high`."""
    allowed = evaluate(FULL, full_state(), INTENT)
    refused = evaluate(FULL, full_state(inputs=None), INTENT)

    def judge(intent: Intent) -> Verdict:
        inside = intent.qty_lots <= edge or low <= intent.qty_lots <= high
        return allowed if inside else refused

    return minimal_edit(judge, intent_with(qty_lots=10_000), step_lots=1, mid_ticks=MID)


@pytest.mark.parametrize("high", [9_999, 9_400, 8_000])
def test_rules_that_are_not_monotone_are_seen(high: int) -> None:
    """An island as wide as a probe's distance cannot hide above the first edge."""
    assert island(high - 700, high, 3).qty_lots == high
    assert not island(high - 700, high, 3).every


def test_the_same_question_has_the_same_answer() -> None:
    reducing = intent_with(side=Side.SELL, qty_lots=900, limit_ticks=26_950)
    state = full_state(book=fold(bought(500)))
    assert edited(reducing, state) == edited(reducing, state)
    assert edited(reducing, state).judged < 100
