"""Which rules judge under a policy: those of its format, and of the lists that it has.

Not here: what a rule measures (`risk/rules`).
"""

from functools import lru_cache
from typing import Final

from risk.numbers.denied import DenyList
from risk.policy.policy import RULES_OF_1, Policy
from risk.rules.catalogue import RULES
from risk.rules.conduct.denied import denying
from risk.rules.control.fairness import R48
from risk.rules.rule import Rule

RULES_1: Final = tuple(rule for rule in RULES if rule.rule_id in RULES_OF_1)


def rules_of(policy: object) -> tuple[Rule, ...]:
    """Return the rules that judge under a policy; all of them if it is no policy of format 1."""
    if type(policy) is not Policy:
        return RULES
    if policy.families is None:
        return RULES_1
    listed, lexicon = policy.families.denied, policy.families.fairness
    if listed is None and lexicon is None:
        return RULES
    return _with_lists(listed, gate=lexicon is not None)


@lru_cache(maxsize=16)
def _with_lists(listed: DenyList | None, *, gate: bool) -> tuple[Rule, ...]:
    """Return all rules with those of a policy's lists; the same tuple for the same lists."""
    more: tuple[Rule, ...] = (R48,) if gate else ()
    more += () if listed is None or not listed.shapes else (denying(listed),)
    return (*RULES, *more) if more else RULES
