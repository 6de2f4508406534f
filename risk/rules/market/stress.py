"""R28: when the whole market moves, nobody takes new risk.

Rules:
- An instrument is unusual if its last move from close to close is above `move_max`, or above
  `move_times` the median of the twenty moves before; with fewer bars, above half of `move_max`.
- Stressed: unusual instruments are at most `stress_share_max` of all that the firm reads.
- Fall: the mean over all of them of the last change, if it is a fall, is at most
  `stress_fall_max`; each change is rounded towards a larger fall.
- Bars of other instruments that are older than `bars_age_max` do not count; those of the intent's
  own must be there. An order that only reduces risk is exempt.

Source: Commission Delegated Regulation (EU) 2017/589 art. 16(5).
"""

from statistics import median_low
from typing import Final

from risk.policy.families.liquidity import LiquidityLimits
from risk.rules.exposure import reduces
from risk.rules.limits import BP
from risk.rules.market.moves import USUAL, closes_of, moves_between
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up
from risk.state.inputs.market import SeenBars
from risk.verdict import Action, Reason, RuleId, Scope, Unit


def _unusual(closes: list[int], limits: LiquidityLimits) -> bool:
    moves = moves_between(closes)
    if not moves:
        return False
    usual_max = limits.move_max.value // 2
    if len(moves) > USUAL:
        usual_max = limits.move_times.value * median_low(moves[-USUAL - 1 : -1])
    return moves[-1] > min(usual_max, limits.move_max.value)


def _fall(closes: list[int]) -> int:
    """Return the last change in 1/10,000, positive if it is a fall."""
    return ratio_up(closes[-2] - closes[-1], BP, closes[-2]) if len(closes) > 1 else 0


def _fresh(case: RuleCase, seen: tuple[SeenBars, ...]) -> list[list[int]]:
    """Return the closes of every instrument whose bars are fresh; refuse without the own ones."""
    now, age_max = positive(case.state.now_us), case.families.liquidity.bars_age_max.value
    fresh = {
        one.symbol: closes_of(one.closes_ticks)
        for one in seen
        if 0 <= now - positive(one.as_of_us) <= age_max
    }
    if not fresh.get(case.intent.instrument):
        raise RuleRefusal(Reason.INPUT_MISSING)
    return [closes for closes in fresh.values() if closes]


def _stress(case: RuleCase) -> tuple[Measured, ...]:
    stress, limits = case.inputs.stress, case.families.liquidity
    if stress is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    markets = _fresh(case, stress.instruments)
    waived = Reason.REDUCES_RISK if reduces(case) else None
    stressed = sum(_unusual(closes, limits) for closes in markets)
    return (
        Measured(
            observed=ratio_up(stressed, BP, len(markets)),
            limit=limits.stress_share_max.value,
            reason=Reason.MARKET_STRESSED,
            breach=Action.HALT,
            waived=waived,
        ),
        Measured(
            observed=max(0, ratio_up(sum(map(_fall, markets)), 1, len(markets))),
            limit=limits.stress_fall_max.value,
            reason=Reason.MARKET_FALL_ABOVE_MAXIMUM,
            breach=Action.HALT,
            waived=waived,
        ),
    )


R28: Final = Rule(
    rule_id=RuleId.R28,
    version=1,
    title="Market-wide stress: the share of unusual instruments, and the mean fall",
    checks=(
        Check(name="stressed", unit=Unit.BASIS_POINTS, scope=Scope.FIRM),
        Check(name="fall", unit=Unit.BASIS_POINTS, scope=Scope.FIRM),
    ),
    measure=_stress,
)
