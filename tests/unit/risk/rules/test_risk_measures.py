"""What a check measures, in whole shares worked out by hand."""

from dataclasses import replace

import pytest

from risk.evaluate import evaluate
from risk.intent import Intent, Side
from risk.state.book import Book, DayStarted, Marked, MessageSent
from risk.state.state import RiskState
from tests.doubles.risk_cases import (
    FORECAST,
    HOUR_US,
    INTENT,
    NOW_US,
    PLAYBACK,
    bought,
    fold,
    found,
    intent_with,
    state_with,
)

ORDER = 700 * 26_969


def observed(rule: str, check: str, state: RiskState, intent: Intent = INTENT) -> int:
    value = found(evaluate(PLAYBACK, state, intent), rule, check).observed
    assert value is not None
    return value


@pytest.mark.parametrize(("times", "share"), [(1, 10_000), (2, 5_000), (4, 2_500), (3, 3_334)])
def test_exposure_is_a_share_of_equity_rounded_up(times: int, share: int) -> None:
    state = state_with(book=Book.empty("run-1", times * ORDER))
    assert observed("R04", "notional", state) == ORDER
    assert observed("R31", "notional", state) == ORDER
    assert observed("R07", "gross", state) == share
    assert observed("R08", "net", state) == share
    assert observed("R09", "leverage", state) == -(-share // 100)


@pytest.mark.parametrize(("limit", "share"), [(26_958, 0), (53_916, 10_000), (13_479, 5_000)])
def test_the_collar_is_measured_from_the_mid_both_ways(limit: int, share: int) -> None:
    assert observed("R05", "collar", state_with(), intent_with(limit_ticks=limit)) == share


@pytest.mark.parametrize(("hours", "share"), [(240, 10_000), (120, 5_000), (24, 1_000), (0, 0)])
def test_a_forecasts_age_is_a_share_of_its_reach(hours: int, share: int) -> None:
    forecast = replace(FORECAST, as_of_us=NOW_US - hours * HOUR_US)
    assert observed("R25", "forecast_age", state_with(forecast=forecast)) == share


@pytest.mark.parametrize(("mark", "share"), [(5_000, 5_000), (7_500, 2_500), (10_000, 0)])
def test_a_loss_is_a_share_of_what_the_day_began_with(mark: int, share: int) -> None:
    book = fold(
        DayStarted(day="2018-03-01", time_us=NOW_US - 2 * HOUR_US),
        bought(10_000, 10_000, time_us=NOW_US - HOUR_US),
        Marked(instrument="SPXN", price_ticks=mark, time_us=NOW_US - 1),
    )
    assert observed("R11", "day_loss", state_with(book=book)) == share
    assert observed("R12", "drawdown", state_with(book=book)) == share


@pytest.mark.parametrize(("side", "p_up", "support"), [(Side.BUY, 3, 3), (Side.SELL, 3, 9_997)])
def test_support_is_the_probability_of_the_orders_side(side: Side, p_up: int, support: int) -> None:
    state = state_with(forecast=replace(FORECAST, p_up_bp=p_up))
    intent = intent_with(side=side, limit_ticks=26_958, directional=True)
    assert observed("R26", "direction", state, intent) == support
    assert observed("R26", "interval", state, intent) == 10_500_000
    assert observed("R26", "paths", state, intent) == 32


def test_messages_are_kept_in_the_order_of_their_times() -> None:
    """A clock that was set back between two messages leaves the book as the other order would."""
    times = (NOW_US - 3, NOW_US - 9, NOW_US - 5)
    book = fold(*(MessageSent(decision_id=None, time_us=one) for one in times))
    assert book.message_times_us == tuple(sorted(times))
