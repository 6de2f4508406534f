"""R15's day, R20, R33, R35: at the limit, one above it, and without input."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.policy.policy import Policy
from risk.state.inputs.activity import SentOrder
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import INTENT, found

USUAL = SentOrder(lots=35, value_minor=700 * 26_969 // 5)


def judged(rule: str, check: str, policy: Policy = FULL, **past: Any) -> RuleResult:  # noqa: ANN401 - any field
    assert INPUTS.activity is not None
    inputs = inputs_with(activity=replace(INPUTS.activity, **past))
    return found(evaluate(policy, full_state(policy, inputs=inputs), INTENT), rule, check)


@pytest.mark.parametrize(("sent", "action"), [(99_300, Action.ALLOW), (99_301, Action.HOLD)])
def test_a_days_orders_are_a_share_of_the_volume(sent: int, action: Action) -> None:
    assert judged("R15", "day_share", day_lots=sent).action is action


@pytest.mark.parametrize(
    ("check", "usual", "action"),
    [
        ("quantity", USUAL, Action.ALLOW),
        ("quantity", replace(USUAL, lots=34), Action.HOLD),
        ("value", USUAL, Action.ALLOW),
        ("value", replace(USUAL, value_minor=USUAL.value_minor - 1), Action.HOLD),
    ],
)
def test_an_order_far_above_the_usual_is_held(check: str, usual: SentOrder, action: Action) -> None:
    result = judged("R20", check, orders=(usual,) * 20)
    assert result.action is action


def test_without_a_habit_half_of_the_order_limits_stand_in() -> None:
    result = judged("R20", "quantity", orders=(replace(USUAL, lots=1),) * 19)
    assert (result.limit, result.action) == (800, Action.ALLOW)


@pytest.mark.parametrize(
    ("check", "name", "limit", "action"),
    [
        ("second", "messages_second", 240, Action.THROTTLE),
        ("day", "messages_day", 16_000, Action.REJECT),
    ],
)
def test_messages_stay_below_high_frequency(
    check: str, name: str, limit: int, action: Action
) -> None:
    below: dict[str, Any] = {name: limit - 1, "fills_day": limit}
    assert judged("R33", check, **below).action is Action.ALLOW
    assert judged("R33", check, **(below | {name: limit})).action is action


@pytest.mark.parametrize(("fills", "action"), [(1, Action.ALLOW), (0, Action.THROTTLE)])
def test_a_ratio_counts_from_a_number_of_messages_on(fills: int, action: Action) -> None:
    policy = full_policy(families__messages__window_ratio_max=16)
    result = judged("R35", "window", policy, messages_window=31, fills_window=fills)
    assert (result.observed, result.action) == (32 // (fills + 1), action)
    few = judged("R35", "window", policy, messages_window=29, fills_window=0)
    assert (few.outcome, few.reason) == (Outcome.NOT_APPLICABLE, Reason.TOO_FEW_MESSAGES)


@pytest.mark.parametrize("value", [None, -1.5, True, "7"])
@pytest.mark.parametrize(
    ("rule", "check", "name"),
    [
        ("R15", "day_share", "day_lots"),
        ("R33", "second", "messages_second"),
        ("R33", "day", "messages_day"),
        ("R35", "window", "fills_window"),
    ],
)
def test_a_count_of_another_type_refuses(rule: str, check: str, name: str, value: Any) -> None:  # noqa: ANN401 - any type
    assert judged(rule, check, **{name: value}).action is Action.REJECT
