"""R54: no order that gives own orders a shape on the policy's signed deny list.

Rules:
- The rule judges where the policy has a deny list; each of its shapes is a check, by its name.
- A shape is met if every number that its entry states is reached, with the new order.
- It reads orders, never the forecast: that the target accepted a draft excuses nothing.
- A renewal or a replace leaves the reservation of its own decision out.

Source: Delegated Regulation (EU) 2016/522 Annex II; Regulation (EU) No 596/2014 art. 12(2)(c).
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from risk.intent import Side
from risk.numbers.denied import DeniedShape, DenyList
from risk.rules.conduct.shapes import own_levels
from risk.rules.exposure import side_of
from risk.rules.limits import BP
from risk.rules.messages.pace import activity_of
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive
from risk.state.activity import LAST
from risk.verdict import Reason, RuleId, Scope, Unit

TITLE: Final = "Deny list: no shape of own orders that officers have named"


def _longest(levels: list[int], growth_bp: int) -> int:
    """Return how many levels in a row grow by more than nothing and at least by a ratio."""
    longest = run = 1
    for nearer, farther in pairwise(levels):
        grows = farther > nearer and (farther - nearer) * BP >= growth_bp * nearer
        run = run + 1 if grows else 1
        longest = max(longest, run)
    return longest


def _reached(
    case: RuleCase, shape: DeniedShape, levels: list[int], withdrawn: int
) -> Iterator[bool]:
    lots = positive(case.intent.qty_lots)
    if shape.levels is not None:
        yield len(levels) >= shape.levels
    if shape.growing is not None:
        yield _longest(levels, shape.growth_bp or 0) >= shape.growing
    if shape.withdrawn is not None:
        yield withdrawn >= shape.withdrawn
    if shape.larger_bp is not None:
        yield (sum(levels) - lots) * BP >= shape.larger_bp * lots


def _denied(case: RuleCase) -> tuple[Measured, ...]:
    listed: DenyList | None = case.families.denied
    side, past = side_of(case), activity_of(case)
    if listed is None:
        raise RuleRefusal(Reason.RULE_NOT_IN_POLICY)
    if len(past.withdrawn) >= LAST:  # older ones are forgotten: the count would be too small
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    levels = own_levels(case)
    withdrawn = sum(1 for one in past.withdrawn if Side(one.side) is side)
    return tuple(
        Measured(observed=int(all(_reached(case, shape, levels, withdrawn))), limit=0)
        for shape in listed.shapes
    )


def _rule(*names: str) -> Rule:
    return Rule(
        rule_id=RuleId.R54,
        version=1,
        title=TITLE,
        checks=tuple(
            Check(name=name, unit=Unit.FLAG, scope=Scope.FIRM, reason=Reason.SHAPE_DENIED)
            for name in names
        ),
        measure=_denied,
        conduct=True,
        named=False,
    )


R54: Final = _rule("shape")
RULES: Final = (R54,)
"""The rule as documents show it; a verdict has a check for each shape of its policy."""


@lru_cache(maxsize=16)
def denying(listed: DenyList) -> Rule:
    """Return the rule with a check for each denied shape."""
    return _rule(*(shape.name for shape in listed.shapes))
