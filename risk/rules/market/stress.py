"""R28: when the whole market moves, nobody takes new risk.

Rules:
- An instrument is unusual if its last move from close to close is above `move_max`, or above
  `move_times` the median of the twenty moves before; with fewer bars, above half of `move_max`.
- Stressed: unusual instruments are at most `stress_share_max` of all that the firm reads.
- Fall: the mean over all of them of the last change, if it is a fall, is at most
  `stress_fall_max`; each change is rounded towards a larger fall.
- One other instrument is left out of both whose last change is a split's (2:1, 3:2, 1:10, ..)
  within 2 %: a split that nobody has recorded yet is no fall of the market. R27 holds its own
  orders meanwhile.
- Bars of other instruments that are older than `bars_age_max` do not count; those of the intent's
  own must be there. An order that only reduces risk is exempt.

Source: Commission Delegated Regulation (EU) 2017/589 art. 16(5).
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, PolicyModel
from risk.rules.exposure import reduces
from risk.rules.limits import BP
from risk.rules.market.moves import MoveLimits, Moves, age_of, moves_of, split_like, usual_max
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up
from risk.state.inputs.market import SeenBars
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class StressLimits(PolicyModel):
    """When the whole market is in stress.

    Attributes:
        stress_share_max: Share of the instruments whose last move is unusual.
        stress_fall_max: Mean fall of all instruments over their last bar.
    """

    stress_share_max: Annotated[BasisPoints, Looser.HIGHER]
    stress_fall_max: Annotated[BasisPoints, Looser.HIGHER]


def _unusual(found: Moves, limits: MoveLimits) -> bool:
    return found.now is not None and found.now > min(
        usual_max(found, limits), limits.move_max.value
    )


def _fall(found: Moves) -> int:
    """Return the last change in 1/10,000, positive if it is a fall."""
    return ratio_up(found.before - found.last, BP, found.before)


def _fresh(case: RuleCase, seen: tuple[SeenBars, ...]) -> list[Moves]:
    """Return the moves of every instrument whose bars are fresh; refuse without the own ones."""
    limits: MoveLimits = case.families.liquidity
    now, age_max = positive(case.state.now_us), limits.bars_age_max.value
    fresh = {
        one.symbol: moves_of(one.closes_ticks) if one.closes_ticks else None
        for one in seen
        if 0 <= age_of(now, one.as_of_us, one.due_us) <= age_max
    }
    own = fresh.pop(case.intent.instrument, None)
    if own is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    others = [found for found in fresh.values() if found is not None]
    split = next((at for at, found in enumerate(others) if split_like(found)), None)
    return [own, *(found for at, found in enumerate(others) if at != split)]


def _stress(case: RuleCase) -> tuple[Measured, ...]:
    stress = case.inputs.stress
    limits: StressLimits = case.families.liquidity
    moves: MoveLimits = case.families.liquidity
    if stress is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    markets = _fresh(case, stress.instruments)
    waived = Reason.REDUCES_RISK if reduces(case) else None
    stressed = sum([_unusual(found, moves) for found in markets])
    return (
        Measured(
            observed=ratio_up(stressed, BP, len(markets)),
            limit=limits.stress_share_max.value,
            waived=waived,
        ),
        Measured(
            observed=max(0, ratio_up(sum(map(_fall, markets)), 1, len(markets))),
            limit=limits.stress_fall_max.value,
            waived=waived,
        ),
    )


R28: Final = Rule(
    rule_id=RuleId.R28,
    version=2,
    title="Market-wide stress: the share of unusual instruments, and the mean fall",
    checks=(
        Check(
            name="stressed",
            unit=Unit.BASIS_POINTS,
            scope=Scope.FIRM,
            reason=Reason.MARKET_STRESSED,
            breach=Action.HALT,
        ),
        Check(
            name="fall",
            unit=Unit.BASIS_POINTS,
            scope=Scope.FIRM,
            reason=Reason.MARKET_FALL_ABOVE_MAXIMUM,
            breach=Action.HALT,
        ),
    ),
    measure=_stress,
)

RULES: Final = (R28,)
