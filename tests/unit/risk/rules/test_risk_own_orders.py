"""R14, R32, R34, R36, R37, R38, R40, R42: at the limit, one above it, and without input."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.intent import Side
from risk.policy.policy import Policy
from risk.state.activity import LAST
from risk.state.inputs.activity import OwnFill, Withdrawn
from risk.state.inputs.firm import OwnOrder
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import FORECAST, INTENT, NOW_US, found

SECOND_US = 1_000_000
OWN_RULES = {"R14", "R32", "R34", "R36", "R37", "R38", "R40", "R42"}
SOLD = OwnFill(decision_id="d-9", side="SELL", lots=700, price_ticks=26_969, time_us=NOW_US - 1)


def judged(rule: str, check: str, policy: Policy = FULL, **past: Any) -> RuleResult:  # noqa: ANN401 - any field
    assert INPUTS.activity is not None
    inputs = inputs_with(activity=replace(INPUTS.activity, **past))
    return found(evaluate(policy, full_state(policy, inputs=inputs), INTENT), rule, check)


def of_firm(rule: str, check: str, policy: Policy = FULL, **changes: Any) -> RuleResult:  # noqa: ANN401 - any field
    assert INPUTS.firm is not None
    inputs = inputs_with(firm=replace(INPUTS.firm, **changes))
    return found(evaluate(policy, full_state(policy, inputs=inputs), INTENT), rule, check)


def bought_by(*names: str) -> tuple[OwnFill, ...]:
    return tuple(replace(SOLD, decision_id=name, side="BUY") for name in names)


@pytest.mark.parametrize(
    ("names", "action"),
    [("abcd", Action.ALLOW), ("abcde", Action.HALT), ("aabbccdd", Action.ALLOW)],
)
def test_orders_of_one_side_are_executed_so_often_and_no_more(names: str, action: Action) -> None:
    assert judged("R14", "orders", own_fills=bought_by(*names)).action is action


def test_executions_of_the_other_side_and_of_no_known_order() -> None:
    assert judged("R14", "orders", own_fills=(SOLD,) * 9).observed == 1
    assert judged("R14", "orders", own_fills=bought_by(*("",) * 4)).observed == 5


@pytest.mark.parametrize("rule", ["R14", "R37"])
def test_more_than_is_remembered_cannot_be_judged(rule: str) -> None:
    one = Withdrawn(decision_id="d", side="SELL", lots=1, rest_us=1, time_us=NOW_US)
    check = {"R14": "orders", "R37": "withdrawn"}[rule]
    past: dict[str, Any] = {"own_fills": bought_by(*("d",) * LAST), "withdrawn": (one,) * LAST}
    result = judged(rule, check, **past)
    assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.OUT_OF_RANGE)


@pytest.mark.parametrize(
    ("bursts", "second", "action"),
    [
        (7, 0, Action.ALLOW),
        (8, 0, Action.WARN),
        (9, 0, Action.WARN),
        (9, 8, Action.WARN),
        (9, 9, Action.REJECT),
        (10, 0, Action.REJECT),
    ],
)
def test_bursts_of_a_day_warn_and_then_refuse(bursts: int, second: int, action: Action) -> None:
    result = judged("R32", "bursts", bursts_day=(99,) * 5 + (bursts,), messages_second=second)
    assert result.action is action


@pytest.mark.parametrize("size", [4, 11])
def test_a_burst_that_nobody_counted_cannot_be_judged(size: int) -> None:
    policy = full_policy(families__messages__program_burst=size)
    assert judged("R32", "bursts", policy).reason is Reason.OUT_OF_RANGE


@pytest.mark.parametrize(
    ("check", "brief", "orders", "action"),
    [
        ("orders", 100, 10_000, Action.ALLOW),
        ("orders", 101, 10_000, Action.HOLD),
        ("share", 6, 20, Action.ALLOW),
        ("share", 7, 20, Action.HOLD),
        ("share", 19, 19, Action.ALLOW),
    ],
)
def test_orders_that_ended_at_once(check: str, brief: int, orders: int, action: Action) -> None:
    assert judged("R34", check, brief_day=brief, orders_day=orders).action is action


@pytest.mark.parametrize(("messages", "action"), [(19, Action.ALLOW), (20, Action.HALT)])
def test_messages_without_an_execution(messages: int, action: Action) -> None:
    assert judged("R36", "second", own_messages_second=messages).action is action
    executed = judged("R36", "second", own_messages_second=messages, own_fills=(SOLD,))
    assert executed.reason is Reason.EXECUTED


@pytest.mark.parametrize(
    ("lots", "rest_us", "side", "executed", "action"),
    [
        (2_100, 1, "SELL", 0, Action.ALLOW),
        (2_101, 1, "SELL", 0, Action.REJECT),
        (2_101, 2 * SECOND_US, "SELL", 0, Action.ALLOW),
        (2_101, 1, "BUY", 0, Action.ALLOW),
        (2_103, 1, "SELL", 1, Action.ALLOW),
        (2_104, 1, "SELL", 1, Action.REJECT),
    ],
)
def test_what_was_withdrawn_on_the_other_side(
    lots: int, rest_us: int, side: str, executed: int, action: Action
) -> None:
    one = Withdrawn(decision_id="d", side=side, lots=lots, rest_us=rest_us, time_us=NOW_US)
    fills = (replace(SOLD, side="BUY", lots=executed),) if executed else ()
    assert judged("R37", "withdrawn", withdrawn=(one,), own_fills=fills).action is action


@pytest.mark.parametrize(
    ("prices", "side", "action"),
    [
        ((1, 2, 2), "SELL", Action.ALLOW),
        ((1, 2, 3), "SELL", Action.REJECT),
        ((1, 2, 3), "BUY", Action.ALLOW),
    ],
)
def test_own_levels_on_the_other_side(prices: tuple[int, ...], side: str, action: Action) -> None:
    orders = tuple(
        OwnOrder(
            account="run-2",
            decision_id=f"d-{place}",
            instrument="SPXN",
            side=side,
            open_lots=1,
            limit_ticks=30_000 + price,
        )
        for place, price in enumerate(prices)
    )
    assert of_firm("R38", "levels", orders=orders).action is action


@pytest.mark.parametrize(
    ("price", "age_us", "told", "action"),
    [
        (27_094, 1, False, Action.ALLOW),
        (27_095, 1, False, Action.HOLD),
        (27_095, 60 * SECOND_US, False, Action.HOLD),
        (27_095, 60 * SECOND_US + 1, False, Action.ALLOW),
        (27_095, 1, True, Action.ALLOW),
    ],
)
def test_trading_back_after_a_move_needs_a_new_forecast(
    price: int, age_us: int, action: Action, *, told: bool
) -> None:
    """A sale at that price, and the offer at 26,959 now: 50 bp of the price are just above 135."""
    assert INPUTS.activity is not None
    sold = replace(SOLD, price_ticks=price, time_us=NOW_US - age_us)
    state = full_state(
        inputs=inputs_with(activity=replace(INPUTS.activity, own_fills=(sold,))),
        forecast=replace(FORECAST, as_of_us=NOW_US if told else FORECAST.as_of_us),
    )
    assert found(evaluate(FULL, state, INTENT), "R40", "move").action is action


@pytest.mark.parametrize(
    ("change", "observed"),
    [
        ({}, 1),
        ({"lots": 630}, 1),
        ({"lots": 629}, 0),
        ({"lots": 771}, 0),
        ({"price_ticks": 26_970}, 1),
        ({"price_ticks": 26_971}, 0),
        ({"side": "BUY"}, 0),
        ({"time_us": NOW_US - 60 * SECOND_US - 1}, 0),
    ],
)
def test_an_own_execution_of_the_other_side_is_matched(
    change: dict[str, Any], observed: int
) -> None:
    result = of_firm("R42", "matches", fills=(replace(SOLD, **change),))
    assert (result.observed, result.action) == (observed, Action.HOLD if observed else Action.ALLOW)


def test_executions_of_one_order_are_matched_with_their_sum() -> None:
    half = replace(SOLD, lots=350)
    assert of_firm("R42", "matches", fills=(half, half)).observed == 1
    assert of_firm("R42", "matches", fills=(half, replace(half, decision_id="d-8"))).observed == 0


@pytest.mark.parametrize("window", ["reversal_window", "wash_window"])
def test_a_window_beyond_what_is_remembered_cannot_be_judged(window: str) -> None:
    number = {f"families__conduct__{window}": 600 * SECOND_US + 1}
    policy = full_policy(**number)
    rule, check = ("R40", "move") if window == "reversal_window" else ("R42", "matches")
    assert judged(rule, check, policy).reason is Reason.OUT_OF_RANGE


def test_without_a_source_each_of_these_rules_refuses() -> None:
    for source, rules in (("firm", {"R38", "R42"}), ("activity", OWN_RULES - {"R38", "R42"})):
        state = full_state(inputs=inputs_with(**{source: None}))
        refused = {
            str(one.rule_id)
            for one in evaluate(FULL, state, INTENT).results
            if one.outcome is Outcome.REFUSED
        }
        assert refused & OWN_RULES == rules


@pytest.mark.parametrize("value", [None, -1.5, True, "7", 2**200])
@pytest.mark.parametrize(
    ("rule", "check", "name"),
    [
        ("R32", "bursts", "bursts_day"),
        ("R34", "orders", "brief_day"),
        ("R34", "share", "orders_day"),
        ("R36", "second", "own_messages_second"),
    ],
)
def test_a_count_of_another_type_refuses(rule: str, check: str, name: str, value: Any) -> None:  # noqa: ANN401 - any type
    past: dict[str, Any] = {name: (value,) * 6 if name == "bursts_day" else value}
    assert judged(rule, check, **past).action is Action.REJECT


@pytest.mark.parametrize(
    "change",
    [{"lots": None}, {"lots": 0}, {"side": "UP"}, {"price_ticks": None}, {"time_us": 1.5}],
)
def test_an_execution_that_is_none_refuses(change: dict[str, Any]) -> None:
    result = of_firm("R42", "matches", fills=(replace(SOLD, **change),))
    assert (result.outcome, result.action) == (Outcome.REFUSED, Action.REJECT)
    assert Side("SELL").value == SOLD.side
