"""W1: the approval rate of a group, against that of the group with the highest.

Source: the four-fifths rule, 29 CFR 1607.4(D), as a convention for "much lower".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from risk.windows.fairness.cases import ENOUGH, Fairness, FairnessCase, by_group
from risk.windows.fairness.tables import fisher

RATIO_BP: Final = 8_000
P_MAX: Final = Fraction(1, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """One group's approvals; ratio and p value are None where a group is too small."""

    group: str
    cases: int
    approved: int
    ratio_bp: int | None
    p_value: Fraction | None
    finding: Fairness


def selection(cases: Iterable[FairnessCase]) -> tuple[Selection, ...]:
    """Return every group's approvals against the group that is approved most, by name."""
    groups = by_group(cases)
    counts = {name: (len(found), sum(c.approved for c in found)) for name, found in groups.items()}
    large = {name: one for name, one in counts.items() if one[0] >= ENOUGH}
    best = max(large, key=lambda name: (Fraction(large[name][1], large[name][0]), name), default="")
    return tuple(
        _judged(name, counts[name], large.get(best), is_best=best == name) for name in counts
    )


def _judged(
    name: str, own: tuple[int, int], best: tuple[int, int] | None, *, is_best: bool
) -> Selection:
    of, approved = own
    if of < ENOUGH or best is None or best[1] == 0:
        return Selection(
            group=name,
            cases=of,
            approved=approved,
            ratio_bp=None,
            p_value=None,
            finding=Fairness.INSUFFICIENT,
        )
    ratio_bp = 10_000 * approved * best[0] // (of * best[1])
    p_value = Fraction(1) if is_best else fisher(approved, of, best[1], best[0])
    flagged = ratio_bp < RATIO_BP and p_value < P_MAX
    return Selection(
        group=name,
        cases=of,
        approved=approved,
        ratio_bp=ratio_bp,
        p_value=p_value,
        finding=Fairness.FLAGGED if flagged else Fairness.NOT_FLAGGED,
    )
