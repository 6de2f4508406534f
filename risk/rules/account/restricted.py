"""R18: instruments and issuers that nobody here may trade; not even to reduce a position.

Source: 17 CFR 240.15c3-5(c)(2)(ii).
"""

from typing import Final

from risk.rules.market.liquidity import listed
from risk.rules.rule import Check, Measured, Rule, RuleCase
from risk.verdict import Reason, RuleId, Scope, Unit


def _restricted(case: RuleCase) -> tuple[Measured, ...]:
    row = listed(case)
    names = {one.name for one in case.families.restricted.names}
    found = int(row.symbol in names or (row.issuer != "" and row.issuer in names))
    return (Measured(observed=found, limit=0),)


R18: Final = Rule(
    rule_id=RuleId.R18,
    version=1,
    title="Restricted list: neither the instrument nor its issuer is on it",
    checks=(Check(name="listed", unit=Unit.FLAG, scope=Scope.FIRM, reason=Reason.RESTRICTED),),
    measure=_restricted,
)
