"""R36, R37, R38: messages without executions, and own orders of the other side that are not meant.

Rules:
- R36: messages in the instrument in the second that ends now, with this one, while nothing was
  executed in half a minute.
- R37: lots of the other side that ended unexecuted in half a minute, of orders that lived shorter
  than `withdrawn_rest`, are at most `withdrawn_times` the lots executed on this side in that time
  and wanted now.
- R38: own open orders of the other side, of all accounts, stand at no more than `levels_max`
  prices.

Source: Delegated Regulation (EU) 2016/522 Annex II; FINRA rule 5210.03; CEA section 4c(a)(5).
"""

from typing import Annotated, Final

from risk.intent import Side
from risk.numbers.looser import Looser
from risk.numbers.stated import Count, Micros, PolicyModel
from risk.rules.exposure import side_of
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, positive, whole
from risk.state.activity import LAST, WINDOW_US
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class IdleLimits(PolicyModel):
    """Messages without executions (R36).

    Attributes:
        idle_second_max: Messages in one instrument in a second without an execution.
    """

    idle_second_max: Annotated[Count, Looser.HIGHER]


class WithdrawalLimits(PolicyModel):
    """What was withdrawn on the other side (R37).

    Attributes:
        withdrawn_times: Lots of the other side withdrawn, for each lot executed or wanted here.
        withdrawn_rest: Orders that lived shorter than this count as withdrawn.
    """

    withdrawn_times: Annotated[Count, Looser.HIGHER]
    withdrawn_rest: Annotated[Micros, Looser.LOWER]


class LevelLimits(PolicyModel):
    """What stands on the other side (R38).

    Attributes:
        levels_max: Own price levels that may stand on the other side.
    """

    levels_max: Annotated[Count, Looser.HIGHER]


def _idle(case: RuleCase) -> tuple[Measured, ...]:
    found = activity_of(case)
    since = positive(case.state.now_us) - WINDOW_US
    executed = any(whole(one.time_us) > since for one in found.own_fills)
    messages = counted(found.own_messages_second) + 1
    limits: IdleLimits = case.families.messages
    return (
        Measured(
            observed=messages,
            limit=limits.idle_second_max.value,
            waived=Reason.EXECUTED if executed else None,
        ),
    )


def _withdrawn(case: RuleCase) -> tuple[Measured, ...]:
    found = activity_of(case)
    limits: WithdrawalLimits = case.families.conduct
    side = side_of(case)
    if len(found.withdrawn) >= LAST:  # older ones are forgotten: the sum would be too small
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    since = positive(case.state.now_us) - WINDOW_US
    here = positive(case.intent.qty_lots) + sum(
        positive(one.lots)
        for one in found.own_fills
        if Side(one.side) is side and whole(one.time_us) > since
    )
    ended = [
        (Side(one.side), counted(one.rest_us), positive(one.lots))
        for one in found.withdrawn
        if positive(one.time_us)
    ]
    there = sum(
        lots
        for other, rest_us, lots in ended
        if other is not side and rest_us < limits.withdrawn_rest.value
    )
    return (Measured(observed=there, limit=limits.withdrawn_times.value * here),)


def _levels(case: RuleCase) -> tuple[Measured, ...]:
    firm, side = case.inputs.firm, side_of(case)
    if firm is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(firm.basis_seq)
    open_orders = [
        (Side(order.side), positive(order.limit_ticks))
        for order in firm.orders
        if order.instrument == case.intent.instrument and positive(order.open_lots)
    ]
    levels = {price for other, price in open_orders if other is not side}
    limits: LevelLimits = case.families.conduct
    return (Measured(observed=len(levels), limit=limits.levels_max.value),)


R36: Final = Rule(
    rule_id=RuleId.R36,
    version=1,
    title="Messages in one instrument in a second without an execution",
    checks=(
        Check(
            name="second",
            unit=Unit.MESSAGES,
            scope=Scope.INSTRUMENT,
            reason=Reason.MESSAGES_WITHOUT_EXECUTION,
            breach=Action.HALT,
        ),
    ),
    measure=_idle,
    conduct=True,
)

R37: Final = Rule(
    rule_id=RuleId.R37,
    version=1,
    title="What was withdrawn on the other side, against what is executed and wanted on this one",
    checks=(
        Check(
            name="withdrawn",
            unit=Unit.LOTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.OTHER_SIDE_WITHDRAWN,
        ),
    ),
    measure=_withdrawn,
    conduct=True,
)

R38: Final = Rule(
    rule_id=RuleId.R38,
    version=1,
    title="Own price levels that stand on the other side",
    checks=(
        Check(
            name="levels", unit=Unit.COUNT, scope=Scope.FIRM, reason=Reason.OTHER_SIDE_LEVELS_OPEN
        ),
    ),
    measure=_levels,
    conduct=True,
)

RULES: Final = (R36, R37, R38)
