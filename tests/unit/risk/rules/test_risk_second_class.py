"""An instrument of a second class is judged in its own units, by its own section of the policy.

Every number of that section differs from the first class's, one tick of one lot is 1,000 minor
units, and the book holds another instrument short. What each check measures is worked out by hand.
"""

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from risk.evaluate import evaluate
from risk.intent import Side
from risk.policy.policy import Policy, policy_from_document
from risk.rules.exposure import exposure
from risk.state.book import Book, DayStarted, Filled, Marked, MessageSent, Reserved
from risk.state.instrument import Instrument
from risk.state.state import KillState, Phase, Quote, RiskState, seen
from risk.verdict import Action, Outcome, Reason, RuleId
from tests.doubles.risk_cases import (
    FORECAST,
    NOW_US,
    PLAYBACK_BYTES,
    case_of,
    fold,
    found,
    intent_with,
    state_with,
    status_of,
)

UNIT: Final = 1_000
DEPOSIT: Final = 200_000_000
HOUR_US: Final = 3_600_000_000
ACME = Instrument(
    symbol="ACME",
    asset_class="equity",
    tick_minor=5,
    lot=100,
    multiplier=2,
    currency="USD",
    min_qty=2,
)
QUOTE = Quote(
    bid_ticks=4_100, ask_ticks=4_120, time_us=NOW_US - 3_000_000, seq_gap=0, phase=Phase.OPEN
)
OF_CLASS: Final = {
    "price_collar": 150,
    "quote_age_max": 5_000_000,
    "clock_skew_max": 7_000_000,
    "forecast_age_max": 3_000,
    "narrative_age_max": 172_800_000_000,
    "directional_p_up_min": 5_200,
    "paths_min": 24,
    "interval_width_max": 30_000_000,
}
OF_INSTRUMENT: Final = {"order_qty_max": 90, "position_max": 120, "short_max": 6}
INTENT = intent_with(
    instrument="ACME", side=Side.BUY, qty_lots=8, limit_ticks=4_150, directional=True
)


def two_classes(**disarmed: str) -> Policy:
    """The playback policy with a section for shares; `disarmed` takes rules off there only."""
    document: Any = json.loads(PLAYBACK_BYTES)
    shares = json.loads(json.dumps(document["classes"][0]))
    shares["asset_class"] = "equity"
    for name, value in OF_CLASS.items():
        shares[name]["value"] = value
    for entry in shares["arming"]:
        if entry["rule"] in disarmed:
            entry.update(armed=False, reason=disarmed[entry["rule"]])
    document["classes"].append(shares)
    acme = json.loads(json.dumps(document["instruments"][0]))
    acme.update(symbol="ACME", asset_class="equity")
    for name, value in OF_INSTRUMENT.items():
        acme[name]["value"] = value
    document["instruments"].append(acme)
    return policy_from_document(document)


POLICY = two_classes()


def trade(instrument: str, lots: int, price: int, unit: int, time_us: int, fee: int = 0) -> Filled:
    """A fill without reservation; negative quantities sell."""
    return Filled(
        decision_id=None,
        instrument=instrument,
        side=Side.BUY if lots > 0 else Side.SELL,
        qty_lots=abs(lots),
        price_ticks=price,
        unit_minor=unit,
        fee_minor=fee,
        time_us=time_us,
    )


def pending(decision_id: str, instrument: str, lots: int, limit: int, unit: int) -> Reserved:
    """A reservation; negative quantities sell."""
    return Reserved(
        decision_id=decision_id,
        instrument=instrument,
        side=Side.BUY if lots > 0 else Side.SELL,
        qty_lots=abs(lots),
        limit_ticks=limit,
        unit_minor=unit,
        time_us=NOW_US - HOUR_US,
    )


def world_book() -> Book:
    """20 lots held, a short beside it, and orders of three instruments on both sides."""
    day = 24 * HOUR_US
    return fold(
        DayStarted(day="2018-03-01", time_us=NOW_US - 2 * day),
        trade("ACME", 20, 4_000, UNIT, NOW_US - 2 * day + 1, fee=700),
        Marked(instrument="ACME", price_ticks=3_980, time_us=NOW_US - 2 * day + 2),
        Marked(instrument="ACME", price_ticks=4_090, time_us=NOW_US - 2 * day + 3),
        DayStarted(day="2018-03-02", time_us=NOW_US - day),
        trade("NDXN", -10, 60_000, 1, NOW_US - day + 1),
        Marked(instrument="NDXN", price_ticks=61_000, time_us=NOW_US - day + 2),
        Marked(instrument="ACME", price_ticks=4_100, time_us=NOW_US - day + 3),
        Marked(instrument="ACME", price_ticks=4_085, time_us=NOW_US - day + 4),
        pending("d-2", "ACME", -3, 4_050, UNIT),
        pending("d-3", "ACME", 5, 4_200, UNIT),
        pending("d-4", "NDXN", -2, 60_500, 1),
        pending("d-5", "SPXN", 4, 27_000, 1),
        MessageSent(decision_id="d-2", time_us=NOW_US - 1_000),
        MessageSent(decision_id=None, time_us=NOW_US),
        book=Book.empty("run-1", DEPOSIT),
    )


