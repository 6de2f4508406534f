"""A world for the rules that passes every check, and ways to bend one thing of it at a time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import risk
from inference.forecast.forecast import Forecast, ForecastSource
from risk.intent import Intent, Side, TimeInForce, intent_digest
from risk.numbers.standing import PolicyStanding, PolicyStatus
from risk.policy.policy import Policy, parse_policy, policy_digest, policy_from_document
from risk.rules.rule import RuleCase
from risk.state.book import (
    Book,
    BookEvent,
    DayStarted,
    Filled,
    Marked,
    MessageSent,
    Reserved,
    apply,
)
from risk.state.instrument import Instrument
from risk.state.state import KillState, Phase, Quote, RiskState
from risk.verdict import RuleResult, Verdict

HOUR_US = 3_600_000_000
NOW_US = 1_520_001_000_000_000
EQUITY = 100_000_000
PLAYBACK_BYTES = (Path(risk.__file__).parent / "policy" / "policies" / "playback.json").read_bytes()
PLAYBACK = parse_policy(PLAYBACK_BYTES)

SPXN = Instrument(
    symbol="SPXN",
    asset_class="index",
    tick_minor=1,
    lot=1,
    multiplier=1,
    currency="USD",
    min_qty=1,
)
QUOTE = Quote(bid_ticks=26_957, ask_ticks=26_959, time_us=NOW_US, seq_gap=0, phase=Phase.OPEN)
FORECAST = Forecast(
    instrument="SPXN",
    as_of_us=NOW_US - 17 * HOUR_US,
    horizon=10,
    bar_us=24 * HOUR_US,
    source=ForecastSource.TARGET,
    n_paths=32,
    n_dropped=0,
    expected_1e8=10_000,
    step_vol_1e8=1_000_000,
    horizon_vol_1e8=3_200_000,
    p_up_bp=5_600,
    interval_low_1e8=-5_000_000,
    interval_high_1e8=5_500_000,
    levels_bp=(500, 2_500, 5_000, 7_500, 9_500),
    quantiles_1e8=tuple((level,) * 10 for level in (-5, -2, 0, 2, 5)),
    codec_digest="c0",
    model_digest="d0",
    capture_digest="e0",
)
INTENT = Intent(
    decision_id="d-1",
    account="run-1",
    strategy="vol-target",
    author="vol-target",
    instrument="SPXN",
    side=Side.BUY,
    qty_lots=700,
    limit_ticks=26_969,
    tif=TimeInForce.DAY,
    target_exposure_bp=3_000,
    directional=False,
)


def policy_with(**numbers: int) -> Policy:
    """The playback policy with other values; dots of a path are written as two underscores."""
    document: Any = json.loads(PLAYBACK_BYTES)
    for path, value in numbers.items():
        place = document
        for part in path.split("__"):
            place = place[int(part)] if part.isdigit() else place[part]
        place["value"] = value
    return policy_from_document(document)


def disarmed(*rules: str) -> Policy:
    """The playback policy with some rules disarmed."""
    document: Any = json.loads(PLAYBACK_BYTES)
    for entry in document["classes"][0]["arming"]:
        if entry["rule"] in rules:
            entry.update(armed=False, reason="not needed in this test")
    return policy_from_document(document)


def status_of(policy: Policy) -> PolicyStatus:
    """What verification says of a properly signed policy."""
    return PolicyStatus(
        policy_digest=policy_digest(policy),
        standing=PolicyStanding.ACTIVE,
        checked_at_us=policy.not_before_us,
        signed_by=("compliance:carla", "risk:rolf"),
    )


def state_with(policy: Policy = PLAYBACK, **changes: Any) -> RiskState:  # noqa: ANN401 - any field, any value
    """A state in which INTENT passes every rule, with some fields changed."""
    state = RiskState(
        now_us=NOW_US,
        book=Book.empty("run-1", EQUITY),
        instrument=SPXN,
        quote=QUOTE,
        forecast=FORECAST,
        narrative_as_of_us=NOW_US - 17 * HOUR_US,
        kill=KillState(killed=False, kill_epoch=3, egress_epoch=3),
        recent=(),
        policy_status=status_of(policy),
    )
    return replace(state, **changes)


def intent_with(**changes: Any) -> Intent:  # noqa: ANN401 - any field, any value
    """INTENT with some fields changed."""
    return replace(INTENT, **changes)


def fold(*events: BookEvent, book: Book | None = None) -> Book:
    """A book after some events."""
    folded = book or Book.empty("run-1", EQUITY)
    for event in events:
        folded = apply(folded, event)
    return folded


def bought(
    qty: int, price: int = 26_900, *, instrument: str = "SPXN", time_us: int = NOW_US - HOUR_US
) -> Filled:
    """A fill without reservation; negative quantities sell."""
    return Filled(
        decision_id=None,
        instrument=instrument,
        side=Side.BUY if qty > 0 else Side.SELL,
        qty_lots=abs(qty),
        price_ticks=price,
        unit_minor=1,
        fee_minor=0,
        time_us=time_us,
    )


def reserved(decision_id: str, qty: int, price: int = 26_960) -> Reserved:
    """A reservation in SPXN; negative quantities sell."""
    return Reserved(
        decision_id=decision_id,
        instrument="SPXN",
        side=Side.BUY if qty > 0 else Side.SELL,
        qty_lots=abs(qty),
        limit_ticks=price,
        unit_minor=1,
        time_us=NOW_US - HOUR_US,
    )


def busy_book() -> Book:
    """A book in which every account measure is above zero."""
    return fold(
        DayStarted(day="2018-03-01", time_us=NOW_US - 30 * HOUR_US),
        bought(1_000, 27_000, time_us=NOW_US - 29 * HOUR_US),
        bought(100, 60_000, instrument="NDXN", time_us=NOW_US - 29 * HOUR_US),
        Marked(instrument="SPXN", price_ticks=26_950, time_us=NOW_US - 20 * HOUR_US),
        DayStarted(day="2018-03-02", time_us=NOW_US - 19 * HOUR_US),
        Marked(instrument="NDXN", price_ticks=59_500, time_us=NOW_US - HOUR_US),
        reserved("d-0", 50),
        MessageSent(decision_id="d-0", time_us=NOW_US - 100_000),
        MessageSent(decision_id=None, time_us=NOW_US - 50_000),
        reserved("d-00", 20),
    )


def case_of(policy: Policy, state: RiskState, intent: Intent) -> RuleCase:
    """What a rule sees."""
    return RuleCase(
        policy=policy,
        policy_digest=policy_digest(policy),
        intent_digest=intent_digest(intent),
        state=state,
        intent=intent,
    )


def found(verdict: Verdict, rule: str, check: str) -> RuleResult:
    """The result of one check."""
    (result,) = [r for r in verdict.results if r.rule_id == rule and r.check == check]
    return result
