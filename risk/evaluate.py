"""`evaluate`: every rule over one intent, fixed order, none skipped, no way out but a verdict.

Not here: the rules (`risk/rules`), and the section that records the answer (the gateway).

Rules kept:
- Total: any policy, state and intent yield a verdict; what cannot be read or measured is refused.
- Every rule runs on every intent; the action is the join, so order cannot matter.
- The verdict binds digests of exactly what was seen.
"""

from collections.abc import Callable
from typing import Final

from risk.intent import Intent, intent_digest
from risk.policy.policy import Policy, policy_digest
from risk.rules.catalogue import RULES
from risk.rules.rule import Rule, RuleCase, run
from risk.state.state import RiskState, state_digest
from risk.verdict import (
    Action,
    Bound,
    Outcome,
    Reason,
    RuleId,
    RuleResult,
    Scope,
    Unit,
    Verdict,
    make_verdict,
)

UNREADABLE: Final = "0" * 64
"""Stands in a verdict for the digest of something that has no canonical form."""


def evaluate(
    policy: Policy, state: RiskState, intent: Intent, *, rules: tuple[Rule, ...] = RULES
) -> Verdict:
    """Judge an intent. Never raises for any value of its arguments.

    Args:
        policy: The policy that `state.policy_status` vouches for.
        state: Everything else the rules may see.
        intent: What is proposed.
        rules: The catalogue; only tests pass another.
    """
    policy_sealed = _sealed(lambda: policy_digest(policy))
    case = RuleCase(policy=policy, policy_digest=policy_sealed, state=state, intent=intent)
    intent_sealed = _sealed(lambda: intent_digest(intent))
    state_sealed = _sealed(lambda: state_digest(state))
    readable = (
        _readable("policy_readable", policy_sealed, Reason.POLICY_MISMATCH),
        _readable("intent_readable", intent_sealed, Reason.INTENT_MALFORMED),
        _readable("state_readable", state_sealed, Reason.STATE_MALFORMED),
    )
    judged = tuple(result for rule in rules for result in run(rule, case))
    return make_verdict(
        results=readable + _book_agrees(state) + judged,
        policy_digest=policy_sealed,
        intent_digest=intent_sealed,
        state_digest=state_sealed,
    )


def _book_agrees(state: RiskState) -> tuple[RuleResult, ...]:
    """R00: an instrument whose book differs from the broker's reports takes no new intent.

    The check stands in a verdict only when it is broken: verdicts of before it was there replay.
    """
    if getattr(state, "book_differs", False) is False:  # nonsense is refused as unreadable
        return ()
    return (
        RuleResult(
            rule_id=RuleId.R00,
            check="book_agrees",
            version=1,
            scope=Scope.INSTRUMENT,
            observed=1,
            limit=0,
            margin=-1,
            unit=Unit.FLAG,
            bound=Bound.MAX,
            outcome=Outcome.BREACH,
            action=Action.REJECT,
            reason=Reason.BOOK_DIFFERS,
        ),
    )


def _sealed(digest: Callable[[], str]) -> str:
    try:
        return digest()
    except Exception:  # noqa: BLE001 - whatever has no digest is refused below
        return UNREADABLE


def _readable(check: str, sealed: str, reason: Reason) -> RuleResult:
    """R00: what has no canonical form cannot be put on record, so it cannot be judged."""
    bad = int(sealed == UNREADABLE)
    return RuleResult(
        rule_id=RuleId.R00,
        check=check,
        version=1,
        scope=Scope.ORDER,
        observed=bad,
        limit=0,
        margin=-bad,
        unit=Unit.FLAG,
        bound=Bound.MAX,
        outcome=Outcome.BREACH if bad else Outcome.PASS,
        action=Action.REJECT if bad else Action.ALLOW,
        reason=reason if bad else Reason.WITHIN_LIMIT,
    )
