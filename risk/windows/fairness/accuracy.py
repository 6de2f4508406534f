"""W4: are forecasts as good for one group as for another?

The mean absolute error of a group against that of the group with the least, and the share of
outcomes inside the forecast's interval against that of the group with the most.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from risk.windows.fairness.cases import ENOUGH, Fairness

RATIO_MAX_BP: Final = 12_500
_BP: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastCase:
    """One forecast and what happened: its absolute error as log return in 1e-8."""

    decision_id: str
    group: str
    error_1e8: int
    covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """One group's error and coverage, and how much worse they are than the best group's.

    `ratio_bp` is the larger of both ratios; None where the group is too small or stands alone.
    """

    group: str
    cases: int
    error_1e8: int
    covered_bp: int
    ratio_bp: int | None
    finding: Fairness


def accuracy(cases: Iterable[ForecastCase]) -> tuple[Accuracy, ...]:
    """Return every group's error and coverage, by name."""
    groups: dict[str, list[ForecastCase]] = {}
    for case in cases:
        if case.group:
            groups.setdefault(case.group, []).append(case)
    large = {name: one for name, one in groups.items() if len(one) >= ENOUGH}
    return tuple(_of(name, groups[name], large) for name in sorted(groups))


def _of(name: str, own: list[ForecastCase], large: Mapping[str, list[ForecastCase]]) -> Accuracy:
    ratio_bp = None
    if name in large and len(large) > 1:
        errors, covered = _sums(own)
        others = [(len(one), *_sums(one)) for one in large.values()]
        ratio_bp = max(
            *(_ratio_bp(errors * count, error * len(own)) for count, error, _ in others),
            *(_ratio_bp(inside * len(own), covered * count) for count, _, inside in others),
        )
    flagged = ratio_bp is not None and ratio_bp > RATIO_MAX_BP
    errors, covered = _sums(own)
    return Accuracy(
        group=name,
        cases=len(own),
        error_1e8=errors // len(own),
        covered_bp=_BP * covered // len(own),
        ratio_bp=ratio_bp,
        finding=Fairness.INSUFFICIENT
        if ratio_bp is None
        else Fairness.FLAGGED
        if flagged
        else Fairness.NOT_FLAGGED,
    )


def _sums(cases: list[ForecastCase]) -> tuple[int, int]:
    return sum(c.error_1e8 for c in cases), sum(c.covered for c in cases)


def _ratio_bp(over: int, under: int) -> int:
    """Return over / under in basis points; nothing over nothing is equal."""
    if under == 0:
        return _BP if over == 0 else _BP * _BP
    return _BP * over // under
