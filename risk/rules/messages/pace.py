"""R33 and R35: messages in a second and in a day, and messages for each execution.

Rules:
- This order's own message counts.
- The ratio counts only above a number of messages: few messages are no pattern.

Source: CSRC rules on program trading of 7 July 2025; Directive 2014/65/EU art. 48(6).
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import Count, PolicyModel
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted
from risk.state.inputs.activity import Activity
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class PaceLimits(PolicyModel):
    """Messages, and messages for each execution.

    Attributes:
        second_max: Messages in any second.
        day_max: Messages in a day.
        window_ratio_max: Messages for each execution in half a minute.
        day_ratio_max: Messages for each execution in a day.
        ratio_from: Messages below which the ratio says nothing.
    """

    second_max: Annotated[Count, Looser.HIGHER]
    day_max: Annotated[Count, Looser.HIGHER]
    window_ratio_max: Annotated[Count, Looser.HIGHER]
    day_ratio_max: Annotated[Count, Looser.HIGHER]
    ratio_from: Annotated[Count, Looser.HIGHER]


def activity_of(case: RuleCase) -> Activity:
    """Return the account's recent past, or refuse."""
    found = case.inputs.activity
    if found is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(found.as_of_us)
    return found


def _high_frequency(case: RuleCase) -> tuple[Measured, ...]:
    found = activity_of(case)
    limits: PaceLimits = case.families.messages
    return (
        Measured(observed=counted(found.messages_second) + 1, limit=limits.second_max.value),
        Measured(observed=counted(found.messages_day) + 1, limit=limits.day_max.value),
    )


def _ratio(case: RuleCase) -> tuple[Measured, ...]:
    found = activity_of(case)
    limits: PaceLimits = case.families.messages
    return (
        _share(case, found.messages_window, found.fills_window, limits.window_ratio_max.value),
        _share(case, found.messages_day, found.fills_day, limits.day_ratio_max.value),
    )


def _share(case: RuleCase, messages: int, fills: int, limit: int) -> Measured:
    limits: PaceLimits = case.families.messages
    few = counted(messages) < limits.ratio_from.value
    return Measured(
        observed=-(-(messages + 1) // (counted(fills) + 1)),
        limit=limit,
        waived=Reason.TOO_FEW_MESSAGES if few else None,
    )


R33: Final = Rule(
    rule_id=RuleId.R33,
    version=1,
    title="High frequency: messages in a second, and in a day",
    checks=(
        Check(
            name="second",
            unit=Unit.MESSAGES,
            scope=Scope.ACCOUNT,
            reason=Reason.MESSAGES_ABOVE_MAXIMUM,
            breach=Action.THROTTLE,
        ),
        Check(
            name="day",
            unit=Unit.MESSAGES,
            scope=Scope.ACCOUNT,
            reason=Reason.MESSAGES_ABOVE_MAXIMUM,
        ),
    ),
    measure=_high_frequency,
)

R35: Final = Rule(
    rule_id=RuleId.R35,
    version=1,
    title="Order-to-trade ratio: messages for each execution, in half a minute and in a day",
    checks=(
        Check(
            name="window",
            unit=Unit.COUNT,
            scope=Scope.ACCOUNT,
            reason=Reason.ORDERS_TO_TRADES_ABOVE_MAXIMUM,
            breach=Action.THROTTLE,
        ),
        Check(
            name="day",
            unit=Unit.COUNT,
            scope=Scope.ACCOUNT,
            reason=Reason.ORDERS_TO_TRADES_ABOVE_MAXIMUM,
            breach=Action.THROTTLE,
        ),
    ),
    measure=_ratio,
)

RULES: Final = (R33, R35)
