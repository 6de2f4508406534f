"""Scores of a Gaussian and of EWMA, and decoding of many sampled paths, in numpy."""

import math

import numpy as np

from inference.codec.bins import X_MAX, X_WIDTH, Z_SCALE
from inference.scale.ewma import FAST, FAST_WEIGHT, SLOW, WINSOR_SIGMAS
from inference.training.series import Floats, Ints
from scripts.research.series import CodedSeries


def gaussian_crps(values: Floats, sigmas: Floats) -> Floats:
    """Return the CRPS of a centred Gaussian."""
    z = values / sigmas
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    rank = 0.5 * (1.0 + np.asarray([math.erf(v / math.sqrt(2.0)) for v in z]))
    return np.asarray(sigmas * (z * (2.0 * rank - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi)))


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
