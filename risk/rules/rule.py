"""What a rule is, what it may read, and how a measurement becomes a result.

Not here: any single rule.

Rules:
- A check passes iff observed <= limit (or >= for a minimum). Only this file compares with a limit.
- A measurement that is not an integer in range never passes: an armed rule refuses the intent, a
  disarmed one does not apply.
- A disarmed rule still measures and shows the result.
- An instrument or class that the policy does not know has no disarmed rules.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from risk.canonical import RANGE
from risk.intent import Intent
from risk.policy.families.families import Families
from risk.policy.policy import (
    ALWAYS_ARMED,
    UNNAMED,
    Arming,
    ClassPolicy,
    InstrumentPolicy,
    Policy,
)
from risk.state.inputs.inputs import Inputs
from risk.state.state import RiskState
from risk.verdict import Action, Bound, Outcome, Reason, RuleId, RuleResult, Scope, Unit


class RuleRefusal(Exception):  # noqa: N818 - an outcome, caught in `run`
    """A rule cannot judge, for this reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """What a rule may read; `memo` keeps what several rules measure alike, for this intent."""

    policy: Policy
    policy_digest: str
    intent_digest: str
    state: RiskState
    intent: Intent
    memo: dict[str, object] = field(default_factory=dict, compare=False, repr=False)

    @property
    def for_instrument(self) -> InstrumentPolicy:
        """The policy's section of the intent's instrument, or a refusal."""
        section = self.memo.get("instrument")
        if not isinstance(section, InstrumentPolicy):
            section = self.policy.of_instrument(self.intent.instrument)
            if section is None:
                raise RuleRefusal(Reason.UNKNOWN_INSTRUMENT)
            self.memo["instrument"] = section
        return section

    @property
    def for_class(self) -> ClassPolicy:
        """The policy's section of that instrument's class, or a refusal."""
        section = self.memo.get("class")
        if not isinstance(section, ClassPolicy):
            section = self.policy.of_class(self.for_instrument.asset_class)
            if section is None:
                raise RuleRefusal(Reason.UNKNOWN_CLASS)
            self.memo["class"] = section
        return section

    def arming_of(self, rule: RuleId) -> Arming:
        """The entry of a rule in the class of the intent's instrument, or a refusal."""
        if rule in UNNAMED:
            return Arming(rule=rule, armed=True, reason="")
        armings = self.memo.get("armings")
        if not isinstance(armings, dict):
            self.memo["armings"] = armings = self.policy.armings_of(self.for_class.asset_class)
        arming = armings.get(rule)
        if not isinstance(arming, Arming):
            raise RuleRefusal(Reason.RULE_NOT_IN_POLICY)
        return arming

    @property
    def families(self) -> Families:
        """The policy's numbers of the rules of format 2, or a refusal."""
        if self.policy.families is None:
            raise RuleRefusal(Reason.RULE_NOT_IN_POLICY)
        return self.policy.families

    @property
    def inputs(self) -> Inputs:
        """What the gateway gathered for the rules of format 2, or a refusal."""
        if self.state.inputs is None:
            raise RuleRefusal(Reason.INPUT_MISSING)
        return self.state.inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One measurement of a rule: name, unit, scope, and the kind of limit."""

    name: str
    unit: Unit
    scope: Scope
    bound: Bound = Bound.MAX


class Measured(Struct, frozen=True, kw_only=True, gc=False):
    """What a check found.

    Attributes:
        breach: Action on a breach, which `reason` explains.
        warn_at: Above this value a pass warns; None for no warning.
        waived: Why the check does not apply to this intent; None if it does.
    """

    observed: int
    limit: int
    reason: Reason
    breach: Action = Action.REJECT
    warn_at: int | None = None
    waived: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule; `measure` is pure, measures all checks in order, and refuses if it raises."""

    rule_id: RuleId
    version: int
    title: str
    checks: tuple[Check, ...]
    measure: Callable[[RuleCase], tuple[Measured, ...]]


def whole(value: object) -> int:
    """Return an integer in range, or refuse: None, bool, float and huge numbers never pass."""
    if value is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    if type(value) is not int:
        raise RuleRefusal(Reason.NOT_AN_INTEGER)
    if not -RANGE < value < RANGE:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    return value


def positive(value: object) -> int:
    """Return an integer in range above zero, or refuse."""
    number = whole(value)
    if number <= 0:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    return number


def counted(value: object) -> int:
    """Return an integer in range that is not negative, or refuse."""
    number = whole(value)
    if number < 0:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    return number


def truth(value: object) -> bool:
    """Return a boolean, or refuse."""
    if value is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    if type(value) is not bool:
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    return value


def ratio_up(part: int, scale: int, base: int) -> int:
    """Return `part * scale / base` rounded up, so that `<= limit` is exact for whole limits."""
    return -((-part * scale) // positive(base))


_ALWAYS: Final = Arming(rule=RuleId.R00, armed=True, reason="")


def run(rule: Rule, case: RuleCase) -> tuple[RuleResult, ...]:
    """Return the result of every check of a rule; never raises."""
    arming = _ALWAYS
    try:
        if rule.rule_id not in ALWAYS_ARMED:
            arming = case.arming_of(rule.rule_id)
        measured = rule.measure(case)
        pairs = zip(rule.checks, measured, strict=True)
        return tuple([_judge(rule, check, found, arming) for check, found in pairs])
    except RuleRefusal as refusal:
        reason = refusal.reason
    except Exception:  # noqa: BLE001 - a rule that fails refuses
        reason = Reason.RULE_FAILED
    return tuple(_refused(rule, check, arming, reason) for check in rule.checks)


def _judge(rule: Rule, check: Check, found: Measured, arming: Arming) -> RuleResult:
    observed, limit = found.observed, found.limit
    if type(observed) is not int or type(limit) is not int:
        whole(observed), whole(limit)
    margin = limit - observed if check.bound is Bound.MAX else observed - limit
    if not (-RANGE < observed < RANGE and -RANGE < limit < RANGE and -RANGE < margin < RANGE):
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    outcome, action, reason, note = Outcome.PASS, Action.ALLOW, Reason.WITHIN_LIMIT, ""
    if not arming.armed:
        outcome, reason, note = Outcome.NOT_APPLICABLE, Reason.DISARMED, arming.reason
    elif found.waived is not None:
        outcome, reason = Outcome.NOT_APPLICABLE, found.waived
    elif margin < 0:
        outcome, action, reason = Outcome.BREACH, found.breach, found.reason
    elif found.warn_at is not None and observed > whole(found.warn_at):
        action, reason = Action.WARN, Reason.NEAR_LIMIT
    return RuleResult(
        rule_id=rule.rule_id,
        check=check.name,
        version=rule.version,
        scope=check.scope,
        observed=observed,
        limit=limit,
        margin=margin,
        unit=check.unit,
        bound=check.bound,
        outcome=outcome,
        action=action,
        reason=reason,
        note=note,
    )


def _refused(rule: Rule, check: Check, arming: Arming, reason: Reason) -> RuleResult:
    """Return a refusal, or a result that does not apply if the rule is disarmed."""
    armed = arming.armed
    return RuleResult(
        rule_id=rule.rule_id,
        check=check.name,
        version=rule.version,
        scope=check.scope,
        observed=None,
        limit=None,
        margin=None,
        unit=check.unit,
        bound=check.bound,
        outcome=Outcome.REFUSED if armed else Outcome.NOT_APPLICABLE,
        action=Action.REJECT if armed else Action.ALLOW,
        reason=reason,
        note="" if armed else arming.reason,
    )
