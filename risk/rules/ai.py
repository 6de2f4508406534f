"""R26: a directional intent needs a forecast that supports its direction.

P(r > 0) is closed-form from the model's own law of the next step; the interval comes from the
sampled paths.

Not here: fairness and drift of the model.

Rules:
- A buy needs P(r > 0) >= the policy's number, a sell needs 1 - P(r > 0) >= that number.
- An order that only reduces risk is exempt, and so is a sizing by volatility.
"""

from typing import Final

from risk.intent import Side
from risk.rules.exposure import reduces, side_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, truth, whole
from risk.verdict import Bound, Reason, RuleId, Scope, Unit

BP: Final = 10_000


def _confidence(case: RuleCase) -> tuple[Measured, ...]:
    forecast, limits = case.state.forecast, case.for_class
    directional = truth(case.intent.directional)
    if forecast is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    p_up = whole(forecast.p_up_bp)
    width = whole(forecast.interval_high_1e8) - whole(forecast.interval_low_1e8)
    if not 0 <= p_up <= BP or width < 0:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    waived = None if directional else Reason.NOT_DIRECTIONAL
    if directional and reduces(case):
        waived = Reason.REDUCES_RISK
    return (
        Measured(
            observed=p_up if side_of(case) is Side.BUY else BP - p_up,
            limit=limits.directional_p_up_min.value,
            waived=waived,
        ),
        Measured(observed=whole(forecast.n_paths), limit=limits.paths_min.value, waived=waived),
        Measured(observed=width, limit=limits.interval_width_max.value, waived=waived),
    )


R26: Final = Rule(
    rule_id=RuleId.R26,
    version=1,
    title="Model confidence: closed-form probability of the direction, paths, interval width",
    checks=(
        Check(
            name="direction",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ORDER,
            bound=Bound.MIN,
            reason=Reason.DIRECTION_NOT_SUPPORTED,
        ),
        Check(
            name="paths",
            unit=Unit.COUNT,
            scope=Scope.ORDER,
            bound=Bound.MIN,
            reason=Reason.TOO_FEW_PATHS,
        ),
        Check(
            name="interval",
            unit=Unit.LOG_RETURN_1E8,
            scope=Scope.ORDER,
            reason=Reason.INTERVAL_TOO_WIDE,
        ),
    ),
    measure=_confidence,
)

RULES: Final = (R26,)
