"""Counts and token paths of a capture, with its rows or as evidence."""

from dataclasses import dataclass

from inference.errors import CaptureError
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import Capture, PlainReason


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureTotals:
    """Counts over a capture."""

    rounds: int
    drafted: int
    accepted: int
    positions: int  # drafts that were decided, accepted or rejected
    full_rounds: int  # rounds that drafted spec_k tokens
    full_accepted: int  # accepted in those
    fallback_trajectories: tuple[int, ...]  # went on plain because drafts kept being rejected

    @property
    def mean_accepted(self) -> float:
        """Mean accepted drafts per full round; 0.0 without one."""
        return self.full_accepted / self.full_rounds if self.full_rounds else 0.0


def totals(capture: Capture | Evidence) -> CaptureTotals:
    """Return the counts of rounds, drafts and accepted drafts."""
    full = [r for r in capture.rounds if capture.spec_k and len(r.drafts) == capture.spec_k]
    fallen = {r.trajectory for r in capture.rounds if r.plain_reason is PlainReason.DRAFTS_REJECTED}
    return CaptureTotals(
        rounds=len(capture.rounds),
        drafted=sum(len(r.drafts) for r in capture.rounds),
        accepted=sum(r.accepted for r in capture.rounds),
        positions=sum(r.verified for r in capture.rounds),
        full_rounds=len(full),
        full_accepted=sum(r.accepted for r in full),
        fallback_trajectories=tuple(sorted(fallen)),
    )


def paths(capture: Capture | Evidence) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of each trajectory.

    Raises:
        CaptureError: when a trajectory's rounds leave a gap or overlap.
    """
    tokens: list[list[int]] = [[] for _ in capture.seeds]
    for r in capture.rounds:
        if r.trajectory >= len(tokens) or r.step != len(tokens[r.trajectory]):
            raise CaptureError(f"round {r.trajectory}/{r.step} is out of order")
        tokens[r.trajectory].extend(r.emitted)
    return tuple(tuple(path) for path in tokens)
