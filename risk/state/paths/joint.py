"""Paths of a whole book: what sampled paths of several instruments move together.

Not here: how they are joined (`inference.forecast.joint`).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentPaths:
    """One instrument's moves since its as-of, relative, in 1e-8, shape [paths, steps]."""

    symbol: str
    moves_1e8: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookPaths:
    """Joint paths: path `j` of every instrument happens together.

    Attributes:
        as_of_us: As-of of the oldest forecast among them.
        rule_digest: SHA-256 of how they were joined, hex; empty for one instrument.
    """

    as_of_us: int
    bar_us: int
    rule_digest: str
    instruments: tuple[InstrumentPaths, ...]

    @property
    def n_paths(self) -> int:
        """Number of joint paths."""
        return len(self.instruments[0].moves_1e8) if self.instruments else 0

    def of(self, symbol: str) -> tuple[tuple[int, ...], ...] | None:
        """Return the moves of an instrument, or None."""
        return next((one.moves_1e8 for one in self.instruments if one.symbol == symbol), None)


@lru_cache(maxsize=64)
def days_of(steps: int, bar_us: int) -> tuple[int, ...]:
    """Return the day of each step, from 0: with daily bars each step ends one."""
    return tuple((step * bar_us - 1) // DAY_US for step in range(1, steps + 1))
