"""R53: shapes of own orders on one side that show more than they are likely to trade.

Rules:
- Ladder: own open orders of this side, of all accounts, with this one, stand at no more than
  `ladder_max` prices.
- Growing: of these prices, from the touch outward, no more than `growing_max` in a row have each
  more lots than the one before.
- Quoted: orders of this side that ended unexecuted in half a minute and lived shorter than
  `withdrawn_rest` are at most `quoted_max`, unless something was executed on this side.
- A renewal or a replace leaves the reservation of its own decision out.

Source: Delegated Regulation (EU) 2016/522 Annex II; Regulation (EU) No 596/2014 art. 12(2)(c).
"""

from itertools import pairwise
from typing import Annotated, Final

from risk.intent import Side
from risk.numbers.looser import Looser
from risk.numbers.stated import Count, PolicyModel
from risk.rules.conduct.withdrawals import WithdrawalLimits
from risk.rules.exposure import own, side_of
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, positive, whole
from risk.state.activity import LAST, WINDOW_US
from risk.verdict import Reason, RuleId, Scope, Unit


class ShapeLimits(PolicyModel):
    """Shapes of own orders of one side.

    Attributes:
        ladder_max: Price levels of this side that one instrument may have, with the new order.
        growing_max: Of them, levels in a row whose lots grow with the distance from the touch.
        quoted_max: Quotes of this side withdrawn unexecuted in half a minute.
    """

    ladder_max: Annotated[Count, Looser.HIGHER]
    growing_max: Annotated[Count, Looser.HIGHER]
    quoted_max: Annotated[Count, Looser.HIGHER]


def own_levels(case: RuleCase) -> list[int]:
    """Return the lots at each own price of this side, with this order, from the touch outward."""
    firm, side, skip = case.inputs.firm, side_of(case), own(case)
    if firm is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(firm.basis_seq)
    levels = {positive(case.intent.limit_ticks): positive(case.intent.qty_lots)}
    for one in firm.orders:
        here = one.instrument == case.intent.instrument and Side(one.side) is side
        if here and (not skip or one.decision_id != skip):
            price = positive(one.limit_ticks)
            levels[price] = levels.get(price, 0) + positive(one.open_lots)
    return [levels[price] for price in sorted(levels, reverse=side is Side.BUY)]


def _growing(levels: list[int]) -> int:
    longest = run = 1
    for nearer, farther in pairwise(levels):
        run = run + 1 if farther > nearer else 1
        longest = max(longest, run)
    return longest


def _shapes(case: RuleCase) -> tuple[Measured, ...]:
    limits: ShapeLimits = case.families.conduct
    withdrawals: WithdrawalLimits = case.families.conduct
    side = side_of(case)
    found, levels = activity_of(case), own_levels(case)
    if len(found.withdrawn) >= LAST:  # older ones are forgotten: the count would be too small
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    since = positive(case.state.now_us) - WINDOW_US
    executed = any(Side(one.side) is side and whole(one.time_us) > since for one in found.own_fills)
    quoted = [
        one
        for one in found.withdrawn
        if Side(one.side) is side and counted(one.rest_us) < withdrawals.withdrawn_rest.value
    ]
    return (
        Measured(observed=len(levels), limit=limits.ladder_max.value),
        Measured(observed=_growing(levels), limit=limits.growing_max.value),
        Measured(
            observed=len(quoted),
            limit=limits.quoted_max.value,
            waived=Reason.EXECUTED if executed else None,
        ),
    )


R53: Final = Rule(
    rule_id=RuleId.R53,
    version=1,
    title="Shapes of own orders on one side: ladders, growing sizes, quotes withdrawn again",
    checks=(
        Check(name="ladder", unit=Unit.COUNT, scope=Scope.FIRM, reason=Reason.OWN_LEVELS_STACKED),
        Check(name="growing", unit=Unit.COUNT, scope=Scope.FIRM, reason=Reason.SIZES_GROW_BEHIND),
        Check(
            name="quoted",
            unit=Unit.COUNT,
            scope=Scope.INSTRUMENT,
            reason=Reason.QUOTED_AND_WITHDRAWN,
        ),
    ),
    measure=_shapes,
    conduct=True,
)

RULES: Final = (R53,)
