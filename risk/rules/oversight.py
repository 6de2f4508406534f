"""R31: above a stated notional a person must agree.

It looks at one order: several below the threshold need nobody, however large in sum; what they may
add up to is the account limits' business.

Not here: the agreement (`risk/approved.py`). HOLD never turns into ALLOW by itself.

Source: Commission Delegated Regulation (EU) 2017/589 art. 15(6).
"""

from typing import Final

from risk.rules.exposure import order_minor
from risk.rules.rule import Check, Measured, Rule, RuleCase
from risk.verdict import Action, Reason, RuleId, Scope, Unit


def _threshold(case: RuleCase) -> tuple[Measured, ...]:
    return (
        Measured(
            observed=order_minor(case),
            limit=case.policy.approval.human_notional.value,
            breach=Action.HOLD,
            reason=Reason.NEEDS_A_PERSON,
        ),
    )


R31: Final = Rule(
    rule_id=RuleId.R31,
    version=1,
    title="Human threshold: larger orders wait for a person",
    checks=(Check(name="notional", unit=Unit.MINOR, scope=Scope.ORDER),),
    measure=_threshold,
)
