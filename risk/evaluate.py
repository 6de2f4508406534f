"""`evaluate` runs every rule over one intent and returns a verdict.

Not here: the rules (`risk/rules`) and recording (the gateway).

Rules:
- Any policy, state and intent yield a verdict; an unreadable or unmeasurable input is refused.
- Every rule runs on every intent, and the action is the join of all results.
- The verdict has the digests of policy, state and intent.
- What is measured goes into plain lists (`_Trace`); results are made when somebody reads them.
  Whatever is not ordinary is judged rule by rule with `run`, which the lists are tested against.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from operator import gt
from typing import Any, Final, NamedTuple, TypeVar

from risk.forms.canonical import JSON, RANGE, number
from risk.forms.documents import document_of
from risk.intent import Intent, intent_digest
from risk.numbers.plain import Numbers, RuleRefusal, numbers_of
from risk.numbers.sections import ALWAYS_ARMED
from risk.policy.judging import rules_of
from risk.policy.policy import Policy, policy_digest
from risk.rules.control.overriding import lifted
from risk.rules.control.stops import stop_results
from risk.rules.rule import Check, Measured, Rule, RuleCase, run, whole
from risk.state.state import RiskState
from risk.state.trace import state_digest
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
    margin_of,
    names_digest,
    numbers_digest,
)

T = TypeVar("T")
UNREADABLE: Final = "0" * 64
"""Digest in a verdict of an input without a canonical form."""
_READABLE: Final = (
    ("policy_readable", Reason.POLICY_MISMATCH),
    ("intent_readable", Reason.INTENT_MALFORMED),
    ("state_readable", Reason.STATE_MALFORMED),
)
_Other = tuple[int, Outcome, Action, Reason, str]
_PASS: Final = (Outcome.PASS, Action.ALLOW, Reason.WITHIN_LIMIT, "")
_NOT_APPLICABLE, _REFUSED = Outcome.NOT_APPLICABLE, Outcome.REFUSED
_PASSED, _ALLOW, _WARN, _REJECT = Outcome.PASS, Action.ALLOW, Action.WARN, Action.REJECT
_DISARMED, _NEAR = Reason.DISARMED, Reason.NEAR_LIMIT
_UNBROKEN: Final = frozenset({Outcome.PASS, Outcome.NOT_APPLICABLE})
_SURE: Final = RANGE >> 16
"""So small that the numbers of every check together are in range, whatever the other ones are."""
_INTEGER: Final = frozenset({int})
_NOTHING: Final = Measured(observed=0, limit=0)
"""Stands for a check that is no plain measurement."""


def evaluate(
    policy: Policy, state: RiskState, intent: Intent, *, rules: tuple[Rule, ...] | None = None
) -> Verdict:
    """Return the verdict on an intent; never raises, whatever its arguments.

    `policy` is the one verified in `state.policy_status`; its format says which rules judge. Some
    `rules` alone judge only where one of them is asked about: no order rests on such a verdict.
    """
    judging = rules_of(policy) if rules is None else rules
    heads = (
        _sealed(policy_digest, policy),
        _sealed(intent_digest, intent),
        _sealed(state_digest, state),
    )
    numbers = numbers_of(policy, getattr(intent, "instrument", None))
    case = RuleCase(
        policy=policy,
        policy_digest=heads[0],
        intent_digest=heads[1],
        state=state,
        intent=intent,
        numbers=numbers,
    )
    if UNREADABLE not in heads and _usual(state):
        plan = _plan(numbers, judging)
        trace = None if plan is None else _measured(plan, case)
        if trace is not None:
            return trace.verdict(heads)
    readable = tuple(
        _r00(check, Scope.ORDER, int(sealed == UNREADABLE), reason)
        for sealed, (check, reason) in zip(heads, _READABLE, strict=True)
    )
    judged = tuple(result for rule in judging for result in run(rule, case))
    results = readable + _book_agrees(state) + stop_results(case) + judged
    return make_verdict(
        results=lifted(results, case),
        policy_digest=heads[0],
        intent_digest=heads[1],
        state_digest=heads[2],
    )


def _usual(state: RiskState) -> bool:
    """Return whether nothing but rules judges: no stop, no difference, no limit lifted once."""
    return state.stops == () and state.book_differs is False and state.override is None


class _Row(NamedTuple):
    """One rule in a plan; its checks stand at the places from `first` up to `end`."""

    rule: Rule
    measure: Callable[[RuleCase], tuple[Measured, ...]]
    first: int
    end: int
    armed: bool
    note: str
    blank: tuple[Measured, ...]


class _Plan(NamedTuple):
    """What is the same in every verdict of one policy on one instrument.

    Attributes:
        at: The row of each place.
        minima: Places where the limit is a minimum.
        disarmed: Places of rules that the policy disarms.
        said: The document of each place's result, were it a plain pass of zero.
    """

    judging: tuple[Rule, ...]
    rows: tuple[_Row, ...]
    at: tuple[_Row | None, ...]
    minima: frozenset[int]
    disarmed: frozenset[int]
    names: str
    said: tuple[dict[str, JSON], ...]


class _Trace:
    """What every check measured; only checks that are no plain passes say more than two numbers."""

    __slots__ = ("limits", "observed", "others", "plan")

    def __init__(
        self, plan: _Plan, observed: list[Any], limits: list[Any], others: list[_Other]
    ) -> None:
        self.plan = plan
        self.observed, self.limits, self.others = observed, limits, others

    def verdict(self, heads: tuple[str, str, str]) -> Verdict:
        """Return the verdict whose results are made when they are read."""
        action = max([other[2] for other in self.others], default=_ALLOW)
        numbers = (self.observed, self.limits, self.others)
        sealed = numbers_digest(action, heads, self.plan.names, numbers)
        return Verdict.of_trace(self, action, heads, sealed)

    def results(self) -> tuple[RuleResult, ...]:
        """Return every check of every rule, in fixed order."""
        said = {place: (what, then, why, note) for place, what, then, why, note in self.others}
        found = [_r00(check, Scope.ORDER, 0, reason) for check, reason in _READABLE]
        checks = ((rule, check) for rule in self.plan.judging for check in rule.checks)
        for place, (rule, check) in enumerate(checks, len(found)):
            observed, limit = self.observed[place], self.limits[place]
            outcome, action, reason, note = said.get(place, _PASS)
            found.append(
                RuleResult(
                    rule_id=rule.rule_id,
                    check=check.name,
                    version=rule.version,
                    scope=check.scope,
                    observed=observed,
                    limit=limit,
                    margin=margin_of(check.bound, observed, limit),
                    unit=check.unit,
                    bound=check.bound,
                    outcome=outcome,
                    action=action,
                    reason=reason,
                    note=note,
                )
            )
        return tuple(found)

    def documents(self) -> list[JSON]:
        """Return the documents of the results, which it does not make."""
        found: list[JSON] = []
        said = {place: (what, then, why, note) for place, what, then, why, note in self.others}
        for place, plain in enumerate(self.plan.said):
            observed, limit = self.observed[place], self.limits[place]
            one = {**plain}
            if observed is None or limit is None:
                one |= {"observed": None, "limit": None, "margin": None}
            else:
                margin = observed - limit if place in self.plan.minima else limit - observed
                one["observed"], one["limit"] = number(observed), number(limit)
                one["margin"] = number(margin)
            if place in said:
                outcome, action, reason, note = said[place]
                one |= {"outcome": outcome.value, "action": action.name}
                one |= {"reason": reason.value, "note": note}
            found.append(one)
        return found


class Asking:
    """Asks of one intent after another, in one state, whether a verdict would let it pass.

    The answers are those of `evaluate`. Rules are measured until one refuses, and the last that did
    so is asked first: who searches asks mostly of intents that one rule refuses. The state is one
    of a verdict, with another book or not.
    """

    def __init__(self, policy: Policy, state: RiskState) -> None:
        self._policy, self._state = policy, state
        self._refused: tuple[_Plan, _Row] | None = None

    def passes(self, intent: Intent) -> bool:
        """Return whether the verdict's action is ALLOW or WARN."""
        found = self._measured(intent) if _usual(self._state) else None
        if found is None:
            return evaluate(self._policy, self._state, intent).action <= _WARN
        return found

    def within(self, rule: Rule, intent: Intent) -> bool:
        """Return whether a verdict shows no broken check of a rule."""
        if _usual(self._state):
            results = run(rule, self._case(intent))
        else:
            judged = evaluate(self._policy, self._state, intent, rules=(rule,)).results
            results = tuple(one for one in judged if one.rule_id is rule.rule_id)
        return bool(results) and all(one.outcome in _UNBROKEN for one in results)

    def _case(self, intent: Intent) -> RuleCase:
        return RuleCase(
            policy=self._policy,
            policy_digest=_sealed(policy_digest, self._policy),
            intent_digest=None,
            state=self._state,
            intent=intent,
            numbers=numbers_of(self._policy, getattr(intent, "instrument", None)),
        )

    def _measured(self, intent: Intent) -> bool | None:
        """Return whether an intent passes; None where only the whole verdict tells."""
        case = self._case(intent)
        plan = _plan(case.numbers, rules_of(self._policy))
        if plan is None:
            return None
        refused = self._refused
        first = refused[1] if refused is not None and refused[0] is plan else plan.rows[0]
        for row in (first, *(one for one in plan.rows if one is not first)):
            passes = _row_passes(row, case)
            if not passes:
                self._refused = None if passes is None else (plan, row)
                return passes
        heads = (_sealed(intent_digest, intent), _sealed(state_digest, self._state))
        return None if UNREADABLE in (case.policy_digest, *heads) else True


