"""R43: no aggressive order that makes the account a large share of the open or the close.

Rules:
- It applies within `closing_window` after the open of continuous trading or before its end.
- An order is aggressive if its limit meets the touch of the other side.
- Executed in the last ten minutes, with this order, at most `closing_share_max` of what all
  participants traded in them. If the market traded less, what we trade is all of it.

Source: Delegated Regulation (EU) 2016/522 Annex II, indicator A(e).
"""

from typing import Final

from risk.intent import Side
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


def _closing(case: RuleCase) -> tuple[Measured, ...]:
    session, limits = case.inputs.session, case.families.conduct
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
)
