"""R15: an order, and a day's orders, are no more than a share of what the market trades in a day.

Source: Commission Delegated Regulation (EU) 2017/589 art. 15(1)(c).
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Micros, PolicyModel
from risk.rules.limits import BP
from risk.rules.messages.pace import activity_of
from risk.rules.rule import (
    Check,
    Measured,
    Rule,
    RuleCase,
    RuleRefusal,
    counted,
    positive,
    ratio_up,
)
from risk.state.inputs.reference import Listed
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class VolumeLimits(PolicyModel):
    """What a market can take of orders.

    Attributes:
        adv_share_max: Share of the average daily volume that one order may be.
        adv_day_share_max: Share of it that a day's orders may be together.
        reference_age_max: Age of the instruments' reference data.
    """

    adv_share_max: Annotated[BasisPoints, Looser.HIGHER]
    adv_day_share_max: Annotated[BasisPoints, Looser.HIGHER]
    reference_age_max: Annotated[Micros, Looser.HIGHER]


def listed(case: RuleCase) -> Listed:
    """Return the row of the intent's instrument, or refuse."""
    reference = case.inputs.reference
    if reference is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    row = reference.of(case.intent.instrument)
    if row is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    return row


def reference_age(case: RuleCase) -> int:
    """Return the age of the table in microseconds, or refuse; also a table of the future."""
    reference = case.inputs.reference
    if reference is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    return counted(positive(case.state.now_us) - positive(reference.as_of_us))


def _volume(case: RuleCase) -> tuple[Measured, ...]:
    qty = positive(case.intent.qty_lots)
    adv = positive(listed(case).adv_lots)
    limits: VolumeLimits = case.families.liquidity
    return (
        Measured(observed=ratio_up(qty, BP, adv), limit=limits.adv_share_max.value),
        Measured(
            observed=ratio_up(counted(activity_of(case).day_lots) + qty, BP, adv),
            limit=limits.adv_day_share_max.value,
        ),
        Measured(observed=reference_age(case), limit=limits.reference_age_max.value),
    )


R15: Final = Rule(
    rule_id=RuleId.R15,
    version=1,
    title="Share of the average daily volume",
    checks=(
        Check(
            name="order_share",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.VOLUME_SHARE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="day_share",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.VOLUME_SHARE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="reference_age",
            unit=Unit.MICROSECONDS,
            scope=Scope.INSTRUMENT,
            reason=Reason.REFERENCE_STALE,
        ),
    ),
    measure=_volume,
)

RULES: Final = (R15,)
