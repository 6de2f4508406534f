"""Whatever is missing, malformed, unknown, late or broken is refused, with a listed reason."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from risk.evaluate import UNREADABLE, evaluate
from risk.numbers.standing import PolicyStanding
from risk.policy.judging import rules_of
from risk.policy.policy import RULES_OF_1
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal
from risk.state.book import Book
from risk.state.state import RiskState, seen
from risk.verdict import Action, Outcome, Reason, RuleId, Scope, Unit, is_intact
from tests.doubles.risk_cases import (
    FORECAST,
    INTENT,
    NOW_US,
    PLAYBACK,
    QUOTE,
    SPXN,
    bought,
    disarmed,
    fold,
    found,
    intent_with,
    policy_with,
    reserved,
    state_with,
)

HUGE = 2**63
Bend = Callable[[RiskState], RiskState]


INTENT_CASES: dict[str, tuple[dict[str, Any], Reason]] = {
    "quantity missing": ({"qty_lots": None}, Reason.INPUT_MISSING),
    "quantity negative": ({"qty_lots": -5}, Reason.QUANTITY_BELOW_MINIMUM),
    "quantity zero": ({"qty_lots": 0}, Reason.QUANTITY_BELOW_MINIMUM),
    "quantity huge": ({"qty_lots": HUGE}, Reason.OUT_OF_RANGE),
    "quantity times price overflows": ({"qty_lots": HUGE - 1}, Reason.OUT_OF_RANGE),
    "quantity true": ({"qty_lots": True}, Reason.NOT_AN_INTEGER),
    "quantity float": ({"qty_lots": 5.0}, Reason.NOT_AN_INTEGER),
    "quantity not a number": ({"qty_lots": float("nan")}, Reason.NOT_AN_INTEGER),
    "quantity text": ({"qty_lots": "5"}, Reason.NOT_AN_INTEGER),
    "price missing": ({"limit_ticks": None}, Reason.INPUT_MISSING),
    "price zero": ({"limit_ticks": 0}, Reason.PRICE_OUTSIDE_COLLAR),
    "price negative": ({"limit_ticks": -26_958}, Reason.PRICE_OUTSIDE_COLLAR),
    "price huge": ({"limit_ticks": HUGE}, Reason.OUT_OF_RANGE),
    "price true": ({"limit_ticks": True}, Reason.NOT_AN_INTEGER),
    "side missing": ({"side": None}, Reason.UNKNOWN_VALUE),
    "side unknown": ({"side": "HOLD"}, Reason.UNKNOWN_VALUE),
    "side as text": ({"side": "BUY"}, Reason.UNKNOWN_VALUE),
    "account missing": ({"account": None}, Reason.ACCOUNT_MISMATCH),
    "account unknown": ({"account": "run-2"}, Reason.ACCOUNT_MISMATCH),
    "instrument missing": ({"instrument": None}, Reason.UNKNOWN_INSTRUMENT),
    "instrument unknown": ({"instrument": "GME"}, Reason.UNKNOWN_INSTRUMENT),
    "instrument of another state": ({"instrument": "NDXN"}, Reason.INSTRUMENT_MISMATCH),
    "decision id empty": ({"decision_id": ""}, Reason.INTENT_MALFORMED),
    "author empty": ({"author": ""}, Reason.INTENT_MALFORMED),
    "directional missing": ({"directional": None}, Reason.INPUT_MISSING),
    "directional a number": ({"directional": 0}, Reason.UNKNOWN_VALUE),
    "exposure float": ({"target_exposure_bp": 0.3}, Reason.INTENT_MALFORMED),
    "text with a lone surrogate": ({"strategy": "\ud800"}, Reason.INTENT_MALFORMED),
}


def changed(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    return lambda state: replace(state, **fields)


def in_quote(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    return lambda state: replace(state, quote=replace(QUOTE, **fields))


def in_forecast(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    def bend(state: RiskState) -> RiskState:
        # A forecast refuses nonsense itself; the rules must not lean on that.
        broken = object.__new__(type(FORECAST))
        for name in FORECAST.__dataclass_fields__:
            object.__setattr__(broken, name, fields.get(name, getattr(FORECAST, name)))
        return replace(state, forecast=broken)

    return bend


def in_book(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    return lambda state: replace(state, book=replace(state.book, **fields))


def in_status(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    return lambda state: replace(state, policy_status=replace(state.policy_status, **fields))


def in_kill(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    return lambda state: replace(state, kill=replace(state.kill, **fields))


def in_instrument(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    return lambda state: replace(state, instrument=replace(SPXN, **fields))


def position(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    book = fold(bought(10))
    return changed(book=replace(book, positions=(replace(book.positions[0], **fields),)))


def reservation(**fields: Any) -> Bend:  # noqa: ANN401 - any field, any value
    book = fold(reserved("d-0", 10))
    return changed(book=replace(book, reservations=(replace(book.reservations[0], **fields),)))


STATE_CASES: dict[str, tuple[Bend, Reason]] = {
    "now missing": (changed(now_us=None), Reason.INPUT_MISSING),
    "now zero": (changed(now_us=0), Reason.OUT_OF_RANGE),
    "now float": (changed(now_us=float(NOW_US)), Reason.NOT_AN_INTEGER),
    "clock backwards": (in_book(as_of_us=NOW_US + 60_000_001), Reason.CLOCK_BACKWARDS),
    "no quote": (changed(quote=None), Reason.INPUT_MISSING),
    "no bid": (in_quote(bid_ticks=None), Reason.INPUT_MISSING),
    "bid zero": (in_quote(bid_ticks=0), Reason.OUT_OF_RANGE),
    "ask negative": (in_quote(ask_ticks=-1), Reason.OUT_OF_RANGE),
    "crossed book": (in_quote(bid_ticks=26_960), Reason.QUOTE_CROSSED),
    "locked book": (in_quote(bid_ticks=26_959), Reason.QUOTE_CROSSED),
    "quote stale": (in_quote(time_us=NOW_US - 2_000_001), Reason.QUOTE_STALE),
    "quote ahead": (in_quote(time_us=NOW_US + 1), Reason.QUOTE_FROM_THE_FUTURE),
    "quote time missing": (in_quote(time_us=None), Reason.INPUT_MISSING),
    "market data gap": (in_quote(seq_gap=1), Reason.MARKET_DATA_GAP),
    "negative gap": (in_quote(seq_gap=-1), Reason.MARKET_DATA_GAP),
    "gap unknown": (in_quote(seq_gap=None), Reason.INPUT_MISSING),
    "phase as text": (in_quote(phase="OPEN"), Reason.UNKNOWN_VALUE),
    "no forecast": (changed(forecast=None), Reason.INPUT_MISSING),
    "forecast of another instrument": (
        in_forecast(instrument="NDXN"),
        Reason.INSTRUMENT_MISMATCH,
    ),
    "forecast ahead": (in_forecast(as_of_us=NOW_US + 1), Reason.FORECAST_FROM_THE_FUTURE),
    "forecast stale": (
        in_forecast(as_of_us=NOW_US - 96 * 3_600_000_001),
        Reason.FORECAST_STALE,
    ),
    "forecast without horizon": (in_forecast(horizon=0), Reason.OUT_OF_RANGE),
    "forecast probability above one": (in_forecast(p_up_bp=10_001), Reason.OUT_OF_RANGE),
    "forecast interval upside down": (
        in_forecast(interval_low_1e8=HUGE - 1),
        Reason.OUT_OF_RANGE,
    ),
    "forecast with a float": (in_forecast(step_vol_1e8=0.01), Reason.STATE_MALFORMED),
    "no narrative time": (changed(narrative_as_of_us=None), Reason.INPUT_MISSING),
    "narrative stale": (
        changed(narrative_as_of_us=NOW_US - 345_600_000_001),
        Reason.NARRATIVE_STALE,
    ),
    "narrative ahead": (
        changed(narrative_as_of_us=NOW_US + 1),
        Reason.NARRATIVE_FROM_THE_FUTURE,
    ),
    "killed": (in_kill(killed=True), Reason.KILLED),
    "kill unknown": (in_kill(killed=None), Reason.INPUT_MISSING),
    "kill as a number": (in_kill(killed=0), Reason.UNKNOWN_VALUE),
    "kill epoch old": (in_kill(egress_epoch=2), Reason.KILL_EPOCH_DIFFERS),
    "kill epoch missing": (in_kill(kill_epoch=None), Reason.INPUT_MISSING),
    "no kill state": (changed(kill=None), Reason.RULE_FAILED),
    "policy expired": (in_status(standing=PolicyStanding.EXPIRED), Reason.POLICY_EXPIRED),
    "policy unsigned": (in_status(standing=PolicyStanding.UNSIGNED), Reason.POLICY_UNSIGNED),
    "policy too early": (
        in_status(standing=PolicyStanding.NOT_YET_VALID),
        Reason.POLICY_NOT_YET_VALID,
    ),
    "policy standing as text": (in_status(standing="ACTIVE"), Reason.POLICY_UNSIGNED),
    "policy not verified": (changed(policy_status=None), Reason.RULE_FAILED),
    "other policy verified": (in_status(policy_digest="0" * 64), Reason.POLICY_MISMATCH),
    "no book": (changed(book=None), Reason.RULE_FAILED),
    "no equity": (in_book(cash_minor=0), Reason.NO_EQUITY),
    "negative equity": (in_book(cash_minor=-1), Reason.NO_EQUITY),
    "cash missing": (in_book(cash_minor=None), Reason.INPUT_MISSING),
    "cash huge": (in_book(cash_minor=HUGE), Reason.OUT_OF_RANGE),
    "day without start": (
        lambda s: replace(s, book=replace(s.book, day=replace(s.book.day, start_minor=0))),
        Reason.OUT_OF_RANGE,
    ),
    "peak missing": (in_book(peak_minor=None), Reason.INPUT_MISSING),
    "messages malformed": (in_book(message_times_us=(None,)), Reason.INPUT_MISSING),
    "position without a mark": (position(mark_ticks=0), Reason.OUT_OF_RANGE),
    "position float": (position(lots=1.5), Reason.NOT_AN_INTEGER),
    "position of another unit": (position(unit_minor=100), Reason.INSTRUMENT_MISMATCH),
    "reservation negative": (reservation(open_lots=-10), Reason.OUT_OF_RANGE),
    "reservation without side": (reservation(side=None), Reason.RULE_FAILED),
    "instrument missing": (changed(instrument=None), Reason.RULE_FAILED),
    "wrong currency": (in_instrument(currency="EUR"), Reason.CURRENCY_MISMATCH),
    "wrong class": (in_instrument(asset_class="equity"), Reason.INSTRUMENT_MISMATCH),
    "tick missing": (in_instrument(tick_minor=None), Reason.INPUT_MISSING),
    "lot zero": (in_instrument(lot=0), Reason.OUT_OF_RANGE),
    "multiplier negative": (in_instrument(multiplier=-1), Reason.OUT_OF_RANGE),
    "smallest quantity zero": (in_instrument(min_qty=0), Reason.OUT_OF_RANGE),
    "renewal unknown": (changed(renewal=None), Reason.UNKNOWN_VALUE),
    "history missing": (changed(recent=None), Reason.RULE_FAILED),
    "duplicate after a restart": (
        changed(recent=(seen(INTENT, NOW_US - 10**13),)),
        Reason.DUPLICATE_INTENT,
    ),
    "renewal with another decision's twin": (
        changed(recent=(seen(intent_with(decision_id="d-7"), NOW_US),), renewal=True),
        Reason.DUPLICATE_ORDER,
    ),
}


def test_the_unbent_world_passes() -> None:
    assert evaluate(PLAYBACK, state_with(), INTENT).action is Action.ALLOW
    assert len(INTENT_CASES) + len(STATE_CASES) >= 90


@pytest.mark.parametrize("name", INTENT_CASES)
def test_a_malformed_intent_is_refused(name: str) -> None:
    changes, reason = INTENT_CASES[name]
    verdict = evaluate(PLAYBACK, state_with(), intent_with(**changes))
    assert verdict.action >= Action.REJECT
    assert reason in {result.reason for result in verdict.worst}
    assert is_intact(verdict)


@pytest.mark.parametrize("name", STATE_CASES)
def test_a_malformed_state_is_refused(name: str) -> None:
    bend, reason = STATE_CASES[name]
    verdict = evaluate(PLAYBACK, bend(state_with()), INTENT)
    assert verdict.action >= Action.REJECT
    assert reason in {result.reason for result in verdict.worst}
    assert is_intact(verdict)


@pytest.mark.parametrize("nothing", [None, 7, "text", object()])
def test_nonsense_in_every_place_is_refused(nothing: Any) -> None:  # noqa: ANN401 - any nonsense
    for arguments in (
        (nothing, state_with(), INTENT),
        (PLAYBACK, nothing, INTENT),
        (PLAYBACK, state_with(), nothing),
        (nothing, nothing, nothing),
    ):
        verdict = evaluate(*arguments)
        assert verdict.action >= Action.REJECT
        assert len(verdict.results) == 3 + sum(len(rule.checks) for rule in rules_of(arguments[0]))
        assert UNREADABLE in {
            verdict.policy_digest,
            verdict.state_digest,
            verdict.intent_digest,
        }


def raising(error: Exception) -> Rule:
    def measure(_: RuleCase) -> tuple[Measured, ...]:
        raise error

    return Rule(
        rule_id=RuleId.R04,
        version=1,
        title="raises",
        checks=(Check(name="notional", unit=Unit.MINOR, scope=Scope.ORDER),),
        measure=measure,
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ZeroDivisionError(), Reason.RULE_FAILED),
        (RecursionError(), Reason.RULE_FAILED),
        (MemoryError(), Reason.RULE_FAILED),
        (RuleRefusal(Reason.INPUT_MISSING), Reason.INPUT_MISSING),
    ],
)
def test_a_rule_that_raises_refuses(error: Exception, reason: Reason) -> None:
    verdict = evaluate(PLAYBACK, state_with(), INTENT, rules=(raising(error),))
    assert found(verdict, "R04", "notional").reason is reason
    assert verdict.action is Action.REJECT


@pytest.mark.parametrize("returned", [(), (None,), (1, 2), None])
def test_a_rule_that_measures_the_wrong_things_refuses(returned: Any) -> None:  # noqa: ANN401 - as above
    rule = replace(raising(ValueError()), measure=lambda _: returned)
    assert evaluate(PLAYBACK, state_with(), INTENT, rules=(rule,)).action is Action.REJECT


@pytest.mark.parametrize("observed", [None, True, 1.0, float("nan"), 2**63, "1"])
def test_a_measurement_that_is_no_integer_refuses(observed: Any) -> None:  # noqa: ANN401 - as above
    measured = Measured(
        observed=observed, limit=10, breach=Action.REJECT, reason=Reason.RULE_FAILED
    )
    rule = replace(raising(ValueError()), measure=lambda _: (measured,))
    assert evaluate(PLAYBACK, state_with(), INTENT, rules=(rule,)).action is Action.REJECT


def test_a_catalogue_without_checks_still_shows_unreadable_arguments() -> None:
    broken = intent_with(qty_lots=1.5)
    assert evaluate(PLAYBACK, state_with(), broken, rules=()).action is Action.REJECT


def test_a_disarmed_rule_shows_what_it_measured_and_why_it_is_silent() -> None:
    policy = disarmed("R04")
    state = state_with(policy)
    verdict = evaluate(policy, state, intent_with(qty_lots=1_600))
    result = found(verdict, "R04", "notional")
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert result.action is Action.ALLOW
    assert result.reason is Reason.DISARMED
    assert result.note == "not needed in this test"
    assert result.margin is not None
    assert result.margin < 0


def test_a_disarmed_rule_without_input_is_not_applicable() -> None:
    policy = disarmed("R25", "R26")
    verdict = evaluate(policy, state_with(policy, forecast=None), INTENT)
    assert found(verdict, "R25", "forecast_age").outcome is Outcome.NOT_APPLICABLE
    assert verdict.action is Action.ALLOW


def test_every_rule_always_runs() -> None:
    killed = replace(state_with(), kill=replace(state_with().kill, killed=True), quote=None)
    named = [(r.rule_id, r.check) for r in evaluate(PLAYBACK, killed, INTENT).results]
    assert named == [(r.rule_id, r.check) for r in evaluate(PLAYBACK, state_with(), INTENT).results]
    assert {rule for rule, _ in named} == RULES_OF_1


@pytest.mark.parametrize(
    ("held", "qty", "passes"),
    [(1_000, 1_000, True), (1_000, 1_001, False), (0, 1, False), (-1_000, 1, False)],
)
def test_only_a_strict_reduction_passes_a_halt(held: int, qty: int, *, passes: bool) -> None:
    book = fold(bought(held, 26_958)) if held else Book.empty("run-1", 100_000_000)
    deep = replace(book, peak_minor=200_000_000, day=replace(book.day, low_minor=1))
    sale = {"qty_lots": qty, "limit_ticks": 26_947, "target_exposure_bp": 0}
    policy = policy_with(approval__human_notional=40_000_000)
    intent = intent_with(side=type(INTENT.side).SELL, **sale)
    verdict = evaluate(policy, state_with(policy, book=deep), intent)
    assert (verdict.action is Action.ALLOW) == passes
    assert (found(verdict, "R12", "drawdown").reason is Reason.REDUCES_RISK) == passes


def test_a_pending_reduction_cannot_fund_another() -> None:
    book = fold(bought(1_000, 26_958), reserved("d-0", -600, 26_947))
    deep = replace(book, peak_minor=200_000_000)
    sale = intent_with(side=type(INTENT.side).SELL, qty_lots=401, limit_ticks=26_947)
    assert evaluate(PLAYBACK, state_with(book=deep), sale).action is Action.HALT
    fits = replace(sale, qty_lots=400)
    assert evaluate(PLAYBACK, state_with(book=deep), fits).action is Action.ALLOW


def test_a_pending_purchase_cannot_cover_a_short_twice() -> None:
    book = fold(bought(-1_000, 26_958), reserved("d-0", 600, 26_958))
    deep = replace(book, peak_minor=200_000_000)
    buy = intent_with(qty_lots=401, limit_ticks=26_958)
    judged = [
        evaluate(PLAYBACK, state_with(book=deep), replace(buy, qty_lots=lots))
        for lots in (401, 400)
    ]
    waived = [found(one, "R12", "drawdown").reason is Reason.REDUCES_RISK for one in judged]
    assert waived == [False, True]


def test_a_reducing_order_still_meets_collar_kill_and_stale_quotes() -> None:
    book = fold(bought(1_000, 26_958))
    sale = intent_with(side=type(INTENT.side).SELL, qty_lots=100, limit_ticks=26_947)
    assert evaluate(PLAYBACK, state_with(book=book), sale).action is Action.ALLOW
    for bend in (in_kill(killed=True), in_quote(time_us=NOW_US - 3_000_000)):
        assert evaluate(PLAYBACK, bend(state_with(book=book)), sale).action is Action.REJECT
    far = replace(sale, limit_ticks=20_000)
    assert evaluate(PLAYBACK, state_with(book=book), far).action is Action.REJECT
