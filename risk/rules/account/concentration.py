"""R10: how much of the equity may stand in one instrument, and in one sector.

Rules:
- Held, pending and this order count, at the worst price, without regard to side.
- An order that only reduces risk is exempt.

Source: Commission Delegated Regulation (EU) 2017/589 art. 15(5).
"""

from collections.abc import Collection
from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import BasisPoints, PolicyModel
from risk.rules.exposure import exposure, pending
from risk.rules.limits import BP
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, ratio_up
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class ConcentrationLimits(PolicyModel):
    """Shares of equity, in one instrument and in one sector.

    Attributes:
        instrument_share_max: Share of equity in one instrument; above it a person decides.
        sector_share_max: Share of equity in one sector; above it a person decides.
    """

    instrument_share_max: Annotated[BasisPoints, Looser.HIGHER]
    sector_share_max: Annotated[BasisPoints, Looser.HIGHER]


def _standing(case: RuleCase, symbols: Collection[str]) -> int:
    """Return the value of what is held and pending in some instruments, in minor units."""
    held = [abs(p.value_minor) for p in case.state.book.positions if p.instrument in symbols]
    waiting = [one.value_minor for one in pending(case) if one.instrument in symbols]
    return sum(held) + sum(waiting)


def _of_sector(case: RuleCase) -> frozenset[str]:
    """Return the instruments of the book that are in the intent's sector, and its own."""
    reference = case.inputs.reference
    if reference is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    row = reference.of(case.intent.instrument)
    if row is None or not row.sector:
        raise RuleRefusal(Reason.INPUT_MISSING)
    book = case.state.book
    known = {one.symbol: one.sector for one in reference.listed}
    held = {p.instrument for p in book.positions} | {r.instrument for r in book.reservations}
    if not held <= known.keys():
        raise RuleRefusal(Reason.INPUT_MISSING)
    return frozenset(name for name in held | {row.symbol} if known[name] == row.sector)


def _concentration(case: RuleCase) -> tuple[Measured, ...]:
    found = exposure(case)
    limits: ConcentrationLimits = case.families.account
    waived = Reason.REDUCES_RISK if found.reduces else None
    own_value = _standing(case, {case.intent.instrument}) + found.order_minor
    sector_value = _standing(case, _of_sector(case)) + found.order_minor
    return (
        Measured(
            observed=ratio_up(own_value, BP, found.equity_minor),
            limit=limits.instrument_share_max.value,
            waived=waived,
        ),
        Measured(
            observed=ratio_up(sector_value, BP, found.equity_minor),
            limit=limits.sector_share_max.value,
            waived=waived,
        ),
    )


R10: Final = Rule(
    rule_id=RuleId.R10,
    version=1,
    title="Concentration: one instrument's and one sector's share of equity",
    checks=(
        Check(
            name="instrument",
            unit=Unit.BASIS_POINTS,
            scope=Scope.INSTRUMENT,
            reason=Reason.INSTRUMENT_SHARE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
        Check(
            name="sector",
            unit=Unit.BASIS_POINTS,
            scope=Scope.ACCOUNT,
            reason=Reason.SECTOR_SHARE_ABOVE_MAXIMUM,
            breach=Action.HOLD,
        ),
    ),
    measure=_concentration,
)

RULES: Final = (R10,)
