"""W6: does a feature of the order stand for an attribute? Cramer's V.

A feature that does is listed as a proxy, and W3 runs again with the feature among the strata: what
the feature explains is then shown apart from what it does not.

Source: Cramer, Mathematical Methods of Statistics (1946), section 21.9.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final

from risk.windows.fairness.cases import ENOUGH, Fairness

PROXY_BP: Final = 3_000
_BP: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """How far a feature tells an attribute, basis points of V; None with one level of either."""

    feature: str
    cases: int
    v_bp: int | None
    finding: Fairness


def association(feature: str, pairs: Iterable[tuple[str, str]]) -> Association:
    """Return how far a feature tells an attribute, from (feature, attribute) of each case."""
    cells = Counter((one, other) for one, other in pairs if one and other)
    rows, columns = Counter[str](), Counter[str]()
    for (one, other), count in cells.items():
        rows[one] += count
        columns[other] += count
    total, levels = sum(cells.values()), min(len(rows), len(columns))
    v_bp = None
    if total >= ENOUGH and levels > 1:
        v_bp = _v_bp(cells, rows, columns, levels - 1)
    found = Fairness.INSUFFICIENT
    if v_bp is not None:
        found = Fairness.FLAGGED if v_bp >= PROXY_BP else Fairness.NOT_FLAGGED
    return Association(feature=feature, cases=total, v_bp=v_bp, finding=found)


def _v_bp(
    cells: Counter[tuple[str, str]], rows: Counter[str], columns: Counter[str], spread: int
) -> int:
    """Return V in basis points, towards zero: the root of (sum n^2 / (row column) - 1) / spread."""
    from_cells = Fraction(-1)
    for (one, other), count in cells.items():
        from_cells += Fraction(count * count, rows[one] * columns[other])
    squared = from_cells * _BP * _BP / spread
    return isqrt(squared.numerator // squared.denominator)
