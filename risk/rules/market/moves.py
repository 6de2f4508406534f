"""R27: after an unusual move, a person decides.

Rules:
- Move now: the larger distance of bid and ask from the last bar's close, of that close, is at most
  `move_max`.
- Usual: the larger of that and the last bar's own move from close to close is at most `move_times`
  the median of the twenty moves before. With fewer bars, half of `move_max` stands in.
- An order that only reduces risk does not wait: after a crash least of all.
- The last bar is at most `bars_age_max` old. Where the sessions are known it ages from the opening
  of the next one, so that a holiday makes no bar old; else from its close.

Bars are those of the decision's snapshot, whatever their length. Not here: halts (R24).

Source: Commission Delegated Regulation (EU) 2017/584 art. 19; NMS plan on limit up-limit down.
"""

from itertools import pairwise
from statistics import median_low
from typing import Annotated, Final

from msgspec import Struct

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Count, Micros, PolicyModel
from risk.rules.exposure import reduces, touch
from risk.rules.limits import BP
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class MoveLimits(PolicyModel):
    """Which moves are unusual.

    Attributes:
        move_max: Move from the last bar's close to the touch.
        move_times: The latest moves, in medians of the twenty before.
        bars_age_max: Age of the last bar.
    """

    move_max: Annotated[BasisPoints, Looser.HIGHER]
    move_times: Annotated[Count, Looser.HIGHER]
    bars_age_max: Annotated[Micros, Looser.HIGHER]


USUAL: Final = 20
SPLIT_RATIOS: Final = ((3, 2), *((new, 1) for new in (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 50)))
"""Usual ratios of splits; a smaller one, such as 5:4, is not told from a fall."""
SPLIT_NEAR: Final = 50


class Moves(Struct, frozen=True, gc=False):
    """What closing prices say: sizes of moves in 1/10,000 of the price before, rounded up.

    Attributes:
        last: The last close.
        before: The close before it, or the last one if there is none.
        now: The last move, None for one close.
        usual: The median of the twenty moves before it, None if there are fewer.
    """

    last: int
    before: int
    now: int | None
    usual: int | None


_KEPT: Final = 256
_READ: Final[dict[int, tuple[tuple[int, ...], Moves]]] = {}
"""By identity: bars are frozen, and judged until the next one closes."""


def moves_of(closes: tuple[int, ...]) -> Moves:
    """Return the moves of closing prices, each a positive integer in range, or refuse."""
    kept = _READ.get(id(closes))
    if kept is not None and kept[0] is closes:
        return kept[1]
    made = _moves_of([positive(one) for one in closes])
    if type(closes) is tuple:
        if len(_READ) >= _KEPT:
            _READ.clear()
        _READ[id(closes)] = (closes, made)
    return made


def _moves_of(closes: list[int]) -> Moves:
    moves = [-(-abs(after - before) * BP // before) for before, after in pairwise(closes)]
    return Moves(
        last=closes[-1],
        before=closes[-2] if moves else closes[-1],
        now=moves[-1] if moves else None,
        usual=median_low(moves[-USUAL - 1 : -1]) if len(moves) > USUAL else None,
    )


def split_like(found: Moves) -> bool:
    """Return whether the last change is that of a split or of a consolidation, within 2 %."""
    higher, lower = max(found.before, found.last), min(found.before, found.last)
    return any(
        abs(higher * old - lower * new) * SPLIT_NEAR <= lower * new for new, old in SPLIT_RATIOS
    )


def age_of(now: int, as_of_us: int, due_us: int | None) -> int:
    """Return how old bars are: since the next session opened, or their close; negative if ahead.

    An opening before the close that it follows is refused.
    """
    age = now - positive(as_of_us)
    if due_us is None or age < 0:
        return age
    if positive(due_us) < as_of_us:
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    return max(0, now - due_us)


def usual_max(found: Moves, limits: MoveLimits) -> int:
    """Return the largest move that is not unusual; with few bars half of `move_max`."""
    if found.usual is None:
        return limits.move_max.value // 2
    return limits.move_times.value * found.usual


def _moves(case: RuleCase) -> tuple[Measured, ...]:
    market = case.inputs.market
    limits: MoveLimits = case.families.liquidity
    if market is None or not market.closes_ticks:
        raise RuleRefusal(Reason.INPUT_MISSING)
    found = moves_of(market.closes_ticks)
    age = age_of(positive(case.state.now_us), market.as_of_us, market.due_us)
    now = max(ratio_up(abs(price - found.last), BP, found.last) for price in touch(case))
    waived = Reason.REDUCES_RISK if reduces(case) else None
    return (
        Measured(observed=now, limit=limits.move_max.value, waived=waived),
        Measured(observed=max(now, found.now or 0), limit=usual_max(found, limits), waived=waived),
        Measured(observed=age, limit=limits.bars_age_max.value),
        Measured(observed=max(0, -age), limit=0),
    )


R27: Final = Rule(
    rule_id=RuleId.R27,
    version=2,
    title="Volatility: the latest move, by itself and against the usual one",
    checks=(
        Check(
            name="move",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.MOVE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="usual",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.MOVE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="bars_age",
            unit=Unit.MICROSECONDS,
            scope=Scope.INSTRUMENT,
            reason=Reason.BARS_STALE,
        ),
        Check(
            name="bars_ahead",
            unit=Unit.MICROSECONDS,
            scope=Scope.INSTRUMENT,
            reason=Reason.BARS_FROM_THE_FUTURE,
        ),
    ),
    measure=_moves,
)

RULES: Final = (R27,)
