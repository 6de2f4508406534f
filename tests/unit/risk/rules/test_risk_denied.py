"""R54: shapes on the policy's signed deny list, and how a policy's list changes."""

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
from risk.rules.catalogue import CONDUCT, RULES
from risk.state.activity import LAST
from risk.state.inputs.activity import Withdrawn
from risk.state.inputs.firm import OwnOrder
from risk.verdict import Action, Reason, RuleId, RuleResult, Verdict
from tests.doubles.full_policy import FULL, INPUTS, full_state, inputs_with
from tests.doubles.risk_cases import INTENT, NOW_US, found

PRICE, LOTS = INTENT.limit_ticks, INTENT.qty_lots
SAID = {"owner": "head of compliance", "why": "seen in the market", "review_by": "2027-05-21"}
PATH = SAID | {"name": "saw", "reversals": 2, "move_1e8": 1_000_000}


def denying(*shapes: dict[str, Any], paths: tuple[dict[str, Any], ...] = ()) -> Policy:
    """FULL with a deny list."""
    document: Any = json.loads(json.dumps(policy_document(FULL)))
    listed = [SAID | {"name": f"shape-{at}"} | one for at, one in enumerate(shapes)]
    document["families"]["denied"] = {"shapes": listed, "paths": list(paths)}
    return policy_from_document(document)


def levels(*lots: int) -> tuple[OwnOrder, ...]:
    """Own orders one tick apart behind the intent's limit, with these lots."""
    return tuple(
        OwnOrder(
            account="run-2",
            decision_id=f"o-{place}",
            instrument=INTENT.instrument,
            side="BUY",
            open_lots=one,
            limit_ticks=PRICE - place,
        )
        for place, one in enumerate(lots, 1)
    )


def withdrawn(count: int, side: str = "BUY") -> tuple[Withdrawn, ...]:
    one = Withdrawn(decision_id="d", side=side, lots=5, rest_us=10_000_000, time_us=NOW_US)
    return (one,) * count


def verdict(
    policy: Policy, *orders: OwnOrder, ended: tuple[Withdrawn, ...] = (), **changes: bool
) -> Verdict:
    assert INPUTS.firm is not None
    assert INPUTS.activity is not None
    firm, past = (
        replace(INPUTS.firm, orders=orders),
        replace(INPUTS.activity, withdrawn=ended),
    )
    inputs = inputs_with(firm=firm, activity=past)
    return evaluate(policy, full_state(policy, inputs=inputs, **changes), INTENT)


def denied(shape: dict[str, Any], *orders: OwnOrder, **given: Any) -> RuleResult:  # noqa: ANN401 - any field
    return found(verdict(denying(shape), *orders, **given), "R54", "shape-0")


@pytest.mark.parametrize(
    ("shape", "orders", "ended", "observed"),
    [
        ({"levels": 3}, levels(1, 1), (), 1),
        ({"levels": 3}, levels(1), (), 0),
        ({"growing": 3}, levels(LOTS + 1, LOTS + 2), (), 1),
        ({"growing": 3}, levels(LOTS + 1, LOTS + 1), (), 0),
        ({"growing": 2, "growth_bp": 2_000}, levels(LOTS * 6 // 5), (), 1),
        ({"growing": 2, "growth_bp": 2_000}, levels(LOTS * 6 // 5 - 1), (), 0),
        ({"withdrawn": 2}, (), withdrawn(2), 1),
        ({"withdrawn": 2}, (), withdrawn(1) + withdrawn(1, "SELL"), 0),
        ({"larger_bp": 10_000}, levels(LOTS), (), 1),
        ({"larger_bp": 10_000}, levels(LOTS - 1), (), 0),
        ({"levels": 2, "withdrawn": 1}, levels(1), withdrawn(1), 1),
        ({"levels": 2, "withdrawn": 1}, levels(1), (), 0),
        ({"levels": 2, "withdrawn": 1}, (), withdrawn(1), 0),
    ],
)
def test_a_shape_is_refused_where_every_number_that_it_states_is_reached(
    shape: dict[str, Any],
    orders: tuple[OwnOrder, ...],
    ended: tuple[Withdrawn, ...],
    observed: int,
) -> None:
    result = denied(shape, *orders, ended=ended)
    assert (result.observed, result.limit) == (observed, 0)
    assert result.action is (Action.REJECT if observed else Action.ALLOW)
    assert result.reason is (Reason.SHAPE_DENIED if observed else Reason.WITHIN_LIMIT)


def test_without_a_deny_list_nothing_is_added_to_a_verdict() -> None:
    assert rules_of(FULL) is RULES
    assert RuleId.R54 not in {one.rule_id for one in verdict(FULL).results}
    assert rules_of(denying(paths=(PATH,))) is RULES, "no shape of orders is listed"


def test_a_verdict_names_each_denied_shape_and_a_submitter_none() -> None:
    results = verdict(denying({"levels": 9}, {"withdrawn": 9})).results
    assert [one.check for one in results if one.rule_id is RuleId.R54] == ["shape-0", "shape-1"]
    assert RuleId.R54 in CONDUCT


def test_a_renewed_order_counts_once() -> None:
    own = tuple(replace(one, decision_id=INTENT.decision_id) for one in levels(1, 1))
    assert denied({"levels": 3}, *own, renewal=True).action is Action.ALLOW
    assert denied({"levels": 3}, *own).action is Action.REJECT


def test_a_missing_or_truncated_input_refuses() -> None:
    policy = denying({"levels": 9})
    for inputs in (inputs_with(firm=None), inputs_with(activity=None), None):
        judged = evaluate(policy, full_state(policy, inputs=inputs), INTENT)
        assert found(judged, "R54", "shape-0").action is Action.REJECT
    assert denied({"levels": 9}, ended=withdrawn(LAST)).reason is Reason.OUT_OF_RANGE


@pytest.mark.parametrize(
    ("shapes", "paths", "problem"),
    [
        (({},), (), "states levels"),
        (({"levels": 2, "growth_bp": 5},), (), "growth_bp"),
        (({"levels": 0},), (), "greater than or equal"),
        (({"levels": 2, "name": "a"}, {"levels": 3, "name": "a"}), (), "twice"),
        ((), (PATH, PATH), "twice"),
        ((), (), "at least one"),
    ],
)
def test_a_list_that_denies_nothing_or_not_what_it_says_is_no_policy(
    shapes: tuple[dict[str, Any], ...], paths: tuple[dict[str, Any], ...], problem: str
) -> None:
    with pytest.raises(PolicyError, match=problem):
        denying(*shapes, paths=paths)


def test_a_list_changes_the_digest_reads_back_from_text_and_its_absence_changes_none() -> None:
    policy = denying({"levels": 3, "withdrawn": 2}, paths=(PATH,))
    assert policy_digest(parse_policy_text(policy_text(policy))) == policy_digest(policy)
    assert policy_digest(policy) != policy_digest(FULL)
    assert "denied" not in str(policy_document(FULL))


def test_a_shape_more_tightens_and_a_higher_number_or_one_shape_less_loosens() -> None:
    three, four, two = denying({"levels": 3}), denying({"levels": 4}), denying({"levels": 2})
    effects = {one.effect for one in policy_changes(FULL, three)}
    assert effects == {Looseness.TIGHTENS}
    assert not loosened(three, two)
    assert loosened(three, four)
    assert loosened(three, FULL)
    assert loosened(three, denying({"levels": 3, "withdrawn": 1})), "one number more denies less"
