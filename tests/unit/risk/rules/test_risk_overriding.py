"""An exceptional override lifts one limit, for what it names, and nothing that it may not."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from risk.evaluate import evaluate
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, Side
from risk.policy.policy import Policy, policy_digest
from risk.rules.catalogue import CONDUCT, IN_VERDICTS
from risk.rules.control.overriding import LIFTABLE, liftable, lifted
from risk.rules.rule import RuleCase
from risk.state.inputs.override import Override
from risk.state.state import KillState, RiskState, Stop
from risk.state.trace import state_digest
from risk.verdict import Action, Outcome, Reason, RuleId, Verdict, is_intact
from tests.doubles.risk_cases import (
    INTENT,
    PLAYBACK,
    policy_with,
    state_with,
)

POLICY = policy_with(instruments__0__order_qty_max=100)
NOW = POLICY.not_before_us
"""The clock that the policy's status was read from."""
NEVER = (RuleId.R00, RuleId.R01, RuleId.R02, RuleId.R18, RuleId.R29, RuleId.R31, RuleId.R50)


def override_with(policy: Policy = POLICY, **changes: Any) -> Override:  # noqa: ANN401 - any field
    """An override of the largest order that fits INTENT under a policy."""
    made = Override(
        override_id="ab" * 16,
        account=INTENT.account,
        instrument=INTENT.instrument,
        side=INTENT.side,
        rule_id=RuleId.R03,
        check="maximum",
        qty_max_lots=INTENT.qty_lots,
        notional_max_minor=INTENT.qty_lots * INTENT.limit_ticks,
        policy_digest=policy_digest(policy),
        not_before_us=NOW,
        expires_us=NOW + 1,
    )
    return replace(made, **changes)


def judged(override: Override | None, intent: Intent = INTENT, **state: Any) -> Verdict:  # noqa: ANN401
    """The verdict on an order above the policy's largest, with an override in the state."""
    return evaluate(POLICY, state_with(POLICY, override=override, **state), intent)


def test_a_lifted_limit_is_shown_with_what_was_measured() -> None:
    refused, passed = judged(None), judged(override_with())
    assert refused.action is Action.REJECT
    assert passed.action is Action.WARN
    (before,) = [one for one in refused.results if one.outcome is Outcome.BREACH]
    (after,) = passed.worst
    assert structs.replace(before, action=Action.WARN, reason=Reason.OVERRIDDEN) == structs.replace(
        after, note=""
    )
    assert after.note == f"override {'ab' * 16}"
    assert (after.observed, after.limit, after.outcome) == (700, 100, Outcome.BREACH)
    assert is_intact(passed)


@pytest.mark.parametrize(
    "changes",
    [
        {"account": "run-2"},
        {"instrument": "OTHER"},
        {"side": Side.SELL},
        {"qty_max_lots": INTENT.qty_lots - 1},
        {"notional_max_minor": INTENT.qty_lots * INTENT.limit_ticks - 1},
        {"policy_digest": policy_digest(PLAYBACK)},
        {"not_before_us": NOW + 1, "expires_us": NOW + 2},
        {"not_before_us": NOW - 2, "expires_us": NOW},
        {"rule_id": RuleId.R05},
        {"check": "step"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_for_anything_else_lifts_nothing(changes: dict[str, Any]) -> None:
    assert judged(override_with(**changes)).action is Action.REJECT


def test_one_limit_is_lifted_and_not_its_neighbour() -> None:
    policy = policy_with(instruments__0__order_qty_max=100, account__order_notional_max=100)
    state = state_with(policy, override=override_with(policy))
    verdict = evaluate(policy, state, INTENT)
    assert verdict.action is Action.REJECT
    assert [one.rule_id for one in verdict.worst] == [RuleId.R04]


def test_nothing_beyond_the_firms_own_limits_can_be_lifted() -> None:
    assert LIFTABLE.isdisjoint({*CONDUCT, *NEVER})
    assert {one.rule_id for one in IN_VERDICTS} >= LIFTABLE
    assert not liftable(RuleId.R03, "step")


def _case(state: RiskState) -> RuleCase:
    return RuleCase(
        policy=POLICY,
        policy_digest=policy_digest(POLICY),
        intent_digest="",
        state=state,
        intent=INTENT,
    )


@pytest.mark.parametrize("rule_id", [*sorted(CONDUCT), *NEVER])
def test_a_forbidden_rule_is_never_lifted_whatever_was_signed(rule_id: RuleId) -> None:
    """Each result of the rule is made a breach, and an override names it."""
    (like,) = [one for one in judged(None).results if one.outcome is Outcome.BREACH]
    breach = structs.replace(like, rule_id=rule_id, check="any")
    override = override_with(rule_id=rule_id, check="any")
    state = state_with(POLICY, override=override)
    assert lifted((breach,), _case(state)) == (breach,)
    allowed = structs.replace(breach, rule_id=RuleId.R03)
    named = replace(state, override=override_with(check="any"))
    assert lifted((allowed,), _case(named))[0].action is Action.WARN


def test_a_kill_and_a_pause_refuse_under_an_override() -> None:
    killed = KillState(killed=True, kill_epoch=3, egress_epoch=3)
    assert judged(override_with(), kill=killed).action >= Action.REJECT
    assert judged(override_with(), stops=(Stop.PAUSE,)).action is Action.REJECT


def test_what_could_not_be_measured_is_not_lifted() -> None:
    verdict = judged(override_with(rule_id=RuleId.R05, check="collar"), quote=None)
    assert verdict.action is Action.REJECT
    assert all(one.reason is not Reason.OVERRIDDEN for one in verdict.results)


@pytest.mark.parametrize("junk", ["text", 7, object(), ("a",)])
def test_junk_in_place_of_an_override_refuses(junk: Any) -> None:  # noqa: ANN401
    assert judged(junk).action is Action.REJECT


def test_a_state_without_an_override_keeps_its_digest() -> None:
    state: RiskState = state_with(POLICY)
    assert state_digest(state) == state_digest(replace(state, override=None))
    assert "override" not in str(document_of(state)["inputs"])
    assert state_digest(state) != state_digest(replace(state, override=override_with()))


def test_an_override_reads_back_from_its_document() -> None:
    assert value_of(Override, document_of(override_with())) == override_with()
    state = state_with(POLICY, override=override_with())
    assert value_of(RiskState, document_of(state)) == state
