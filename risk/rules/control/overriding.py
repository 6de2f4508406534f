"""An exceptional override in a verdict: the rule's result stays, and no longer decides.

Not here: signatures, single use and the record of both (the gateway).

Rules:
- Only a measured breach of the one limit that the override names is lifted. A rule that could not
  measure refuses as before.
- Only the firm's own limits can be lifted (`LIFTABLE`), whatever was signed: never a kill or a
  stop, the policy's authority, the restricted list, conduct, the AI breaker, the ledger's health,
  what a law says of an order, or the question to a person.
- A lifted result keeps observed value, limit and margin, and names the override in its note. Its
  action is WARN, so that the verdict shows it.
"""

from typing import Final

from msgspec import structs

from risk.rules.rule import RuleCase
from risk.state.inputs.override import Override
from risk.verdict import Action, Outcome, Reason, RuleId, RuleResult

LIFTABLE: Final = frozenset(
    {
        *(RuleId.R03, RuleId.R04, RuleId.R05, RuleId.R06, RuleId.R07, RuleId.R08, RuleId.R09),
        *(RuleId.R10, RuleId.R11, RuleId.R12, RuleId.R13, RuleId.R15, RuleId.R20, RuleId.R21),
        *(RuleId.R22, RuleId.R23, RuleId.R27, RuleId.R28, RuleId.R35, RuleId.R46, RuleId.R52),
    }
)
"""The rules whose limits are the firm's own numbers; an override can lift one of them."""
_OF_THE_INSTRUMENT: Final = frozenset({(RuleId.R03, "minimum"), (RuleId.R03, "step")})
"""Checks of those rules that follow from how the instrument trades."""


def liftable(rule_id: RuleId, check: str) -> bool:
    """Return whether a limit is one that an override can lift."""
    return rule_id in LIFTABLE and (rule_id, check) not in _OF_THE_INSTRUMENT


def lifted(results: tuple[RuleResult, ...], case: RuleCase) -> tuple[RuleResult, ...]:
    """Return the results as the state's override leaves them; never raises."""
    override = getattr(case.state, "override", None)
    if override is None:
        return results
    try:
        if not acts_on(override, case):
            return results
        return tuple([_lifted(one, override) if names(override, one) else one for one in results])
    except Exception:  # noqa: BLE001 - what cannot be read lifts nothing
        return results


def acts_on(override: Override, case: RuleCase) -> bool:
    """Return whether an override is for this intent, under this policy, at this time."""
    intent, at_us = case.intent, case.state.policy_status.checked_at_us
    worth_minor = intent.qty_lots * intent.limit_ticks * case.state.instrument.unit_minor
    return (
        type(override) is Override
        and liftable(override.rule_id, override.check)
        and override.policy_digest == case.policy_digest == case.state.policy_status.policy_digest
        and (override.account, override.instrument, override.side)
        == (intent.account, intent.instrument, intent.side)
        and 0 < intent.qty_lots <= override.qty_max_lots
        and 0 < worth_minor <= override.notional_max_minor
        and override.not_before_us <= at_us < override.expires_us
    )


def names(override: Override, result: RuleResult) -> bool:
    """Return whether a result is the breach that an override names."""
    return (
        (result.rule_id, result.check) == (override.rule_id, override.check)
        and result.outcome is Outcome.BREACH
        and result.observed is not None
    )


def _lifted(result: RuleResult, override: Override) -> RuleResult:
    note = f"override {override.override_id}"
    return structs.replace(result, action=Action.WARN, reason=Reason.OVERRIDDEN, note=note)
