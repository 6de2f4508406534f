"""R10, R17, R18, R22, R23: each passes at its limit, trips by one unit, refuses without input."""

import json
from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.policy.policy import Policy, policy_from_document
from risk.state.inputs.firm import Firm, OwnOrder
from risk.state.inputs.inputs import Inputs
from risk.state.inputs.reference import Listed, Reference
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import FULL, INPUTS, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import EQUITY, INTENT, bought, fold, found, intent_with, reserved

ORDER = 700 * 26_969
"""The value of INTENT, minor units."""
BP = 10_000


def judged(rule: str, check: str, policy: Policy = FULL, **changes: Any) -> RuleResult:  # noqa: ANN401 - any field
    return found(evaluate(policy, full_state(policy, **changes), INTENT), rule, check)


def share(minor: int) -> int:
    return -(-minor * BP // EQUITY)


def reference(*rows: Listed) -> Inputs:
    assert INPUTS.reference is not None
    return inputs_with(reference=replace(INPUTS.reference, listed=rows))


@pytest.mark.parametrize(("over", "action"), [(0, Action.ALLOW), (1, Action.HOLD)])
@pytest.mark.parametrize("check", ["instrument", "sector"])
def test_concentration_is_held_above_its_share(check: str, over: int, action: Action) -> None:
    number = {f"families__account__{check}_share_max": share(ORDER) - over}
    result = judged("R10", check, full_policy(**number))
    assert (result.action, result.observed) == (action, share(ORDER))


def test_a_sector_counts_what_is_held_and_pending_in_its_other_instruments() -> None:
    book = fold(bought(100, 50_000, instrument="NDXN"), reserved("d-0", 10, 26_000))
    instrument = judged("R10", "instrument", book=book)
    sector = judged("R10", "sector", book=book)
    assert instrument.observed == share(ORDER + 10 * 26_000)
    assert sector.observed == share(ORDER + 10 * 26_000 + 100 * 50_000)


def test_a_sector_that_nobody_knows_refuses() -> None:
    for rows in ((Listed(symbol="SPXN"),), (Listed(symbol="SPXN", sector="broad"),)):
        book = fold(bought(100, 50_000, instrument="NDXN"))
        result = judged("R10", "sector", inputs=reference(*rows), book=book)
        assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)


def other(side: str, price: int, *, instrument: str = "SPXN") -> Inputs:
    order = OwnOrder(
        account="run-2",
        decision_id="e-1",
        instrument=instrument,
        side=side,
        open_lots=1,
        limit_ticks=price,
    )
    return inputs_with(firm=Firm(basis_seq=7, orders=(order,), fills=()))


@pytest.mark.parametrize(
    ("side", "price", "met"),
    [("SELL", 26_969, 1), ("SELL", 26_970, 0), ("SELL", 1, 1), ("BUY", 99_999, 0)],
)
def test_an_order_never_meets_an_own_one(side: str, price: int, met: int) -> None:
    result = judged("R17", "own_orders", inputs=other(side, price))
    assert result.observed == met
    assert result.action is (Action.REJECT if met else Action.ALLOW)


def test_orders_of_other_instruments_are_not_met() -> None:
    assert judged("R17", "own_orders", inputs=other("SELL", 1, instrument="NDXN")).observed == 0


def test_a_side_that_is_none_refuses() -> None:
    assert judged("R17", "own_orders", inputs=other("SHORT", 1)).outcome is Outcome.REFUSED


def restricting(*names: str) -> Policy:
    document: Any = json.loads(json.dumps(FULL.model_dump(mode="json")))
    document["families"]["restricted"]["names"] = [
        {"name": one, "owner": "compliance", "why": "a test", "review_by": "2027-01-01"}
        for one in names
    ]
    return policy_from_document(document)


@pytest.mark.parametrize(("name", "hits"), [("SPXN", 1), ("SPX", 1), ("NDX", 0), ("spxn", 0)])
def test_a_restricted_name_is_refused_by_symbol_and_by_issuer(name: str, hits: int) -> None:
    result = judged("R18", "listed", restricting(name))
    assert (result.observed, result.action) == (hits, Action.REJECT if hits else Action.ALLOW)


def test_a_restricted_name_is_not_even_sold() -> None:
    policy = restricting("SPXN")
    state = full_state(policy, book=fold(bought(700)))
    sale = intent_with(side="SELL", qty_lots=1, limit_ticks=26_950)
    assert evaluate(policy, state, sale).action >= Action.REJECT


@pytest.mark.parametrize(("over", "outcome"), [(0, Outcome.PASS), (1, Outcome.BREACH)])
def test_the_credit_line_counts_the_order(over: int, outcome: Outcome) -> None:
    policy = full_policy(families__account__credit_max=ORDER - over)
    assert judged("R22", "line", policy).outcome is outcome


def test_credit_warns_before_its_end() -> None:
    policy = full_policy(families__account__credit_max=ORDER)
    assert judged("R22", "line", policy).action is Action.WARN


def test_margin_needs_what_everything_needs() -> None:
    book = fold(bought(100, 50_000, instrument="NDXN"), reserved("d-0", 10, 26_000))
    result = judged("R23", "margin", book=book)
    assert result.observed == -(-(ORDER + 100 * 50_000 + 10 * 26_000) * 2_500 // BP)
    assert result.limit == EQUITY


@pytest.mark.parametrize("rate", [None, 1.5, True])
def test_margin_without_a_rate_refuses(rate: Any) -> None:  # noqa: ANN401 - any type
    row = Listed(symbol="SPXN", sector="broad", margin_bp=rate)
    assert judged("R23", "margin", inputs=reference(row)).outcome is Outcome.REFUSED


def test_margin_above_equity_is_refused() -> None:
    row = Listed(symbol="SPXN", sector="broad", margin_bp=60_000)
    result = judged("R23", "margin", inputs=reference(row))
    assert (result.outcome, result.reason) == (Outcome.BREACH, Reason.MARGIN_ABOVE_EQUITY)


def test_a_reference_of_another_type_refuses() -> None:
    strange: Any = inputs_with(reference="none")
    assert judged("R10", "sector", inputs=strange).action is Action.REJECT
    assert isinstance(INPUTS.reference, Reference)
