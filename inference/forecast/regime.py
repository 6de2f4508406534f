"""The volatility regime of a snapshot: calm or turbulent, from its bars alone.

A two-sided CUSUM (Page 1954) over squared standardised returns. One side collects the evidence for
a standard deviation of 2 against 1, the other for 1 against 2. The reference volatility is a slow
mean of squares that stands still while the regime is turbulent: a storm is not its own measure.

Rules:
- The answer is a function of the snapshot and the threshold, so replay finds it again.
- One return counts at most 3 reference deviations: a single jump is no regime.
- What has lasted `ADOPTED_BARS` is the new normal: the reference becomes that stretch's own.

Source: E. S. Page, Continuous inspection schemes, Biometrika 41 (1954), sections 3 and 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum, log
from typing import Any, Final

BURN_IN: Final = 32
"""Returns that make the first reference."""
SLOW: Final = 0.97
"""Weight of the past in the reference, per bar: a mean of about 33 bars."""
WINSOR_SQUARED: Final = 9.0
ADOPTED_BARS: Final = 63
VARIANCE_FLOOR: Final = 1e-12
_DRIFT: Final = log(2.0)
"""Log of the ratio of the two deviations."""
_SLOPE: Final = 0.375
"""Half of 1 less the inverse of the squared ratio."""
_BP: Final = 10_000


class Regime(StrEnum):
    """The two regimes."""

    CALM = "calm"
    TURBULENT = "turbulent"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeReading:
    """A regime at the end of a snapshot.

    Attributes:
        bars: Bars since it began; since the first judged return for the first one.
        evidence_bp: The sum of evidence for a change to the other regime, in 1/10,000 nats.
        sigma_1e8: Reference volatility of a bar, log return in 1e-8.
    """

    regime: Regime
    bars: int
    evidence_bp: int
    sigma_1e8: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "regime": self.regime.value,
            "bars": self.bars,
            "evidence_bp": self.evidence_bp,
            "sigma_1e8": self.sigma_1e8,
        }


def read_regime(returns: Sequence[float], threshold_bp: int) -> RegimeReading:
    """Return the regime after log returns, oldest first; calm for fewer than the burn-in.

    `threshold_bp` is the evidence, in 1/10,000 nats, at which a regime changes.
    """
    if len(returns) <= BURN_IN:
        return RegimeReading(regime=Regime.CALM, bars=0, evidence_bp=0, sigma_1e8=0)
    variance = max(VARIANCE_FLOOR, fsum(r * r for r in returns[:BURN_IN]) / BURN_IN)
    regime, bars, evidence = Regime.CALM, 0, 0.0
    stretch: list[float] = []
    for value in returns[BURN_IN:]:
        squared = value * value
        ratio = min(WINSOR_SQUARED, squared / variance)
        step = _SLOPE * ratio - _DRIFT
        turbulent = regime is Regime.TURBULENT
        evidence = max(0.0, evidence + (-step if turbulent else step))
        bars += 1
        if turbulent:
            stretch.append(squared)
        else:
            variance = max(VARIANCE_FLOOR, SLOW * variance + (1.0 - SLOW) * ratio * variance)
        if evidence * _BP >= threshold_bp:
            regime = Regime.CALM if turbulent else Regime.TURBULENT
            bars, evidence, stretch = 0, 0.0, []
        elif turbulent and bars >= ADOPTED_BARS:
            variance = max(VARIANCE_FLOOR, fsum(stretch) / len(stretch))
            regime, bars, evidence, stretch = Regime.CALM, 0, 0.0, []
    return RegimeReading(
        regime=regime,
        bars=bars,
        evidence_bp=round(evidence * _BP),
        sigma_1e8=round(variance**0.5 * 100_000_000),
    )
