"""What a window is made of: one case for each intent that was judged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ENOUGH: Final = 30
"""Cases that a group needs to be judged; fewer are insufficient."""


class Fairness(StrEnum):
    """How a test ended."""

    FLAGGED = "flagged"
    NOT_FLAGGED = "not flagged"
    INSUFFICIENT = "insufficient"
    DOES_NOT_APPLY = "does not apply"


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessCase:
    """One judged intent.

    Attributes:
        decision_id: Names it on the ledger.
        group: The level of the attribute; empty if the table does not say.
        stratum: What it is compared within, such as asset class and side.
        approved: Whether the verdict was approved.
        exposure_bp: Signed exposure that was asked for, basis points of equity.
        hit: The rules that refused or held it.
        forecast: The record of the forecast that it rests on; None without one.
    """

    decision_id: str
    group: str
    stratum: str
    approved: bool
    exposure_bp: int
    hit: frozenset[str]
    forecast: int | None = None

    @property
    def source(self) -> tuple[str, str, int | str]:
        """What cases of one forecast, stratum and group have in common; else only its own."""
        own = self.decision_id if self.forecast is None else self.forecast
        return self.stratum, self.group, own


def once(cases: Iterable[FairnessCase]) -> tuple[FairnessCase, ...]:
    """Return the first case of each forecast in a stratum and group."""
    found: dict[tuple[str, str, int | str], FairnessCase] = {}
    for case in cases:
        found.setdefault(case.source, case)
    return tuple(found.values())


def by_group(cases: Iterable[FairnessCase]) -> Mapping[str, tuple[FairnessCase, ...]]:
    """Return the cases of each group that the table names, by its name."""
    found: dict[str, list[FairnessCase]] = {}
    for case in cases:
        if case.group:
            found.setdefault(case.group, []).append(case)
    return {name: tuple(found[name]) for name in sorted(found)}
