"""Intervals of 95 % from blocks of days that follow each other, drawn with replacement.

Ten-day figures of neighbouring origins share nine days; blocks of 60 keep such runs together.
Blocks are circular, so that every day counts alike.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from inference.training.series import Floats, Ints

BLOCK: Final = 60
"""Origins of a block."""
DRAWS: Final = 2_000
SLOW_DRAWS: Final = 400
"""Draws of a figure that needs the days themselves."""
_SEED: Final = 2005


def of_means(columns: Sequence[Floats], figure: Callable[..., Floats]) -> list[float]:
    """Return a figure of the means of columns [n], with the ends of its interval.

    `figure` takes one array for each column and returns one.
    """
    starts, width = _starts(len(columns[0]), DRAWS)
    means = []
    for column in columns:
        sums = np.concatenate(([0.0], np.cumsum(np.concatenate((column, column[: width - 1])))))
        means.append((sums[width:] - sums[:-width])[starts].mean(axis=1) / width)
    low, high = np.quantile(figure(*means), (0.025, 0.975))
    value = figure(*(np.asarray(column.mean()) for column in columns))
    return [float(value), float(low), float(high)]


def of_days(values: Floats, figure: Callable[[Floats], float]) -> list[float]:
    """Return a figure of values [n], with the ends of its interval."""
    starts, width = _starts(len(values), SLOW_DRAWS)
    offsets = np.arange(width)
    drawn = [figure(values[((at[:, None] + offsets) % len(values)).ravel()]) for at in starts]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return [figure(values), float(low), float(high)]


def _starts(count: int, draws: int) -> tuple[Ints, int]:
    """Return where the blocks of every draw begin, [draws, blocks], and their width."""
    width = min(BLOCK, count)
    rng = np.random.default_rng(_SEED)
    return rng.integers(count, size=(draws, -(-count // width))), width
