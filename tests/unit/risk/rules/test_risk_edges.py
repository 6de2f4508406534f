"""Edges of single rules that a world in good order never comes to."""

from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import evaluate
from risk.intent import Intent, Side
from risk.policy.policy import Policy
from risk.rules.messages.rates import MICRO, used_micro
from risk.state.state import RiskState
from risk.verdict import Action, Outcome, Reason, RuleResult
from tests.doubles.risk_cases import (
    EQUITY,
    FORECAST,
    NOW_US,
    PLAYBACK,
    bought,
    busy_book,
    fold,
    found,
    intent_with,
    policy_with,
    reserved,
    state_with,
)


def judged(
    rule: str,
    check: str,
    policy: Policy = PLAYBACK,
    intent: Intent | None = None,
    **state: Any,  # noqa: ANN401 - any field of a state
) -> RuleResult:
    """One check of a verdict."""
    made: RiskState = state_with(policy, **state)
    return found(evaluate(policy, made, intent or intent_with()), rule, check)


@pytest.mark.parametrize(("cooling", "observed"), [(0, 0), (1, 0), (2, 120), (3, 120)])
def test_a_finished_days_loss_counts_for_as_many_days_as_policy_says(
    cooling: int, observed: int
) -> None:
    book = fold()
    days = tuple(
        replace(book.day, day=f"day-{n}", low_minor=EQUITY - loss)
        for n, loss in enumerate((1_200_000, 0))
    )
    policy = policy_with(account__cooling_days=cooling)
    result = judged("R11", "day_loss", policy, book=replace(book, past_days=days))
    assert result.observed == observed


def test_without_equity_no_loss_can_be_measured() -> None:
    for rule, check in (("R11", "day_loss"), ("R12", "drawdown"), ("R07", "gross")):
        result = judged(rule, check, book=replace(fold(), cash_minor=0))
        assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.NO_EQUITY)


def test_a_drawdown_is_a_share_of_the_peak() -> None:
    book = replace(fold(), peak_minor=2 * EQUITY)
    assert judged("R12", "drawdown", book=book).observed == 5_000


def test_a_loss_warns_from_the_first_point_where_policy_says_so() -> None:
    policy = policy_with(account__warn_at=0)
    lost = replace(fold(), day=replace(fold().day, low_minor=EQUITY - 1))
    assert judged("R11", "day_loss", policy, book=lost).action is Action.WARN
    assert judged("R11", "day_loss", policy).action is Action.ALLOW
    at = policy_with(account__warn_at=10_000)
    assert judged("R11", "day_loss", at, book=lost).action is Action.ALLOW


def test_messages_are_counted_whatever_order_their_times_came_in() -> None:
    times = (NOW_US, NOW_US - 150_000, NOW_US - 50_000, NOW_US + 10**9)
    book = replace(fold(), message_times_us=times)
    # At 10 a second: 1 - 1 by 100 ms, then 1, half of it gone in 50 ms, then two more.
    assert used_micro(times, NOW_US, 10) == 2_500_000
    assert judged("R13", "bucket", book=book).observed == 3 + 1
    assert used_micro((NOW_US,), NOW_US + 40_000, 10) == MICRO - 400_000
    assert used_micro((NOW_US,), NOW_US + 10**9, 10) == 0
    assert used_micro((), NOW_US, 10) == 0


def test_a_reserve_is_rounded_in_favour_of_the_cancels() -> None:
    policy = policy_with(account__message_burst=21)
    assert judged("R13", "reserve", policy).limit == 21 - 7  # 30 % of 21 is 6.3
    assert judged("R13", "bucket", policy).limit == 21


def test_a_renewals_own_message_is_counted_once() -> None:
    book = fold(reserved("d-1", 700), reserved("d-2", 1))
    assert judged("R13", "bucket", book=book).observed == 3
    assert judged("R13", "bucket", book=book, renewal=True).observed == 2


def test_a_short_uses_up_position_and_net_limits_as_a_long_does() -> None:
    short = fold(bought(-400))
    sale = intent_with(side=Side.SELL, qty_lots=200, limit_ticks=26_950)
    position = judged("R06", "position", intent=sale, book=short)
    assert (position.observed, position.outcome) == (600, Outcome.PASS)
    assert judged("R06", "short", intent=sale, book=short).observed == 600
    equity = EQUITY
    worth = 400 * 26_900 + 200 * 26_959
    assert judged("R08", "net", intent=sale, book=short).observed == -(-worth * 10_000 // equity)
    tight = policy_with(instruments__0__position_max=599)
    over = judged("R06", "position", tight, intent=sale, book=short)
    assert over.reason is Reason.POSITION_ABOVE_MAXIMUM


@pytest.mark.parametrize("p_up", [-1, 10_001])
def test_a_direction_without_a_probability_cannot_be_judged(p_up: int) -> None:
    broken = object.__new__(type(FORECAST))
    for name in FORECAST.__dataclass_fields__:
        object.__setattr__(broken, name, getattr(FORECAST, name))
    object.__setattr__(broken, "p_up_bp", p_up)
    result = judged("R26", "direction", intent=intent_with(directional=True), forecast=broken)
    assert (result.outcome, result.reason) == (Outcome.REFUSED, Reason.OUT_OF_RANGE)


def test_an_overlay_that_reduces_is_asked_for_no_direction_either() -> None:
    sale = intent_with(side=Side.SELL, qty_lots=10, limit_ticks=26_950)
    for directional, reason in ((False, Reason.NOT_DIRECTIONAL), (True, Reason.REDUCES_RISK)):
        intent = replace(sale, directional=directional)
        assert judged("R26", "direction", intent=intent, book=busy_book()).reason is reason


@pytest.mark.parametrize(
    ("part", "check", "reason"),
    [
        ("policy", "policy_readable", Reason.POLICY_MISMATCH),
        ("intent", "intent_readable", Reason.INTENT_MALFORMED),
        ("state", "state_readable", Reason.STATE_MALFORMED),
    ],
)
def test_what_cannot_be_read_is_named(part: str, check: str, reason: Reason) -> None:
    given: dict[str, Any] = {"policy": PLAYBACK, "intent": intent_with(), "state": state_with()}
    well = found(evaluate(**given), "R00", check)
    assert (well.observed, well.outcome, well.reason) == (0, Outcome.PASS, Reason.WITHIN_LIMIT)
    given[part] = None
    result = found(evaluate(**given), "R00", check)
    assert (result.observed, result.margin, result.reason) == (1, -1, reason)
    assert (result.outcome, result.action) == (Outcome.BREACH, Action.REJECT)