def _row_passes(row: _Row, case: RuleCase) -> bool | None:
    """Return whether a rule lets an intent pass; None if that is not sure from it alone."""
    try:
        pairs = zip(row.rule.checks, row.measure(case), strict=True)
        found = [_check_passes(check, one) for check, one in pairs]
    except RuleRefusal:
        return not row.armed
    except Exception:  # noqa: BLE001 - `run` finds again what fails, and refuses
        return None
    return None if None in found else not row.armed or all(found)


def _check_passes(check: Check, one: Measured) -> bool | None:
    """Return the same of one check; sure are numbers so small that those of all checks fit."""
    numbers = (one.observed, one.limit, 0 if one.warn_at is None else one.warn_at)
    if not all(type(each) is int and -_SURE < each < _SURE for each in numbers):
        return None
    margin = one.limit - one.observed if check.bound is Bound.MAX else one.observed - one.limit
    return margin >= 0 or one.waived is not None or _breach(check, one)[1] <= _WARN


def _measured(plan: _Plan, case: RuleCase) -> _Trace | None:
    """Return what every rule measured, or None where one fails: then each rule is `run`."""
    found = [_NOTHING] * len(_READABLE)
    refused: dict[int, Reason] = {}
    for row in plan.rows:
        try:
            found += row.measure(case)
        except RuleRefusal as refusal:
            found[row.first :] = row.blank
            refused |= dict.fromkeys(range(row.first, row.end), refusal.reason)
        except Exception:  # noqa: BLE001 - `run` finds again what fails, and refuses
            return None
        if len(found) != row.end:
            return None
    try:
        return _traced(plan, found, refused)
    except Exception:  # noqa: BLE001 - a measurement of the wrong shape: `run` refuses it
        return None


