"""R24 and R25: age and soundness of market data, forecast and narrative.

Reducing orders are not exempt. Not here: where the inputs come from.
"""

from typing import Final

from risk.rules.exposure import touch
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up, whole
from risk.state.state import Phase
from risk.verdict import Bound, Reason, RuleId, Scope, Unit


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
        Measured(observed=age, limit=case.for_class.quote_age_max.value),
        Measured(observed=max(0, -age), limit=0),
        Measured(observed=ask - bid, limit=1),
        Measured(observed=abs(gap), limit=0),
        Measured(observed=int(quote.phase is not Phase.OPEN), limit=0),
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
        Measured(
            observed=ratio_up(max(0, age), 10_000, reach), limit=limits.forecast_age_max.value
        ),
        Measured(observed=max(0, -age), limit=0),
        Measured(observed=narrative_age, limit=limits.narrative_age_max.value, waived=waived),
        Measured(observed=max(0, -narrative_age), limit=0, waived=waived),
    )


R24: Final = Rule(
    rule_id=RuleId.R24,
    version=1,
    title="Market data: fresh, not crossed or locked, complete, market open",
    checks=(
        Check(
            name="quote_age",
            unit=Unit.MICROSECONDS,
            scope=Scope.INSTRUMENT,
            reason=Reason.QUOTE_STALE,
        ),
        Check(
            name="quote_ahead",
            unit=Unit.MICROSECONDS,
            scope=Scope.INSTRUMENT,
            reason=Reason.QUOTE_FROM_THE_FUTURE,
        ),
        Check(
            name="spread",
            unit=Unit.TICKS,
            scope=Scope.INSTRUMENT,
            bound=Bound.MIN,
            reason=Reason.QUOTE_CROSSED,
        ),
        Check(name="gap", unit=Unit.COUNT, scope=Scope.INSTRUMENT, reason=Reason.MARKET_DATA_GAP),
        Check(name="phase", unit=Unit.FLAG, scope=Scope.INSTRUMENT, reason=Reason.MARKET_NOT_OPEN),
    ),
    measure=_market,
)

R25: Final = Rule(
    rule_id=RuleId.R25,
    version=1,
    title="Forecast and narrative: fresh for their horizon, not from the future",
    checks=(
        Check(
            name="forecast_age",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ORDER,
            reason=Reason.FORECAST_STALE,
        ),
        Check(
            name="forecast_ahead",
            unit=Unit.MICROSECONDS,
            scope=Scope.ORDER,
            reason=Reason.FORECAST_FROM_THE_FUTURE,
        ),
        Check(
            name="narrative_age",
            unit=Unit.MICROSECONDS,
            scope=Scope.ORDER,
            reason=Reason.NARRATIVE_STALE,
        ),
        Check(
            name="narrative_ahead",
            unit=Unit.MICROSECONDS,
            scope=Scope.ORDER,
            reason=Reason.NARRATIVE_FROM_THE_FUTURE,
        ),
    ),
    measure=_inputs,
)

RULES: Final = (R24, R25)
