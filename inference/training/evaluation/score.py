"""Proper scores, in numpy; for evaluation only."""

from typing import Final

import numpy as np

from inference.codec.bins import edge
from inference.codec.vocabulary import N_BINS
from inference.training.series import Floats

EDGES: Final = np.asarray([edge(index) for index in range(N_BINS + 1)])
"""Scaled returns at the bins' edges [257]."""


def row_cdf(rows: Floats, values: Floats) -> Floats:
    """Return P(z <= value) under rows [n, 256], linear within a bin."""
    steps = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)), axis=1)
    return np.asarray(
        [np.interp(value, EDGES, step) for value, step in zip(values, steps, strict=True)]
    )


def row_crps(rows: Floats, values: Floats) -> Floats:
    """Return the CRPS of rows [n, 256] at scaled returns [n], in units of sigma.

    The law is piecewise uniform in z, so the integral of (F - 1{z >= value})^2 is exact.
    """
    steps = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)), axis=1)
    low, high = steps[:, :-1], steps[:, 1:]
    inside = np.clip(values, EDGES[0], EDGES[-1])
    share = np.clip((inside[:, None] - EDGES[:-1]) / np.diff(EDGES), 0.0, 1.0)
    middle = low + (high - low) * share
    below = _square(low, middle) * share
    above = _square(1.0 - middle, 1.0 - high) * (1.0 - share)
    return ((below + above) * np.diff(EDGES)).sum(axis=1) + np.abs(values - inside)


def fair_crps(paths: Floats, truth: Floats) -> Floats:
    """Return the fair CRPS, unbiased for the ensemble size, of samples [n, m]."""
    count = paths.shape[1]
    error = np.abs(paths - truth[:, None]).mean(axis=1)
    ordered = np.sort(paths, axis=1)
    weights = 2.0 * np.arange(1, count + 1) - count - 1.0
    spread = (ordered * weights).sum(axis=1) / (count * (count - 1.0))
    return np.asarray(error - spread)


def _square(start: Floats, end: Floats) -> Floats:
    """Return the mean of the square of a line from `start` to `end`."""
    return (start * start + start * end + end * end) / 3.0
