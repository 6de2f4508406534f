"""One world for each check of the rules, in which just that is broken, and what it then says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from risk.intent import Intent, Side
from risk.numbers.standing import PolicyStanding
from risk.policy.policy import Policy
from risk.state.book import DayStarted, Marked, MessageSent
from risk.state.state import KillState, Phase, RiskState, seen
from risk.verdict import Action, Reason
from tests.doubles.risk_cases import (
    FORECAST,
    HOUR_US,
    INTENT,
    NOW_US,
    PLAYBACK,
    QUOTE,
    bought,
    fold,
    intent_with,
    policy_with,
    state_with,
)

World = tuple[Policy, RiskState, Intent]


def world(
    policy: Policy = PLAYBACK,
    intent: Intent = INTENT,
    **state: Any,  # noqa: ANN401 - any field
) -> World:
    return policy, state_with(policy, **state), intent


def with_policy(path: str, value: int, intent: Intent = INTENT, **state: Any) -> World:  # noqa: ANN401
    return world(policy_with(**{path: value}), intent, **state)


def quoted(**changes: Any) -> World:  # noqa: ANN401 - any field, any value
    return world(quote=replace(QUOTE, **changes))


def forecast_with(**changes: Any) -> World:  # noqa: ANN401 - any field, any value
    return world(intent=intent_with(directional=True), forecast=replace(FORECAST, **changes))


def standing(found_: PolicyStanding) -> World:
    state = state_with()
    return (
        PLAYBACK,
        replace(state, policy_status=replace(state.policy_status, standing=found_)),
        INTENT,
    )


def held_in_other_units() -> World:
    book = fold(bought(10))
    other = replace(book.positions[0], unit_minor=2)
    return world(book=replace(book, positions=(other,)))


LOSS = fold(
    DayStarted(day="2018-03-01", time_us=NOW_US - 2 * HOUR_US),
    bought(1_000, 27_000, time_us=NOW_US - HOUR_US),
    Marked(instrument="SPXN", price_ticks=20_000, time_us=NOW_US - 1),
)
FLOOD = fold(*(MessageSent(decision_id=None, time_us=NOW_US) for _ in range(700)))
BROKEN: dict[str, tuple[str, str, Reason, Action, Callable[[], World]]] = {
    "expired": (
        "R00",
        "policy",
        Reason.POLICY_EXPIRED,
        Action.REJECT,
        lambda: standing(PolicyStanding.EXPIRED),
    ),
    "unsigned": (
        "R00",
        "policy",
        Reason.POLICY_UNSIGNED,
        Action.REJECT,
        lambda: standing(PolicyStanding.UNSIGNED),
    ),
    "too early": (
        "R00",
        "policy",
        Reason.POLICY_NOT_YET_VALID,
        Action.REJECT,
        lambda: standing(PolicyStanding.NOT_YET_VALID),
    ),
    "another policy": (
        "R00",
        "policy",
        Reason.POLICY_MISMATCH,
        Action.REJECT,
        lambda: (policy_with(account__cooling_days=3), state_with(), INTENT),
    ),
    "another account": (
        "R00",
        "subject",
        Reason.ACCOUNT_MISMATCH,
        Action.REJECT,
        lambda: world(intent=intent_with(account="other")),
    ),
    "another instrument": (
        "R00",
        "subject",
        Reason.INSTRUMENT_MISMATCH,
        Action.REJECT,
        lambda: world(instrument=replace(state_with().instrument, symbol="NDXN")),
    ),
    "another class": (
        "R00",
        "subject",
        Reason.INSTRUMENT_MISMATCH,
        Action.REJECT,
        lambda: world(instrument=replace(state_with().instrument, asset_class="fx")),
    ),
    "another currency": (
        "R00",
        "subject",
        Reason.CURRENCY_MISMATCH,
        Action.REJECT,
        lambda: world(instrument=replace(state_with().instrument, currency="EUR")),
    ),
    "other units": (
        "R00",
        "subject",
        Reason.INSTRUMENT_MISMATCH,
        Action.REJECT,
        held_in_other_units,
    ),
    "no decision": (
        "R00",
        "subject",
        Reason.INTENT_MALFORMED,
        Action.REJECT,
        lambda: world(intent=intent_with(decision_id="")),
    ),
    "no author": (
        "R00",
        "subject",
        Reason.INTENT_MALFORMED,
        Action.REJECT,
        lambda: world(intent=intent_with(author="")),
    ),
    "a clock that went back": (
        "R00",
        "clock_behind",
        Reason.CLOCK_BACKWARDS,
        Action.REJECT,
        lambda: world(book=replace(fold(), as_of_us=NOW_US + 10 * HOUR_US)),
    ),
    "killed": (
        "R01",
        "latch",
        Reason.KILLED,
        Action.REJECT,
        lambda: world(kill=KillState(killed=True, kill_epoch=3, egress_epoch=3)),
    ),
    "epochs apart": (
        "R01",
        "epoch",
        Reason.KILL_EPOCH_DIFFERS,
        Action.REJECT,
        lambda: world(kill=KillState(killed=False, kill_epoch=3, egress_epoch=2)),
    ),
    "too many": (
        "R03",
        "maximum",
        Reason.QUANTITY_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy("instruments__0__order_qty_max", 699),
    ),
    "too few": (
        "R03",
        "minimum",
        Reason.QUANTITY_BELOW_MINIMUM,
        Action.REJECT,
        lambda: world(instrument=replace(state_with().instrument, min_qty=1_400)),
    ),
    "off the step": (
        "R03",
        "step",
        Reason.QUANTITY_OFF_STEP,
        Action.REJECT,
        lambda: world(instrument=replace(state_with().instrument, min_qty=3)),
    ),
    "too much money": (
        "R04",
        "notional",
        Reason.NOTIONAL_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy("account__order_notional_max", 700 * 26_969 - 1),
    ),
    "too dear": (
        "R05",
        "collar",
        Reason.PRICE_OUTSIDE_COLLAR,
        Action.REJECT,
        lambda: world(intent=intent_with(limit_ticks=40_000)),
    ),
    "too large a position": (
        "R06",
        "position",
        Reason.POSITION_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy("instruments__0__position_max", 699),
    ),
    "too short": (
        "R06",
        "short",
        Reason.SHORT_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy(
            "instruments__0__short_max", 699, intent_with(side=Side.SELL, limit_ticks=26_947)
        ),
    ),
    "gross": (
        "R07",
        "gross",
        Reason.GROSS_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy("account__gross_max", 1),
    ),
    "net": (
        "R08",
        "net",
        Reason.NET_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy("account__net_max", 1),
    ),
    "leverage": (
        "R09",
        "leverage",
        Reason.LEVERAGE_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: with_policy("account__leverage_max", 1),
    ),
    "a bad day": (
        "R11",
        "day_loss",
        Reason.DAY_LOSS_ABOVE_MAXIMUM,
        Action.HALT,
        lambda: world(book=LOSS),
    ),
    "a bad year": (
        "R12",
        "drawdown",
        Reason.DRAWDOWN_ABOVE_MAXIMUM,
        Action.HALT,
        lambda: with_policy("account__drawdown_max", 1, book=LOSS),
    ),
    "a flood": (
        "R13",
        "bucket",
        Reason.MESSAGE_RATE_ABOVE_MAXIMUM,
        Action.REJECT,
        lambda: world(book=FLOOD),
    ),
    "into the reserve": (
        "R13",
        "reserve",
        Reason.MESSAGE_RESERVE_REACHED,
        Action.THROTTLE,
        lambda: with_policy("account__message_reserve", 10_000),
    ),
    "the same intent": (
        "R16",
        "intent",
        Reason.DUPLICATE_INTENT,
        Action.REJECT,
        lambda: world(recent=(seen(INTENT, NOW_US - HOUR_US),)),
    ),
    "the same order": (
        "R16",
        "order",
        Reason.DUPLICATE_ORDER,
        Action.REJECT,
        lambda: world(recent=(seen(intent_with(decision_id="d-9"), NOW_US),)),
    ),
    "an old quote": (
        "R24",
        "quote_age",
        Reason.QUOTE_STALE,
        Action.REJECT,
        lambda: quoted(time_us=NOW_US - HOUR_US),
    ),
    "a quote of tomorrow": (
        "R24",
        "quote_ahead",
        Reason.QUOTE_FROM_THE_FUTURE,
        Action.REJECT,
        lambda: quoted(time_us=NOW_US + 1),
    ),
    "a crossed quote": (
        "R24",
        "spread",
        Reason.QUOTE_CROSSED,
        Action.REJECT,
        lambda: quoted(bid_ticks=26_960),
    ),
    "a gap": ("R24", "gap", Reason.MARKET_DATA_GAP, Action.REJECT, lambda: quoted(seq_gap=1)),
    "a gap backwards": (
        "R24",
        "gap",
        Reason.MARKET_DATA_GAP,
        Action.REJECT,
        lambda: quoted(seq_gap=-1),
    ),
    "an auction": (
        "R24",
        "phase",
        Reason.MARKET_NOT_OPEN,
        Action.REJECT,
        lambda: quoted(phase=Phase.AUCTION),
    ),
    "an old forecast": (
        "R25",
        "forecast_age",
        Reason.FORECAST_STALE,
        Action.REJECT,
        lambda: forecast_with(as_of_us=NOW_US - 9_000 * HOUR_US),
    ),
    "a forecast of tomorrow": (
        "R25",
        "forecast_ahead",
        Reason.FORECAST_FROM_THE_FUTURE,
        Action.REJECT,
        lambda: forecast_with(as_of_us=NOW_US + 1),
    ),
    "old news": (
        "R25",
        "narrative_age",
        Reason.NARRATIVE_STALE,
        Action.REJECT,
        lambda: world(narrative_as_of_us=NOW_US - 9_000 * HOUR_US),
    ),
    "news of tomorrow": (
        "R25",
        "narrative_ahead",
        Reason.NARRATIVE_FROM_THE_FUTURE,
        Action.REJECT,
        lambda: world(narrative_as_of_us=NOW_US + 1),
    ),
    "no belief": (
        "R26",
        "direction",
        Reason.DIRECTION_NOT_SUPPORTED,
        Action.REJECT,
        lambda: forecast_with(p_up_bp=1),
    ),
    "few paths": (
        "R26",
        "paths",
        Reason.TOO_FEW_PATHS,
        Action.REJECT,
        lambda: forecast_with(n_paths=2),
    ),
    "a wide guess": (
        "R26",
        "interval",
        Reason.INTERVAL_TOO_WIDE,
        Action.REJECT,
        lambda: forecast_with(interval_high_1e8=10**12),
    ),
    "a person": (
        "R31",
        "notional",
        Reason.NEEDS_A_PERSON,
        Action.HOLD,
        lambda: with_policy("approval__human_notional", 1),
    ),
}
