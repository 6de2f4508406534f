"""Tables of the decision page: prompt tokens by meaning, a verdict's checks, what words did."""

from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsRow:
    """One number of a forecast or its order, with the narrative heard and blanked."""

    what: str
    heard: str
    blanked: str
    difference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsView:
    """What words did: one sentence, and the table if there is a news twin."""

    sentence: str
    rows: tuple[WordsRow, ...] = ()


def words_view(words: Body) -> WordsView | None:
    """Return what words did to a decision, or None if no record says it."""
    match words.text("result"):
        case "no_news":
            return WordsView(sentence="No news: no words reached this forecast.")
        case "missing":
            why = formats.words(words.text("reason"))
            return WordsView(
                sentence=f"The news twin is missing ({why}), so nobody can say what words did. The"
                " decision went on without it."
            )
        case "measured":
            return WordsView(sentence=_said(words), rows=tuple(_words_rows(words)))
        case _:
            return None


def _said(words: Body) -> str:
    heard, blanked = (words.child(name).whole("lots") or 0 for name in ("heard", "blanked"))
    if heard == blanked:
        return f"Words did not change the order: {_order(heard)} with and without them."
    return f"Words changed the order: {_order(heard)} with them, {_order(blanked)} without."


def _order(lots: int) -> str:
    if lots == 0:
        return "none"
    return f"{'buy' if lots > 0 else 'sell'} {formats.whole(abs(lots))} lots"


def _words_rows(words: Body) -> Iterator[WordsRow]:
    heard, blanked, less = (words.child(name) for name in ("heard", "blanked", "difference"))
    error = less.whole("mean_error_1e8")
    for name, what, shown, differs in (
        ("expected_1e8", "Expected log return", formats.log_return, formats.log_return),
        ("p_up_bp", "P(next bar rises)", formats.bp, formats.signed_bp),
        ("step_vol_1e8", "Volatility of one bar", formats.volatility, formats.log_return),
        ("horizon_vol_1e8", "Volatility of the horizon", formats.volatility, formats.log_return),
        (
            "shortfall_1e8",
            "Worst 2.5 % of paths, mean loss",
            formats.volatility,
            formats.log_return,
        ),
        ("target_exposure_bp", "Target exposure", formats.bp, formats.signed_bp),
        ("lots", "Order, lots", formats.whole, formats.whole),
    ):
        difference = differs(less.whole(name))
        if name == "expected_1e8" and error is not None:
            difference += f" (standard error {formats.volatility(error)})"
        yield WordsRow(
            what=what,
            heard=shown(heard.whole(name)),
            blanked=shown(blanked.whole(name)),
            difference=difference,
        )


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


def rule_rows(verdict: Body, currency: str, tick: int = 1) -> tuple[RuleRow, ...]:
    """Return every check of a verdict in its fixed order; `tick` is one price step, in cents."""
    return tuple(
        RuleRow(
            rule=result.text("rule_id"),
            check=result.text("check"),
            scope=result.text("scope"),
            observed=measured(result.whole("observed"), result.text("unit"), currency, tick),
            limit=_limit(result, currency, tick),
            margin=_margin(result, currency, tick),
            outcome=result.text("outcome"),
            action=result.text("action"),
            reason=result.text("reason"),
            note=result.text("note"),
        )
        for result in verdict.children("results")
    )


def _limit(result: Body, currency: str, tick: int) -> str:
    value, unit = result.whole("limit"), result.text("unit")
    if value is None or unit == "flag":
        return formats.DASH
    side = "at least" if result.text("bound") == "MIN" else "at most"
    return f"{side} {measured(value, unit, currency, tick)}"


def _margin(result: Body, currency: str, tick: int) -> str:
    value, unit = result.whole("margin"), result.text("unit")
    return formats.DASH if unit == "flag" else measured(value, unit, currency, tick)


def measured(value: int | None, unit: str, currency: str, tick: int = 1) -> str:
    """Return a rule's number with its unit in words."""
    if value is None:
        return formats.DASH
    shown = {
        "minor": lambda: f"{formats.money(value, currency)} {currency}",
        "bp": lambda: formats.bp(value),
        "pct": lambda: f"{formats.whole(value)} %",
        "us": lambda: formats.duration(value),
        "ticks": lambda: f"{formats.price(value, tick, currency)} {currency}".replace("-", "−"),
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
