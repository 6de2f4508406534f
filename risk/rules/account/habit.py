"""R20: an order far above what this account usually sends waits for a person.

Rules:
- Quantity is compared with the median of the last fifty orders in the instrument, value with the
  largest of them.
- With too few orders, half of the limits of R03 and R04 stand in.

Source: 17 CFR 240.15c3-5(c)(1)(ii).
"""

from statistics import median_low
from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import Count, PolicyModel
from risk.rules.exposure import order_minor
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, positive
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class HabitLimits(PolicyModel):
    """How far above what is usual an order may be.

    Attributes:
        habit_lots_times: An order's quantity, in medians of the last fifty orders.
        habit_value_times: An order's value, in the largest of them.
        habit_from: Orders below which half of the order limits stand in.
    """

    habit_lots_times: Annotated[Count, Looser.HIGHER]
    habit_value_times: Annotated[Count, Looser.HIGHER]
    habit_from: Annotated[Count, Looser.LOWER]


def _habit(case: RuleCase) -> tuple[Measured, ...]:
    orders = activity_of(case).orders
    limits: HabitLimits = case.families.account
    lots_max = case.for_instrument.order_qty_max.value // 2
    value_max = case.policy.account.order_notional_max.value // 2
    if len(orders) >= limits.habit_from.value:
        lots_max = limits.habit_lots_times.value * median_low(positive(o.lots) for o in orders)
        value_max = limits.habit_value_times.value * max(positive(o.value_minor) for o in orders)
    return (
        Measured(observed=positive(case.intent.qty_lots), limit=lots_max),
        Measured(observed=order_minor(case), limit=value_max),
    )


R20: Final = Rule(
    rule_id=RuleId.R20,
    version=1,
    title="Fat finger: quantity and value far above what the account usually sends",
    checks=(
        Check(
            name="quantity",
            unit=Unit.LOTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.FAR_ABOVE_USUAL,
            breach=Action.HOLD,
        ),
        Check(
            name="value",
            unit=Unit.MINOR,
            scope=Scope.INSTRUMENT,
            reason=Reason.FAR_ABOVE_USUAL,
            breach=Action.HOLD,
        ),
    ),
    measure=_habit,
)

RULES: Final = (R20,)
