"""The way before: whole paths of each instrument, matched by ranks of joint windows of the past.

`rank-windows/1` as it was in the product, kept here to be compared with.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import isqrt
from typing import Final

import numpy as np

from inference.scale.correlation import PastCloses
from inference.training.series import Ints

WARM_UP: Final = 20
_KEEP: Final = 94
_SCALE: Final = 1_000_000
_RETURN: Final = 100_000_000


def matched(moves: Sequence[Ints], pasts: Sequence[PastCloses]) -> tuple[Ints, ...]:
    """Return every instrument's paths [paths, steps] so that path j of all happens together."""
    paths, steps = moves[0].shape
    slots = [one.by_slot() for one in pasts]
    days = sorted(set(slots[0]).intersection(*slots[1:]))
    windows = len(days) - WARM_UP - steps
    chosen = np.arange(paths) % windows if paths > windows else np.arange(paths) * windows // paths
    places = []
    for own, past in zip(moves, slots, strict=True):
        sums = np.concatenate(([0], np.cumsum(standardised([past[day] for day in days]))))
        values = (sums[steps:] - sums[:-steps])[chosen]
        found = np.empty(paths, dtype=np.int64)
        found[np.argsort(values, kind="stable")] = np.argsort(own[:, -1], kind="stable")
        places.append(found)
    first = np.argsort(places[0], kind="stable")  # the first instrument keeps its order
    return tuple(own[place[first]] for own, place in zip(moves, places, strict=True))


def standardised(closes: Sequence[int]) -> list[int]:
    """Return the returns after the warm-up over the volatility known before each, in 1e-6."""
    moves = [(after - before) * _RETURN // before for before, after in pairwise(closes)]
    variance = sum(move * move for move in moves[:WARM_UP]) // WARM_UP
    found = []
    for move in moves[WARM_UP:]:
        found.append(move * _SCALE // max(1, isqrt(variance)))
        variance = (_KEEP * variance + (100 - _KEEP) * move * move) // 100
    return found
