"""Nothing becomes a sendable order except through `approve`, and a hold only by another person."""

import dataclasses
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from risk.approved import (
    Approval,
    ApprovedOrder,
    approval_document,
    approval_of,
    approve,
    grant,
)
from risk.errors import ApprovalError, DocumentError
from risk.evaluate import evaluate
from risk.intent import Intent, Side, intent_digest
from risk.state.state import seen
from risk.verdict import Action, RuleId, Verdict, make_verdict
from tests.doubles.risk_cases import (
    INTENT,
    NOW_US,
    PLAYBACK,
    disarmed,
    intent_with,
    policy_with,
    state_with,
)

LEAF = bytes(range(32))
WALL_US = 1_795_000_000_000_000
LARGE = intent_with(qty_lots=1_000, author="demo-agent", strategy="agent-exposure")


def judged(intent: Intent, **changes: Any) -> Verdict:  # noqa: ANN401 - any field of a state
    return evaluate(PLAYBACK, state_with(**changes), intent)


def agreement(intent: Intent = LARGE, approver: str = "anna") -> Approval:
    return grant(PLAYBACK, intent, judged(intent), approver, WALL_US)


def released(intent: Intent, approval: Approval | None, **changes: Any) -> ApprovedOrder:  # noqa: ANN401 - as above
    arguments = {"send_before_us": WALL_US + 1_000_000, "kill_epoch": 3, **changes}
    return approve(intent, judged(intent), LEAF, approval=approval, **arguments)


def test_an_allowed_intent_becomes_an_order() -> None:
    order = approve(INTENT, judged(INTENT), LEAF, WALL_US, 3)
    assert order.intent == INTENT
    assert (order.approving_leaf, order.approver) == (LEAF, "")


def test_an_order_cannot_be_made_or_changed_by_hand() -> None:
    order = approve(INTENT, judged(INTENT), LEAF, WALL_US, 3)
    fields = {f.name: getattr(order, f.name) for f in dataclasses.fields(order)}
    with pytest.raises(ApprovalError):
        ApprovedOrder(**fields, seal=object())
    with pytest.raises(ApprovalError):
        replace(order, intent=LARGE, seal=None)
    with pytest.raises((ValueError, TypeError)):
        replace(order, intent=LARGE)  # type: ignore[call-arg]
    with pytest.raises(dataclasses.FrozenInstanceError):
        order.intent = LARGE  # type: ignore[misc]


def test_a_held_intent_needs_a_person() -> None:
    assert judged(LARGE).action is Action.HOLD
    with pytest.raises(ApprovalError):
        released(LARGE, None)
    assert released(LARGE, agreement()).approver == "anna"


@pytest.mark.parametrize(
    "approver", ["demo-agent", " Demo-Agent ", "agent-exposure", "\tAGENT-Exposure", "", "  "]
)
def test_nobody_approves_his_own_order(approver: str) -> None:
    with pytest.raises(ApprovalError):
        agreement(approver=approver)
    forged = replace(agreement(), approver=approver)
    with pytest.raises(ApprovalError):
        released(LARGE, forged)


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({}, True),
        ({"limit_ticks": 26_969 + 269}, True),
        ({"limit_ticks": 26_969 + 270}, False),
        ({"limit_ticks": 26_969 - 269}, True),
        ({"limit_ticks": 26_969 - 270}, False),
        ({"qty_lots": 1_100}, True),
        ({"qty_lots": 1_101}, False),
        ({"target_exposure_bp": 3_500}, True),
        ({"target_exposure_bp": 3_501}, False),
        ({"target_exposure_bp": 2_500}, True),
        ({"target_exposure_bp": 2_499}, False),
        ({"decision_id": "d-2"}, False),
    ],
)
def test_a_renewed_order_stays_inside_the_band(changes: dict[str, Any], *, passes: bool) -> None:
    renewed = replace(LARGE, **changes)
    assert judged(renewed).action is Action.HOLD
    if passes:
        assert released(renewed, agreement()).intent == renewed
    else:
        with pytest.raises(ApprovalError):
            released(renewed, agreement())


@pytest.mark.parametrize(
    "changes",
    [
        {"side": Side.SELL},
        {"limit_ticks": 26_969 + 270},
        {"limit_ticks": 26_969 - 270},
        {"target_exposure_bp": 3_501},
        {"target_exposure_bp": 2_499},
        {"decision_id": "d-2"},
        {"account": "run-2"},
        {"instrument": "NDXN"},
        {"author": "anna"},
    ],
)
def test_a_renewal_that_needs_no_person_any_more_stays_inside_the_band(
    changes: dict[str, Any],
) -> None:
    smaller = replace(LARGE, target_exposure_bp=3_000, qty_lots=700)
    verdict = judged(smaller)
    assert verdict.action <= Action.WARN
    assert approve(smaller, verdict, LEAF, WALL_US, 3, agreement()).approver == "anna"
    other = replace(smaller, **changes)
    allowed = allowed_verdict(other)
    assert approve(other, allowed, LEAF, WALL_US, 3).intent == other, "it would go by itself"
    with pytest.raises(ApprovalError):
        approve(other, allowed, LEAF, WALL_US, 3, agreement())
    late_us = agreement().expires_us + 1
    with pytest.raises(ApprovalError):
        approve(smaller, verdict, LEAF, late_us, 3, agreement())


def allowed_verdict(intent: Intent) -> Verdict:
    """Return the verdict of a smaller order, said of this intent: every rule passes."""
    passed = judged(INTENT)
    assert passed.action <= Action.WARN
    return make_verdict(
        results=passed.results,
        policy_digest=passed.policy_digest,
        intent_digest=intent_digest(intent),
        state_digest=passed.state_digest,
    )


