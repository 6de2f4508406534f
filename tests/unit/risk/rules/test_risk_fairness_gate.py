"""R48: protected words, moved swaps, and what a justification covers."""

import json
from dataclasses import replace
from typing import Any

import pytest

from risk.errors import PolicyError
from risk.evaluate import evaluate
from risk.policy.changes import Looseness, loosened, policy_changes
from risk.policy.judging import rules_of
from risk.policy.policy import Policy, policy_digest, policy_document, policy_from_document
from risk.policy.text import parse_policy_text, policy_text
from risk.rules.catalogue import RULES
from risk.state.inputs.fairness import FairnessLook, Justified, SwapShift
from risk.verdict import Action, Outcome, Reason, RuleId, RuleResult
from tests.doubles.full_policy import FULL, full_state, inputs_with
from tests.doubles.risk_cases import FORECAST, INTENT, found

SAID = {"owner": "head of compliance", "why": "criteria of the firm", "review_by": "2027-05-21"}
WORDS = (
    {"name": "muslim", "attribute": "religion", "sort": "protected"},
    {"name": "postcode", "attribute": "postcode", "sort": "proxy"},
    {"name": "turkey", "attribute": "region", "sort": "region"},
)
HORIZON_US = FORECAST.horizon * FORECAST.bar_us
COVER = Justified(
    ref="region-1",
    seq=7,
    attribute="region",
    asset_class="index",
    side="",
    horizon_us_max=HORIZON_US,
    bound_bp=20,
)


def with_lexicon(*words: dict[str, Any]) -> Policy:
    document: Any = json.loads(json.dumps(policy_document(FULL)))
    document["families"]["fairness"] = {"words": [SAID | one for one in words]}
    return policy_from_document(document)


POLICY = with_lexicon(*WORDS)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("client_gender", "write client and gender instead"),
        ("a_b", "write a and b instead"),
        ("_", "write letters or digits instead"),
        ("\uff41frican", "write african instead"),
        ("\u00aa", "write a instead"),
        ("\u00b5", "lower case"),
    ],
)
def test_a_word_that_no_text_can_have_is_refused(name: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        with_lexicon({"name": name, "attribute": "gender", "sort": "protected"})


def look(**changes: Any) -> FairnessLook:  # noqa: ANN401 - any field
    empty = FairnessLook(basis_seq=1, words=(), masked=0, swaps=(), justified=())
    return replace(empty, **changes)


def judged(check: str, seen: FairnessLook | None) -> RuleResult:
    state = full_state(POLICY, inputs=inputs_with(fairness=seen))
    return found(evaluate(POLICY, state, INTENT), "R48", check)


def swap(attribute: str, shift_bp: int) -> tuple[SwapShift, ...]:
    return (SwapShift(attribute=attribute, shift_bp=shift_bp),)


@pytest.mark.parametrize(
    ("seen", "check", "action"),
    [
        (look(), "words", Action.ALLOW),
        (look(), "swaps", Action.ALLOW),
        (look(), "unjustified", Action.ALLOW),
        (look(words=("muslim",)), "words", Action.HOLD),
        (look(masked=1), "words", Action.HOLD),
        (look(words=("turkey",)), "words", Action.ALLOW),
        (look(words=("turkey",)), "unjustified", Action.HOLD),
        (look(words=("postcode",), justified=(COVER,)), "unjustified", Action.HOLD),
        (look(words=("turkey",), justified=(COVER,)), "unjustified", Action.ALLOW),
        (look(swaps=swap("religion", 1), justified=(COVER,)), "swaps", Action.REJECT),
        (look(swaps=swap("unknown", 1)), "swaps", Action.REJECT),
        (look(swaps=swap("region", 20)), "swaps", Action.ALLOW),
        (look(swaps=swap("region", 20)), "unjustified", Action.HOLD),
        (look(swaps=swap("region", 20), justified=(COVER,)), "unjustified", Action.ALLOW),
        (look(swaps=swap("region", 21), justified=(COVER,)), "unjustified", Action.HOLD),
    ],
)
def test_what_the_gate_finds_holds_or_refuses(
    seen: FairnessLook, check: str, action: Action
) -> None:
    assert judged(check, seen).action is action


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({"side": "BUY"}, Action.ALLOW),
        ({"side": "SELL"}, Action.HOLD),
        ({"asset_class": "equity"}, Action.HOLD),
        ({"attribute": "postcode"}, Action.HOLD),
        ({"horizon_us_max": HORIZON_US - 1}, Action.HOLD),
    ],
)
def test_a_justification_covers_its_side_class_attribute_and_horizon_only(
    changes: dict[str, Any], action: Action
) -> None:
    seen = look(words=("turkey",), justified=(replace(COVER, **changes),))
    assert judged("unjustified", seen).action is action


@pytest.mark.parametrize("seen", [None, look(words=("unlisted",)), look(masked=-1)])
def test_a_missing_or_malformed_look_refuses(seen: FairnessLook | None) -> None:
    result = judged("words", seen)
    assert (result.outcome, result.action) == (Outcome.REFUSED, Action.REJECT)


def test_without_a_lexicon_nothing_is_added_to_a_verdict() -> None:
    assert rules_of(FULL) is RULES
    results = evaluate(FULL, full_state(), INTENT).results
    assert RuleId.R48 not in {one.rule_id for one in results}
    assert RuleId.R48 in {one.rule_id for one in rules_of(POLICY)}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "at least one"),
        ((WORDS[0], WORDS[0]), "twice"),
        ((WORDS[0] | {"name": "Muslim"},), "lower case"),
        ((WORDS[0], WORDS[1] | {"attribute": "religion"}), "two sorts"),
        ((WORDS[0] | {"name": "two words"},), "pattern"),
    ],
)
def test_a_lexicon_that_could_not_be_read_is_no_policy(
    words: tuple[dict[str, Any], ...], problem: str
) -> None:
    with pytest.raises(PolicyError, match=problem):
        with_lexicon(*words)


def test_a_word_more_tightens_and_one_less_loosens() -> None:
    assert policy_digest(parse_policy_text(policy_text(POLICY))) == policy_digest(POLICY)
    two = with_lexicon(*WORDS[:2])
    assert {one.effect for one in policy_changes(two, POLICY)} == {Looseness.TIGHTENS}
    assert loosened(POLICY, two)
    softer = with_lexicon(WORDS[0] | {"sort": "region"}, *WORDS[1:2])
    assert loosened(two, softer), "another sort is for two persons to judge"


def test_what_the_gate_read_is_part_of_the_states_digest() -> None:
    first = evaluate(POLICY, full_state(POLICY, inputs=inputs_with(fairness=look())), INTENT)
    again = evaluate(
        POLICY, full_state(POLICY, inputs=inputs_with(fairness=look(justified=(COVER,)))), INTENT
    )
    assert first.state_digest != again.state_digest
    assert first.action is Action.ALLOW
    assert found(first, "R48", "words").reason is Reason.WITHIN_LIMIT
