"""`evaluate` runs every rule over one intent and returns a verdict.

Not here: the rules (`risk/rules`) and recording (the gateway).

Rules:
- Any policy, state and intent yield a verdict; an unreadable or unmeasurable input is refused.
- Every rule runs on every intent, and the action is the join of all results.
- The verdict has the digests of policy, state and intent.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from risk.intent import Intent, intent_digest
from risk.policy.policy import Policy, policy_digest
from risk.rules.catalogue import RULES_1, rules_of
from risk.rules.control.overriding import lifted
from risk.rules.control.stops import stop_results
from risk.rules.rule import Rule, RuleCase, run
from risk.state.state import RiskState, state_digest
from risk.state.trace import trace_digest
from risk.verdict import (
    NEWEST_DIGEST,
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

T = TypeVar("T")
UNREADABLE: Final = "0" * 64
"""Digest in a verdict of an input without a canonical form."""


def evaluate(
    policy: Policy, state: RiskState, intent: Intent, *, rules: tuple[Rule, ...] | None = None
) -> Verdict:
    """Return the verdict on an intent; never raises, whatever its arguments.

    `policy` is the one verified in `state.policy_status`; its format says which rules judge. Only
    tests pass `rules`.
    """
    judging = rules_of(policy) if rules is None else rules
    first = judging is RULES_1
    policy_sealed = _sealed(policy_digest, policy)
    intent_sealed = _sealed(intent_digest, intent)
    state_sealed = _sealed(state_digest if first else trace_digest, state)
    case = RuleCase(
        policy=policy,
        policy_digest=policy_sealed,
        intent_digest=intent_sealed,
        state=state,
        intent=intent,
    )
    readable = (
        _readable("policy_readable", policy_sealed, Reason.POLICY_MISMATCH),
        _readable("intent_readable", intent_sealed, Reason.INTENT_MALFORMED),
        _readable("state_readable", state_sealed, Reason.STATE_MALFORMED),
    )
    judged = tuple(result for rule in judging for result in run(rule, case))
    return make_verdict(
        results=lifted(readable + _book_agrees(state) + stop_results(case) + judged, case),
        policy_digest=policy_sealed,
        intent_digest=intent_sealed,
        state_digest=state_sealed,
        digest_version=1 if first else NEWEST_DIGEST,
    )


def _book_agrees(state: RiskState) -> tuple[RuleResult, ...]:
    """R00: an instrument whose book differs from the broker's reports takes no new intent.

    Only a breach appears in a verdict, so that verdicts older than this check replay.
    """
    if getattr(state, "book_differs", False) is False:  # any other type is unreadable
        return ()
    return (_r00("book_agrees", Scope.INSTRUMENT, 1, Reason.BOOK_DIFFERS),)


def _sealed(digest: Callable[[T], str], value: T) -> str:
    try:
        return digest(value)
    except Exception:  # noqa: BLE001 - an input without a digest is refused
        return UNREADABLE


def _readable(check: str, sealed: str, reason: Reason) -> RuleResult:
    """R00: an input without a canonical form cannot be recorded, so it is refused."""
    return _r00(check, Scope.ORDER, int(sealed == UNREADABLE), reason)


def _r00(check: str, scope: Scope, bad: int, reason: Reason) -> RuleResult:
    return RuleResult(
        rule_id=RuleId.R00,
        check=check,
        version=1,
        scope=scope,
        observed=bad,
        limit=0,
        margin=-bad,
        unit=Unit.FLAG,
        bound=Bound.MAX,
        outcome=Outcome.BREACH if bad else Outcome.PASS,
        action=Action.REJECT if bad else Action.ALLOW,
        reason=reason if bad else Reason.WITHIN_LIMIT,
    )
