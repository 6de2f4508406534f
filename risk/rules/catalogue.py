"""All rules, in the order in which they run and print, and which of them a policy names."""

from functools import lru_cache
from typing import Final

from risk.policy.families.listed.denied import DenyList
from risk.policy.policy import RULES_OF_1, Policy
from risk.rules.account.basket import R21
from risk.rules.account.concentration import R10
from risk.rules.account.credit import R22, R23
from risk.rules.account.crossing import R17
from risk.rules.account.crowd import R46
from risk.rules.account.habit import R20
from risk.rules.account.horizon import R52
from risk.rules.account.locate import R19
from risk.rules.account.restricted import R18
from risk.rules.ai import R26
from risk.rules.conduct.closing import R43
from risk.rules.conduct.denied import R54, denying
from risk.rules.conduct.mandate import R45
from risk.rules.conduct.own_trades import R40, R42
from risk.rules.conduct.publications import R49
from risk.rules.conduct.shapes import R53
from risk.rules.conduct.withdrawals import R36, R37, R38
from risk.rules.control.admission import R00, R01
from risk.rules.control.authority import R02
from risk.rules.control.drift import R30
from risk.rules.control.fairness import R48
from risk.rules.control.health import R50
from risk.rules.control.oversight import R31
from risk.rules.control.reconciliation import R51
from risk.rules.control.stops import STOP_RULES
from risk.rules.freshness import R24, R25
from risk.rules.limits import R03, R04, R05, R06, R07, R08, R09
from risk.rules.losses import R11, R12
from risk.rules.market.liquidity import R15
from risk.rules.market.moves import R27
from risk.rules.market.stress import R28
from risk.rules.messages.pace import R33, R35
from risk.rules.messages.program import R32, R34
from risk.rules.messages.rates import R13, R16
from risk.rules.messages.repeats import R14
from risk.rules.rule import Rule
from risk.state.state import Stop
from risk.verdict import RuleId

RULES: Final[tuple[Rule, ...]] = (
    R00,
    R01,
    R02,
    R03,
    R04,
    R05,
    R06,
    R07,
    R08,
    R09,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    R16,
    R17,
    R18,
    R19,
    R20,
    R21,
    R22,
    R23,
    R24,
    R25,
    R26,
    R27,
    R28,
    R30,
    R31,
    R32,
    R33,
    R34,
    R35,
    R36,
    R37,
    R38,
    R40,
    R42,
    R43,
    R45,
    R46,
    R49,
    R50,
    R51,
    R52,
    R53,
)

CONDUCT: Final = frozenset({one.rule_id for one in (R36, R37, R38, R40, R42, R43, R49, R53, R54)})
"""Rules about patterns of own orders: who submits an order is not told which one refused it."""

IN_VERDICTS: Final = tuple(
    sorted(
        (*RULES, R48, R54, STOP_RULES[Stop.BREAKER]),
        key=lambda rule: list(RuleId).index(rule.rule_id),
    )
)
"""Every rule that can be in a verdict; R29 judges only while its stop is in force, R48 where the
policy has a lexicon, R54 where it has a deny list."""

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
