"""R43: no aggressive order that makes the account a large share of the open or the close.

Rules:
- It applies within `closing_window` after the open of continuous trading or before its end.
- An order is aggressive if its limit meets the touch of the other side.
- Executed in the last ten minutes, with this order, at most `closing_share_max` of what all
  participants traded in them. If the market traded less, what we trade is all of it.

Source: Delegated Regulation (EU) 2016/522 Annex II, indicator A(e).
"""

from typing import Annotated, Final

from risk.intent import Side
from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Micros, PolicyModel
from risk.rules.exposure import side_of, touch
from risk.rules.limits import BP
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
from risk.verdict import Reason, RuleId, Scope, Unit


class ClosingShareLimits(PolicyModel):
    """Own share around open and close.

    Attributes:
        closing_window: Time after the open and before the close in which a share counts.
        closing_share_max: Own share of what traded in that window, with the new order.
    """

    closing_window: Annotated[Micros, Looser.LOWER]
    closing_share_max: Annotated[BasisPoints, Looser.HIGHER]


def _closing(case: RuleCase) -> tuple[Measured, ...]:
    session = case.inputs.session
    limits: ClosingShareLimits = case.families.conduct
    if session is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    limit, (bid, ask) = positive(case.intent.limit_ticks), touch(case)
    aggressive = limit >= ask if side_of(case) is Side.BUY else limit <= bid
    counted(session.volume_age_us)
    nearest = min(counted(session.since_open_us), counted(session.to_close_us))
    waived = None if aggressive else Reason.NOT_AGGRESSIVE
    if nearest > limits.closing_window.value:
        waived = Reason.OUTSIDE_THE_WINDOW
    own = counted(session.own_lots) + positive(case.intent.qty_lots)
    return (
        Measured(
            observed=ratio_up(own, BP, max(own, counted(session.market_lots))),
            limit=limits.closing_share_max.value,
            waived=waived,
        ),
    )


R43: Final = Rule(
    rule_id=RuleId.R43,
    version=1,
    title="Marking the open or close: own share of what trades around them",
    checks=(
        Check(
            name="share",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM,
        ),
    ),
    measure=_closing,
    conduct=True,
)

RULES: Final = (R43,)