def _traced(plan: _Plan, found: list[Measured], refused: Mapping[int, Reason]) -> _Trace | None:
    """Return the trace of what all rules measured, or None if a number is none or out of range."""
    observed: list[Any] = [one.observed for one in found]
    limits: list[Any] = [one.limit for one in found]
    if not _in_range(observed) or not _in_range(limits):
        return None
    others = list(_others(plan, found, refused, _over(plan, observed, limits)))
    for place in refused:
        observed[place] = limits[place] = None
    return _Trace(plan, observed, limits, others)


def _over(plan: _Plan, observed: list[int], limits: list[int]) -> list[bool]:
    """Return of each check whether it is outside its limit."""
    over = list(map(gt, observed, limits))
    for place in plan.minima:
        over[place] = observed[place] < limits[place]
    return over


def _others(
    plan: _Plan, found: list[Measured], refused: Mapping[int, Reason], over: list[bool]
) -> Iterator[_Other]:
    """Yield the checks that are no plain passes, in order."""
    places = {*compress(range(len(over)), over), *refused, *plan.disarmed}
    places.update(
        place
        for place, one in enumerate(found)
        if one.waived is not None or one.warn_at is not None
    )
    for place in sorted(places):
        row, one = plan.at[place], found[place]
        if row is None:
            continue
        if place in refused:
            outcome, action = (_REFUSED, _REJECT) if row.armed else (_NOT_APPLICABLE, _ALLOW)
            yield place, outcome, action, refused[place], row.note
        elif not row.armed:
            yield place, _NOT_APPLICABLE, _ALLOW, _DISARMED, row.note
        elif one.waived is not None:
            yield place, _NOT_APPLICABLE, _ALLOW, one.waived, ""
        elif over[place]:
            yield place, *_breach(row.rule.checks[place - row.first], one)
        elif one.warn_at is not None and one.observed > whole(one.warn_at):
            yield place, _PASSED, _WARN, _NEAR, ""


