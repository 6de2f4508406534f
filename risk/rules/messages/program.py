"""R32 and R34: bursts of messages in a day, and orders that ended at once.

Rules:
- R32: how often in the day `program_burst` messages fell within one second, rolling, no message
  twice; this order's message counts as one more if it would complete a burst. `program_bursts` of
  them are refused, and two fewer warn. No number of a report to the exchange lifts it.
- R34: orders of the day that ended unexecuted within a second of being sent, by number and by
  share of the day's orders. A refusal by the broker within that second counts, too.

Source: CSRC rules on program trading of 7 July 2025, and the exchanges' rules under them.
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Count, PolicyModel
from risk.rules.limits import BP
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, ratio_up
from risk.state.activity import BURST_SIZES
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class ProgramLimits(PolicyModel):
    """Bursts, and orders that ended at once.

    Attributes:
        program_burst: Messages within a second that are a burst, 5 to 10.
        program_bursts: Bursts in a day that make trading a program.
        brief_max: Orders in a day that ended unexecuted within a second.
        brief_share_max: Their share of the day's orders.
        brief_from: Orders in the day below which the share says nothing.
    """

    program_burst: Annotated[Count, Looser.HIGHER]
    program_bursts: Annotated[Count, Looser.HIGHER]
    brief_max: Annotated[Count, Looser.HIGHER]
    brief_share_max: Annotated[BasisPoints, Looser.HIGHER]
    brief_from: Annotated[Count, Looser.HIGHER]


def _program(case: RuleCase) -> tuple[Measured, ...]:
    found = activity_of(case)
    limits: ProgramLimits = case.families.messages
    size, most = limits.program_burst.value, limits.program_bursts.value
    if size not in BURST_SIZES:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    bursts = dict(zip(BURST_SIZES, map(counted, found.bursts_day), strict=True))
    completes = counted(found.messages_second) + 1 >= size
    return (Measured(observed=bursts[size] + int(completes), limit=most - 1, warn_at=most - 3),)


def _brief(case: RuleCase) -> tuple[Measured, ...]:
    found = activity_of(case)
    limits: ProgramLimits = case.families.messages
    brief, orders = counted(found.brief_day), counted(found.orders_day)
    return (
        Measured(observed=brief, limit=limits.brief_max.value),
        Measured(
            observed=ratio_up(brief, BP, max(1, orders)),
            limit=limits.brief_share_max.value,
            waived=Reason.TOO_FEW_ORDERS if orders < limits.brief_from.value else None,
        ),
    )


R32: Final = Rule(
    rule_id=RuleId.R32,
    version=1,
    title="Program trading: bursts of messages in a day",
    checks=(
        Check(
            name="bursts", unit=Unit.COUNT, scope=Scope.ACCOUNT, reason=Reason.BURSTS_ABOVE_MAXIMUM
        ),
    ),
    measure=_program,
)

R34: Final = Rule(
    rule_id=RuleId.R34,
    version=1,
    title="Orders that ended unexecuted within a second, in a day",
    checks=(
        Check(
            name="orders",
            unit=Unit.COUNT,
            scope=Scope.ACCOUNT,
            reason=Reason.BRIEF_ORDERS_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="share",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.BRIEF_ORDERS_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
    ),
    measure=_brief,
)

RULES: Final = (R32, R34)
