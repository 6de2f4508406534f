"""Measuring into plain lists says the same as running rule by rule, whatever the arguments are."""

import random
from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.forms.documents import document_of
from risk.policy.judging import rules_of
from risk.policy.policy import Policy
from risk.rules.limits import R04
from risk.rules.rule import Measured, RuleCase, run
from risk.verdict import (
    Action,
    Outcome,
    Reason,
    Verdict,
    make_verdict,
    verdict_document,
)
from tests.doubles.full_policy import FULL, armed_without, full_state
from tests.doubles.random_decisions import bent, decisions

SOME_DISARMED = armed_without(("R04", "R15", "R24", "R28", "R52"))


def rule_by_rule(policy: Policy, state: Any, intent: Any, verdict: Verdict) -> Verdict:  # noqa: ANN401 - any argument
    """The verdict with every rule's results made by `run`, and its own other results."""
    case = RuleCase(
        policy=policy,
        policy_digest=verdict.policy_digest,
        intent_digest=verdict.intent_digest,
        state=state,
        intent=intent,
    )
    judged = tuple(one for rule in rules_of(policy) for one in run(rule, case))
    return make_verdict(
        results=verdict.results[: -len(judged)] + judged,
        policy_digest=verdict.policy_digest,
        intent_digest=verdict.intent_digest,
        state_digest=verdict.state_digest,
    )


@pytest.mark.parametrize("policy", [FULL, SOME_DISARMED])
@pytest.mark.parametrize("broken", [0, 1, 2])
def test_plain_lists_say_what_running_rule_by_rule_says(policy: Policy, broken: int) -> None:
    draw = random.Random(broken)  # noqa: S311 - made-up decisions, not keys
    for own, state, intent in decisions(400, 3 + broken):
        if own is not FULL:
            continue
        judged: Any = replace(state, policy_status=full_state(policy).policy_status)
        wanted: Any = intent
        for _ in range(broken):
            if draw.random() < 0.7:
                judged = bent(draw, judged)
            else:
                wanted = bent(draw, wanted)
        verdict = evaluate(policy, judged, wanted)
        again = rule_by_rule(policy, judged, wanted, verdict)
        assert again.results == verdict.results
        assert again.verdict_digest == verdict.verdict_digest
        assert verdict_document(verdict) == document_of(again)


@pytest.mark.parametrize("missing", ["observed", "limit"])
@pytest.mark.parametrize("waived", [None, Reason.REDUCES_RISK])
def test_a_measurement_without_a_number_refuses_also_where_it_is_waived(
    missing: str, waived: Reason | None
) -> None:
    numbers: Any = {"observed": 1, "limit": 1, missing: None}
    rule = replace(
        R04, checks=R04.checks[:1], measure=lambda _: (Measured(**numbers, waived=waived),)
    )
    _, state, intent = next(one for one in decisions(40, 3) if one[0] is FULL)
    verdict = evaluate(FULL, state, intent, rules=(rule,))
    (result,) = [one for one in verdict.results if one.rule_id is R04.rule_id]
    assert (result.outcome, result.action) == (Outcome.REFUSED, Action.REJECT)
