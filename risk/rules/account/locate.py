"""R19: what would be sold short has been located.

Rules:
- Short is what the position would be below zero if every pending sale and this order executed; it
  is at most the lots that the table of instruments says were located.
- The table is at most `locate_age_max` old.
- An order that leaves nothing short needs no locate, but the instrument's row.

Not here: the price restriction after a fall of ten percent, which needs the national best bid.

Source: Regulation SHO, 17 CFR 242.203(b)(1).
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import Micros, PolicyModel
from risk.rules.exposure import exposure
from risk.rules.market.liquidity import listed, reference_age
from risk.rules.rule import Check, Measured, Rule, RuleCase, counted
from risk.verdict import Reason, RuleId, Scope, Unit


class LocateLimits(PolicyModel):
    """How old a locate may be.

    Attributes:
        locate_age_max: Age of the table of instruments that says what may be sold short.
    """

    locate_age_max: Annotated[Micros, Looser.HIGHER]


def _located(case: RuleCase) -> tuple[Measured, ...]:
    row, age = listed(case), reference_age(case)
    short = max(0, -exposure(case).low_lots)
    for said in (row.locate_lots, row.borrow_bp):
        if said is not None:
            counted(said)
    waived = None if short else Reason.NOT_SHORT
    located = Measured(
        observed=short, limit=counted(row.locate_lots) if short else 0, waived=waived
    )
    limits: LocateLimits = case.families.liquidity
    return (
        located,
        Measured(observed=age, limit=limits.locate_age_max.value, waived=waived),
    )


R19: Final = Rule(
    rule_id=RuleId.R19,
    version=1,
    title="Short sale: the worst-case short position has been located",
    checks=(
        Check(name="short", unit=Unit.LOTS, scope=Scope.INSTRUMENT, reason=Reason.NOT_LOCATED),
        Check(
            name="age", unit=Unit.MICROSECONDS, scope=Scope.INSTRUMENT, reason=Reason.LOCATE_STALE
        ),
    ),
    measure=_located,
)

RULES: Final = (R19,)
