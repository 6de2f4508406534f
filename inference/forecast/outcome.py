"""A forecast against what came: the scores of its paths, and the evidence that ranks are uneven.

Rules:
- Integers only, moves in 1e-8, so that whoever has the paths and the bars gets the same bytes.
- CRPS is that of the paths as a distribution (Gneiting and Raftery 2007, eq. 21).
- The rank of what came among n paths is even on 0..n if it is one more draw of the same law. Ties
  are split by a digest of the decision's id, never by a choice.
- Evidence is a product of e-values: each rank's tenth is bet on by the counts before it (Laplace's
  rule), in units of 2^-256, rounded down. Under an even law it exceeds 1/a with a chance of at most
  a, however often one looks (Ville). Instruments move together, so theirs are not multiplied: a
  stake of one is split among them by first score, 1/2, 1/6, 1/12 and so on.

Not here: which bars came, records.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from inference.errors import ForecastError

TENTHS: Final = 10
_UNIT: Final = 1 << 256
_MILLI: Final = 1_000
_BP: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PathScore:
    """How one set of paths did, at one step.

    Attributes:
        paths: How many there were.
        crps_1e8: Continuous ranked probability score of the move, 1e-8, rounded down.
        rank: How many paths what came exceeds, 0..paths.
        mean_1e8: Their mean, 1e-8, rounded toward minus infinity.
    """

    paths: int
    crps_1e8: int
    rank: int
    mean_1e8: int


def score_paths(moves_1e8: Sequence[int], came_1e8: int, tie_break: str) -> PathScore:
    """Score the moves of all paths at one step against the move that came.

    Raises:
        ForecastError: there is no path.
    """
    n = len(moves_1e8)
    if not n:
        raise ForecastError("a forecast without paths has no score")
    ordered = sorted(moves_1e8)
    spread = 2 * sum((2 * place - n + 1) * move for place, move in enumerate(ordered))
    missed = sum(abs(move - came_1e8) for move in ordered)
    below = sum(move < came_1e8 for move in ordered)
    equal = sum(move == came_1e8 for move in ordered)
    share = int.from_bytes(hashlib.sha256(tie_break.encode()).digest()[:8], "big")
    return PathScore(
        paths=n,
        crps_1e8=(2 * n * missed - spread) // (2 * n * n),
        rank=below + share % (equal + 1),
        mean_1e8=sum(ordered) // n,
    )


def move_1e8(before_ticks: int, after_ticks: int) -> int:
    """Return the relative change between two prices, 1e-8, rounded to nearest.

    Raises:
        ForecastError: a price is not positive.
    """
    if before_ticks <= 0 or after_ticks <= 0:
        raise ForecastError("a price that is not positive has no move")
    moved = (after_ticks - before_ticks) * 100_000_000
    return (2 * moved + before_ticks) // (2 * before_ticks)


@dataclass(slots=True)
class _Ranks:
    """The ranks of one instrument: counts of tenths, and the evidence in units of 2^-256."""

    counts: list[int] = field(default_factory=lambda: [0] * TENTHS)
    evidence: int = _UNIT

    def take(self, tenth: int, size: int, ranks: int) -> None:
        """Multiply by the odds that the counts before it gave to this tenth."""
        given, whole = self.counts[tenth] + 1, sum(self.counts) + TENTHS
        self.evidence = self.evidence * given * ranks // (whole * size)
        self.counts[tenth] += 1


@dataclass(slots=True)
class Calibration:
    """The evidence that one model's ranks are uneven, over all scored forecasts so far."""

    peak_milli: int = _MILLI
    _by: dict[str, _Ranks] = field(default_factory=dict)

    def take(self, instrument: str, rank: int, paths: int) -> None:
        """Count the rank of what came among the paths of one forecast.

        Raises:
            ForecastError: it is no rank of so many paths.
        """
        if not 0 <= rank <= paths or paths < TENTHS - 1:
            raise ForecastError(f"rank {rank} of {paths} paths falls into no tenth")
        tenth, ranks = rank * TENTHS // (paths + 1), paths + 1
        size = sum(one * TENTHS // ranks == tenth for one in range(ranks))
        self._by.setdefault(instrument, _Ranks()).take(tenth, size, ranks)
        self.peak_milli = max(self.peak_milli, self.evidence_milli)

    @property
    def scored(self) -> int:
        """Forecasts so far."""
        return sum(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        """Ranks by tenth, of all instruments."""
        return tuple(sum(one.counts[tenth] for one in self._by.values()) for tenth in range(TENTHS))

    @property
    def evidence_milli(self) -> int:
        """What the stake of one has become, in 1/1,000, rounded down."""
        staked = (one.evidence // ((n + 1) * (n + 2)) for n, one in enumerate(self._by.values()))
        return (sum(staked) + _UNIT // (len(self._by) + 1)) * _MILLI // _UNIT

    @property
    def shift_bp(self) -> int:
        """Population stability index of the tenths against even ones, in 1/10,000.

        The logarithms are floats of whole counts, rounded once; an empty tenth counts as half one.
        """
        total = self.scored
        if not total:
            return 0
        shares = [max(count, 0.5) / total for count in self.counts]
        return round(_BP * sum((one - 0.1) * math.log(one / 0.1) for one in shares))
