"""R24 and R25: age and soundness of market data, forecast and narrative.

Reducing orders are not exempt. Not here: where the inputs come from.
"""

from typing import Final

from risk.rules.exposure import touch
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up, whole
from risk.state.state import Phase
from risk.verdict import Bound, Reason, RuleId, Scope, Unit


def _at_most(observed: int, limit: int, reason: Reason, waived: Reason | None = None) -> Measured:
    return Measured(observed=observed, limit=limit, reason=reason, waived=waived)


def _market(case: RuleCase) -> tuple[Measured, ...]:
    quote = case.state.quote
    if quote is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    if type(quote.phase) is not Phase:
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    bid, ask = touch(case)
    age = positive(case.state.now_us) - positive(quote.time_us)
    gap = whole(quote.seq_gap)
    return (
        _at_most(age, case.for_class.quote_age_max.value, Reason.QUOTE_STALE),
        _at_most(max(0, -age), 0, Reason.QUOTE_FROM_THE_FUTURE),
        Measured(observed=ask - bid, limit=1, reason=Reason.QUOTE_CROSSED),
        _at_most(abs(gap), 0, Reason.MARKET_DATA_GAP),
        _at_most(int(quote.phase is not Phase.OPEN), 0, Reason.MARKET_NOT_OPEN),
    )


def _inputs(case: RuleCase) -> tuple[Measured, ...]:
    forecast, narrative = case.state.forecast, case.state.narrative_as_of_us
    now, limits = positive(case.state.now_us), case.for_class
    absent: object = case.state.narrative_absent  # a forged state may hold anything
    if type(absent) is not bool or (absent and narrative is not None):
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    if forecast is None or (narrative is None and not absent):
        raise RuleRefusal(Reason.INPUT_MISSING)
    if forecast.instrument != case.intent.instrument:
        raise RuleRefusal(Reason.INSTRUMENT_MISMATCH)
    age = now - positive(forecast.as_of_us)
    reach = positive(positive(forecast.horizon) * positive(forecast.bar_us))
    narrative_age = 0 if narrative is None else now - positive(narrative)
    waived = Reason.NARRATIVE_ABSENT if absent is True else None
    return (
        _at_most(
            ratio_up(max(0, age), 10_000, reach),
            limits.forecast_age_max.value,
            Reason.FORECAST_STALE,
        ),
        _at_most(max(0, -age), 0, Reason.FORECAST_FROM_THE_FUTURE),
        _at_most(narrative_age, limits.narrative_age_max.value, Reason.NARRATIVE_STALE, waived),
        _at_most(max(0, -narrative_age), 0, Reason.NARRATIVE_FROM_THE_FUTURE, waived),
    )


R24: Final = Rule(
    rule_id=RuleId.R24,
    version=1,
    title="Market data: fresh, not crossed or locked, complete, market open",
    checks=(
        Check(name="quote_age", unit=Unit.MICROSECONDS, scope=Scope.INSTRUMENT),
        Check(name="quote_ahead", unit=Unit.MICROSECONDS, scope=Scope.INSTRUMENT),
        Check(name="spread", unit=Unit.TICKS, scope=Scope.INSTRUMENT, bound=Bound.MIN),
        Check(name="gap", unit=Unit.COUNT, scope=Scope.INSTRUMENT),
        Check(name="phase", unit=Unit.FLAG, scope=Scope.INSTRUMENT),
    ),
    measure=_market,
)

R25: Final = Rule(
    rule_id=RuleId.R25,
    version=1,
    title="Forecast and narrative: fresh for their horizon, not from the future",
    checks=(
        Check(name="forecast_age", unit=Unit.BASIS_POINTS, scope=Scope.ORDER),
        Check(name="forecast_ahead", unit=Unit.MICROSECONDS, scope=Scope.ORDER),
        Check(name="narrative_age", unit=Unit.MICROSECONDS, scope=Scope.ORDER),
        Check(name="narrative_ahead", unit=Unit.MICROSECONDS, scope=Scope.ORDER),
    ),
    measure=_inputs,
)
