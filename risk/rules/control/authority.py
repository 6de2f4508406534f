"""R02: a strategy trades only if the policy permits it, and only on the permitted sides.

Not here: who may ask for it (an agent's key and its mandate), and whether an approval has expired.

Source: 17 CFR 240.15c3-5(c)(2); Commission Delegated Regulation (EU) 2017/589 art. 12(3).
"""

from typing import Final

from risk.intent import Side
from risk.numbers.stated import Day, Name, PolicyModel, Text
from risk.rules.exposure import side_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, truth
from risk.verdict import Reason, RuleId, Scope, Unit


class Permit(PolicyModel):
    """A strategy by its name in the intent, and the sides on which it may trade."""

    name: Name
    buys: bool
    sells: bool
    owner: Text
    why: Text
    review_by: Day


class Permits(PolicyModel):
    """Strategies that may trade; what is not listed may not."""

    permits: tuple[Permit, ...]


def _permitted(case: RuleCase) -> tuple[Measured, ...]:
    side, strategy = side_of(case), case.intent.strategy
    listed: Permits = case.families.authority
    permits = [one for one in listed.permits if one.name == strategy]
    sides = [truth(one.buys if side is Side.BUY else one.sells) for one in permits]
    return (
        Measured(observed=int(not permits), limit=0),
        Measured(observed=int(not any(sides)), limit=0),
    )


R02: Final = Rule(
    rule_id=RuleId.R02,
    version=1,
    title="Authority: the strategy is permitted, on this side",
    checks=(
        Check(name="strategy", unit=Unit.FLAG, scope=Scope.ORDER, reason=Reason.NOT_PERMITTED),
        Check(name="side", unit=Unit.FLAG, scope=Scope.ORDER, reason=Reason.NOT_PERMITTED),
    ),
    measure=_permitted,
)

RULES: Final = (R02,)
