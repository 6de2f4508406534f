"""How instruments move together from day to day: an EWMA correlation in integers, shrunk.

A return counts between two closes that both instruments have, by day (or by the slot of a shorter
bar) and not by the microsecond: feeds stamp one close at different times. Each return is divided by
the volatility that was known one bar earlier, so that a turbulent month does not speak for a year.

Rules:
- Integers only: the same closes give the same correlation on every machine.
- A pair whose common past is shorter than `FEWEST` returns has the correlation that is given.
- The estimates of pairs need not fit together: the matrix is drawn towards independence, step by
  step, until it is a correlation (`factor_of`), and says by how much.

Source: RiskMetrics Technical Document (1996), section 5.2, for the EWMA; Ledoit and Wolf (2004),
Journal of Multivariate Analysis 88(2), for shrinking towards a plain target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Final

RULE: Final = "rank-exchange/1"
"""How paths are joined by it, as records name it (`inference.forecast.joint`)."""
ONE: Final = 1_000_000
"""A correlation of one; a factor of one."""
KEEP_BP: Final = 9_800
"""How much of a correlation's sums stays from day to day, basis points.

Of eleven memories this one foretold the next day of three pairs of indices best in 2005-2012, all
three, by little. Estimates that fit together are not shrunk: 2.5 % of it cost the pair of .94 three
times what the pair of .85 won, as a log score (docs/measured/joint.md).
"""
FEWEST: Final = 60
"""Fewer common returns say too little about how two instruments move together."""
WARM_UP: Final = 20
"""Returns that give the first volatility; they count for nothing else."""
SHRINK_STEP_BP: Final = 100
"""By how much a matrix that is no correlation is drawn towards independence at a time."""
_DAY_US: Final = 86_400_000_000
_BP: Final = 10_000
_KEEP_VARIANCE: Final = 94
"""Percent of the variance that stays from bar to bar."""
_RETURN: Final = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCloses:
    """Closing prices of one instrument.

    Attributes:
        bar_us: Length of a bar.
        times_us: When each bar closed, ascending.
        closes: Positive prices, one for each time.
    """

    bar_us: int
    times_us: tuple[int, ...]
    closes: tuple[int, ...]

    def by_slot(self) -> dict[int, int]:
        """Return the last close of each day, or of each bar's slot for shorter bars."""
        slot = min(self.bar_us, _DAY_US)
        return {(t - 1) // slot: c for t, c in zip(self.times_us, self.closes, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationFactor:
    """The lower triangle of which a correlation is the square.

    Attributes:
        rows: Row i has i + 1 numbers, in 1e-6.
        shrunk_bp: By how much the estimates were drawn towards independence.
        correlation: The shrunk correlations below the diagonal, row by row, in 1e-6.
    """

    rows: tuple[tuple[int, ...], ...]
    shrunk_bp: int
    correlation: tuple[int, ...]


def correlation_of(one: PastCloses, other: PastCloses, without: int) -> int:
    """Return the correlation of two instruments in 1e-6; `without` where they share too little."""
    own, others = one.by_slot(), other.by_slot()
    days = sorted(own.keys() & others.keys())
    if len(days) - 1 - WARM_UP < FEWEST:
        return without
    x = _standardised([own[day] for day in days])
    y = _standardised([others[day] for day in days])
    xx = yy = xy = 0
    for a, b in zip(x, y, strict=True):
        xx = xx * KEEP_BP // _BP + a * a
        yy = yy * KEEP_BP // _BP + b * b
        xy = xy * KEEP_BP // _BP + a * b
    found = xy * ONE // max(1, isqrt(xx * yy))
    return max(-ONE, min(ONE, found))


def factor_of(correlation: Sequence[int], members: int) -> CorrelationFactor:
    """Return the factor of correlations below the diagonal, row by row, in 1e-6.

    They are shrunk as little as makes them a correlation that has a factor in whole numbers.
    """
    for shrunk_bp in range(0, _BP + 1, SHRINK_STEP_BP):
        kept = tuple(one * (_BP - shrunk_bp) // _BP for one in correlation)
        rows = _rows(kept, members)
        if rows is not None:
            return CorrelationFactor(rows=rows, shrunk_bp=shrunk_bp, correlation=kept)
    raise AssertionError("independence has a factor")


def _rows(correlation: Sequence[int], members: int) -> tuple[tuple[int, ...], ...] | None:
    """Return Cholesky's triangle in 1e-6, or None where a pivot would not be positive."""
    rows = list[list[int]]()
    places = iter(correlation)
    for i in range(members):
        row = list[int]()
        for j in range(i):
            dot = sum(a * b for a, b in zip(row, rows[j][:j], strict=True))
            row.append((next(places) * ONE - dot) // rows[j][j])
        left = ONE * ONE - sum(one * one for one in row)
        if left < ONE:  # a diagonal below 1e-3 of one: rounding would rule what is left
            return None
        row.append(isqrt(left))
        rows.append(row)
    return tuple(map(tuple, rows))


def _standardised(closes: Sequence[int]) -> list[int]:
    """Return the returns after the warm-up over the volatility known before each, in 1e-6."""
    moves = [(after - before) * _RETURN // before for before, after in pairwise(closes)]
    variance = sum(move * move for move in moves[:WARM_UP]) // WARM_UP
    found = []
    for move in moves[WARM_UP:]:
        found.append(move * ONE // max(1, isqrt(variance)))
        variance = (_KEEP_VARIANCE * variance + (100 - _KEEP_VARIANCE) * move * move) // 100
    return found
