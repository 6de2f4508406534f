"""Where words overruled numbers: how far the target was from a numbers-only drafter, by bar.

Everything here follows from a capture's evidence and the drafter's table; nothing is added to the
record. A pair whose target equals its drafter without news rejects only where words acted. Another
pair also rejects where its target reads the numbers differently; its news twin says which.
"""

from dataclasses import dataclass
from math import fsum

from inference.speculation.evidence import Evidence, Judge
from inference.speculation.rounds import QTable


@dataclass(frozen=True, slots=True, kw_only=True)
class OverruledBar:
    """One bar over all trajectories.

    Attributes:
        bar: 0 for the first.
        decided: drafts that were decided there.
        rejected: of those, how many were rejected.
        excess: mean of max(0, 1 - p/q) over them, an unbiased estimate of the total variation.
    """

    bar: int
    decided: int
    rejected: int
    excess: float


def overruled(
    evidence: Evidence, table: QTable | None = None, *, width: int = 1
) -> tuple[OverruledBar, ...]:
    """Return the bars that had decided drafts, ascending; a bar has `width` tokens.

    Raises:
        CaptureError: when the table is missing or not the recorded one, or lacks a state.
    """
    judge = Judge(evidence, table)
    found: dict[int, list[tuple[bool, float]]] = {}
    for r in evidence.rounds:
        kept = r.accepted + 1 - r.truncated  # a draft beyond the last bar decided nothing
        for j in range(min(r.verified, kept)):
            q = judge.q_of(r, j, r.drafts[j])
            short = max(0.0, 1.0 - r.p[j] / q)
            found.setdefault((r.step + j) // width, []).append((j >= r.accepted, short))
    return tuple(
        OverruledBar(
            bar=bar,
            decided=len(drafts),
            rejected=sum(refused for refused, _ in drafts),
            excess=fsum(short for _, short in drafts) / len(drafts),
        )
        for bar, drafts in sorted(found.items())
    )
