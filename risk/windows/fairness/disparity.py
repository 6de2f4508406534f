"""W2: conditional demographic disparity.

In each stratum, a group's share of the refused less its share of the approved; averaged over the
strata by their number of cases.

Source: Wachter, Mittelstadt, Russell, "Why fairness cannot be automated" (2021), section V.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from risk.windows.fairness.cases import ENOUGH, Fairness, FairnessCase, by_group

DISPARITY_BP: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Disparity:
    """One group's disparity in basis points, towards zero; None where it is too small."""

    group: str
    cases: int
    disparity_bp: int | None
    finding: Fairness


def disparity(cases: Iterable[FairnessCase]) -> tuple[Disparity, ...]:
    """Return every group's disparity, by name."""
    known = tuple(case for case in cases if case.group)
    strata: dict[str, list[FairnessCase]] = {}
    for case in known:
        strata.setdefault(case.stratum, []).append(case)
    mixed = [found for found in strata.values() if 0 < sum(c.approved for c in found) < len(found)]
    total = sum(map(len, mixed))
    return tuple(_of(name, len(found), mixed, total) for name, found in by_group(known).items())


def _of(name: str, count: int, mixed: list[list[FairnessCase]], total: int) -> Disparity:
    if count < ENOUGH or not total:
        return Disparity(group=name, cases=count, disparity_bp=None, finding=Fairness.INSUFFICIENT)
    sum_ = Fraction(0)
    for found in mixed:
        approved = [case for case in found if case.approved]
        refused = [case for case in found if not case.approved]
        share = Fraction(sum(c.group == name for c in refused), len(refused))
        share -= Fraction(sum(c.group == name for c in approved), len(approved))
        sum_ += share * len(found)
    disparity_bp = int(10_000 * sum_ / total)
    flagged = abs(disparity_bp) > DISPARITY_BP
    return Disparity(
        group=name,
        cases=count,
        disparity_bp=disparity_bp,
        finding=Fairness.FLAGGED if flagged else Fairness.NOT_FLAGGED,
    )
