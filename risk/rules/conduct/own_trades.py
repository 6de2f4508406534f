"""R40 and R42: trading back on the same forecast after a move, and matching an own execution.

Rules:
- R40: over own executions of the other side within `reversal_window` that are not older than the
  forecast, the largest move from their price to the touch that this order would trade at, in their
  direction, is at most `reversal_move_max`.
- R42: no order of any own account was executed on the other side within `wash_window`, within
  `wash_ticks` of this limit and `wash_quantity` of this quantity; executions of one order count as
  one, with their sum.
- A window that reaches further back than what is remembered cannot be judged.

Source: Delegated Regulation (EU) 2016/522 Annex II; Regulation (EU) No 596/2014 art. 12(1)(a);
FINRA rule 6140.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from risk.intent import Side
from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Micros, PolicyModel, Ticks
from risk.rules.exposure import side_of, touch
from risk.rules.limits import BP
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, ratio_up, whole
from risk.state.activity import LAST, REPEAT_US
from risk.state.inputs.activity import OwnFill
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class ReversalLimits(PolicyModel):
    """Reversals on one forecast (R40).

    Attributes:
        reversal_move_max: Move since own executions that may be reversed on the same forecast.
        reversal_window: How long own executions count for that.
    """

    reversal_move_max: Annotated[BasisPoints, Looser.HIGHER]
    reversal_window: Annotated[Micros, Looser.LOWER]


class MatchLimits(PolicyModel):
    """Matches of own executions (R42).

    Attributes:
        wash_window: How long an own execution of the other side counts as a match.
        wash_ticks: Distance of price within which it does.
        wash_quantity: Difference of quantity within which it does.
    """

    wash_window: Annotated[Micros, Looser.LOWER]
    wash_ticks: Annotated[Ticks, Looser.LOWER]
    wash_quantity: Annotated[BasisPoints, Looser.LOWER]


def _opposite(case: RuleCase, fills: Iterable[OwnFill], window_us: int) -> list[OwnFill]:
    """Return the executions of the other side within a window; refuse if some may be forgotten."""
    if window_us > REPEAT_US:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    since, side = positive(case.state.now_us) - window_us, side_of(case)
    recent = [one for one in fills if whole(one.time_us) >= since]
    if len(recent) >= LAST:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    sides = [Side(one.side) for one in recent if positive(one.lots) and positive(one.price_ticks)]
    return [one for other, one in zip(sides, recent, strict=True) if other is not side]


def _reversal(case: RuleCase) -> tuple[Measured, ...]:
    limits: ReversalLimits = case.families.conduct
    forecast = case.state.forecast
    if forecast is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    told = positive(forecast.as_of_us)
    (bid, ask), side = touch(case), side_of(case)
    moves = [
        ratio_up(
            (bid - one.price_ticks) if side is Side.SELL else (one.price_ticks - ask),
            BP,
            one.price_ticks,
        )
        for one in _opposite(case, activity_of(case).own_fills, limits.reversal_window.value)
        if one.time_us >= told
    ]
    return (
        Measured(observed=max(0, *moves) if moves else 0, limit=limits.reversal_move_max.value),
    )


def _matches(case: RuleCase) -> tuple[Measured, ...]:
    firm = case.inputs.firm
    limits: MatchLimits = case.families.conduct
    if firm is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    price, qty = positive(case.intent.limit_ticks), positive(case.intent.qty_lots)
    lots: dict[str, int] = {}
    near: set[str] = set()
    for place, one in enumerate(_opposite(case, firm.fills, limits.wash_window.value)):
        name = one.decision_id or f"#{place}"
        lots[name] = lots.get(name, 0) + one.lots
        if abs(one.price_ticks - price) <= limits.wash_ticks.value:
            near.add(name)
    alike = [
        name for name in near if abs(lots[name] - qty) * BP <= limits.wash_quantity.value * qty
    ]
    return (Measured(observed=len(alike), limit=0),)


R40: Final = Rule(
    rule_id=RuleId.R40,
    version=1,
    title="Trading back on the same forecast after a move that followed own executions",
    checks=(
        Check(
            name="move",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.REVERSAL_ON_THE_SAME_FORECAST,
            breach=Action.HOLD,
        ),
    ),
    measure=_reversal,
    conduct=True,
)

R42: Final = Rule(
    rule_id=RuleId.R42,
    version=1,
    title="Matches of own executions on the other side, of any own account",
    checks=(
        Check(
            name="matches",
            unit=Unit.COUNT,
            scope=Scope.FIRM,
            reason=Reason.MATCHES_AN_OWN_EXECUTION,
            breach=Action.HOLD,
        ),
    ),
    measure=_matches,
    conduct=True,
)

RULES: Final = (R40, R42)
