"""How instruments move together: ranks of joint past windows of standardised returns.

A window is as long as a path. Its value for an instrument is the sum of that instrument's returns
in it, each divided by the volatility that was known one bar earlier. The windows' ranks, and not
their values, order the sampled paths, so each instrument keeps its own sampled distribution.

Source: Clark et al., The Schaake Shuffle, Journal of Hydrometeorology 5 (2004), with windows of the
past in the place of forecast dates.

Rules:
- Integers only: the same closes give the same ranks on every machine.
- Only bars that every instrument has count, so that a window is the same days for all.
- More paths than windows take the windows again, in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Final

from risk.errors import PathsError
from risk.state.paths.marginal import ONE_1E8, Marginal

RULE: Final = "rank-windows/1"
WARM_UP: Final = 20
"""Returns that give the first volatility; no window begins before them."""
MIN_WINDOWS: Final = 60
"""Fewer joint windows say too little about how instruments move together."""
_KEEP: Final = 94
"""Percent of the variance that stays from bar to bar."""
_SCALE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Ranks of past windows, from 0, shape [instruments, paths].

    Attributes:
        windows: Joint windows that the past has.
        first_us: Close of the first common bar.
        last_us: Close of the last one.
    """

    rule: str
    instruments: tuple[str, ...]
    steps: int
    windows: int
    first_us: int
    last_us: int
    ranks: tuple[tuple[int, ...], ...]


def make_template(marginals: Sequence[Marginal], paths: int) -> Template:
    """Return the template of several instruments for a number of paths.

    Raises:
        PathsError: their common past has too few windows.
    """
    steps = marginals[0].steps
    times = sorted(set(marginals[0].times_us).intersection(*(one.times_us for one in marginals)))
    windows = len(times) - 1 - WARM_UP - steps + 1
    if windows < MIN_WINDOWS:
        raise PathsError(f"{max(0, windows)} joint windows of the past, need {MIN_WINDOWS}")
    chosen = [k * windows // paths if paths <= windows else k % windows for k in range(paths)]
    return Template(
        rule=RULE,
        instruments=tuple(one.instrument for one in marginals),
        steps=steps,
        windows=windows,
        first_us=times[0],
        last_us=times[-1],
        ranks=tuple(_ranks_of(one, times, steps, chosen) for one in marginals),
    )


def ranks(values: Sequence[int]) -> tuple[int, ...]:
    """Return the rank of each value from 0; equal values rank by their place."""
    found = [0] * len(values)
    for rank, index in enumerate(sorted(range(len(values)), key=lambda i: (values[i], i))):
        found[index] = rank
    return tuple(found)


def _ranks_of(
    one: Marginal, times: Sequence[int], steps: int, chosen: Sequence[int]
) -> tuple[int, ...]:
    closes = dict(zip(one.times_us, one.closes_ticks, strict=True))
    returns = _standardised([closes[time] for time in times])
    return ranks([sum(returns[start : start + steps]) for start in chosen])


def _standardised(closes: Sequence[int]) -> list[int]:
    """Return the returns after the warm-up over the volatility known before each, in 1e-6."""
    moves = [(after - before) * ONE_1E8 // before for before, after in pairwise(closes)]
    variance = sum(move * move for move in moves[:WARM_UP]) // WARM_UP
    found = []
    for move in moves[WARM_UP:]:
        found.append(move * _SCALE // max(1, isqrt(variance)))
        variance = (_KEEP * variance + (100 - _KEEP) * move * move) // 100
    return found