def test_what_only_warns_goes_without_a_person() -> None:
    passed = judged(INTENT)
    warning = make_verdict(
        results=(structs.replace(passed.results[0], action=Action.WARN), *passed.results[1:]),
        policy_digest=passed.policy_digest,
        intent_digest=passed.intent_digest,
        state_digest=passed.state_digest,
    )
    assert warning.action is Action.WARN
    assert approve(INTENT, warning, LEAF, WALL_US, 3).approver == ""


@pytest.mark.parametrize("field", ["author", "strategy"])
def test_no_spelling_of_his_name_makes_an_author_another_person(field: str) -> None:
    named: dict[str, Any] = {field: " Anna"}
    intent = replace(LARGE, **named)
    with pytest.raises(ApprovalError, match="author"):
        grant(PLAYBACK, intent, judged(intent), "ANNA", WALL_US)


def test_an_agreement_ends() -> None:
    approval = agreement()
    assert released(LARGE, approval, send_before_us=approval.expires_us).approver == "anna"
    with pytest.raises(ApprovalError):
        released(LARGE, approval, send_before_us=approval.expires_us + 1)


def test_an_agreement_is_void_under_another_policy() -> None:
    tighter = policy_with(account__gross_max=9_000)
    verdict = evaluate(tighter, state_with(tighter), LARGE)
    assert verdict.action is Action.HOLD
    with pytest.raises(ApprovalError):
        approve(LARGE, verdict, LEAF, WALL_US, 3, agreement())


@pytest.mark.parametrize("action", [a for a in Action if a > Action.HOLD or a is Action.THROTTLE])
def test_no_agreement_lifts_anything_but_a_hold(action: Action) -> None:
    verdict = judged(LARGE)
    last = structs.replace(verdict.results[-1], action=action)
    worse = make_verdict(
        results=(*verdict.results[:-1], last),
        policy_digest=verdict.policy_digest,
        intent_digest=verdict.intent_digest,
        state_digest=verdict.state_digest,
    )
    with pytest.raises(ApprovalError):
        approve(LARGE, worse, LEAF, WALL_US, 3, agreement())
    with pytest.raises(ApprovalError):
        grant(PLAYBACK, LARGE, worse, "anna", WALL_US)


@pytest.mark.parametrize("other_alone", [True, False])
def test_a_person_lifts_only_what_was_held_for_a_person(*, other_alone: bool) -> None:
    """Also where another rule should come to hold orders: nobody is asked about its reasons."""
    verdict = judged(LARGE)
    approval = agreement()
    place = next(n for n, one in enumerate(verdict.results) if one.rule_id is not RuleId.R31)
    results = [
        structs.replace(one, action=Action.ALLOW)
        if other_alone and one.rule_id is RuleId.R31
        else one
        for one in verdict.results
    ]
    results[place] = structs.replace(results[place], action=Action.HOLD)
    held = make_verdict(
        results=tuple(results),
        policy_digest=verdict.policy_digest,
        intent_digest=verdict.intent_digest,
        state_digest=verdict.state_digest,
    )
    assert held.action is Action.HOLD
    with pytest.raises(ApprovalError, match="no person may release"):
        approve(LARGE, held, LEAF, WALL_US + 1_000_000, 3, approval)
    with pytest.raises(ApprovalError, match="nothing waits"):
        grant(PLAYBACK, LARGE, held, "anna", WALL_US)
    released(LARGE, approval)


def test_a_person_cannot_lift_a_duplicate() -> None:
    twin = seen(LARGE, NOW_US)
    verdict = judged(LARGE, recent=(twin,))
    with pytest.raises(ApprovalError):
        approve(LARGE, verdict, LEAF, WALL_US, 3, agreement())


def test_a_verdict_on_another_intent_approves_nothing() -> None:
    with pytest.raises(ApprovalError):
        approve(intent_with(qty_lots=701), judged(INTENT), LEAF, WALL_US, 3)


def test_a_softened_verdict_approves_nothing() -> None:
    held = judged(LARGE)
    for forged in (
        replace(held, action=Action.ALLOW),
        replace(held, results=held.results[:-1]),
        replace(held, results=(), action=Action.ALLOW),
    ):
        with pytest.raises(ApprovalError):
            approve(LARGE, forged, LEAF, WALL_US, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"approving_leaf": b""},
        {"approving_leaf": bytes(31)},
        {"approving_leaf": "0" * 32},
        {"send_before_us": 0},
        {"send_before_us": None},
        {"kill_epoch": -1},
        {"kill_epoch": True},
    ],
)
def test_an_order_without_its_bindings_is_refused(changes: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "approving_leaf": LEAF,
        "send_before_us": WALL_US,
        "kill_epoch": 3,
        **changes,
    }
    with pytest.raises(ApprovalError):
        approve(INTENT, judged(INTENT), **arguments)


def test_nothing_is_granted_for_an_order_that_does_not_wait() -> None:
    with pytest.raises(ApprovalError):
        grant(PLAYBACK, INTENT, judged(INTENT), "anna", WALL_US)
    with pytest.raises(ApprovalError):
        grant(disarmed("R13"), LARGE, judged(LARGE), "anna", WALL_US)
    with pytest.raises(ApprovalError):
        grant(PLAYBACK, INTENT, judged(LARGE), "anna", WALL_US)


def test_an_agreement_survives_its_document() -> None:
    approval = agreement()
    assert approval_of(approval_document(approval)) == approval
    for broken in ({}, {**approval_document(approval), "extra": 1}, None):
        with pytest.raises(DocumentError):
            approval_of(broken)
