"""A path as its standardised draws, and back: what may be exchanged between paths of one model.

A path is a row of draws, each multiplied by the volatility that the path has reached. The draw of
a step comes from a law that depends on the path's state; for the models here that state is the
size of the move before (`ReturnCodec.table_step`), and for GJR there is none. So draws of one step
and one state are draws of one law, and a path that gets another one of them is a path of the model.

Arrays have the shape [paths, steps]. Float64, added and multiplied in a fixed order; `exp` and
`log` are those of `math`, because an array's differ by processor.
"""

from dataclasses import dataclass
from math import expm1, log1p
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from inference.codec.bins import edge
from inference.codec.codec import MOVE_OF_BIN
from inference.scale.moving import VARIANCE_FLOOR, MovingScale
from inference.scale.path import PathScale
from inference.scale.rows import ScaleRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_ONE_1E8: Final = 100_000_000
_LARGEST: Final = float(2**62)


class PathLaw(Protocol):
    """What turns returns into draws, and draws into returns."""

    def draws(self, returns: Floats) -> Floats:
        """Return the draw of each step."""
        ...

    def returns(self, draws: Floats) -> Floats:
        """Return the log return of each step."""
        ...

    def states(self, draws: Floats) -> Integers:
        """Return the state in which a draw leaves a path, of one step's draws."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecLaw:
    """Paths of target or table, decoded on a scale.

    Attributes:
        by_move: Whether the row of a step depends on the size of the move before; if all its states
            have one row, draws of a step are of one law whatever came before, and may all be
            exchanged.
    """

    scale: PathScale
    by_move: bool = True

    def draws(self, returns: Floats) -> Floats:
        """Divide each return by the volatility of its path."""
        rows, found = ScaleRows.of(self.scale, len(returns)), np.empty_like(returns)
        for step, values in enumerate(returns.T):
            found[:, step] = values / rows.sigma
            rows = rows.after(values)
        return found

    def returns(self, draws: Floats) -> Floats:
        """Multiply each draw by the volatility of its path."""
        rows, found = ScaleRows.of(self.scale, len(draws)), np.empty_like(draws)
        for step, values in enumerate(draws.T):
            found[:, step] = values * rows.sigma
            rows = rows.after(found[:, step])
        return found

    def states(self, draws: Floats) -> Integers:
        """Return the size of the move, as the table has it, or nothing where it does not matter."""
        if not self.by_move:
            return np.zeros(len(draws), dtype=np.int64)
        return np.searchsorted(_MOVES, draws, side="right").astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GjrLaw:
    """Paths of the GJR twin: errors of one law, whatever came before."""

    scale: MovingScale

    def draws(self, returns: Floats) -> Floats:
        """Return each error in units of its volatility."""
        law, found = self.scale.fit.gjr, np.empty_like(returns)
        variance = np.full(len(returns), self.scale.gjr)
        for step, size in enumerate(self.scale.sizes(returns.shape[1])):
            flat = returns[:, step] / size
            found[:, step] = (flat - law.mean) / np.sqrt(variance)
            variance = self._after(variance, flat)
        return found

    def returns(self, draws: Floats) -> Floats:
        """Return each step's return."""
        law, found = self.scale.fit.gjr, np.empty_like(draws)
        variance = np.full(len(draws), self.scale.gjr)
        for step, size in enumerate(self.scale.sizes(draws.shape[1])):
            flat = law.mean + draws[:, step] * np.sqrt(variance)
            found[:, step] = flat * size
            variance = self._after(variance, flat)
        return found

    def states(self, draws: Floats) -> Integers:
        """Return that there is one state."""
        return np.zeros(len(draws), dtype=np.int64)

    def _after(self, variance: Floats, flat: Floats) -> Floats:
        law = self.scale.fit.gjr
        error = flat - law.mean
        slope = np.where(error < 0.0, law.alpha + law.gamma, law.alpha)
        after = law.omega + slope * error * error + law.beta * variance
        return np.maximum(after, VARIANCE_FLOOR)


def returns_of(moves_1e8: Integers) -> Floats:
    """Return the log returns of relative moves since the as-of, 1e-8.

    Raises:
        ValueError: a price is zero.
    """
    flat = [log1p(move / _ONE_1E8) for move in moves_1e8.ravel().tolist()]
    levels = np.array(flat).reshape(moves_1e8.shape)
    return np.diff(levels, axis=1, prepend=0.0)


def moves_of(returns: Floats) -> Integers:
    """Return the relative moves since the as-of in 1e-8, each rounded once.

    Raises:
        OverflowError: one does not fit 64 bits.
    """
    levels = np.cumsum(returns, axis=1).ravel().tolist()
    scaled: Floats = np.array([expm1(one) for one in levels]) * _ONE_1E8
    if not (np.abs(scaled) < _LARGEST).all():
        raise OverflowError("a path leaves the numbers")
    found: Integers = np.rint(scaled).astype(np.int64).reshape(returns.shape)
    return found


_MOVES: Final[Floats] = np.array(
    [edge(b) for b in range(1, len(MOVE_OF_BIN)) if MOVE_OF_BIN[b] != MOVE_OF_BIN[b - 1]]
)
"""Where the size of a move changes, in sigma: at the edges of bins."""
