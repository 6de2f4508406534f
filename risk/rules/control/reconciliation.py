"""R51: an account whose book differs from the broker's sends nothing new, in any instrument.

Limits on positions, exposure and losses are read from the book: while it is wrong anywhere, they
are wrong too. So an order that reduces a position by the book is not exempt. R00 refuses the
differing instrument under every policy.

Source: Commission Delegated Regulation (EU) 2017/589 art. 17.
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import Count, PolicyModel
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, whole
from risk.verdict import Action, Reason, RuleId, Scope, Unit


class DifferenceLimits(PolicyModel):
    """Differences of the books.

    Attributes:
        differences_max: Open differences between the account's book and the broker's.
    """

    differences_max: Annotated[Count, Looser.HIGHER]


def _reconciled(case: RuleCase) -> tuple[Measured, ...]:
    found = case.inputs.reconciliation
    if found is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    if type(found.open_seqs) is not tuple:
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    whole(found.basis_seq)
    differences = len([whole(seq) for seq in found.open_seqs])
    limits: DifferenceLimits = case.families.control
    return (Measured(observed=differences, limit=limits.differences_max.value),)


R51: Final = Rule(
    rule_id=RuleId.R51,
    version=1,
    title="Reconciliation: no open difference between the account's book and the broker's",
    checks=(
        Check(
            name="differences",
            unit=Unit.COUNT,
            scope=Scope.ACCOUNT,
            reason=Reason.ACCOUNT_DIFFERS,
            breach=Action.HALT,
        ),
    ),
    measure=_reconciled,
)

RULES: Final = (R51,)
