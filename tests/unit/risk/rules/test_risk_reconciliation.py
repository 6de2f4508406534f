"""R51: passes at its limit, trips by one difference, refuses without input; whose is counted."""

from typing import Any

import pytest

from gateway.walk.journal.control.difference import DifferenceCause, Found
from gateway.walk.projections.differences import Difference
from gateway.walk.projections.gathering import FirmBooks
from risk.evaluate import evaluate
from risk.policy.policy import Policy
from risk.state.inputs.reconciliation import OpenDifferences
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.full_policy import FULL, full_policy, full_state, inputs_with
from tests.doubles.risk_cases import INTENT, bought, fold, found, intent_with


def judged(open_seqs: Any, policy: Policy = FULL) -> RuleResult:  # noqa: ANN401 - any type
    inputs = inputs_with(reconciliation=OpenDifferences(basis_seq=9, open_seqs=open_seqs))
    return found(evaluate(policy, full_state(policy, inputs=inputs), INTENT), "R51", "differences")


@pytest.mark.parametrize(
    ("limit", "seqs", "action"),
    [
        (0, (), Action.ALLOW),
        (0, (3,), Action.HALT),
        (1, (3,), Action.ALLOW),
        (1, (3, 5), Action.HALT),
    ],
)
def test_one_difference_too_many_stops_the_account(
    limit: int, seqs: tuple[int, ...], action: Action
) -> None:
    result = judged(seqs, full_policy(families__control__differences_max=limit))
    assert (result.observed, result.action) == (len(seqs), action)


def test_not_even_an_order_that_reduces_passes() -> None:
    inputs = inputs_with(reconciliation=OpenDifferences(basis_seq=9, open_seqs=(3,)))
    state = full_state(book=fold(bought(700)), inputs=inputs)
    sale = intent_with(side="SELL", qty_lots=1, limit_ticks=26_950)
    verdict = evaluate(FULL, state, sale)
    assert found(verdict, "R51", "differences").reason is Reason.ACCOUNT_DIFFERS
    assert verdict.action is Action.HALT


@pytest.mark.parametrize("seqs", [None, [3], 0, "3", (True,), (1.5,), (None,)])
def test_anything_but_sequence_numbers_refuses(seqs: Any) -> None:  # noqa: ANN401 - any type
    assert judged(seqs).outcome is Outcome.REFUSED


def test_an_absent_source_refuses() -> None:
    inputs = inputs_with(reconciliation=None)
    result = found(evaluate(FULL, full_state(inputs=inputs), INTENT), "R51", "differences")
    assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.INPUT_MISSING)


def test_a_difference_counts_for_its_account_and_without_one_for_each() -> None:
    open_now = tuple(
        Difference(
            seq=seq,
            leaf=b"",
            recorded_at_us=0,
            found=Found(
                cause=DifferenceCause.ACCOUNT_LOTS,
                account=account,
                instrument=instrument,
                cl_ord_id="",
                book_lots=0,
                broker_lots=1,
            ),
        )
        for seq, account, instrument in (
            (4, "run-1", "NDXN"),
            (6, "run-2", "NDXN"),
            (7, "", "NDXN"),  # stops its instrument, and no account
            (8, "", ""),
            (9, "", "*"),
        )
    )
    firm = FirmBooks(basis_seq=10, books=(), differences=open_now, pasts=(), held=frozenset())
    assert firm.reconciliation("run-1").open_seqs == (4, 8, 9)
    assert firm.reconciliation("run-2").open_seqs == (6, 8, 9)
    assert firm.reconciliation("run-3").open_seqs == (8, 9)
