"""The causal scale by which every return is divided.

variance = 0.75 EWMA(0.94) + 0.25 EWMA(0.99) of squared log returns; EWMA(0.995) is the long run.
Each update is winsorised at 8 sigma, so that one bad print does not inflate the scale for months.

The scale of return t uses returns before t only. Float64 arithmetic in a fixed order gives the
same numbers on every machine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FAST: Final = 0.94
SLOW: Final = 0.99
LONG: Final = 0.995
FAST_WEIGHT: Final = 0.75
WINSOR_SIGMAS: Final = 8.0
BURN_IN: Final = 32
"""Returns that start the recursion and get no token."""
VARIANCE_FLOOR: Final = 1e-12
"""Sigma never falls below 1e-6, so a flat series stays finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """State of the recursion between two bars; variances of one-bar log returns."""

    fast: float
    slow: float
    long: float

    @property
    def sigma(self) -> float:
        """Volatility of the next bar."""
        return math.sqrt(FAST_WEIGHT * self.fast + (1.0 - FAST_WEIGHT) * self.slow)

    @property
    def sigma_long(self) -> float:
        """Long-run volatility of a bar."""
        return math.sqrt(self.long)

    def after(self, log_return: float) -> "Scale":
        """Return the state after one more return."""
        limit = WINSOR_SIGMAS * self.sigma
        held = min(abs(log_return), limit)
        square = held * held
        return Scale(
            fast=max(FAST * self.fast + (1.0 - FAST) * square, VARIANCE_FLOOR),
            slow=max(SLOW * self.slow + (1.0 - SLOW) * square, VARIANCE_FLOOR),
            long=max(LONG * self.long + (1.0 - LONG) * square, VARIANCE_FLOOR),
        )


def first_scale(burn_in: Sequence[float]) -> Scale:
    """Return the state after the burn-in: its mean square without the largest return.

    Leaving one out keeps a bad print from setting the level.
    """
    squares = sorted(r * r for r in burn_in)[:-1]
    mean = max(math.fsum(squares) / len(squares), VARIANCE_FLOOR)
    return Scale(fast=mean, slow=mean, long=mean)
