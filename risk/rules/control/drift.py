"""R30: a model whose forecasts are no longer calibrated takes no new risk.

Rules:
- Evidence: the largest e-value so far that the ranks of what came, in the recorded law of the first
  bar, are not uniform is at most `drift_evidence_max`. Under a calibrated model it passes that
  number with a chance of at most one in it, however often one looks. It never falls back.
- Shift: the population stability index of the ranks is at most `drift_shift_max`, once
  `drift_from` forecasts are scored.
- The scores must be of the model behind this order. An order that only reduces risk is exempt.

Not here: how a forecast is scored.

Source: Commission Delegated Regulation (EU) 2017/589 art. 9; own choice of the numbers.
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Count, PolicyModel
from risk.rules.exposure import reduces
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class DriftLimits(PolicyModel):
    """How forecasts may have done.

    Attributes:
        drift_evidence_max: Evidence that forecasts are not calibrated: an e-value, whole.
        drift_shift_max: Population stability index of the forecasts' ranks, in 1/10,000.
        drift_from: Scored forecasts below which the index says nothing.
    """

    drift_evidence_max: Annotated[Count, Looser.HIGHER]
    drift_shift_max: Annotated[BasisPoints, Looser.HIGHER]
    drift_from: Annotated[Count, Looser.HIGHER]


MILLI: Final = 1_000


def _drift(case: RuleCase) -> tuple[Measured, ...]:
    scores, forecast = case.inputs.scores, case.state.forecast
    limits: DriftLimits = case.families.control
    if scores is None or forecast is None or scores.model_digest != forecast.model_digest:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(scores.basis_seq)
    waived = Reason.REDUCES_RISK if reduces(case) else None
    few = Reason.TOO_FEW_SCORES if counted(scores.scored) < limits.drift_from.value else None
    return (
        Measured(
            observed=-(-counted(scores.evidence_milli) // MILLI),
            limit=limits.drift_evidence_max.value,
            waived=waived,
        ),
        Measured(
            observed=counted(scores.shift_bp),
            limit=limits.drift_shift_max.value,
            waived=waived or few,
        ),
    )


R30: Final = Rule(
    rule_id=RuleId.R30,
    version=1,
    title="Drift: evidence that the model's forecasts are not calibrated",
    checks=(
        Check(
            name="evidence",
            unit=Unit.COUNT,
            scope=Scope.FIRM,
            reason=Reason.FORECASTS_DRIFTED,
            breach=Action.HALT,
        ),
        Check(
            name="shift",
            unit=Unit.BASIS_POINTS,
            scope=Scope.FIRM,
            reason=Reason.FORECASTS_DRIFTED,
            breach=Action.HALT,
        ),
    ),
    measure=_drift,
)

RULES: Final = (R30,)
