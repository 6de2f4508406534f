"""Every limit passes at the limit and breaches one unit beyond it, with margin and action."""

from dataclasses import replace

import pytest

from risk.evaluate import evaluate
from risk.intent import Intent, Side
from risk.policy.policy import Policy
from risk.state.book import DayStarted, Marked
from risk.state.state import KillState, Phase, Quote, RiskState, seen
from risk.verdict import Action, Outcome, Reason
from tests.doubles.risk_cases import (
    NOW_US,
    PLAYBACK,
    QUOTE,
    bought,
    busy_book,
    fold,
    found,
    intent_with,
    policy_with,
    reserved,
    state_with,
    status_of,
)

# Where the policy states the limit, and what a breach does.
MAXIMA = {
    ("R00", "clock_behind"): ("classes__0__clock_skew_max", Action.REJECT),
    ("R03", "maximum"): ("instruments__0__order_qty_max", Action.REJECT),
    ("R04", "notional"): ("account__order_notional_max", Action.REJECT),
    ("R05", "collar"): ("classes__0__price_collar", Action.REJECT),
    ("R06", "position"): ("instruments__0__position_max", Action.REJECT),
    ("R07", "gross"): ("account__gross_max", Action.REJECT),
    ("R08", "net"): ("account__net_max", Action.REJECT),
    ("R09", "leverage"): ("account__leverage_max", Action.REJECT),
    ("R11", "day_loss"): ("account__day_loss_max", Action.HALT),
    ("R12", "drawdown"): ("account__drawdown_max", Action.HALT),
    ("R24", "quote_age"): ("classes__0__quote_age_max", Action.REJECT),
    ("R25", "forecast_age"): ("classes__0__forecast_age_max", Action.REJECT),
    ("R25", "narrative_age"): ("classes__0__narrative_age_max", Action.REJECT),
    ("R26", "interval"): ("classes__0__interval_width_max", Action.REJECT),
    ("R31", "notional"): ("approval__human_notional", Action.HOLD),
}
MINIMA = {
    ("R26", "direction"): "classes__0__directional_p_up_min",
    ("R26", "paths"): "classes__0__paths_min",
}


def world(policy: Policy) -> tuple[RiskState, Intent]:
    """A state in which every measured value is above zero, so that its limit can be put beneath."""
    book = replace(busy_book(), as_of_us=NOW_US + 7)
    quote = replace(QUOTE, time_us=NOW_US - 1_500_000)
    return state_with(policy, book=book, quote=quote), intent_with(directional=True, qty_lots=500)


def observed(rule: str, check: str) -> int:
    state, intent = world(PLAYBACK)
    value = found(evaluate(PLAYBACK, state, intent), rule, check).observed
    assert value is not None
    assert value > 0
    return value


@pytest.mark.parametrize(("rule", "check"), MAXIMA)
@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_a_maximum_passes_up_to_its_limit(rule: str, check: str, beyond: int) -> None:
    path, action = MAXIMA[rule, check]
    policy = policy_with(**{path: observed(rule, check) - beyond})
    state, intent = world(policy)
    result = found(evaluate(policy, state, intent), rule, check)
    assert result.margin == -beyond
    assert result.outcome == (Outcome.BREACH if beyond > 0 else Outcome.PASS)
    assert (result.action is action) == (beyond > 0)
    assert result.action in {Action.ALLOW, Action.WARN, action}


@pytest.mark.parametrize(("rule", "check"), MINIMA)
@pytest.mark.parametrize("short_of", [-1, 0, 1])
def test_a_minimum_passes_down_to_its_limit(rule: str, check: str, short_of: int) -> None:
    policy = policy_with(**{MINIMA[rule, check]: observed(rule, check) + short_of})
    state, intent = world(policy)
    result = found(evaluate(policy, state, intent), rule, check)
    assert result.margin == -short_of
    assert (result.outcome is Outcome.BREACH) == (short_of > 0)
    assert (result.action is Action.REJECT) == (short_of > 0)


def test_a_directional_sale_needs_the_mirror_image() -> None:
    book = fold()
    for p_up, passes in ((4_500, True), (4_501, False)):
        base = state_with(book=book)
        assert base.forecast is not None
        state = replace(base, forecast=replace(base.forecast, p_up_bp=p_up))
        intent = intent_with(side=Side.SELL, limit_ticks=26_947, directional=True)
        result = found(evaluate(PLAYBACK, state, intent), "R26", "direction")
        assert (result.outcome is Outcome.PASS) == passes


