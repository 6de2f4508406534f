"""R27: after an unusual move, a person decides.

Rules:
- Move now: the larger distance of bid and ask from the last bar's close, of that close, is at most
  `move_max`.
- Usual: the larger of that and the last bar's own move from close to close is at most `move_times`
  the median of the twenty moves before. With fewer bars, half of `move_max` stands in.
- An order that only reduces risk does not wait: after a crash least of all.
- The last bar closed at most `bars_age_max` ago.

Bars are those of the decision's snapshot, whatever their length. Not here: halts (R24).

Source: Commission Delegated Regulation (EU) 2017/584 art. 19; NMS plan on limit up-limit down.
"""

from itertools import pairwise
from statistics import median_low
from typing import Final

from risk.canonical import RANGE
from risk.rules.exposure import reduces, touch
from risk.rules.limits import BP
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up
from risk.verdict import Action, Reason, RuleId, Scope, Unit

USUAL: Final = 20


def closes_of(closes: tuple[int, ...]) -> list[int]:
    """Return closing prices, each a positive integer in range, or refuse."""
    if {int}.issuperset(map(type, closes)) and closes and 0 < min(closes) <= max(closes) < RANGE:
        return list(closes)
    return [positive(one) for one in closes]


def moves_between(closes: list[int]) -> list[int]:
    """Return the size of each move from close to close, 1/10,000 of the former, rounded up."""
    return [-(-abs(after - before) * BP // before) for before, after in pairwise(closes)]


def _moves(case: RuleCase) -> tuple[Measured, ...]:
    market, limits = case.inputs.market, case.families.liquidity
    if market is None or not market.closes_ticks:
        raise RuleRefusal(Reason.INPUT_MISSING)
    closes = closes_of(market.closes_ticks)
    age = positive(case.state.now_us) - positive(market.as_of_us)
    now = max(ratio_up(abs(price - closes[-1]), BP, closes[-1]) for price in touch(case))
    moves = moves_between(closes)
    waived = Reason.REDUCES_RISK if reduces(case) else None
    usual_max = limits.move_max.value // 2
    if len(moves) > USUAL:
        usual_max = limits.move_times.value * median_low(moves[-USUAL - 1 : -1])
    return (
        Measured(
            observed=now,
            limit=limits.move_max.value,
            reason=Reason.MOVE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
            waived=waived,
        ),
        Measured(
            observed=max(now, *moves[-1:]) if moves else now,
            limit=usual_max,
            reason=Reason.MOVE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
            waived=waived,
        ),
        Measured(observed=age, limit=limits.bars_age_max.value, reason=Reason.BARS_STALE),
        Measured(observed=max(0, -age), limit=0, reason=Reason.BARS_FROM_THE_FUTURE),
    )


R27: Final = Rule(
    rule_id=RuleId.R27,
    version=1,
    title="Volatility: the latest move, by itself and against the usual one",
    checks=(
        Check(name="move", unit=Unit.BASIS_POINTS, scope=Scope.INSTRUMENT),
        Check(name="usual", unit=Unit.BASIS_POINTS, scope=Scope.INSTRUMENT),
        Check(name="bars_age", unit=Unit.MICROSECONDS, scope=Scope.INSTRUMENT),
        Check(name="bars_ahead", unit=Unit.MICROSECONDS, scope=Scope.INSTRUMENT),
    ),
    measure=_moves,
)
