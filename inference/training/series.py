"""What a series of returns may hold: types of arrays, the largest move of a bar, splits taken out.

A return too large for one bar is a bad print; a jump in an unadjusted equity that matches a split
ratio is a split, and the ratio is taken out.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from inference.snapshot import Frequency

SPLIT_RATIOS: Final = (1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0)
SPLIT_JUMP: Final = 0.35
SPLIT_TOLERANCE: Final = 0.08
LARGEST_MOVE: Final = {Frequency.DAILY: 0.75, Frequency.HOURLY: 0.35}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def without_split(move: float) -> float:
    """Return a log return without a split; a jump that matches no split ratio is unchanged."""
    if abs(move) <= SPLIT_JUMP:
        return move
    nearest = min((math.log(k) for k in SPLIT_RATIOS), key=lambda size: abs(abs(move) - size))
    if abs(abs(move) - nearest) > SPLIT_TOLERANCE:
        return move
    return move - math.copysign(nearest, move)
