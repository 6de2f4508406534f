"""What is signed, agreed to and sealed holds every field that it names, each by itself."""

import json
from dataclasses import fields, replace
from inspect import getsource
from typing import Any

import pytest
from msgspec import structs

from risk.approved import (
    FOR_A_PERSON,
    Approval,
    Band,
    approval_document,
    approval_of,
    approve,
    band_of,
    grant,
)
from risk.errors import ApprovalError, DocumentError
from risk.evaluate import UNREADABLE, evaluate
from risk.forms.documents import document_of
from risk.intent import (
    Intent,
    Side,
    TimeInForce,
    intent_digest,
    intent_fingerprint,
)
from risk.policy.policy import (
    policy_digest,
)
from risk.rules.catalogue import IN_VERDICTS
from risk.verdict import (
    Action,
    Outcome,
    Reason,
    RuleId,
    Verdict,
    is_intact,
    join,
    make_verdict,
    verdict_from_document,
)
from tests.doubles.risk_cases import (
    NOW_US,
    PLAYBACK,
    intent_with,
    policy_with,
    state_with,
)

LEAF = bytes(range(32))
WALL_US = 1_795_000_000_000_000
LARGE = intent_with(qty_lots=1_000, author="demo-agent", strategy="agent-exposure")


def held(intent: Intent = LARGE) -> Verdict:
    """The verdict that holds an order for a person."""
    verdict = evaluate(PLAYBACK, state_with(), intent)
    assert verdict.action is Action.HOLD
    return verdict


def sealed(verdict: Verdict, **changes: Any) -> Verdict:  # noqa: ANN401 - any part of a verdict
    """A verdict with other parts, properly sealed."""
    parts = ("results", "policy_digest", "intent_digest", "state_digest")
    return make_verdict(**{**{name: getattr(verdict, name) for name in parts}, **changes})


def held_by(rule: RuleId) -> Verdict:
    """A verdict in which another rule holds the order beside the human threshold."""
    results = held().results
    return sealed(
        held(),
        results=tuple(
            structs.replace(one, action=Action.HOLD, outcome=Outcome.BREACH)
            if one.rule_id is rule
            else one
            for one in results
        ),
    )


def test_an_agreement_names_exactly_what_was_read() -> None:
    verdict = held()
    given = grant(PLAYBACK, LARGE, verdict, "anna", WALL_US)
    band = Band(
        price_low_ticks=26_969 - 269,
        price_high_ticks=26_969 + 269,
        qty_max_lots=1_100,
        exposure_low_bp=2_500,
        exposure_high_bp=3_500,
    )
    assert band_of(PLAYBACK, LARGE) == band
    assert document_of(band) == {f.name: getattr(band, f.name) for f in fields(band)}
    assert given == Approval(
        decision_id="d-1",
        account="run-1",
        instrument="SPXN",
        side=Side.BUY,
        approver="anna",
        intent_digest=intent_digest(LARGE),
        verdict_digest=verdict.verdict_digest,
        policy_digest=policy_digest(PLAYBACK),
        given_at_us=WALL_US,
        expires_us=WALL_US + 900_000_000,
        **{f.name: getattr(band, f.name) for f in fields(band)},
    )
    document = approval_document(given)
    named = {f.name: getattr(given, f.name) for f in fields(given) if f.name != "releases"}
    assert document == {**named, "side": "BUY"}, "as it was before approvals named their rules"
    assert approval_of(json.loads(json.dumps(document))) == given


def test_an_order_carries_every_binding_it_was_made_with() -> None:
    intent = intent_with(tif=TimeInForce.IOC)
    verdict = evaluate(PLAYBACK, state_with(), intent)
    order = approve(intent, verdict, LEAF, WALL_US, 0)
    assert (order.verdict_digest, order.policy_digest) == (
        verdict.verdict_digest,
        policy_digest(PLAYBACK),
    )
    assert (order.send_before_us, order.kill_epoch, order.approver) == (WALL_US, 0, "")
    assert (order.approving_leaf, order.intent) == (LEAF, intent)


def of_rules(*rules: RuleId) -> Verdict:
    """A verdict in which these rules hold the order, and R31 does not."""
    results = list(held().results)
    for number, one in enumerate(results):
        if one.rule_id is RuleId.R31:
            results[number] = structs.replace(one, action=Action.ALLOW, outcome=Outcome.PASS)
    for number, rule in enumerate(rules):
        results[number] = structs.replace(
            results[number], rule_id=rule, action=Action.HOLD, outcome=Outcome.BREACH
        )
    return sealed(held(), results=tuple(results))


@pytest.mark.parametrize("rule", sorted(FOR_A_PERSON))
def test_a_person_releases_each_rule_that_holds_for_one(rule: RuleId) -> None:
    verdict = of_rules(rule)
    agreed = grant(PLAYBACK, LARGE, verdict, "anna", WALL_US)
    assert agreed.releases == (rule,)
    assert approve(LARGE, verdict, LEAF, WALL_US, 3, agreed).approver == "anna"
    assert approval_of(json.loads(json.dumps(approval_document(agreed)))) == agreed


def test_a_person_releases_what_he_saw_and_not_what_came_beside_it() -> None:
    shown, later = of_rules(RuleId.R10, RuleId.R27), of_rules(RuleId.R10, RuleId.R20)
    agreed = grant(PLAYBACK, LARGE, shown, "anna", WALL_US)
    assert agreed.releases == (RuleId.R10, RuleId.R27)
    for fewer in (shown, of_rules(RuleId.R10), of_rules(RuleId.R27)):
        assert approve(LARGE, fewer, LEAF, WALL_US, 3, agreed).approver == "anna"
    for other in (later, of_rules(RuleId.R20), held()):
        with pytest.raises(ApprovalError, match="did not see"):
            approve(LARGE, other, LEAF, WALL_US, 3, agreed)


