"""R01 and R29: stops apart from the kill. None can be disarmed or waived by a policy.

A check appears in a verdict only while its stop is in force, so that verdicts older than the stops
replay.

Not here: who stops and resumes (the gateway).

Rules:
- PAUSE refuses every new order, also one that reduces a position.
- REDUCE_ONLY refuses every order that may increase a position or cross zero, even after all pending
  orders of its side executed.
- BREAKER (R29) holds every order that may increase a position, until a person approves it or two
  officers end the stop.
- SECURE refuses nothing: it says how forecasts are sampled.
- Anything but a tuple of stops refuses.
"""

from collections.abc import Callable, Mapping
from typing import Final

from risk.rules.exposure import reduces
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, run
from risk.state.state import Stop
from risk.verdict import Action, Reason, RuleId, RuleResult, Scope, Unit


def _pause(case: RuleCase) -> tuple[Measured, ...]:
    del case  # whatever the order is
    return (Measured(observed=1, limit=0, reason=Reason.ENTRIES_PAUSED),)


def _reduce_only(case: RuleCase) -> tuple[Measured, ...]:
    grows = int(not reduces(case))
    return (Measured(observed=grows, limit=0, reason=Reason.DOES_NOT_REDUCE),)


def _breaker(case: RuleCase) -> tuple[Measured, ...]:
    return (Measured(observed=int(not reduces(case)), limit=0, reason=Reason.REASONING_ANOMALOUS),)


def _unknown(case: RuleCase) -> tuple[Measured, ...]:
    del case
    raise RuleRefusal(Reason.UNKNOWN_VALUE)


def _rule(
    check: str,
    title: str,
    measure: Callable[[RuleCase], tuple[Measured, ...]],
    rule_id: RuleId = RuleId.R01,
    breach: Action = Action.REJECT,
) -> Rule:
    return Rule(
        rule_id=rule_id,
        version=1,
        title=title,
        checks=(Check(name=check, unit=Unit.FLAG, scope=Scope.FIRM, breach=breach),),
        measure=measure,
        named=False,
    )


STOP_RULES: Final[Mapping[Stop, Rule]] = {
    Stop.PAUSE: _rule("paused", "Pause: no new order", _pause),
    Stop.REDUCE_ONLY: _rule(
        "reduces", "Reduce-only: only orders that reduce a position", _reduce_only
    ),
    Stop.BREAKER: _rule(
        "breaker",
        "AI circuit breaker: orders that do not reduce a position wait for a person",
        _breaker,
        RuleId.R29,
        Action.HOLD,
    ),
}
RULES: Final = (STOP_RULES[Stop.BREAKER],)
_UNREADABLE: Final = _rule("stops", "Stops: known ones", _unknown)


def stop_results(case: RuleCase) -> tuple[RuleResult, ...]:
    """Return the results of the stops in force; never raises."""
    stops = getattr(case.state, "stops", ())
    if type(stops) is not tuple or any(type(one) is not Stop for one in stops):
        return run(_UNREADABLE, case)
    rules = (STOP_RULES[one] for one in Stop if one in stops and one in STOP_RULES)
    return tuple(result for rule in rules for result in run(rule, case))
