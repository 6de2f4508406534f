"""R50: room on the disk and a steady clock, or no order leaves.

The order of the records is not measured: the ledger refuses a verdict that does not follow the
records it rests on, and an order whose record is not durable does not leave.

Source: Commission Delegated Regulation (EU) 2017/574; 2017/589 art. 14.
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Micros, PolicyModel
from risk.rules.limits import BP
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, whole
from risk.verdict import Action, Bound, Reason, RuleId, Scope, Unit


class HealthLimits(PolicyModel):
    """Disk and clock.

    Attributes:
        look_age_max: Age of the last look at disk and clock.
        disk_free_min: Free share of the disk.
        clock_step_max: Step of the wall clock between two looks.
    """

    look_age_max: Annotated[Micros, Looser.HIGHER]
    disk_free_min: Annotated[BasisPoints, Looser.LOWER]
    clock_step_max: Annotated[Micros, Looser.HIGHER]


def _health(case: RuleCase) -> tuple[Measured, ...]:
    found = case.inputs.health
    limits: HealthLimits = case.families.control
    if found is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    free = counted(found.disk_free_bp)
    if free > BP:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    return (
        Measured(observed=counted(found.age_us), limit=limits.look_age_max.value),
        Measured(observed=free, limit=limits.disk_free_min.value),
        Measured(observed=abs(whole(found.clock_step_us)), limit=limits.clock_step_max.value),
    )


R50: Final = Rule(
    rule_id=RuleId.R50,
    version=1,
    title="Health: room on the disk, and a clock that does not step",
    checks=(
        Check(
            name="look_age", unit=Unit.MICROSECONDS, scope=Scope.FIRM, reason=Reason.HEALTH_STALE
        ),
        Check(
            name="disk_free",
            unit=Unit.BASIS_POINTS,
            scope=Scope.FIRM,
            bound=Bound.MIN,
            reason=Reason.DISK_NEARLY_FULL,
            breach=Action.HALT,
        ),
        Check(
            name="clock_step",
            unit=Unit.MICROSECONDS,
            scope=Scope.FIRM,
            reason=Reason.CLOCK_STEPPED,
            breach=Action.HALT,
        ),
    ),
    measure=_health,
)

RULES: Final = (R50,)
