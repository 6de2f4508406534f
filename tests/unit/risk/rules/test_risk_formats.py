"""Which rules judge under which format of a policy, and what an absent input does."""

import json
from dataclasses import fields
from typing import Any

import pytest

from risk.errors import PolicyError
from risk.evaluate import evaluate
from risk.forms.documents import document_of, value_of
from risk.intent import intent_digest
from risk.numbers.looser import Looser
from risk.numbers.stated import PolicyModel, Stated
from risk.policy.changes import NEITHER, Looseness, policy_changes
from risk.policy.policy import RULES_OF_1, RULES_OF_2, policy_digest, policy_from_document
from risk.policy.text import parse_policy_text, policy_text
from risk.rules.catalogue import RULES, Families, loosening
from risk.rules.rule import Rule, RuleCase
from risk.state.inputs.inputs import Inputs
from risk.state.state import RiskState
from risk.state.trace import state_digest
from risk.verdict import Action, Outcome, Reason, RuleId
from tests.doubles.full_policy import DESK, DESK_BYTES, FULL, INPUTS, full_policy, full_state
from tests.doubles.risk_cases import INTENT, PLAYBACK, state_with


class Noting:
    """A decision's inputs, and whether a rule read any of them."""

    def __init__(self) -> None:
        self.read = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any input
        self.read = True
        return getattr(INPUTS, name)


def reads_inputs(rule: Rule) -> bool:
    """Whether a rule reads what only the gateway gathers, judging an ordinary order."""
    policy, intent = policy_digest(FULL), intent_digest(INTENT)
    case = RuleCase(
        policy=FULL, policy_digest=policy, intent_digest=intent, state=full_state(), intent=INTENT
    )
    inputs: Any = Noting()
    case.inputs = inputs
    rule.measure(case)
    return bool(inputs.read)


def test_a_policy_of_format_1_is_judged_by_the_rules_of_then() -> None:
    verdict = evaluate(PLAYBACK, state_with(), INTENT)
    assert verdict.action is Action.ALLOW
    assert {result.rule_id for result in verdict.results} == RULES_OF_1


def test_a_policy_of_format_2_is_judged_by_every_rule() -> None:
    verdict = evaluate(FULL, full_state(), INTENT)
    assert verdict.action is Action.ALLOW, verdict.worst
    assert {result.rule_id for result in verdict.results} == RULES_OF_2
    assert [rule.rule_id for rule in RULES] == [one for one in RuleId if one in RULES_OF_2]


def test_without_inputs_every_rule_that_reads_them_refuses() -> None:
    verdict = evaluate(FULL, full_state(inputs=None), INTENT)
    refused = {r.rule_id for r in verdict.results if r.outcome is Outcome.REFUSED}
    assert refused == {rule.rule_id for rule in RULES if reads_inputs(rule)}
    assert len(refused) > len(RULES) // 2
    assert {r.reason for r in verdict.worst} == {Reason.INPUT_MISSING}


@pytest.mark.parametrize(
    "source", [field.name for field in fields(Inputs) if field.name != "fairness"]
)
def test_an_absent_source_refuses(source: str) -> None:
    verdict = evaluate(FULL, full_state(inputs=_without(source)), INTENT)
    assert verdict.action is Action.REJECT
    assert Reason.INPUT_MISSING in {result.reason for result in verdict.worst}


def test_inputs_are_part_of_the_states_digest() -> None:
    assert state_digest(full_state()) != state_digest(full_state(inputs=None))
    assert value_of(RiskState, document_of(full_state())) == full_state()
    assert value_of(RiskState, document_of(state_with())) == state_with()


def test_families_belong_to_format_2_only() -> None:
    document: Any = json.loads(DESK_BYTES)
    document["format"] = "countersign.policy/1"
    with pytest.raises(PolicyError, match="families"):
        policy_from_document(document)
    document["format"] = "countersign.policy/2"
    del document["families"]
    with pytest.raises(PolicyError, match="families"):
        policy_from_document(document)


def test_the_text_of_a_policy_of_format_2_is_the_same_policy() -> None:
    assert policy_digest(parse_policy_text(policy_text(DESK))) == policy_digest(DESK)


def test_every_number_of_a_family_says_what_permits_more() -> None:
    known = loosening(Looser.HIGHER) | loosening(Looser.LOWER)
    for field in Families.model_fields.values():
        kinds = (field.annotation, *getattr(field.annotation, "__args__", ()))
        (family,) = (k for k in kinds if isinstance(k, type) and issubclass(k, PolicyModel))
        for name, number in family.model_fields.items():
            if isinstance(number.annotation, type) and issubclass(number.annotation, Stated):
                assert name in known | NEITHER, name


def test_a_change_of_a_family_is_shown_with_its_direction() -> None:
    higher = full_policy(families__liquidity__adv_share_max=600)
    (change,) = policy_changes(FULL, higher)
    assert change.field == "families.liquidity.adv_share_max.value"
    assert change.effect is Looseness.LOOSENS


def _without(source: str) -> Inputs:
    kept = {field.name: getattr(INPUTS, field.name) for field in fields(Inputs)}
    return Inputs(**{**kept, source: None})
