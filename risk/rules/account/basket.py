"""R21: the orders of one basket together, before any of them leaves.

Rules:
- The other orders of the basket count at their worst prices, and so does this one.
- Orders that reduce count like all others: a basket is one decision.
- An order by itself is a basket of one.

Not here: who forms a basket. Its orders are judged one after the other, each with those before it,
so the last one is judged with all of them.

Source: 17 CFR 240.15c3-5(c)(1)(ii); final notices of the FCA and the PRA of May 2024 on a basket of
2 May 2022.
"""

from typing import Annotated, Final

from risk.intent import Intent
from risk.numbers.looser import Looser
from risk.numbers.stated import Minor, PolicyModel
from risk.rules.exposure import order_minor
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, whole
from risk.state.state import Quote
from risk.verdict import Reason, RuleId, Scope, Unit


class BasketLimits(PolicyModel):
    """The value of a basket.

    Attributes:
        basket_max: Value of all orders of one basket together.
    """

    basket_max: Annotated[Minor, Looser.HIGHER]


def worst_minor(intent: Intent, quote: Quote, unit_minor: int) -> int:
    """Return what an order of a basket counts as, in minor units: at the worst of limit and touch.

    `unit_minor` is the worth of one lot at one tick.
    """
    return intent.qty_lots * max(intent.limit_ticks, quote.bid_ticks, quote.ask_ticks) * unit_minor


def _basket(case: RuleCase) -> tuple[Measured, ...]:
    basket = case.inputs.basket
    if basket is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    together = whole(counted(basket.others_minor) + order_minor(case))
    limits: BasketLimits = case.families.account
    return (Measured(observed=together, limit=limits.basket_max.value),)


R21: Final = Rule(
    rule_id=RuleId.R21,
    version=1,
    title="Basket: the value of all orders of one decision group",
    checks=(
        Check(
            name="basket", unit=Unit.MINOR, scope=Scope.ACCOUNT, reason=Reason.BASKET_ABOVE_MAXIMUM
        ),
    ),
    measure=_basket,
)

RULES: Final = (R21,)
