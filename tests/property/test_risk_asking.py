"""Asking whether an intent passes says what its verdict says, and finds the same minimal edit."""

import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from risk import evaluate as evaluating
from risk.evaluate import Asking, evaluate
from risk.intent import Intent
from risk.policy.policy import Policy
from risk.rules.limits import R05
from risk.state.state import RiskState, Stop
from risk.verdict import Action
from risk.windows.edit import minimal_edit
from tests.doubles.full_policy import FULL, armed_without, full_policy, full_state
from tests.doubles.random_decisions import bent, decisions
from tests.doubles.risk_cases import INTENT

POLICIES = (
    FULL,
    armed_without(("R03", "R04", "R05", "R15", "R24", "R28", "R52")),
    full_policy(instruments__0__order_qty_max=400),
)


def passes(policy: Policy, state: RiskState, intent: Intent) -> bool:
    return evaluate(policy, state, intent).action <= Action.WARN


def judged_under(policy: Policy, state: RiskState) -> RiskState:
    return replace(state, policy_status=full_state(policy).policy_status)


@pytest.mark.parametrize("broken", [0, 1, 2])
@pytest.mark.parametrize("policy", POLICIES)
def test_an_intent_passes_if_its_verdict_lets_it(policy: Policy, broken: int) -> None:
    draw = random.Random(broken)  # noqa: S311 - made-up decisions, not keys
    for own, state, intent in decisions(300, 11 + broken):
        if own is not FULL:
            continue
        judged: Any = judged_under(policy, state)
        wanted: Any = intent
        for _ in range(broken):
            if draw.random() < 0.5:
                judged = bent(draw, judged)
            else:
                wanted = bent(draw, wanted)
        asking = Asking(policy, judged)
        for one in (wanted, replace(wanted, qty_lots=draw.randint(1, 300)), wanted):
            assert asking.passes(one) is passes(policy, judged, one)


def test_no_verdict_is_made_where_the_rules_alone_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(*_: object) -> None:
        raise AssertionError("a whole verdict")

    state = full_state()
    wanted = [replace(INTENT, qty_lots=lots) for lots in (1, INTENT.qty_lots, 10**6, 1)]
    said = [passes(FULL, state, one) for one in wanted]
    assert said == [True, True, False, True]
    monkeypatch.setattr(evaluating, "evaluate", whole)
    asking = Asking(FULL, state)
    assert [asking.passes(one) for one in wanted] == said
    assert asking.within(R05, INTENT)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_minimal_edit_is_that_of_whole_verdicts(policy: Policy) -> None:
    draw, found = random.Random(5), set[int]()  # noqa: S311 - as above
    for own, state, intent in decisions(120, 7):
        if own is not FULL or intent.qty_lots <= 0:
            continue
        stops = (Stop.REDUCE_ONLY,) if draw.random() < 0.1 else ()
        judged = replace(judged_under(policy, state), stops=stops)

        def judge(one: Intent, state: RiskState = judged) -> Any:  # noqa: ANN401 - a verdict
            return evaluate(policy, state, one)

        terms: Any = {"step_lots": draw.choice([1, 7]), "mid_ticks": 27_000}
        asking = Asking(policy, judged)
        edit = minimal_edit(
            judge,
            intent,
            passes=asking.passes,
            inside=partial(asking.within, R05),
            **terms,
        )
        assert edit == minimal_edit(judge, intent, **terms)
        found.add(min(edit.qty_lots, 1))
    assert found == {0, 1}, "some have an edit, some have none"