@pytest.mark.parametrize(
    ("qty", "smallest", "minimum", "step"),
    [(1, 1, True, True), (0, 1, False, True), (9, 10, False, False), (10, 10, True, True)],
)
def test_quantity_starts_at_the_smallest_and_keeps_the_step(
    qty: int, smallest: int, *, minimum: bool, step: bool
) -> None:
    base = state_with()
    state = replace(base, instrument=replace(base.instrument, min_qty=smallest))
    verdict = evaluate(PLAYBACK, state, intent_with(qty_lots=qty))
    assert (found(verdict, "R03", "minimum").outcome is Outcome.PASS) == minimum
    assert (found(verdict, "R03", "step").outcome is Outcome.PASS) == step


@pytest.mark.parametrize(("ask", "passes"), [(26_958, True), (26_957, False), (26_956, False)])
def test_a_locked_or_crossed_quote_is_refused(ask: int, *, passes: bool) -> None:
    quote = replace(QUOTE, ask_ticks=ask)
    result = found(evaluate(PLAYBACK, state_with(quote=quote), intent_with()), "R24", "spread")
    assert (result.outcome is Outcome.PASS) == passes


@pytest.mark.parametrize("phase", Phase)
def test_only_an_open_market_trades(phase: Phase) -> None:
    verdict = evaluate(PLAYBACK, state_with(quote=replace(QUOTE, phase=phase)), intent_with())
    assert (found(verdict, "R24", "phase").outcome is Outcome.PASS) == (phase is Phase.OPEN)


@pytest.mark.parametrize(("ahead", "check"), [(1, "quote_ahead"), (0, "quote_ahead")])
def test_a_quote_from_the_future_is_refused(ahead: int, check: str) -> None:
    quote = replace(QUOTE, time_us=NOW_US + ahead)
    result = found(evaluate(PLAYBACK, state_with(quote=quote), intent_with()), "R24", check)
    assert (result.outcome is Outcome.PASS) == (ahead == 0)


@pytest.mark.parametrize("short", [0, 1])
def test_a_short_position_is_measured_against_its_own_limit(short: int) -> None:
    policy = policy_with(instruments__0__short_max=99)
    state = state_with(policy, book=fold(bought(1)))
    intent = intent_with(side=Side.SELL, qty_lots=100 + short, limit_ticks=26_947)
    result = found(evaluate(policy, state, intent), "R06", "short")
    assert result.observed == 99 + short
    assert (result.outcome is Outcome.PASS) == (short == 0)


@pytest.mark.parametrize(
    ("kill", "check", "reason"),
    [
        (KillState(killed=True, kill_epoch=3, egress_epoch=3), "latch", Reason.KILLED),
        (
            KillState(killed=False, kill_epoch=4, egress_epoch=3),
            "epoch",
            Reason.KILL_EPOCH_DIFFERS,
        ),
        (
            KillState(killed=False, kill_epoch=3, egress_epoch=4),
            "epoch",
            Reason.KILL_EPOCH_DIFFERS,
        ),
    ],
)
def test_a_kill_or_a_disagreement_about_it_refuses(
    kill: KillState, check: str, reason: Reason
) -> None:
    verdict = evaluate(PLAYBACK, state_with(kill=kill), intent_with())
    assert found(verdict, "R01", check).reason is reason
    assert verdict.action is Action.REJECT


@pytest.mark.parametrize(("messages", "action"), [(13, Action.ALLOW), (14, Action.THROTTLE)])
def test_new_orders_leave_the_cancel_reserve(messages: int, action: Action) -> None:
    # Burst 20, 30 % kept back: 14 for new orders, the intent's own message included.
    book = replace(fold(), message_times_us=(NOW_US,) * messages)
    assert evaluate(PLAYBACK, state_with(book=book), intent_with()).action is action


@pytest.mark.parametrize(("messages", "action"), [(19, Action.THROTTLE), (20, Action.REJECT)])
def test_an_empty_bucket_rejects(messages: int, action: Action) -> None:
    book = replace(fold(), message_times_us=(NOW_US,) * messages)
    assert evaluate(PLAYBACK, state_with(book=book), intent_with()).action is action


@pytest.mark.parametrize(("age", "passes"), [(1_000_000, False), (1_000_001, True)])
def test_the_same_order_passes_after_the_window(age: int, *, passes: bool) -> None:
    twin = seen(intent_with(decision_id="d-9"), NOW_US - age)
    verdict = evaluate(PLAYBACK, state_with(recent=(twin,)), intent_with())
    assert (found(verdict, "R16", "order").outcome is Outcome.PASS) == passes