def test_the_rules_that_hold_are_those_that_a_person_may_release() -> None:
    """The list is read off the checks: no rule holds by what it measures alone."""
    assert {RuleId.R10, RuleId.R29, RuleId.R31, RuleId.R48} < FOR_A_PERSON
    assert not [one.rule_id for one in IN_VERDICTS if "HOLD" in getsource(one.measure)]


@pytest.mark.parametrize("rule", [RuleId.R00, RuleId.R13])
def test_a_person_lifts_the_human_threshold_and_no_other_hold(rule: RuleId) -> None:
    verdict = held_by(rule)
    assert (verdict.action, is_intact(verdict)) == (Action.HOLD, True)
    with pytest.raises(ApprovalError, match="nothing waits"):
        grant(PLAYBACK, LARGE, verdict, "anna", WALL_US)
    agreed = grant(PLAYBACK, LARGE, held(), "anna", WALL_US)
    with pytest.raises(ApprovalError, match="no person may"):
        approve(LARGE, verdict, LEAF, WALL_US, 3, agreed)


def test_nothing_is_granted_on_a_verdict_that_was_edited_or_is_of_another_policy() -> None:
    with pytest.raises(ApprovalError, match="not intact"):
        grant(PLAYBACK, LARGE, replace(held(), verdict_digest="0" * 64), "anna", WALL_US)
    with pytest.raises(ApprovalError, match="another intent"):
        grant(PLAYBACK, replace(LARGE, qty_lots=1_001), held(), "anna", WALL_US)
    with pytest.raises(ApprovalError, match="another policy"):
        grant(policy_with(account__gross_max=9_000), LARGE, held(), "anna", WALL_US)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"decision_id": "d-2"}, "another order"),
        ({"account": "run-2"}, "another order"),
        ({"instrument": "NDXN"}, "another order"),
        ({"side": Side.SELL}, "another order"),
        ({"approver": "demo-agent"}, "author"),
        ({"policy_digest": "0" * 64}, "policy"),
        ({"price_low_ticks": 26_970}, "price"),
        ({"price_high_ticks": 26_968}, "price"),
        ({"qty_max_lots": 999}, "size"),
        ({"exposure_low_bp": 3_001}, "exposure"),
        ({"exposure_high_bp": 2_999}, "exposure"),
        ({"expires_us": WALL_US - 1}, "ends"),
    ],
)
def test_each_part_of_an_agreement_binds_by_itself(change: dict[str, Any], problem: str) -> None:
    agreed = grant(PLAYBACK, LARGE, held(), "anna", WALL_US)
    edge = replace(
        agreed,
        price_low_ticks=26_969,
        price_high_ticks=26_969,
        qty_max_lots=1_000,
        exposure_low_bp=3_000,
        exposure_high_bp=3_000,
        expires_us=WALL_US,
    )
    assert approve(LARGE, held(), LEAF, WALL_US, 3, edge).approver == "anna"
    with pytest.raises(ApprovalError, match=problem):
        approve(LARGE, held(), LEAF, WALL_US, 3, replace(edge, **change))


def test_a_verdict_is_the_join_of_its_results_and_nothing_at_all_is_refused() -> None:
    assert join([]) is Action.REJECT
    assert [join([Action.ALLOW, one, Action.WARN]) for one in Action] == [
        max(one, Action.WARN) for one in Action
    ]
    verdict = held()
    assert [one.rule_id for one in verdict.worst] == [RuleId.R31]
    assert evaluate(PLAYBACK, state_with(), intent_with()).worst == ()
    for change in (
        {"action": Action.ALLOW},
        {"results": verdict.results[1:]},
        {"policy_digest": UNREADABLE},
        {"intent_digest": UNREADABLE},
        {"state_digest": UNREADABLE},
        {"verdict_digest": UNREADABLE},
    ):
        edited = replace(verdict, **change)
        assert not is_intact(edited)
        with pytest.raises(DocumentError):
            verdict_from_document(document_of(edited))


@pytest.mark.parametrize("field", [f.name for f in fields(Intent)])
def test_every_field_of_an_intent_moves_its_digest(field: str) -> None:
    other: dict[str, Any] = {
        "side": Side.SELL,
        "tif": TimeInForce.IOC,
        "directional": True,
        "qty_lots": 701,
        "limit_ticks": 26_970,
        "target_exposure_bp": 3_001,
    }
    changed = intent_with(**{field: other.get(field, "other")})
    assert set(document_of(changed)) == {f.name for f in fields(Intent)}
    assert intent_digest(changed) != intent_digest(intent_with())
    seen_by_the_market = {"account", "instrument", "side", "qty_lots", "limit_ticks", "tif"}
    same_order = intent_fingerprint(changed) == intent_fingerprint(intent_with())
    assert same_order == (field not in seen_by_the_market)


def test_a_state_says_when_its_book_differs_and_is_refused_for_it_alone() -> None:
    plain = state_with(now_us=NOW_US)
    verdict = evaluate(PLAYBACK, replace(plain, book_differs=True), intent_with())
    worst = [(one.rule_id, one.check, one.reason) for one in verdict.worst]
    assert worst == [(RuleId.R00, "book_agrees", Reason.BOOK_DIFFERS)]
    assert verdict.action is Action.REJECT
