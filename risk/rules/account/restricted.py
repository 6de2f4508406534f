"""R18: instruments and issuers that nobody here may trade; not even to reduce a position.

Source: 17 CFR 240.15c3-5(c)(2)(ii).
"""

from typing import Final

from risk.numbers.stated import Day, PolicyModel, Text
from risk.rules.market.liquidity import listed
from risk.rules.rule import Check, Measured, Rule, RuleCase
from risk.verdict import Reason, RuleId, Scope, Unit


class RestrictedName(PolicyModel):
    """A symbol or an issuer as the table of instruments names it.

    Attributes:
        why: For officers; an agent is told only that the name is restricted.
    """

    name: Text
    owner: Text
    why: Text
    review_by: Day


class RestrictedNames(PolicyModel):
    """Names that may not be traded; an empty list restricts nothing."""

    names: tuple[RestrictedName, ...]


def _restricted(case: RuleCase) -> tuple[Measured, ...]:
    row = listed(case)
    listing: RestrictedNames = case.families.restricted
    names = {one.name for one in listing.names}
    found = int(row.symbol in names or (row.issuer != "" and row.issuer in names))
    return (Measured(observed=found, limit=0),)


R18: Final = Rule(
    rule_id=RuleId.R18,
    version=1,
    title="Restricted list: neither the instrument nor its issuer is on it",
    checks=(Check(name="listed", unit=Unit.FLAG, scope=Scope.FIRM, reason=Reason.RESTRICTED),),
    measure=_restricted,
)

RULES: Final = (R18,)
