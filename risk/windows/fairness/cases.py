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
    """

    decision_id: str
    group: str
    stratum: str
    approved: bool
    exposure_bp: int
    hit: frozenset[str]


def by_group(cases: Iterable[FairnessCase]) -> Mapping[str, tuple[FairnessCase, ...]]:
    """Return the cases of each group that the table names, by its name."""
    found: dict[str, list[FairnessCase]] = {}
    for case in cases:
        if case.group:
            found.setdefault(case.group, []).append(case)
    return {name: tuple(found[name]) for name in sorted(found)}
