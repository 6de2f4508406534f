"""R00 and R01: valid inputs, and the kill latch. Neither can be disarmed or waived.

Not here: limits.
"""

from typing import Final

from risk.numbers.standing import PolicyStanding
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, truth, whole
from risk.verdict import Reason, RuleId, Scope, Unit

_STANDINGS: Final = {
    PolicyStanding.EXPIRED: Reason.POLICY_EXPIRED,
    PolicyStanding.UNSIGNED: Reason.POLICY_UNSIGNED,
    PolicyStanding.NOT_YET_VALID: Reason.POLICY_NOT_YET_VALID,
}


_NO_FLAG: Final = Measured(observed=0, limit=0)


def _flag(reason: Reason | None) -> Measured:
    return _NO_FLAG if reason is None else Measured(observed=1, limit=0, reason=reason)


def _policy(case: RuleCase) -> Measured:
    status = case.state.policy_status
    if type(status.standing) is not PolicyStanding:
        raise RuleRefusal(Reason.POLICY_UNSIGNED)
    if status.standing is not PolicyStanding.ACTIVE:
        return _flag(_STANDINGS[status.standing])
    return _flag(None if status.policy_digest == case.policy_digest else Reason.POLICY_MISMATCH)


def _subject(case: RuleCase) -> Measured:
    """Check that intent, state and policy have one account, instrument and currency."""
    intent, state = case.intent, case.state
    if intent.account != state.book.account or not intent.account:
        return _flag(Reason.ACCOUNT_MISMATCH)
    if intent.instrument != state.instrument.symbol:
        return _flag(Reason.INSTRUMENT_MISMATCH)
    if state.instrument.asset_class != case.for_instrument.asset_class:
        return _flag(Reason.INSTRUMENT_MISMATCH)
    if state.instrument.currency != case.policy.currency:
        return _flag(Reason.CURRENCY_MISMATCH)
    held = state.book.position(intent.instrument)
    if held is not None and held.unit_minor != state.instrument.unit_minor:
        return _flag(Reason.INSTRUMENT_MISMATCH)
    if not intent.decision_id or not intent.author:
        return _flag(Reason.INTENT_MALFORMED)
    return _flag(None)


def _admission(case: RuleCase) -> tuple[Measured, ...]:
    state = case.state
    behind = max(0, whole(state.book.as_of_us) - positive(state.now_us))
    clock = Measured(observed=behind, limit=case.for_class.clock_skew_max.value)
    return (_policy(case), _subject(case), clock)


def _kill(case: RuleCase) -> tuple[Measured, ...]:
    kill = case.state.kill
    apart = abs(whole(kill.kill_epoch) - whole(kill.egress_epoch))
    return (
        _flag(Reason.KILLED if truth(kill.killed) else None),
        Measured(observed=apart, limit=0),
    )


R00: Final = Rule(
    rule_id=RuleId.R00,
    version=1,
    title="Admission: valid policy, one subject, clock not behind the book",
    checks=(
        Check(name="policy", unit=Unit.FLAG, scope=Scope.FIRM),
        Check(name="subject", unit=Unit.FLAG, scope=Scope.ORDER),
        Check(
            name="clock_behind",
            unit=Unit.MICROSECONDS,
            scope=Scope.ACCOUNT,
            reason=Reason.CLOCK_BACKWARDS,
        ),
    ),
    measure=_admission,
)

R01: Final = Rule(
    rule_id=RuleId.R01,
    version=1,
    title="Kill latch: not killed, ledger and egress agree on the epoch",
    checks=(
        Check(name="latch", unit=Unit.FLAG, scope=Scope.FIRM),
        Check(name="epoch", unit=Unit.COUNT, scope=Scope.FIRM, reason=Reason.KILL_EPOCH_DIFFERS),
    ),
    measure=_kill,
)

RULES: Final = (R00, R01)
