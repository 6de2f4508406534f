"""R22 and R23: the account's credit line, and its maintenance margin.

An order that only reduces risk is exempt from both.

Source: 17 CFR 240.15c3-5(c)(1)(i); FINRA rule 4210(d)(2).
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, Minor, PolicyModel
from risk.rules.exposure import exposure, pending
from risk.rules.limits import BP
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, whole
from risk.state.inputs.reference import Reference
from risk.verdict import Reason, RuleId, Scope, Unit


class CreditLimits(PolicyModel):
    """The credit line.

    Attributes:
        credit_max: Everything held and pending; the broker's line or less.
        credit_warn_at: Share of the line above which a result warns.
    """

    credit_max: Annotated[Minor, Looser.HIGHER]
    credit_warn_at: Annotated[BasisPoints, Looser.HIGHER]


def _credit(case: RuleCase) -> tuple[Measured, ...]:
    found = exposure(case)
    limits: CreditLimits = case.families.account
    line = limits.credit_max.value
    return (
        Measured(
            observed=found.gross_minor,
            limit=line,
            warn_at=line * limits.credit_warn_at.value // BP,
            waived=Reason.REDUCES_RISK if found.reduces else None,
        ),
    )


def _rate(reference: Reference, symbol: str) -> int:
    row = reference.of(symbol)
    if row is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    return counted(row.margin_bp)


def _margin(case: RuleCase) -> tuple[Measured, ...]:
    reference = case.inputs.reference
    if reference is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    found = exposure(case)
    needed = found.order_minor * _rate(reference, case.intent.instrument)
    for held in case.state.book.positions:
        needed += abs(held.value_minor) * _rate(reference, held.instrument)
    for one in pending(case):
        needed += one.value_minor * _rate(reference, one.instrument)
    return (
        Measured(
            observed=whole(-(-needed // BP)),
            limit=found.equity_minor,
            waived=Reason.REDUCES_RISK if found.reduces else None,
        ),
    )


R22: Final = Rule(
    rule_id=RuleId.R22,
    version=1,
    title="Credit: everything held, pending and this order inside the account's line",
    checks=(
        Check(
            name="line", unit=Unit.MINOR, scope=Scope.ACCOUNT, reason=Reason.CREDIT_ABOVE_MAXIMUM
        ),
    ),
    measure=_credit,
)

R23: Final = Rule(
    rule_id=RuleId.R23,
    version=1,
    title="Intraday margin: what positions, pending orders and this one need is covered",
    checks=(
        Check(
            name="margin", unit=Unit.MINOR, scope=Scope.ACCOUNT, reason=Reason.MARGIN_ABOVE_EQUITY
        ),
    ),
    measure=_margin,
)

RULES: Final = (R22, R23)
