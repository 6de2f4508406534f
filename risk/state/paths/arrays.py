"""Joint paths as arrays of 64-bit integers, and which of them trip a loss limit.

Not here: what a trip means (`losses.py`, which walks the same paths step by step).

Rules:
- Integers only. `fits` bounds every product and sum below 2^62 before any is made, because an
  array wraps around silently; what does not fit is walked with Python's integers.
- A forecast's paths are read once: they are frozen and judged many times, while an order is sized
  and again before it leaves.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from risk.state.paths.joint import BookPaths

Array = NDArray[np.int64]
BP: Final = 10_000
_BOUND: Final = 2**62
_KEPT: Final = 64
_READ: Final[dict[int, tuple[BookPaths, "PathArrays"]]] = {}
"""By identity, because a copy with another number is another forecast; the paths are kept too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathArrays:
    """The moves of joint paths.

    Attributes:
        whole: Whether every move is an integer, and nothing else.
        low: Smallest move, 1e-8, at most 0.
        high: Largest one, at least 0.
        moves: Moves by symbol, shape [steps, paths]; empty if they are no integers of 64 bits, or
            differ in shape.
    """

    whole: bool
    low: int
    high: int
    moves: Mapping[str, Array]

    @property
    def largest(self) -> int:
        """The largest move either way."""
        return max(-self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """Where the equity of a book stands, minor units, and what is left after a limit's loss, bp."""

    equity: int
    day_start: int
    peak: int
    day_left: int
    peak_left: int

    @property
    def largest(self) -> int:
        """The largest number among them."""
        return max(abs(self.equity), self.day_start, self.peak)


def arrays_of(paths: BookPaths) -> PathArrays:
    """Return the arrays of joint paths; made once for each of the last forecasts."""
    kept = _READ.get(id(paths))
    if kept is not None and kept[0] is paths:
        return kept[1]
    made = _read(paths)
    if len(_READ) >= _KEPT:
        _READ.clear()
    _READ[id(paths)] = (paths, made)
    return made


def fits(scaled: int, floors: Floors, scale: int) -> bool:
    """Return whether paths whose scaled changes stay within `scaled` fit 64-bit arithmetic."""
    left = max(BP, abs(floors.day_left), abs(floors.peak_left))
    return scaled < _BOUND and (floors.largest + scaled // scale + 1) * left < _BOUND


def trips_of(changes: Array, floors: Floors, days: Sequence[int]) -> int:
    """Return on how many paths of changes in value a loss limit trips.

    `changes` has shape [steps, paths] and fits; `days` is the day of each step. A path's verdict is
    the same as that of the walk: each step is compared with the start of its day and the peak until
    then, and a limit that has tripped by now does not trip again (a day's one: not today).
    """
    steps, paths = changes.shape
    line = np.empty((steps + 1, paths), dtype=np.int64)
    line[0] = floors.equity
    equity = np.add(changes, floors.equity, out=line[1:])
    scaled, now = equity * BP, floors.equity * BP
    tripped = equity.min(axis=0) <= 0
    if now >= floors.peak * floors.peak_left:
        peak = np.maximum(np.maximum.accumulate(equity, axis=0), floors.peak)
        tripped |= (scaled < peak * floors.peak_left).any(axis=0)
    today, floor = bisect_right(days, 0), floors.day_start * floors.day_left
    if today and now >= floor:
        tripped |= scaled[:today].min(axis=0) < floor
    if today < steps:
        # a day starts where the day before it ended; row 0 of the line is now
        starts = [bisect_left(days, day) for day in days[today:]]
        tripped |= (scaled[today:] < line[starts] * floors.day_left).any(axis=0)
    return int(np.count_nonzero(tripped))


def _read(paths: BookPaths) -> PathArrays:
    every = [list(chain.from_iterable(one.moves_1e8)) for one in paths.instruments]
    whole = all({int}.issuperset(map(type, moves)) for moves in every)
    if not whole:
        return PathArrays(whole=False, low=0, high=0, moves={})
    try:
        rows = [np.frombuffer(array("q", moves), dtype=np.int64) for moves in every]
    except OverflowError:
        low = min(min(moves, default=0) for moves in every)
        high = max(max(moves, default=0) for moves in every)
        return PathArrays(whole=True, low=min(0, low), high=max(0, high), moves={})
    low = min((int(row.min(initial=0)) for row in rows), default=0)
    high = max((int(row.max(initial=0)) for row in rows), default=0)
    shapes = {
        (len(one.moves_1e8), len(path)) for one in paths.instruments for path in one.moves_1e8
    }
    arrays: dict[str, Array] = {}
    if len(shapes) == 1:
        (shape,) = shapes
        for one, row in zip(paths.instruments, rows, strict=True):
            # the first of a name counts, as in `BookPaths.of`
            arrays.setdefault(one.symbol, np.ascontiguousarray(row.reshape(shape).T))
    return PathArrays(whole=True, low=low, high=high, moves=arrays)
