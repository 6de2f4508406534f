"""R17: an order may not meet an own order of the other side, of any account of the firm.

Source: FINRA rule 5210.02; Regulation (EU) No 596/2014 art. 12(1)(a).
"""

from typing import Final

from risk.intent import Side
from risk.rules.exposure import own, side_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive
from risk.verdict import Reason, RuleId, Scope, Unit


def _crosses(side: Side, price: int, other: int) -> bool:
    return price >= other if side is Side.BUY else price <= other


def _crossing(case: RuleCase) -> tuple[Measured, ...]:
    firm = case.inputs.firm
    if firm is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    side, price, skip = side_of(case), positive(case.intent.limit_ticks), own(case)
    symbol = case.intent.instrument
    met = sum(
        1
        for order in firm.orders
        if order.instrument == symbol
        and Side(order.side) is not side
        and (not skip or order.decision_id != skip)
        and _crosses(side, price, positive(order.limit_ticks))
    )
    return (Measured(observed=met, limit=0),)


R17: Final = Rule(
    rule_id=RuleId.R17,
    version=1,
    title="Self-trade: no own order of the other side at a price that would meet this one",
    checks=(
        Check(
            name="own_orders",
            unit=Unit.COUNT,
            scope=Scope.FIRM,
            reason=Reason.WOULD_MEET_AN_OWN_ORDER,
        ),
    ),
    measure=_crossing,
)

RULES: Final = (R17,)
