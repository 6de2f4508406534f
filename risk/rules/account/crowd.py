"""R46: how much of the firm one model decides, and how alike its strategies are.

Rules:
- Model: of the firm's positions in absolute value, with this order, those whose last order rested
  on a forecast of this order's model are at most `model_share_max`.
- Agreement: of the pairs of strategies with a last intent in the same instrument, those of one side
  are at most `agreement_max`. This order does not count: it is not yet anybody's last intent.
- A breach asks a person: that all think alike is no error of this order. An order that only reduces
  risk is exempt.

Source: own choice; no regulator sets these numbers.
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, PolicyModel
from risk.rules.exposure import exposure
from risk.rules.limits import BP
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, ratio_up
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class CrowdLimits(PolicyModel):
    """How much one model decides, and how alike strategies are.

    Attributes:
        model_share_max: Share of the firm's gross value that forecasts of one model decided.
        agreement_max: Share of pairs of strategies that last wanted the same side.
    """

    model_share_max: Annotated[BasisPoints, Looser.HIGHER]
    agreement_max: Annotated[BasisPoints, Looser.HIGHER]


def _crowd(case: RuleCase) -> tuple[Measured, ...]:
    crowd, forecast = case.inputs.crowd, case.state.forecast
    limits: CrowdLimits = case.families.account
    if crowd is None or forecast is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(crowd.basis_seq)
    found, pairs, agreeing = exposure(case), counted(crowd.pairs), counted(crowd.agreeing)
    if agreeing > pairs:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    total = own = found.order_minor
    for one in crowd.models:
        total += counted(one.gross_minor)
        own += one.gross_minor if one.model_digest == forecast.model_digest else 0
    waived = Reason.REDUCES_RISK if found.reduces else None
    return (
        Measured(
            observed=ratio_up(own, BP, total), limit=limits.model_share_max.value, waived=waived
        ),
        Measured(
            observed=ratio_up(agreeing, BP, pairs) if pairs else 0,
            limit=limits.agreement_max.value,
            waived=waived,
        ),
    )


R46: Final = Rule(
    rule_id=RuleId.R46,
    version=1,
    title="Monoculture: one model's share of the firm, and strategies of one mind",
    checks=(
        Check(
            name="model_share",
            unit=Unit.BASIS_POINTS,
            scope=Scope.FIRM,
            reason=Reason.MODEL_SHARE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="agreement",
            unit=Unit.BASIS_POINTS,
            scope=Scope.FIRM,
            reason=Reason.STRATEGIES_AGREE,
            breach=Action.HOLD,
        ),
    ),
    measure=_crowd,
    unarmed="One pair of models decides every strategy: its share is always the whole. Arm it where"
    " strategies rest on several models.",
)

RULES: Final = (R46,)
