"""R21: the orders of one basket together, before any of them leaves.

Rules:
- The other orders of the basket count at their worst prices, and so does this one.
- Orders that reduce count like all others: a basket is one decision.
- An order by itself is a basket of one.

Not here: who forms a basket. The gateway takes orders one by one, so each is a basket of its own
until it takes several at once.

Source: 17 CFR 240.15c3-5(c)(1)(ii); final notices of the FCA and the PRA of May 2024 on a basket of
2 May 2022.
"""

from typing import Final

from risk.rules.exposure import order_minor
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, whole
from risk.verdict import Reason, RuleId, Scope, Unit


def _basket(case: RuleCase) -> tuple[Measured, ...]:
    basket = case.inputs.basket
    if basket is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    return (
        Measured(
            observed=whole(counted(basket.others_minor) + order_minor(case)),
            limit=case.families.account.basket_max.value,
        ),
    )


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
