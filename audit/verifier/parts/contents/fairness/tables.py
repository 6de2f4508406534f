"""The cases of a window, and what the tests over them share: tables, p values, rows.

Not here: the tests (`statistics`), which records the cases are (`windows`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

ENOUGH, WHOLE_BP, MILLE, LONG_P = 30, 10_000, 1_000, 1_000_000
FLAGGED, NOT_FLAGGED, INSUFFICIENT = "flagged", "not flagged", "insufficient"
NO_TEST = "does not apply"
FEW = "fewer than 30 cases in a group, or one group only"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """One decision of a window, with everything that its tests compare."""

    name: str
    day: str
    asset_class: str
    levels: Mapping[str, str]
    features: Mapping[str, str]
    result: str
    rules: frozenset[str]
    exposure: int
    filled: bool
    expected: int | None
    error: int | None
    covered: bool
    forecast: int | None = None

    @property
    def source(self) -> str:
        """The forecast that it rests on; without one, itself."""
        return f"decision {self.name}" if self.forecast is None else f"forecast {self.forecast}"

    @property
    def approved(self) -> bool:
        """Whether the first verdict approved it."""
        return self.result == "approved"


def row_of(test: str, subject: str, attribute: str, finding: str, **more: object) -> Row:
    """Return a row as a run has it: without empty fields, and why where a group is too small."""
    row = {"test": test, "subject": subject, "attribute": attribute, "cases": 0, **more}
    row |= {"finding": finding}
    if finding == INSUFFICIENT:
        row["because"] = FEW
    return {name: value for name, value in row.items() if value is not None and value != ""}


def fisher_p(hits: int, of: int, other_hits: int, of_other: int) -> Fraction:
    """Return the two-sided p value of Fisher's exact test."""
    drawn = hits + other_hits
    seen = comb(of, hits) * comb(of_other, other_hits)
    least, most = max(0, drawn - of_other), min(of, drawn)
    ways = [comb(of, k) * comb(of_other, drawn - k) for k in range(least, most + 1)]
    return Fraction(sum(way for way in ways if way <= seen), comb(of + of_other, drawn))


def holm_of(p_values: Sequence[Fraction]) -> list[bool]:
    """Return which tests are significant together at 1 in 20."""
    found, order = [False] * len(p_values), sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(order):
        if p_values[place] > Fraction(1, 20 * (len(p_values) - rank)):
            break
        found[place] = True
    return found


def p_text(p_value: Fraction | None) -> str:
    """Return a p value as a run has it: a fraction, long ones rounded up to millionths."""
    if p_value is None:
        return ""
    if p_value.denominator > LONG_P:
        return f"{-(-LONG_P * p_value.numerator // p_value.denominator)}/{LONG_P}"
    return str(p_value)


def over_bp(part: int, base: int) -> int:
    """Return a ratio in basis points; nothing over nothing is equal."""
    if base == 0:
        return WHOLE_BP if part == 0 else WHOLE_BP * WHOLE_BP
    return WHOLE_BP * part // base


def stratum_of(case: JudgedCase, name: str, within: str = "") -> str:
    """Return what a case is compared within: asset class, side, and a feature if one is named."""
    side = "" if name == "side" else case.levels.get("side", "")
    plain = f"{case.asset_class} {side}".strip()
    return f"{plain} {case.features.get(within, '')}" if within else plain


def grouped_by(
    cases: Iterable[JudgedCase], by: Callable[[JudgedCase], str]
) -> dict[str, list[JudgedCase]]:
    """Return the cases by what `by` says of them, its names in order."""
    found: dict[str, list[JudgedCase]] = {}
    for case in cases:
        found.setdefault(by(case), []).append(case)
    return {name: found[name] for name in sorted(found)}
