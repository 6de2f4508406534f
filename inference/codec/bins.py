"""256 return bins: uniform in asinh(z / 0.9) for scaled returns |z| <= 16.

A bin is 0.025 sigma wide at the centre and grows with z in the tails. The outermost bins also take
returns beyond 16 sigma; decoding never leaves |z| <= 16.
"""

import math
from collections.abc import Sequence
from typing import Final

from inference.codec.vocabulary import N_BINS
from inference.errors import CodecError

Z_SCALE: Final = 0.9
Z_MAX: Final = 16.0
X_MAX: Final = math.asinh(Z_MAX / Z_SCALE)
X_WIDTH: Final = 2.0 * X_MAX / N_BINS
ROW_TOLERANCE: Final = 1e-3
"""How far from one a row of probabilities may sum (float32 softmax)."""


def bin_of(z: float) -> int:
    """Return the bin, 0..255, of a scaled return."""
    place = math.floor((math.asinh(z / Z_SCALE) + X_MAX) / X_WIDTH)
    return min(max(place, 0), N_BINS - 1)


def z_of(index: int, dither: float) -> float:
    """Return the scaled return at a position 0 <= dither < 1 inside a bin."""
    return Z_SCALE * math.sinh(-X_MAX + (index + dither) * X_WIDTH)


def edge(index: int) -> float:
    """Return the scaled return at the lower edge of a bin; `edge(256)` is the top."""
    return Z_SCALE * math.sinh(-X_MAX + index * X_WIDTH)


def _first_moment(index: int) -> float:
    low, high = -X_MAX + index * X_WIDTH, -X_MAX + (index + 1) * X_WIDTH
    return Z_SCALE * (math.cosh(high) - math.cosh(low)) / X_WIDTH


def _second_moment(index: int) -> float:
    low, high = -X_MAX + index * X_WIDTH, -X_MAX + (index + 1) * X_WIDTH
    integral = (math.sinh(2.0 * high) - math.sinh(2.0 * low)) / 4.0 - (high - low) / 2.0
    return Z_SCALE * Z_SCALE * integral / X_WIDTH


FIRST_MOMENTS: Final = tuple(_first_moment(i) for i in range(N_BINS))
"""E[z] inside each bin under the dither's law (uniform in asinh)."""
SECOND_MOMENTS: Final = tuple(_second_moment(i) for i in range(N_BINS))
"""E[z^2] inside each bin under the dither's law."""


def row_law(row: Sequence[float]) -> tuple[float, float, float]:
    """Return P(z > 0), E[z] and sd[z] of a row of 256 bin probabilities, in closed form.

    Zero is an edge between bins, so P(z > 0) is a plain sum.

    Raises:
        CodecError: when the row is not 256 finite, non-negative values with a sum of one.
    """
    if len(row) != N_BINS:
        raise CodecError(f"expected {N_BINS} probabilities, was {len(row)}")
    if not all(math.isfinite(p) and p >= 0.0 for p in row):
        raise CodecError("expected finite, non-negative probabilities")
    total = math.fsum(row)
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise CodecError(f"expected a sum of one, was {total:.6f}")
    p_up = math.fsum(row[N_BINS // 2 :]) / total
    mean = math.fsum(p * m for p, m in zip(row, FIRST_MOMENTS, strict=True)) / total
    square = math.fsum(p * m for p, m in zip(row, SECOND_MOMENTS, strict=True)) / total
    return p_up, mean, math.sqrt(max(square - mean * mean, 0.0))