def _breach(check: Check, found: Measured) -> tuple[Outcome, Action, Reason, str]:
    return (
        Outcome.BREACH,
        check.breach if found.breach is None else found.breach,
        check.reason if found.reason is None else found.reason,
        "",
    )


def _in_range(numbers: list[Any]) -> bool:
    """Return whether every check has an integer so small that its margin is in range."""
    return _INTEGER.issuperset(map(type, numbers)) and 2 * sum(map(abs, numbers)) < RANGE


def _plan(numbers: Numbers, judging: tuple[Rule, ...]) -> _Plan | None:
    """Return the plan of these rules, kept with the numbers; None if the policy lacks one."""
    kept = numbers.plan
    if isinstance(kept, _Plan) and kept.judging is judging:
        return kept
    rows: list[_Row] = []
    at: list[_Row | None] = [None] * len(_READABLE)
    try:
        for rule in judging:
            rows.append(_row(numbers, rule, len(at)))
            at += [rows[-1]] * len(rule.checks)
    except Exception:  # noqa: BLE001 - a refusal for each rule, by `run`
        return None
    names = [(RuleId.R00, check, 1, Scope.ORDER, Unit.FLAG, Bound.MAX) for check, _ in _READABLE]
    names += [
        (rule.rule_id, check.name, rule.version, check.scope, check.unit, check.bound)
        for rule in judging
        for check in rule.checks
    ]
    made = _Plan(
        judging=judging,
        rows=tuple(rows),
        at=tuple(at),
        minima=frozenset(place for place, one in enumerate(names) if one[-1] is Bound.MIN),
        disarmed=frozenset(
            place for row in rows if not row.armed for place in range(row.first, row.end)
        ),
        names=names_digest(names),
        said=(),
    )
    plain = _Trace(made, [0] * len(at), [0] * len(at), []).results()
    numbers.plan = made = made._replace(said=tuple(document_of(one) for one in plain))
    return made


def _row(numbers: Numbers, rule: Rule, first: int) -> _Row:
    armed, note = True, ""
    if rule.named and rule.rule_id not in ALWAYS_ARMED:
        arming = numbers.arming_of(rule.rule_id)
        armed, note = arming.armed, "" if arming.armed else arming.reason
    size = len(rule.checks)
    return _Row(rule, rule.measure, first, first + size, armed, note, (_NOTHING,) * size)


def _book_agrees(state: RiskState) -> tuple[RuleResult, ...]:
    """R00: an instrument whose book differs from the broker's reports takes no new intent.

    Only a breach appears in a verdict.
    """
    if getattr(state, "book_differs", False) is False:  # any other type is unreadable
        return ()
    return (_r00("book_agrees", Scope.INSTRUMENT, 1, Reason.BOOK_DIFFERS),)


def _sealed(digest: Callable[[T], str], value: T) -> str:
    try:
        return digest(value)
    except Exception:  # noqa: BLE001 - an input without a digest is refused
        return UNREADABLE


def _r00(check: str, scope: Scope, bad: int, reason: Reason) -> RuleResult:
    """R00: an input without a canonical form cannot be recorded, so it is refused."""
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
