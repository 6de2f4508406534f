"""Proper scores, and decoding of many sampled paths, in numpy; for evaluation only."""

import math
from typing import Final

import numpy as np

from inference.codec.bins import X_MAX, X_WIDTH, Z_SCALE, edge
from inference.codec.vocabulary import N_BINS
from inference.codec.volatility import FAST, FAST_WEIGHT, SLOW, WINSOR_SIGMAS
from inference.training.series import CodedSeries, Floats, Ints

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


def gaussian_crps(values: Floats, sigmas: Floats) -> Floats:
    """Return the CRPS of a centred Gaussian."""
    z = values / sigmas
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    rank = 0.5 * (1.0 + np.asarray([math.erf(v / math.sqrt(2.0)) for v in z]))
    return np.asarray(sigmas * (z * (2.0 * rank - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi)))


def fair_crps(paths: Floats, truth: Floats) -> Floats:
    """Return the fair CRPS, unbiased for the ensemble size, of samples [n, m]."""
    count = paths.shape[1]
    error = np.abs(paths - truth[:, None]).mean(axis=1)
    ordered = np.sort(paths, axis=1)
    weights = 2.0 * np.arange(1, count + 1) - count - 1.0
    spread = (ordered * weights).sum(axis=1) / (count * (count - 1.0))
    return np.asarray(error - spread)


def ewma_variances(series: CodedSeries) -> Floats:
    """Return the rival's variance before each return: EWMA(0.94) of squared returns."""
    variances = np.empty(len(series.returns))
    variance = float(series.scales[0, 0])
    for index, value in enumerate(series.returns):
        variances[index] = variance
        variance = FAST * variance + (1.0 - FAST) * float(value) ** 2
    return np.maximum(variances, 1e-12)


def decode_many(bins: Ints, scales: Floats, rng: np.random.Generator) -> Floats:
    """Return log returns of sampled bins, both [n, paths, steps]; the scale moves along each path.

    `scales` has the fast, slow and long variance at the origins [n, 3].
    """
    fast = np.repeat(scales[:, :1], bins.shape[1], axis=1)
    slow = np.repeat(scales[:, 1:2], bins.shape[1], axis=1)
    returns = np.empty(bins.shape)
    for step in range(bins.shape[2]):
        sigma = np.sqrt(FAST_WEIGHT * fast + (1.0 - FAST_WEIGHT) * slow)
        place = bins[:, :, step] + rng.random(bins.shape[:2])
        value = Z_SCALE * np.sinh(-X_MAX + place * X_WIDTH) * sigma
        returns[:, :, step] = value
        square = np.minimum(np.abs(value), WINSOR_SIGMAS * sigma) ** 2
        fast = FAST * fast + (1.0 - FAST) * square
        slow = SLOW * slow + (1.0 - SLOW) * square
    return returns


def _square(start: Floats, end: Floats) -> Floats:
    """Return the mean of the square of a line from `start` to `end`."""
    return (start * start + start * end + end * end) / 3.0