def test_the_same_intent_never_passes_again() -> None:
    twin = seen(intent_with(), NOW_US - 10**14)
    verdict = evaluate(PLAYBACK, state_with(recent=(twin,)), intent_with())
    assert found(verdict, "R16", "intent").reason is Reason.DUPLICATE_INTENT
    assert verdict.action is Action.REJECT


def test_a_changed_intent_under_an_old_decision_is_a_duplicate() -> None:
    twin = seen(intent_with(), NOW_US - 10**14)
    verdict = evaluate(PLAYBACK, state_with(recent=(twin,)), intent_with(qty_lots=699))
    assert found(verdict, "R16", "intent").reason is Reason.DUPLICATE_INTENT


def test_a_renewal_leaves_its_own_past_and_reservation_out() -> None:
    twin = seen(intent_with(), NOW_US - 1)
    book = fold(reserved("d-1", 700))
    first = evaluate(PLAYBACK, state_with(recent=(twin,), book=book), intent_with())
    again = evaluate(PLAYBACK, state_with(recent=(twin,), book=book, renewal=True), intent_with())
    assert first.action is Action.REJECT
    assert again.action is Action.ALLOW
    assert found(first, "R06", "position").observed == 1_400
    assert found(again, "R06", "position").observed == 700


@pytest.mark.parametrize(
    ("loss", "action"), [(700_000, Action.ALLOW), (700_001, Action.WARN), (1_000_000, Action.WARN)]
)
def test_a_loss_warns_from_seventy_percent_of_its_limit(loss: int, action: Action) -> None:
    base = fold()
    book = replace(base, day=replace(base.day, low_minor=base.day.low_minor - loss))
    assert evaluate(PLAYBACK, state_with(book=book), intent_with()).action is action


@pytest.mark.parametrize(("days_ago", "halts"), [(0, True), (1, True), (2, False)])
def test_a_days_loss_still_counts_in_the_next_session(days_ago: int, *, halts: bool) -> None:
    # 400,000 USD held, 3 % down: 1.2 % of equity, seen at the close after that day's decisions.
    book = fold(
        DayStarted(day="2018-02-05", time_us=1),
        bought(1_500, 26_667, time_us=2),
        Marked(instrument="SPXN", price_ticks=25_867, time_us=3),
        *(DayStarted(day=f"2018-02-{6 + n:02}", time_us=4 + n) for n in range(days_ago)),
    )
    verdict = evaluate(PLAYBACK, state_with(book=book), intent_with(qty_lots=10))
    assert (verdict.action is Action.HALT) == halts
    assert (found(verdict, "R11", "day_loss").observed == 120) == halts


def test_a_bounce_within_the_day_does_not_lift_the_halt() -> None:
    book = fold(
        DayStarted(day="2018-02-05", time_us=1),
        bought(1_500, 26_667, time_us=2),
        Marked(instrument="SPXN", price_ticks=25_867, time_us=3),
        Marked(instrument="SPXN", price_ticks=26_700, time_us=4),
    )
    verdict = evaluate(PLAYBACK, state_with(book=book), intent_with(qty_lots=10))
    assert verdict.action is Action.HALT


def test_an_order_not_yet_sent_has_its_message_spoken_for() -> None:
    book = fold(*(reserved(f"d-{n:02}", 1) for n in range(2, 15)))
    assert (
        found(evaluate(PLAYBACK, state_with(book=book), intent_with()), "R13", "reserve").margin
        == 0
    )
    one_more = fold(reserved("d-99", 1), book=book)
    verdict = evaluate(PLAYBACK, state_with(book=one_more), intent_with())
    assert verdict.action is Action.THROTTLE


def test_a_low_limit_does_not_make_a_sale_look_small() -> None:
    sale = intent_with(side=Side.SELL, qty_lots=100, limit_ticks=26_200)
    result = found(evaluate(PLAYBACK, state_with(), sale), "R04", "notional")
    assert result.observed == 100 * QUOTE.ask_ticks


def test_a_quote_of_another_scale_moves_the_collar() -> None:
    quote = Quote(bid_ticks=10_000, ask_ticks=10_002, time_us=NOW_US, seq_gap=0, phase=Phase.OPEN)
    for limit, passes in ((10_301, True), (10_302, False), (9_701, True), (9_700, False)):
        verdict = evaluate(PLAYBACK, state_with(quote=quote), intent_with(limit_ticks=limit))
        assert (found(verdict, "R05", "collar").outcome is Outcome.PASS) == passes


def test_status_binds_the_policy() -> None:
    other = policy_with(account__gross_max=9_000)
    verdict = evaluate(PLAYBACK, state_with(policy_status=status_of(other)), intent_with())
    assert found(verdict, "R00", "policy").reason is Reason.POLICY_MISMATCH
