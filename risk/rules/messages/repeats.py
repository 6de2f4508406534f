"""R14: orders of one side that were executed in one instrument in ten minutes.

Rules:
- An order counts once, however many executions it had; this order counts.
- The count falls as executions grow older than ten minutes. A person ends it sooner, or makes it
  last, with the stops.

Source: Commission Delegated Regulation (EU) 2017/589 art. 15(3).
"""

from typing import Annotated, Final

from risk.intent import Side
from risk.numbers.looser import Looser
from risk.numbers.stated import Count, PolicyModel
from risk.rules.exposure import own, side_of
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal
from risk.state.activity import LAST
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class RepeatLimits(PolicyModel):
    """Executed orders of one side.

    Attributes:
        repeats_max: Orders of one side executed in one instrument in ten minutes.
    """

    repeats_max: Annotated[Count, Looser.HIGHER]


def _repeats(case: RuleCase) -> tuple[Measured, ...]:
    side, skip, found = side_of(case), own(case), activity_of(case)
    if len(found.own_fills) >= LAST:  # older ones are forgotten: the count would be too small
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    names = {
        one.decision_id or f"#{place}"
        for place, one in enumerate(found.own_fills)
        if Side(one.side) is side and (not skip or one.decision_id != skip)
    }
    limits: RepeatLimits = case.families.messages
    return (Measured(observed=len(names) + 1, limit=limits.repeats_max.value),)


R14: Final = Rule(
    rule_id=RuleId.R14,
    version=1,
    title="Repeated execution: executed orders of one side in one instrument in ten minutes",
    checks=(
        Check(
            name="orders",
            unit=Unit.COUNT,
            scope=Scope.INSTRUMENT,
            reason=Reason.EXECUTIONS_REPEATED,
            breach=Action.HALT,
        ),
    ),
    measure=_repeats,
)

RULES: Final = (R14,)
