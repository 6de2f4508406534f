"""R03 to R09: size, price and exposure limits.

R06 to R09 exempt orders that only reduce risk. Not here: the worst cases (`exposure.py`).

Source: 17 CFR 240.15c3-5(c)(1); Commission Delegated Regulation (EU) 2017/589 art. 15(1).
"""

from typing import Final

from risk.rules.exposure import Exposure, exposure, order_minor, touch
from risk.rules.rule import Check, Measured, Rule, RuleCase, positive, ratio_up, whole
from risk.verdict import Bound, Reason, RuleId, Scope, Unit

BP: Final = 10_000
PERCENT: Final = 100


def _quantity(case: RuleCase) -> tuple[Measured, ...]:
    qty, smallest = whole(case.intent.qty_lots), positive(case.state.instrument.min_qty)
    maximum = case.for_instrument.order_qty_max.value
    return (
        Measured(observed=qty, limit=maximum),
        Measured(observed=qty, limit=smallest),
        Measured(observed=qty % smallest, limit=0),
    )


def _notional(case: RuleCase) -> tuple[Measured, ...]:
    return (
        Measured(observed=order_minor(case), limit=case.policy.account.order_notional_max.value),
    )


def _collar(case: RuleCase) -> tuple[Measured, ...]:
    # Twice the mid is bid + ask, so nothing is rounded before the comparison.
    twice_mid = sum(touch(case))
    distance = abs(2 * whole(case.intent.limit_ticks) - twice_mid)
    return (
        Measured(
            observed=ratio_up(distance, BP, twice_mid), limit=case.for_class.price_collar.value
        ),
    )


def _waived(found: Exposure) -> Reason | None:
    return Reason.REDUCES_RISK if found.reduces else None


def _position(case: RuleCase) -> tuple[Measured, ...]:
    found, limits = exposure(case), case.for_instrument
    largest = max(abs(found.high_lots), abs(found.low_lots))
    return (
        Measured(observed=largest, limit=limits.position_max.value, waived=_waived(found)),
        Measured(observed=-found.low_lots, limit=limits.short_max.value, waived=_waived(found)),
    )


def _gross(case: RuleCase) -> tuple[Measured, ...]:
    found = exposure(case)
    share = ratio_up(found.gross_minor, BP, found.equity_minor)
    limit = case.policy.account.gross_max.value
    return (Measured(observed=share, limit=limit, waived=_waived(found)),)


def _net(case: RuleCase) -> tuple[Measured, ...]:
    found = exposure(case)
    worst = max(abs(found.net_high_minor), abs(found.net_low_minor))
    share = ratio_up(worst, BP, found.equity_minor)
    return (
        Measured(observed=share, limit=case.policy.account.net_max.value, waived=_waived(found)),
    )


def _leverage(case: RuleCase) -> tuple[Measured, ...]:
    found = exposure(case)
    share = ratio_up(found.gross_minor, PERCENT, found.equity_minor)
    limit = case.policy.account.leverage_max.value
    return (Measured(observed=share, limit=limit, waived=_waived(found)),)


R03: Final = Rule(
    rule_id=RuleId.R03,
    version=1,
    title="Order quantity: between the smallest and the largest, on the step",
    checks=(
        Check(
            name="maximum", unit=Unit.LOTS, scope=Scope.ORDER, reason=Reason.QUANTITY_ABOVE_MAXIMUM
        ),
        Check(
            name="minimum",
            unit=Unit.LOTS,
            scope=Scope.ORDER,
            bound=Bound.MIN,
            reason=Reason.QUANTITY_BELOW_MINIMUM,
        ),
        Check(name="step", unit=Unit.LOTS, scope=Scope.ORDER, reason=Reason.QUANTITY_OFF_STEP),
    ),
    measure=_quantity,
)

R04: Final = Rule(
    rule_id=RuleId.R04,
    version=1,
    title="Order notional at the worst of limit, bid and ask",
    checks=(
        Check(
            name="notional",
            unit=Unit.MINOR,
            scope=Scope.ORDER,
            reason=Reason.NOTIONAL_ABOVE_MAXIMUM,
        ),
    ),
    measure=_notional,
)

R05: Final = Rule(
    rule_id=RuleId.R05,
    version=1,
    title="Price collar around the quote's mid, both ways",
    checks=(
        Check(
            name="collar",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ORDER,
            reason=Reason.PRICE_OUTSIDE_COLLAR,
        ),
    ),
    measure=_collar,
)

R06: Final = Rule(
    rule_id=RuleId.R06,
    version=1,
    title="Worst-case position, and worst-case short position",
    checks=(
        Check(
            name="position",
            unit=Unit.LOTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.POSITION_ABOVE_MAXIMUM,
        ),
        Check(
            name="short", unit=Unit.LOTS, scope=Scope.INSTRUMENT, reason=Reason.SHORT_ABOVE_MAXIMUM
        ),
    ),
    measure=_position,
)

R07: Final = Rule(
    rule_id=RuleId.R07,
    version=1,
    title="Gross exposure: held, pending and this order, of equity",
    checks=(
        Check(
            name="gross",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.GROSS_ABOVE_MAXIMUM,
        ),
    ),
    measure=_gross,
)

R08: Final = Rule(
    rule_id=RuleId.R08,
    version=1,
    title="Net exposure: worst side of held, pending and this order, of equity",
    checks=(
        Check(
            name="net", unit=Unit.BASIS_POINTS, scope=Scope.ACCOUNT, reason=Reason.NET_ABOVE_MAXIMUM
        ),
    ),
    measure=_net,
)

R09: Final = Rule(
    rule_id=RuleId.R09,
    version=1,
    title="Leverage: gross exposure in percent of equity",
    checks=(
        Check(
            name="leverage",
            unit=Unit.PERCENT,
            scope=Scope.ACCOUNT,
            reason=Reason.LEVERAGE_ABOVE_MAXIMUM,
        ),
    ),
    measure=_leverage,
)

RULES: Final = (R03, R04, R05, R06, R07, R08, R09)
