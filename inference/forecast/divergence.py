"""The conflict of words and numbers: how far the news leans against the latest moves.

Numbers lean by the sum of the last five log returns, in deviations of that sum, halved and cut at
one. Words lean by the sum of the events that still speak: direction, times one for a strong and a
half for a weak event, times 0.8 for every bar since publication, cut at one. The conflict is the
negative product of both, in 1/10,000, and zero where they agree.

Rules:
- The answer is a function of the snapshot, so replay finds it again.
- An echo describes a move that happened; it has no lean of its own.
- Only events against the numbers are named; the caller goes deep once for each of them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from inference.codec.narrative import MAX_AGE_BARS
from inference.snapshot import Direction, EventType, NewsItem, Snapshot, Strength

MOVES: Final = 5
"""Returns that the numbers' lean is made of."""
LEAN_DEVIATIONS: Final = 2.0
"""Deviations of a sum of returns that lean fully."""
DECAY: Final = 0.8
"""What is left of an event's lean after a bar."""
WEAK: Final = 0.5
_BP: Final = 10_000
_SILENT: Final = frozenset({EventType.ECHO, EventType.NONE})
_SIGN: Final = {Direction.NEGATIVE: -1.0, Direction.NEUTRAL: 0.0, Direction.POSITIVE: 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """How far words and numbers differ.

    Attributes:
        numbers_bp: Lean of the latest moves, -10,000 to 10,000.
        words_bp: Lean of the events that speak, -10,000 to 10,000.
        conflict_bp: The conflict, 0 to 10,000.
        events: Ids of the events against the numbers, sorted.
    """

    numbers_bp: int
    words_bp: int
    conflict_bp: int
    events: tuple[str, ...]


def measure(snapshot: Snapshot, returns: Sequence[float]) -> Divergence:
    """Return the divergence of a snapshot with these log returns, oldest first."""
    numbers = _numbers(returns)
    closes = [bar.close_time_us for bar in snapshot.bars]
    leans = [
        (item.event_id, _lean(item, len(closes) - bisect_right(closes, item.published_us)))
        for item in snapshot.news
    ]
    words = max(-1.0, min(1.0, fsum(sorted(lean for _, lean in leans))))
    against = sorted(name for name, lean in leans if lean * numbers < 0.0)
    return Divergence(
        numbers_bp=round(_BP * numbers),
        words_bp=round(_BP * words),
        conflict_bp=round(_BP * max(0.0, -numbers * words)),
        events=tuple(against),
    )


def _numbers(returns: Sequence[float]) -> float:
    recent = returns[-MOVES:]
    variance = fsum(r * r for r in returns) / len(returns) if returns else 0.0
    if len(recent) < MOVES or variance <= 0.0:
        return 0.0
    deviations: float = fsum(recent) / (variance * MOVES) ** 0.5
    return max(-1.0, min(1.0, deviations / LEAN_DEVIATIONS))


def _lean(item: NewsItem, age_bars: int) -> float:
    if item.event_type in _SILENT or age_bars > MAX_AGE_BARS:
        return 0.0
    weight = 1.0 if item.strength is Strength.STRONG else WEAK
    lean: float = _SIGN[item.direction] * weight * DECAY**age_bars
    return lean
