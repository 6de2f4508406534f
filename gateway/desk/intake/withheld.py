"""What whoever submits an order is not told: which pattern of conduct refused it.

The record has every result; an agent that knew pattern, measure and limit could stay just below.

Rules:
- The results of the rules about conduct become one, without a name, a measure or a limit.
- A record that is shown to an agent with results left out says so in `withheld`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from risk.rules.catalogue import CONDUCT
from risk.verdict import Action, Reason, RuleResult

CODE: Final = "conduct"
REFUSED: Final = "CONDUCT"
_NAMES: Final = frozenset(rule.value for rule in CONDUCT)


def without_conduct(results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the results as documents, with one for all rules about conduct."""
    told, actions = [], []
    for one in results:
        if one["rule_id"] in _NAMES:
            actions.append(Action[one["action"]])
        else:
            told.append(dict(one))
    if actions:
        worst = max(actions)
        reason = Reason.WITHIN_LIMIT.value if worst < Action.THROTTLE else REFUSED
        told.append(
            {
                "rule_id": CODE,
                "check": "",
                "action": worst.name,
                "reason": reason,
                "observed": None,
                "limit": None,
                "margin": None,
                "unit": "flag",
            }
        )
    return told


def named(result: RuleResult) -> str:
    """Return rule and check as a submitter is told them."""
    return CODE if result.rule_id in CONDUCT else f"{result.rule_id.value} {result.check}"


def withheld_from_agents(document: dict[str, Any]) -> dict[str, Any]:
    """Return a record's document without the results about conduct, wherever a verdict stands."""
    payload = _without(document["payload"])
    if payload == document["payload"]:
        return document
    return document | {"payload": payload, "withheld": [CODE]}


def _without(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [_without(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    inner = {name: _without(one) for name, one in value.items()}
    results = inner.get("results")
    if isinstance(results, list) and any(_is_conduct(one) for one in results):
        inner["results"] = without_conduct(results)
    return inner


def _is_conduct(one: object) -> bool:
    return isinstance(one, Mapping) and one.get("rule_id") in _NAMES
