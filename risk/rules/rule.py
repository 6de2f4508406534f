"""What a rule is, what it may read, and how a measurement becomes a result.

Not here: any single rule.

Rules:
- A check passes iff observed <= limit (or >= for a minimum). `_judge` compares
  one rule at a time, `evaluate._over` all at once; nothing else compares with a limit.
- A measurement that is not an integer in range never passes: an armed rule refuses the intent, a
  disarmed one does not apply.
- A disarmed rule still measures and shows the result.
- An instrument or class that the policy does not know has no disarmed rules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from risk.forms.canonical import RANGE
from risk.intent import Intent, intent_digest
from risk.numbers.plain import BROKEN, Numbers, Refusing, RuleRefusal, numbers_of
from risk.numbers.sections import (
    ALWAYS_ARMED,
    Arming,
    ClassPolicy,
    ForEveryInstrument,
    InstrumentPolicy,
)
from risk.state.inputs.inputs import Inputs
from risk.state.state import RiskState
from risk.verdict import Action, Bound, Outcome, Reason, RuleId, RuleResult, Scope, Unit

__all__ = [
    "Check",
    "Measured",
    "Rule",
    "RuleCase",
    "RuleRefusal",
    "counted",
    "positive",
    "ratio_up",
    "run",
    "truth",
    "whole",
]
_NO_INPUTS: Final[Any] = Refusing(Reason.INPUT_MISSING)


class Memo:
    """What several rules measure alike, for one intent; None until the first of them does."""

    __slots__ = (
        "equity",
        "exposure",
        "lots_around",
        "order_minor",
        "pending",
        "reduces",
        "touch",
    )

    def __init__(self) -> None:
        self.equity: int | None = None
        self.exposure: Any = None
        self.lots_around: tuple[int, int, int] | None = None
        self.order_minor: int | None = None
        self.pending: Any = None
        self.reduces: bool | None = None
        self.touch: tuple[int, int] | None = None


class RuleCase:
    """What a rule may read. To read a part that policy or state lacks is a refusal.

    Attributes:
        policy: The policy's numbers, those that hold for every instrument.
        for_instrument: Its section of the intent's instrument.
        for_class: Its section of that instrument's class.
        families: Its numbers of the rules of format 2. A rule reads those that it declares:
            `limits: MoveLimits = case.families.liquidity`.
        inputs: What the gateway gathered for the rules of format 2.
        memo: What several rules measure alike, for this intent.
    """

    __slots__ = (
        *("policy", "policy_digest", "_intent_digest", "state", "intent", "inputs", "numbers"),
        *("for_instrument", "for_class", "families", "memo"),
    )
    policy: ForEveryInstrument
    for_instrument: InstrumentPolicy
    for_class: ClassPolicy
    families: Any
    inputs: Inputs

    def __init__(
        self,
        *,
        policy: object,
        policy_digest: str,
        intent_digest: str | None,
        state: RiskState,
        intent: Intent,
        numbers: Numbers | None = None,
    ) -> None:
        if numbers is None:
            numbers = numbers_of(policy, getattr(intent, "instrument", BROKEN))
        self.policy_digest = policy_digest
        self._intent_digest = intent_digest
        self.state = state
        self.intent = intent
        self.numbers = numbers
        self.policy = numbers.policy
        self.families = numbers.families
        self.for_instrument = numbers.for_instrument
        self.for_class = numbers.for_class
        inputs: Any = getattr(state, "inputs", BROKEN)
        self.inputs = _NO_INPUTS if inputs is None else inputs
        self.memo = Memo()

    @property
    def intent_digest(self) -> str:
        """The intent's digest; one that was not given is made when a rule reads it."""
        if self._intent_digest is None:
            self._intent_digest = intent_digest(self.intent)
        return self._intent_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One measurement of a rule: name, unit, scope, the kind of limit, and what a breach means.

    Attributes:
        reason: Explains a breach, unless the measurement gives another reason.
        breach: Action on a breach, likewise.
    """

    name: str
    unit: Unit
    scope: Scope
    bound: Bound = Bound.MAX
    reason: Reason = Reason.RULE_FAILED
    breach: Action = Action.REJECT


class Measured(Struct, frozen=True, gc=False):
    """What a check found.

    Attributes:
        waived: Why the check does not apply to this intent; None if it does.
        warn_at: Above this value a pass warns; None for no warning.
        reason: Explains a breach; None: the check's.
        breach: Action on a breach; None: the check's.
    """

    observed: int
    limit: int
    waived: Reason | None = None
    warn_at: int | None = None
    reason: Reason | None = None
    breach: Action | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule; `measure` is pure, measures all checks in order, and refuses if it raises.

    Attributes:
        conduct: It is about patterns of own orders: who submits an order is not told that it was
            this rule that refused it.
        named: Each class of a policy arms or disarms it. The others judge where the policy has what
            they read, or while their stop is in force.
        unarmed: Why a first draft of a policy does not arm it; empty: it does.
    """

    rule_id: RuleId
    version: int
    title: str
    checks: tuple[Check, ...]
    measure: Callable[[RuleCase], tuple[Measured, ...]]
    conduct: bool = False
    named: bool = True
    unarmed: str = ""


def whole(value: object) -> int:
    """Return an integer in range, or refuse: None, bool, float and huge numbers never pass."""
    if type(value) is int and -RANGE < value < RANGE:
        return value
    if value is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    if type(value) is not int:
        raise RuleRefusal(Reason.NOT_AN_INTEGER)
    raise RuleRefusal(Reason.OUT_OF_RANGE)


def positive(value: object) -> int:
    """Return an integer in range above zero, or refuse."""
    if type(value) is int and 0 < value < RANGE:
        return value
    whole(value)
    raise RuleRefusal(Reason.OUT_OF_RANGE)


def counted(value: object) -> int:
    """Return an integer in range that is not negative, or refuse."""
    if type(value) is int and 0 <= value < RANGE:
        return value
    whole(value)
    raise RuleRefusal(Reason.OUT_OF_RANGE)


def truth(value: object) -> bool:
    """Return a boolean, or refuse."""
    if type(value) is bool:
        return value
    raise RuleRefusal(Reason.INPUT_MISSING if value is None else Reason.UNKNOWN_VALUE)


def ratio_up(part: int, scale: int, base: int) -> int:
    """Return `part * scale / base` rounded up, so that `<= limit` is exact for whole limits."""
    return -((-part * scale) // positive(base))


_ALWAYS: Final = Arming(rule=RuleId.R00, armed=True, reason="")


def run(rule: Rule, case: RuleCase) -> tuple[RuleResult, ...]:
    """Return the result of every check of a rule; never raises."""
    arming = _ALWAYS
    try:
        if rule.named and rule.rule_id not in ALWAYS_ARMED:
            arming = case.numbers.arming_of(rule.rule_id)
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
        outcome = Outcome.BREACH
        action = check.breach if found.breach is None else found.breach
        reason = check.reason if found.reason is None else found.reason
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