def world(policy: Policy = POLICY, **changes: Any) -> RiskState:  # noqa: ANN401 - any field, any value
    """The state of ACME."""
    forecast = replace(FORECAST, instrument="ACME", as_of_us=NOW_US - 60 * HOUR_US)
    return state_with(
        **{
            "policy_status": status_of(policy),
            "book": replace(world_book(), as_of_us=NOW_US + 6_000_000),
            "instrument": ACME,
            "quote": QUOTE,
            "forecast": forecast,
            "narrative_as_of_us": NOW_US - 40 * HOUR_US,
            **changes,
        }
    )


# 20 lots at 4,085 and 10 sold short at 61,000, in minor units.
HELD, SHORT = 20 * 4_085 * UNIT, 10 * 61_000
EQUITY = DEPOSIT - 20 * 4_000 * UNIT - 700 + HELD + 10 * 60_000 - SHORT
# An order counts at its limit or the mark, whichever is more; without a position at its limit.
BUYS, SELLS = 5 * 4_200 * UNIT + 4 * 27_000, 3 * 4_085 * UNIT + 2 * 61_000
ORDER = 8 * 4_150 * UNIT
GROSS = HELD + SHORT + BUYS + SELLS + ORDER
HIGHEST = DEPOSIT - 20 * 4_000 * UNIT - 700 + 20 * 4_100 * UNIT + 10 * 60_000 - SHORT
EXPECTED: Final = {
    ("R00", "policy_readable"): (0, 0),
    ("R00", "intent_readable"): (0, 0),
    ("R00", "state_readable"): (0, 0),
    ("R00", "policy"): (0, 0),
    ("R00", "subject"): (0, 0),
    ("R00", "clock_behind"): (6_000_000, 7_000_000),
    ("R01", "latch"): (0, 0),
    ("R01", "epoch"): (0, 0),
    ("R03", "maximum"): (8, 90),
    ("R03", "minimum"): (8, 2),
    ("R03", "step"): (0, 0),
    ("R04", "notional"): (ORDER, 40_000_000),
    ("R05", "collar"): (98, 150),  # 40 ticks off 4,110, rounded up
    ("R06", "position"): (20 + 5 + 8, 120),
    ("R06", "short"): (-(20 - 3), 6),
    ("R07", "gross"): (-(-GROSS * 10_000 // EQUITY), 12_500),
    ("R08", "net"): (-(-(HELD - SHORT + BUYS + ORDER) * 10_000 // EQUITY), 11_000),
    ("R09", "leverage"): (-(-GROSS * 100 // EQUITY), 150),
    # The first day fell 400,700 below its start, the second less: 20.035 bp, rounded up.
    ("R11", "day_loss"): (21, 100),
    ("R12", "drawdown"): (-(-(HIGHEST - EQUITY) * 10_000 // HIGHEST), 1_500),
    # Two messages, one of 1 ms ago, three orders unsent, and this one.
    ("R13", "reserve"): (2 + 3 + 1, 14),
    ("R13", "bucket"): (2 + 3 + 1, 20),
    ("R16", "intent"): (0, 0),
    ("R16", "order"): (0, 0),
    ("R24", "quote_age"): (3_000_000, 5_000_000),
    ("R24", "quote_ahead"): (0, 0),
    ("R24", "spread"): (20, 1),
    ("R24", "gap"): (0, 0),
    ("R24", "phase"): (0, 0),
    ("R25", "forecast_age"): (2_500, 3_000),  # 60 of 240 hours
    ("R25", "forecast_ahead"): (0, 0),
    ("R25", "narrative_age"): (40 * HOUR_US, 172_800_000_000),
    ("R25", "narrative_ahead"): (0, 0),
    ("R26", "direction"): (5_600, 5_200),
    ("R26", "paths"): (32, 24),
    ("R26", "interval"): (10_500_000, 30_000_000),
    ("R31", "notional"): (ORDER, 25_000_000),
}


def test_every_check_measures_what_was_worked_out_by_hand() -> None:
    verdict = evaluate(POLICY, world(), INTENT)
    measured = {(str(r.rule_id), r.check): (r.observed, r.limit) for r in verdict.results}
    assert measured == EXPECTED
    assert [(r.rule_id, r.action) for r in verdict.results if r.action is not Action.ALLOW] == [
        (RuleId.R31, Action.HOLD)
    ]


def test_a_sale_is_measured_on_its_own_side() -> None:
    sale = replace(INTENT, side=Side.SELL, limit_ticks=4_090)
    measured = exposure(case_of(POLICY, world(), sale))
    order = 8 * 4_120 * UNIT  # the ask is worse than the limit
    assert (measured.order_minor, measured.equity_minor) == (order, EQUITY)
    assert (measured.high_lots, measured.low_lots) == (20 + 5, 20 - 3 - 8)
    assert measured.gross_minor == HELD + SHORT + BUYS + SELLS + order
    assert measured.net_high_minor == HELD - SHORT + BUYS
    assert measured.net_low_minor == HELD - SHORT - SELLS - order
    assert measured.reduces
    assert not exposure(case_of(POLICY, world(), replace(sale, qty_lots=18))).reduces
    support = found(evaluate(POLICY, world(), sale), "R26", "direction")
    assert (support.observed, support.reason) == (4_400, Reason.REDUCES_RISK)


def test_a_rule_is_taken_off_for_its_class_only() -> None:
    policy = two_classes(R24="shares have no quotes at night")
    stale = replace(QUOTE, time_us=NOW_US - 10**9)
    shares = evaluate(policy, world(policy, quote=stale), INTENT)
    assert found(shares, "R24", "quote_age").outcome is Outcome.NOT_APPLICABLE
    index_quote = replace(stale, bid_ticks=26_957, ask_ticks=26_959)
    index = evaluate(policy, state_with(policy, quote=index_quote), intent_with())
    assert found(index, "R24", "quote_age").outcome is Outcome.BREACH


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tick_minor": 6}, Reason.INSTRUMENT_MISMATCH),
        ({"lot": 101}, Reason.INSTRUMENT_MISMATCH),
        ({"multiplier": 3}, Reason.INSTRUMENT_MISMATCH),
        ({"currency": "EUR"}, Reason.CURRENCY_MISMATCH),
        ({"asset_class": "index"}, Reason.INSTRUMENT_MISMATCH),
        ({"min_qty": 3}, Reason.QUANTITY_OFF_STEP),
    ],
)
def test_reference_data_that_changed_is_noticed(change: dict[str, Any], reason: Reason) -> None:
    verdict = evaluate(POLICY, world(instrument=replace(ACME, **change)), INTENT)
    assert reason in {result.reason for result in verdict.worst}


def test_the_shorts_limit_is_the_instruments_own() -> None:
    for lots, outcome in ((6, Outcome.PASS), (8, Outcome.BREACH)):
        flat = replace(world_book(), positions=(), reservations=(), as_of_us=NOW_US)
        sale = replace(INTENT, side=Side.SELL, qty_lots=lots, limit_ticks=4_110, directional=False)
        assert found(evaluate(POLICY, world(book=flat), sale), "R06", "short").outcome is outcome


def test_a_kill_is_noticed_whichever_side_is_ahead() -> None:
    for ours, theirs in ((9, 3), (3, 9)):
        kill = KillState(killed=False, kill_epoch=ours, egress_epoch=theirs)
        result = found(evaluate(POLICY, world(kill=kill), INTENT), "R01", "epoch")
        assert (result.observed, result.reason) == (6, Reason.KILL_EPOCH_DIFFERS)


def test_the_same_order_counts_within_the_window_on_both_sides_of_now() -> None:
    window = POLICY.account.duplicate_window.value
    for apart, doubled in ((-window - 1, 0), (-window, 1), (window, 1), (window + 1, 0)):
        twin = seen(replace(INTENT, decision_id="d-9", author="else"), NOW_US + apart)
        result = found(evaluate(POLICY, world(recent=(twin,)), INTENT), "R16", "order")
        assert result.observed == doubled


def test_a_certain_direction_and_an_interval_of_no_width_can_be_judged() -> None:
    forecast = replace(FORECAST, instrument="ACME", interval_low_1e8=7, interval_high_1e8=7)
    for p_up in (0, 10_000):
        state = world(forecast=replace(forecast, p_up_bp=p_up))
        verdict = evaluate(POLICY, state, INTENT)
        assert found(verdict, "R26", "interval").observed == 0
        assert found(verdict, "R26", "direction").observed == p_up
