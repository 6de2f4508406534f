"""Series with known laws, and news with known effects.

Laws: GARCH with t shocks and leverage, two-regime volatility, jumps, mean reversion. They replace
real series for asset classes that have none, and keep the model from learning one market.

News is planted over real paths, so that a tag is the only difference: an event scales the
volatility of the next bars and shifts their direction a little; both effects fade. A fifth of the
tags have no effect, and ECHO never has one.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.snapshot import AssetClass, Direction, EventType, Strength
from inference.training.series import Floats

VOLATILITY_GAIN: Final = {
    EventType.EARNINGS: 0.6,
    EventType.GUIDANCE: 0.4,
    EventType.MNA: 0.5,
    EventType.RATING: 0.25,
    EventType.REGULATORY: 0.3,
    EventType.LEGAL: 0.2,
    EventType.MACRO: 0.35,
    EventType.SUPPLY: 0.25,
    EventType.OPS_INCIDENT: 0.3,
    EventType.CAPITAL: 0.2,
    EventType.MGMT: 0.15,
    EventType.ECHO: 0.0,
}
"""Relative rise of the next bar's volatility after a strong event (1 doubles it)."""
WEAK_SHARE: Final = 0.4
DRIFT_SIGMAS: Final = {Strength.STRONG: 0.25, Strength.WEAK: 0.1}
"""Shift of the next bar's return after an event with a direction, in sigma."""
FADE: Final = 0.6
"""Share of an effect that remains one bar later."""
FALSE_SHARE: Final = 0.2
TAGGED_TYPES: Final = tuple(t for t in EventType if t is not EventType.NONE)
UNSEEN_CLASSES: Final = (
    AssetClass.CRYPTO,
    AssetClass.RATES,
    AssetClass.VOLATILITY,
    AssetClass.OTHER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One planted event; `age_bars` bars closed since its publication."""

    event_type: EventType
    direction: Direction
    strength: Strength
    age_bars: int

    def effect(self) -> tuple[float, float]:
        """Return the drift, in sigma, and the volatility factor of the next bar."""
        if self.event_type is EventType.ECHO:
            return 0.0, 1.0
        left = FADE**self.age_bars
        share = 1.0 if self.strength is Strength.STRONG else WEAK_SHARE
        sign = {Direction.NEGATIVE: -1.0, Direction.NEUTRAL: 0.0, Direction.POSITIVE: 1.0}
        drift = sign[self.direction] * DRIFT_SIGMAS[self.strength] * left
        return drift, 1.0 + VOLATILITY_GAIN[self.event_type] * share * left


def draw_tags(rng: np.random.Generator) -> tuple[Tag, ...]:
    """Return one to three random events, youngest first."""
    count = int(rng.choice((1, 2, 3), p=(0.7, 0.2, 0.1)))
    ages = np.sort(rng.choice((0, 0, 0, 1, 2, 4, 8), size=count))
    return tuple(
        Tag(
            event_type=TAGGED_TYPES[int(rng.integers(len(TAGGED_TYPES)))],
            direction=tuple(Direction)[int(rng.integers(3))],
            strength=tuple(Strength)[int(rng.integers(2))],
            age_bars=int(age),
        )
        for age in ages
    )


def planted_effects(
    tags: tuple[Tag, ...], steps: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return drift in sigma [steps] and volatility factor [steps]; some tags have no effect."""
    drift, gain = np.zeros(steps), np.ones(steps)
    fade = FADE ** np.arange(steps)
    for tag in tags:
        lean, factor = tag.effect()
        if rng.random() < FALSE_SHARE:
            continue
        spread = rng.uniform(0.5, 1.5)
        drift += lean * spread * fade
        gain *= 1.0 + (factor - 1.0) * spread * fade
    return drift, gain


def synthetic_returns(rng: np.random.Generator, length: int) -> list[float]:
    """Return log returns of a random law."""
    level = float(np.exp(rng.uniform(np.log(0.0005), np.log(0.05))))
    kind = int(rng.integers(4))
    if kind == 0:
        path = _garch(rng, length)
    elif kind == 1:
        path = _regimes(rng, length)
    elif kind == 2:  # noqa: PLR2004
        path = _garch(rng, length) + _jumps(rng, length)
    else:
        path = _mean_reverting(rng, length)
    return [float(value) for value in np.clip(path * level, -0.7, 0.7)]


def _student(rng: np.random.Generator, length: int) -> Floats:
    freedom = rng.uniform(3.5, 12.0)
    return np.asarray(rng.standard_t(freedom, length) * np.sqrt((freedom - 2.0) / freedom))


def _garch(rng: np.random.Generator, length: int) -> Floats:
    alpha, leverage = rng.uniform(0.02, 0.12), rng.uniform(0.0, 0.12)
    beta = rng.uniform(0.8, 0.99) - alpha - leverage / 2.0
    omega = 1.0 - alpha - beta - leverage / 2.0
    shocks = _student(rng, length)
    path, variance = np.empty(length), 1.0
    for index in range(length):
        value = shocks[index] * np.sqrt(variance)
        path[index] = value
        square = value * value
        variance = omega + (alpha + leverage * (value < 0.0)) * square + beta * variance
    return path


def _regimes(rng: np.random.Generator, length: int) -> Floats:
    stay = rng.uniform(0.97, 0.995)
    high = rng.uniform(1.5, 3.5)
    switches = np.cumsum(rng.random(length) > stay) % 2
    return _student(rng, length) * np.where(switches == 1, high, 1.0)


def _jumps(rng: np.random.Generator, length: int) -> Floats:
    hit = rng.random(length) < rng.uniform(0.002, 0.02)
    return np.asarray(hit * rng.normal(0.0, rng.uniform(3.0, 7.0), length))


def _mean_reverting(rng: np.random.Generator, length: int) -> Floats:
    pull = rng.uniform(0.02, 0.2)
    shocks = _garch(rng, length)
    path, level = np.empty(length), 0.0
    for index in range(length):
        path[index] = shocks[index] - pull * level
        level += path[index]
    return path
