"""R02, R19, R27, R50: at the limit, one above it, and without input."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.intent import Intent, Side
from risk.policy.policy import Policy
from risk.state.state import RiskState
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import DESK, FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import INTENT, NOW_US, QUOTE, found, intent_with

DAY_US = 86_400_000_000
SALE = intent_with(side=Side.SELL, qty_lots=5)


def judged(
    rule: str,
    check: str,
    policy: Policy = FULL,
    state: RiskState | None = None,
    intent: Intent = INTENT,
    **sources: Any,  # noqa: ANN401 - any source
) -> RuleResult:
    state = state or full_state(policy, inputs=inputs_with(**sources))
    return found(evaluate(policy, state, intent), rule, check)


@pytest.mark.parametrize(
    ("strategy", "refused"),
    [("vol-target", False), ("agent-exposure", False), ("vol-targe", True), ("", True)],
)
def test_a_strategy_that_is_not_listed_trades_nothing(strategy: str, *, refused: bool) -> None:
    for check in ("strategy", "side"):
        result = judged("R02", check, intent=intent_with(strategy=strategy))
        assert (result.action, result.observed) == (
            Action.REJECT if refused else Action.ALLOW,
            refused,
        )


def test_a_strategy_trades_on_its_sides_only() -> None:
    families = DESK.families
    assert families is not None
    permit = families.authority.permits[0].model_copy(
        update={"name": INTENT.strategy, "buys": False}
    )
    authority = families.authority.model_copy(update={"permits": (permit,)})
    policy = FULL.model_copy(
        update={"families": families.model_copy(update={"authority": authority})}
    )
    assert judged("R02", "side", policy).reason is Reason.NOT_PERMITTED
    assert judged("R02", "strategy", policy).action is Action.ALLOW
    sale = intent_with(side=Side.SELL)
    assert judged("R02", "side", policy, intent=sale).action is Action.ALLOW


def located(lots: Any, age_us: int = 0) -> dict[str, Any]:  # noqa: ANN401 - any type
    assert INPUTS.reference is not None
    rows = tuple(replace(one, locate_lots=lots) for one in INPUTS.reference.listed)
    return {"reference": replace(INPUTS.reference, listed=rows, as_of_us=NOW_US - age_us)}


@pytest.mark.parametrize(("lots", "action"), [(5, Action.ALLOW), (4, Action.REJECT)])
def test_what_is_sold_short_was_located(lots: int, action: Action) -> None:
    assert judged("R19", "short", intent=SALE, **located(lots)).action is action
    assert judged("R19", "short", **located(lots)).reason is Reason.NOT_SHORT


@pytest.mark.parametrize("lots", [None, -1, 1.5, True])
def test_a_locate_that_is_none_refuses_a_short_sale(lots: Any) -> None:  # noqa: ANN401 - any type
    result = judged("R19", "short", intent=SALE, **located(lots))
    assert (result.outcome, result.action) == (Outcome.REFUSED, Action.REJECT)


@pytest.mark.parametrize(("age", "action"), [(DAY_US, Action.ALLOW), (DAY_US + 1, Action.REJECT)])
def test_a_locate_is_good_for_a_day(age: int, action: Action) -> None:
    assert judged("R19", "age", intent=SALE, **located(9, age)).action is action


def closes(*ticks: int) -> dict[str, Any]:
    assert INPUTS.market is not None
    return {"market": replace(INPUTS.market, closes_ticks=ticks)}


@pytest.mark.parametrize(("limit", "action"), [(22, Action.ALLOW), (21, Action.HOLD)])
def test_a_move_from_the_last_close_is_held_above_its_limit(limit: int, action: Action) -> None:
    """The offer is 59 ticks above 26,900: 21.9 bp, rounded up."""
    policy = full_policy(families__liquidity__move_max=limit)
    result = judged("R27", "move", policy, **closes(26_900))
    assert (result.action, result.observed) == (action, 22)


@pytest.mark.parametrize(("usual", "action"), [(3, Action.ALLOW), (2, Action.HOLD)])
def test_a_move_is_compared_with_the_usual_one(usual: int, action: Action) -> None:
    """Twenty moves of about `usual` bp, then one of 30 bp, at ten times the usual."""
    calm = [100_000 + usual * 10 * (place % 2) for place in range(21)]
    quote = replace(QUOTE, bid_ticks=calm[-1], ask_ticks=calm[-1] + 1)
    market = closes(*calm, calm[-1] * 10_030 // 10_000)
    state = full_state(quote=quote, inputs=inputs_with(**market))
    result = judged("R27", "usual", state=state)
    assert (result.limit, result.action) == (10 * usual, action)


def test_with_few_bars_half_of_the_limit_stands_in() -> None:
    assert judged("R27", "usual", **closes(26_900, 26_950)).limit == 250


@pytest.mark.parametrize(
    ("check", "age", "action"),
    [
        ("bars_age", 5 * DAY_US, Action.ALLOW),
        ("bars_age", 5 * DAY_US + 1, Action.REJECT),
        ("bars_ahead", 0, Action.ALLOW),
        ("bars_ahead", -1, Action.REJECT),
    ],
)
def test_bars_are_fresh_and_not_of_the_future(check: str, age: int, action: Action) -> None:
    assert INPUTS.market is not None
    market = replace(INPUTS.market, as_of_us=NOW_US - age)
    assert judged("R27", check, market=market).action is action


@pytest.mark.parametrize(
    ("check", "name", "value", "action"),
    [
        ("look_age", "age_us", 5_000_000, Action.ALLOW),
        ("look_age", "age_us", 5_000_001, Action.REJECT),
        ("disk_free", "disk_free_bp", 500, Action.ALLOW),
        ("disk_free", "disk_free_bp", 499, Action.HALT),
        ("clock_step", "clock_step_us", -500_000, Action.ALLOW),
        ("clock_step", "clock_step_us", -500_001, Action.HALT),
        ("clock_step", "clock_step_us", 500_001, Action.HALT),
    ],
)
def test_disk_and_clock(check: str, name: str, value: int, action: Action) -> None:
    assert INPUTS.health is not None
    fault: dict[str, Any] = {name: value}
    assert judged("R50", check, health=replace(INPUTS.health, **fault)).action is action


def test_without_a_source_each_of_these_rules_refuses() -> None:
    for rule, check, source in (
        ("R19", "short", "reference"),
        ("R27", "move", "market"),
        ("R50", "disk_free", "health"),
    ):
        absent: dict[str, Any] = {source: None}
        result = judged(rule, check, **absent)
        assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)
