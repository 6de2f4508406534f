"""R48: the fairness gate of one decision.

Rules:
- The rule judges where the policy has a lexicon.
- Words: a protected word of the lexicon in the decision's text or news, or a word that was masked
  in its text, asks a person.
- A forecast by weights that read words, on which no swap was ever tested, has no input: refused.
- Swaps: a counterfactual swap of a protected attribute, or of one that the lexicon does not know,
  that moved the forecast refuses the order.
- Unjustified: each proxy or region among words and moved swaps needs a justification in force for
  the attribute, the instrument's class, the order's side and the forecast's horizon, whose bound is
  at least the swap's shift. Without one a person is asked.

Not here: how swaps are made, and who may register a justification (the gateway).

Source: own criterion; docs/fairness.md.
"""

from typing import Final

from risk.numbers.lexicon import FairnessLexicon
from risk.rules.exposure import side_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, positive
from risk.state.inputs.fairness import UNTESTED, FairnessLook, Justified
from risk.verdict import Action, Reason, RuleId, Scope, Unit


def _found(case: RuleCase) -> tuple[FairnessLexicon, FairnessLook]:
    lexicon: FairnessLexicon | None = case.families.fairness
    look = case.inputs.fairness
    if lexicon is None:
        raise RuleRefusal(Reason.RULE_NOT_IN_POLICY)
    if look is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(look.basis_seq)
    if any(one.attribute == UNTESTED for one in look.swaps):
        raise RuleRefusal(Reason.INPUT_MISSING)
    return lexicon, look


def _covers(case: RuleCase, one: Justified, attribute: str, shift_bp: int) -> bool:
    forecast = case.state.forecast
    if forecast is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    horizon_us = positive(forecast.horizon) * positive(forecast.bar_us)
    counted(one.seq)
    return (
        one.attribute == attribute
        and one.asset_class == case.for_instrument.asset_class
        and one.side in {"", side_of(case).value}
        and horizon_us <= counted(one.horizon_us_max)
        and shift_bp <= counted(one.bound_bp)
    )


def _fairness(case: RuleCase) -> tuple[Measured, ...]:
    lexicon, look = _found(case)
    words = {one.name: one for one in lexicon.words}
    sorts = {one.attribute: one.sort for one in lexicon.words}
    if any(word not in words for word in look.words):
        raise RuleRefusal(Reason.UNKNOWN_VALUE)
    protected = [word for word in look.words if words[word].sort == "protected"]
    moved = [one for one in look.swaps if sorts.get(one.attribute, "protected") == "protected"]
    needs = [(words[word].attribute, 0) for word in look.words if word not in protected]
    needs += [(one.attribute, counted(one.shift_bp)) for one in look.swaps if one not in moved]
    unjustified = [
        attribute
        for attribute, shift_bp in needs
        if not any(_covers(case, one, attribute, shift_bp) for one in look.justified)
    ]
    return (
        Measured(observed=len(protected) + counted(look.masked), limit=0),
        Measured(observed=len(moved), limit=0),
        Measured(observed=len(unjustified), limit=0),
    )


R48: Final = Rule(
    rule_id=RuleId.R48,
    version=1,
    title="Fairness gate: protected words, moved swaps, and what no justification covers",
    checks=(
        Check(
            name="words",
            unit=Unit.COUNT,
            scope=Scope.ORDER,
            reason=Reason.PROTECTED_ATTRIBUTE,
            breach=Action.HOLD,
        ),
        Check(name="swaps", unit=Unit.COUNT, scope=Scope.ORDER, reason=Reason.PROTECTED_ATTRIBUTE),
        Check(
            name="unjustified",
            unit=Unit.COUNT,
            scope=Scope.ORDER,
            reason=Reason.NOT_JUSTIFIED,
            breach=Action.HOLD,
        ),
    ),
    measure=_fairness,
    named=False,
)

RULES: Final = (R48,)
