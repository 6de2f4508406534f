"""R15: an order is no more than a share of the average daily volume."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.reference import Listed
from risk.verdict import Action, Outcome, Reason
from tests.doubles.full_policy import FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import INTENT, NOW_US, found, intent_with


def reference(**changes: Any) -> Inputs:  # noqa: ANN401 - any field, any value
    assert INPUTS.reference is not None
    return inputs_with(reference=replace(INPUTS.reference, **changes))


def _listing(row: Listed) -> Inputs:
    return reference(listed=(row,))


@pytest.mark.parametrize(("adv", "action"), [(14_000, Action.ALLOW), (13_999, Action.HOLD)])
def test_an_order_passes_at_the_share_and_is_held_above_it(adv: int, action: Action) -> None:
    state = full_state(inputs=_listing(Listed(symbol="SPXN", adv_lots=adv)))
    result = found(evaluate(FULL, state, INTENT), "R15", "order_share")
    assert (result.action, result.limit) == (action, 500)


@pytest.mark.parametrize("adv", [None, 0, -1, True])
def test_a_volume_that_nobody_knows_refuses(adv: int | None) -> None:
    state = full_state(inputs=_listing(Listed(symbol="SPXN", adv_lots=adv)))
    result = found(evaluate(FULL, state, INTENT), "R15", "order_share")
    assert (result.outcome, result.action) == (Outcome.REFUSED, Action.REJECT)


def test_an_instrument_that_the_table_does_not_list_refuses() -> None:
    verdict = evaluate(FULL, full_state(), intent_with(instrument="NDXN"))
    state = full_state(inputs=_listing(Listed(symbol="NDXN", adv_lots=1)))
    assert verdict.action is Action.REJECT
    result = found(evaluate(FULL, state, INTENT), "R15", "order_share")
    assert result.reason is Reason.INPUT_MISSING


@pytest.mark.parametrize(("age", "outcome"), [(100, Outcome.PASS), (101, Outcome.BREACH)])
def test_a_table_older_than_its_age_refuses(age: int, outcome: Outcome) -> None:
    policy = full_policy(families__liquidity__reference_age_max=100)
    dated = reference(as_of_us=NOW_US - age)
    state = full_state(policy, inputs=dated)
    result = found(evaluate(policy, state, INTENT), "R15", "reference_age")
    assert result.outcome is outcome
