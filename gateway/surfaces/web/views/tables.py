"""Two tables of the decision page: prompt tokens by meaning, and a verdict's checks as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.surfaces.web.views import formats
from gateway.surfaces.web.views.body import Body
from inference.codec import vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """Adjacent prompt tokens with one meaning."""

    name: str
    note: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One check of one rule, as text with its unit."""

    rule: str
    check: str
    scope: str
    observed: str
    limit: str
    margin: str
    outcome: str
    action: str
    reason: str
    note: str


def prompt_parts(ids: Sequence[int]) -> tuple[PromptPart, ...]:
    """Group prompt ids by meaning, in order of appearance."""
    parts: list[PromptPart] = []
    for token in ids:
        name, note = _meaning(token)
        if parts and parts[-1].name == name:
            parts[-1] = PromptPart(name=name, note=note, tokens=(*parts[-1].tokens, token))
        else:
            parts.append(PromptPart(name=name, note=note, tokens=(token,)))
    return tuple(parts)


def rule_rows(verdict: Body) -> tuple[RuleRow, ...]:
    """Return every check of a verdict in its fixed order."""
    return tuple(
        RuleRow(
            rule=result.text("rule_id"),
            check=result.text("check"),
            scope=result.text("scope"),
            observed=measured(result.whole("observed"), result.text("unit")),
            limit=_limit(result),
            margin=_margin(result),
            outcome=result.text("outcome"),
            action=result.text("action"),
            reason=result.text("reason"),
            note=result.text("note"),
        )
        for result in verdict.children("results")
    )


def _limit(result: Body) -> str:
    value, unit = result.whole("limit"), result.text("unit")
    if value is None or unit == "flag":
        return formats.DASH
    side = "at least" if result.text("bound") == "MIN" else "at most"
    return f"{side} {measured(value, unit)}"


def _margin(result: Body) -> str:
    unit = result.text("unit")
    return formats.DASH if unit == "flag" else measured(result.whole("margin"), unit)


def measured(value: int | None, unit: str) -> str:
    """Return a rule's number with its unit in words."""
    if value is None:
        return formats.DASH
    shown = {
        "minor": lambda: f"{formats.money(value)} USD",
        "bp": lambda: formats.bp(value),
        "pct": lambda: f"{formats.whole(value)} %",
        "us": lambda: formats.duration(value),
        "ticks": lambda: f"{formats.price(value)} USD".replace("-", "−"),
        "log_return_1e8": lambda: formats.log_return(value),
        "flag": lambda: {0: "no fault", 1: "fault"}.get(value, str(value)),
        "count": lambda: formats.whole(value),
        "per_s": lambda: f"{formats.whole(value)} /s",
    }
    return shown[unit]() if unit in shown else f"{formats.whole(value)} {unit}"


def _meaning(token: int) -> tuple[str, str]:
    v = vocabulary
    if v.is_bin(token):
        return "returns", "bars, in bins of the causal volatility; drafter and target see them"
    if token in v.NARRATIVE_IDS:
        return "narrative", "type, direction and age of three events; only the target sees them"
    if token < v.CLASS_START:
        return "start", "beginning of the prompt"
    if token < v.CLOCK_START:
        return "kind", "asset class and bar length"
    if token < v.LEVEL_START:
        return "clock", "weekday or hour of the last close"
    return "volatility", "level, and ratio to the long run"
