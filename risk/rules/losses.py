"""R11 and R12: loss of a day, and drawdown from the peak.

Not here: where equity comes from (`risk/state/book.py`).

Rules:
- Orders that only reduce risk are exempt.
- A day's loss is measured at its worst point: a halt does not end because prices recover.
- The last `cooling_days` count too: with closing marks a day's loss shows only after that day's
  last decision.
- The peak never resets. Trading after a drawdown halt needs a newly signed policy.
"""

from typing import Final

from risk.rules.exposure import equity_of, reduces
from risk.rules.rule import Check, Measured, Rule, RuleCase, positive, ratio_up, whole
from risk.state.book import DayResult
from risk.verdict import Action, Reason, RuleId, Scope, Unit

BP: Final = 10_000


def _loss_bp(day: DayResult) -> int:
    start = positive(day.start_minor)
    return ratio_up(start - whole(day.low_minor), BP, start)


def _warn_at(case: RuleCase, limit: int) -> int:
    return limit * case.policy.account.warn_at.value // BP


def _day_loss(case: RuleCase) -> tuple[Measured, ...]:
    book, limits = case.state.book, case.policy.account
    equity_of(case)
    cooling = limits.cooling_days.value
    days = (book.day, *(book.past_days[-cooling:] if cooling else ()))
    limit = limits.day_loss_max.value
    return (
        Measured(
            observed=max(_loss_bp(day) for day in days),
            limit=limit,
            warn_at=_warn_at(case, limit),
            waived=Reason.REDUCES_RISK if reduces(case) else None,
        ),
    )


def _drawdown(case: RuleCase) -> tuple[Measured, ...]:
    book = case.state.book
    peak, limit = positive(book.peak_minor), case.policy.account.drawdown_max.value
    return (
        Measured(
            observed=ratio_up(peak - equity_of(case), BP, peak),
            limit=limit,
            warn_at=_warn_at(case, limit),
            waived=Reason.REDUCES_RISK if reduces(case) else None,
        ),
    )


R11: Final = Rule(
    rule_id=RuleId.R11,
    version=1,
    title="Daily loss: worst point of the day, and of the last finished days",
    checks=(
        Check(
            name="day_loss",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.DAY_LOSS_ABOVE_MAXIMUM,
            breach=Action.HALT,
        ),
    ),
    measure=_day_loss,
)

R12: Final = Rule(
    rule_id=RuleId.R12,
    version=1,
    title="Trailing drawdown from the highest equity ever",
    checks=(
        Check(
            name="drawdown",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.DRAWDOWN_ABOVE_MAXIMUM,
            breach=Action.HALT,
        ),
    ),
    measure=_drawdown,
)

RULES: Final = (R11, R12)
