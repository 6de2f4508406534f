"""Stops apart from the kill: what they refuse, and that a verdict without them is as before."""

from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.forms.documents import document_of, value_of
from risk.intent import Side
from risk.state.state import RiskState, Stop
from risk.state.trace import state_digest
from risk.verdict import Action, Outcome, Reason
from tests.doubles.risk_cases import (
    INTENT,
    PLAYBACK,
    bought,
    fold,
    found,
    intent_with,
    reserved,
    state_with,
)

HELD = fold(bought(700))
SELLS = intent_with(side=Side.SELL, qty_lots=5, limit_ticks=26_800)


def test_a_pause_refuses_every_new_order_also_one_that_reduces() -> None:
    for intent in (INTENT, SELLS):
        verdict = evaluate(PLAYBACK, state_with(book=HELD, stops=(Stop.PAUSE,)), intent)
        result = found(verdict, "R01", "paused")
        assert (verdict.action, result.outcome) == (Action.REJECT, Outcome.BREACH)
        assert result.reason is Reason.ENTRIES_PAUSED


@pytest.mark.parametrize(
    ("book", "qty", "passes"),
    [(HELD, 5, True), (HELD, 700, True), (HELD, 701, False), (fold(), 5, False)],
)
def test_reduce_only_lets_pass_what_shrinks_the_position(
    book: Any,  # noqa: ANN401 - a book
    qty: int,
    *,
    passes: bool,
) -> None:
    sells = intent_with(side=Side.SELL, qty_lots=qty, limit_ticks=26_800)
    verdict = evaluate(PLAYBACK, state_with(book=book, stops=(Stop.REDUCE_ONLY,)), sells)
    result = found(verdict, "R01", "reduces")
    assert (result.margin == 0) is passes
    assert result.reason is (Reason.WITHIN_LIMIT if passes else Reason.DOES_NOT_REDUCE)


def test_reduce_only_counts_what_already_waits_to_sell() -> None:
    book = fold(bought(700), reserved("d-2", -698))
    verdict = evaluate(PLAYBACK, state_with(book=book, stops=(Stop.REDUCE_ONLY,)), SELLS)
    assert found(verdict, "R01", "reduces").reason is Reason.DOES_NOT_REDUCE


def test_a_buy_is_no_reduction_of_a_long_position() -> None:
    verdict = evaluate(PLAYBACK, state_with(book=HELD, stops=(Stop.REDUCE_ONLY,)), INTENT)
    assert found(verdict, "R01", "reduces").reason is Reason.DOES_NOT_REDUCE


@pytest.mark.parametrize("odd", [None, "pause", ("pause",), [Stop.PAUSE], True, (None,)])
def test_stops_that_cannot_be_read_refuse(odd: object) -> None:
    verdict = evaluate(PLAYBACK, state_with(stops=odd), INTENT)
    result = found(verdict, "R01", "stops")
    assert (verdict.action, result.outcome) == (Action.REJECT, Outcome.REFUSED)


def test_without_a_stop_state_and_verdict_are_as_before_the_stops() -> None:
    state = state_with(stops=())
    assert state_digest(state) == state_digest(state_with())
    assert not {"paused", "reduces"} & {r.check for r in evaluate(PLAYBACK, state, INTENT).results}


def test_a_state_names_its_stops() -> None:
    stopped = state_with(stops=(Stop.PAUSE, Stop.REDUCE_ONLY))
    assert document_of(stopped)["stops"] == ["pause", "reduce-only"]
    assert value_of(RiskState, document_of(stopped)) == stopped
    assert state_digest(stopped) != state_digest(state_with())


def test_an_open_breaker_holds_what_grows_and_lets_pass_what_shrinks() -> None:
    for intent, action in ((INTENT, Action.HOLD), (SELLS, Action.ALLOW)):
        verdict = evaluate(PLAYBACK, state_with(book=HELD, stops=(Stop.BREAKER,)), intent)
        result = found(verdict, "R29", "breaker")
        assert (verdict.action, result.action) == (action, action), verdict.worst
    assert "R29" not in {r.rule_id for r in evaluate(PLAYBACK, state_with(), INTENT).results}


def test_a_breaker_never_makes_milder_what_another_stop_or_rule_refuses() -> None:
    stopped = state_with(book=HELD, stops=(Stop.PAUSE, Stop.BREAKER))
    assert evaluate(PLAYBACK, stopped, INTENT).action is Action.REJECT
