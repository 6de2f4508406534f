"""R31: an order above a stated notional needs a person's approval.

Only single orders count: several below the threshold need no approval, whatever their sum. The
account limits bound the sum.

Not here: the approval (`risk/approved.py`).

Source: Commission Delegated Regulation (EU) 2017/589 art. 15(6).
"""

from typing import Final

from risk.rules.exposure import order_minor
from risk.rules.rule import Check, Measured, Rule, RuleCase
from risk.verdict import Action, Reason, RuleId, Scope, Unit


def _threshold(case: RuleCase) -> tuple[Measured, ...]:
    return (Measured(observed=order_minor(case), limit=case.policy.approval.human_notional.value),)


R31: Final = Rule(
    rule_id=RuleId.R31,
    version=1,
    title="Human threshold: larger orders wait for a person",
    checks=(
        Check(
            name="notional",
            unit=Unit.MINOR,
            scope=Scope.ORDER,
            reason=Reason.NEEDS_A_PERSON,
            breach=Action.HOLD,
        ),
    ),
    measure=_threshold,
)

RULES: Final = (R31,)
