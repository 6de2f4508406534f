"""The sampled paths of one instrument, with the past that they follow.

Rules:
- Integers only. A move is the price's change since the forecast's as-of, relative, in 1e-8; it was
  rounded once, where the path left inference.
- A path is kept or dropped as a whole, before this.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from risk.errors import PathsError

ONE_1E8: Final = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """One instrument's paths.

    Attributes:
        bar_us: Length of a step.
        times_us: Close times of the past bars, ascending.
        closes_ticks: Their closing prices.
        moves_1e8: Relative change of price since `as_of_us`, shape [paths, steps].
    """

    instrument: str
    as_of_us: int
    bar_us: int
    times_us: tuple[int, ...]
    closes_ticks: tuple[int, ...]
    moves_1e8: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Raise `PathsError` for paths of no or of different lengths, or a price below zero."""
        lengths = {len(path) for path in self.moves_1e8}
        if len(lengths) != 1 or 0 in lengths or self.bar_us < 1:
            raise PathsError(f"{self.instrument}: paths must have one length of at least one step")
        if min(min(path) for path in self.moves_1e8) < -ONE_1E8:
            raise PathsError(f"{self.instrument}: a price below zero")
        if len(self.times_us) != len(self.closes_ticks) or min(self.closes_ticks, default=1) < 1:
            raise PathsError(f"{self.instrument}: past closes must be positive, one for each time")
        if any(a >= b for a, b in pairwise(self.times_us)):
            raise PathsError(f"{self.instrument}: past closes must ascend by time")

    @property
    def steps(self) -> int:
        """Steps of each path."""
        return len(self.moves_1e8[0])
