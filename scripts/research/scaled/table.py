"""Rows of 256 bins from standardised returns: filtered historical simulation as a table.

A row is the smoothed histogram of the training returns over their scale. A state's row leans on
that of its class and frequency, which leans on that of all: a weight says how many returns the
parent counts as. The scale already holds what is known of volatility, so states may add little;
2014-2015 decides (`choice.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.codec import vocabulary as words
from inference.codec.bins import z_of
from inference.codec.codec import MOVE_EDGES, N_MOVES, RATIO_COARSE, ReturnCodec
from inference.training.series import Floats, Ints
from scripts.research.scaled.history import ScaledSeries

FLOOR: Final = 1e-7
"""Least probability of a bin, so that every drawn token has a finite likelihood."""
GROUP_STATES: Final = RATIO_COARSE * N_MOVES
MOVES: Final = np.asarray(
    [sum(z_of(b, 0.5) >= limit for limit in MOVE_EDGES) for b in range(words.N_BINS)]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecipe:
    """How rows are estimated; a weight of infinity ignores the finer level."""

    smooth_bins: float = 2.5
    """Standard deviation of the kernel, in bins."""
    group_weight: float = 2000.0
    state_weight: float = float("inf")
    centred: bool = False
    """Whether every row is made symmetric, so that it has no drift and no skew."""


def group_of(series: ScaledSeries) -> int:
    """Return the number of a series' frequency and class."""
    frequency = words.FREQUENCIES.index(series.frequency)
    return frequency * words.N_CLASSES + words.CLASSES.index(series.asset_class)


def states_of(series: ScaledSeries, where: Ints) -> Ints:
    """Return the table's state before each of these returns."""
    ratio = (series.ratios[where] - words.RATIO_START) * RATIO_COARSE // words.N_RATIOS
    moves = MOVES[series.bins[where - 1]]
    return np.asarray(1 + group_of(series) * GROUP_STATES + ratio * N_MOVES + moves)


def make_rows(
    series: Sequence[ScaledSeries], start_us: int, end_us: int, recipe: TableRecipe
) -> Floats:
    """Return the table [n_states, 256] of the returns in start <= t < end; row 0 is that of all."""
    states = ReturnCodec.n_table_states
    counts = np.zeros((states, words.N_BINS))
    for item in series:
        where = item.between(start_us, end_us)
        where = where[where > item.first]
        np.add.at(counts, (states_of(item, where), item.bins[where]), 1.0)
    counts = counts @ kernel(recipe.smooth_bins)
    if recipe.centred:
        counts = 0.5 * (counts + counts[:, ::-1])
    total = counts.sum(axis=0)
    everything = total / total.sum()
    rows = np.tile(everything, (states, 1))
    for group in range(words.N_FREQUENCIES * words.N_CLASSES):
        part = slice(1 + group * GROUP_STATES, 1 + (group + 1) * GROUP_STATES)
        parent = _lean(counts[part].sum(axis=0, keepdims=True), everything, recipe.group_weight)
        rows[part] = _lean(counts[part], parent[0], recipe.state_weight)
    rows = np.maximum(rows, FLOOR)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def kernel(smooth_bins: float) -> Floats:
    """Return the smoothing matrix [256, 256]; each row sums to one."""
    index = np.arange(words.N_BINS)
    gaps = (index[:, None] - index[None, :]) / smooth_bins
    weights = np.exp(-0.5 * gaps * gaps)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _lean(counts: Floats, parent: Floats, weight: float) -> Floats:
    if np.isinf(weight):
        return np.tile(parent, (len(counts), 1))
    sizes = counts.sum(axis=1, keepdims=True)
    return np.asarray((counts + weight * parent) / (sizes + weight))
