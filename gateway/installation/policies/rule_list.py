"""The verb `countersign rules`, and docs/rules.md: what each rule measures.

The definition stands once, in the docstring of the file with the rule. Not here: a policy's
numbers.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc

from gateway.errors import RequestError
from risk.forms.canonical import JSON
from risk.numbers.sections import ALWAYS_ARMED
from risk.policy.policy import RULES_OF_1
from risk.rules.catalogue import RULES
from risk.rules.rule import Rule
from risk.verdict import RuleId


def show_rules(names: Sequence[str], *, as_json: bool) -> None:
    """Print the rules with these ids, or all.

    Raises:
        RequestError: there is no such rule.
    """
    wanted = {name.upper() for name in names}
    unknown = sorted(wanted - {rule.rule_id.value for rule in RULES})
    if unknown:
        known = ", ".join(rule.rule_id for rule in RULES)
        raise RequestError(problem=f"{unknown[0]} is no rule; the rules are {known}")
    rules = [rule for rule in RULES if not wanted or rule.rule_id in wanted]
    if as_json:
        said = json.dumps([rule_document(rule) for rule in rules], indent=2)
    else:
        said = "\n".join(rule_lines(rules, {})).rstrip()
    sys.stdout.write(f"{said}\n")


def definition(rule: Rule) -> str:
    """Return the docstring of the file that measures a rule."""
    return cleandoc(sys.modules[rule.measure.__module__].__doc__ or "")


def rule_document(rule: Rule) -> dict[str, JSON]:
    """Return a rule for scripts."""
    return {
        "rule": rule.rule_id.value,
        "version": rule.version,
        "title": rule.title,
        "formats": [1, 2] if rule.rule_id in RULES_OF_1 else [2],
        "checks": [
            {"name": one.name, "bound": one.bound, "unit": one.unit, "scope": one.scope}
            for one in rule.checks
        ],
        "definition": definition(rule),
    }


def rule_lines(rules: Sequence[Rule], disarmed: Mapping[str, str]) -> Iterator[str]:
    """Yield a section for each file of rules: its rules with their checks, and the definition.

    `disarmed` has the reasons of a policy that does not arm a rule.
    """
    files = {definition(rule): rule for rule in rules}
    for said in files:
        members = [rule for rule in rules if definition(rule) == said]
        yield from ("## " + ", ".join(rule.rule_id for rule in members), "")
        for rule in members:
            yield f"- **{rule.rule_id}** version {rule.version}, {_format(rule)}: {rule.title}."
            yield "  Checks: " + "; ".join(
                f"`{one.name}` ({one.bound.value.lower()}, {one.unit}, {one.scope})"
                for one in rule.checks
            )
            if rule.rule_id in disarmed:
                yield f"  Not armed in the desk's policy: {disarmed[rule.rule_id]}"
        yield from ("", said, "")


def _format(rule: Rule) -> str:
    if rule.rule_id in ALWAYS_ARMED:
        return "always armed"
    if rule.rule_id is RuleId.R48:
        return "armed where the policy has a lexicon of fairness"
    if rule.rule_id is RuleId.R54:
        return "armed where the policy has a deny list"
    if not rule.named:
        return "armed while its stop is in force"
    return "format 1 and 2" if rule.rule_id in RULES_OF_1 else "format 2"
