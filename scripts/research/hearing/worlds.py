"""Planted worlds: what words mean there is known, because it was put there.

A bar without news is a draw from the numbers-only row of its class and frequency. A speaking event
shifts the mean of the bars after it and multiplies their spread; both fade. A share of the tags is
false, a share acts a bar late, some events have no tag, and ECHO acts never. Each world draws its
own sizes, shares and fades from the stated ranges, so no one number can be learnt by heart.

All is in units of the moving scale: what a large move does to later volatility, the scale hears by
itself.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from inference.codec import vocabulary as words
from inference.codec.bins import X_MAX, X_WIDTH, Z_SCALE
from inference.snapshot import EventType
from inference.training.evaluation.score import EDGES
from inference.training.series import Floats, Ints
from scripts.research.pair_v1.synthetic import VOLATILITY_GAIN

STRONG_DRIFT: Final = (0.15, 0.35)
"""Shift of the first bar's mean after a true strong event with a direction, in sigma."""
WEAK_SHARE: Final = (0.0, 0.08)
"""Share of it after a true weak one: most of what is called weak moves nothing."""
GAIN_FACTOR: Final = (0.6, 1.4)
"""Factor of a type's rise of the spread (`VOLATILITY_GAIN`)."""
DRIFT_BARS: Final = (1.0, 5.0)
"""Bars in which a shift falls to 1/e."""
SPREAD_FADE: Final = (0.05, 0.35)
"""Share of a rise of the spread that is left a bar later; the scale hears the rest."""
FALSE_SHARE: Final = (0.2, 0.4)
DELAYED_SHARE: Final = (0.0, 0.2)
SIZE_FACTOR: Final = (0.5, 1.5)
"""Factor of one event's own size."""
RANGES: Final = {
    "strong_drift_sigma": STRONG_DRIFT,
    "weak_share": WEAK_SHARE,
    "spread_gain_factor": GAIN_FACTOR,
    "drift_bars": DRIFT_BARS,
    "spread_fade": SPREAD_FADE,
    "false_share": FALSE_SHARE,
    "delayed_share": DELAYED_SHARE,
    "size_factor": SIZE_FACTOR,
}
ECHO: Final = words.EVENT_TYPES.index(EventType.ECHO)
N_TAGGED: Final = words.N_TYPES - 1
"""Event types that a tag can have: all but NONE; ECHO is the last of them."""
AGE_EDGES: Final = (1, 2, 6)
_COUNTS: Final = (0.7, 0.2, 0.1)
_AGES: Final = (0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 12)
_GAINS: Final = np.asarray([VOLATILITY_GAIN[t] for t in words.EVENT_TYPES[:N_TAGGED]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Worlds:
    """Parameters of n worlds, each an array [n]; `gains` is [n, 12], by type."""

    drift: Floats
    weak: Floats
    gains: Floats
    drift_fade: Floats
    spread_fade: Floats
    false_share: Floats
    delayed_share: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEvents:
    """Up to three events of each of n prompts; arrays [n, 3], slots that are empty have type -1."""

    types: Ints
    directions: Ints
    """-1, 0 or 1."""
    strong: Ints
    ages: Ints
    """Bars that closed since publication."""

    def lean(self) -> Ints:
        """Return the index of each slot's lean word."""
        return np.asarray((self.directions + 1) * 2 + self.strong)

    def age_word(self) -> Ints:
        """Return the index of each slot's age word."""
        return np.asarray(np.searchsorted(AGE_EDGES, self.ages, side="right"))


def draw_worlds(rng: np.random.Generator, count: int) -> Worlds:
    """Return worlds with parameters drawn evenly from `RANGES`."""
    return Worlds(
        drift=rng.uniform(*STRONG_DRIFT, count),
        weak=rng.uniform(*WEAK_SHARE, count),
        gains=_GAINS * rng.uniform(*GAIN_FACTOR, (count, N_TAGGED)),
        drift_fade=np.exp(-1.0 / rng.uniform(*DRIFT_BARS, count)),
        spread_fade=rng.uniform(*SPREAD_FADE, count),
        false_share=rng.uniform(*FALSE_SHARE, count),
        delayed_share=rng.uniform(*DELAYED_SHARE, count),
    )


def draw_events(rng: np.random.Generator, count: int) -> ToldEvents:
    """Return one to three events for each prompt, youngest first."""
    slots = (count, words.N_SLOTS)
    types = rng.integers(N_TAGGED, size=slots)
    ages = np.sort(rng.choice(_AGES, size=slots), axis=1)
    used = rng.choice(len(_COUNTS), size=count, p=_COUNTS) + 1
    types[np.arange(words.N_SLOTS)[None, :] >= used[:, None]] = -1
    return ToldEvents(
        types=types,
        directions=rng.integers(-1, 2, size=slots),
        strong=rng.integers(2, size=slots),
        ages=ages,
    )


def planted(
    worlds: Worlds, events: ToldEvents, steps: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return shift (sigma) and factor of the spread of bars `steps` [n, s] after the prompts.

    Which tags are false or late, and each event's own size, are drawn here.
    """
    shape = events.types.shape
    acts = (events.types >= 0) & (events.types != ECHO)
    acts &= rng.random(shape) >= worlds.false_share[:, None]
    late = rng.random(shape) < worlds.delayed_share[:, None]
    size = rng.uniform(*SIZE_FACTOR, shape)
    share = np.where(events.strong == 1, 1.0, worlds.weak[:, None])
    drift = acts * events.directions * worlds.drift[:, None] * share * size
    own = np.take_along_axis(worlds.gains, np.maximum(events.types, 0), axis=1)
    gain = acts * own * share * size
    since = (events.ages - late)[:, :, None] + steps[:, None, :]
    begun = since >= 0
    left = begun * worlds.drift_fade[:, None, None] ** np.maximum(since, 0)
    wide = begun * worlds.spread_fade[:, None, None] ** np.maximum(since, 0)
    shift = (drift[:, :, None] * left).sum(axis=1)
    return shift, np.prod(1.0 + gain[:, :, None] * wide, axis=1)


def planted_rows(rows: Floats, shift: Floats, factor: Floats) -> Floats:
    """Return the rows [n, 256] of `factor * z + shift`, where z follows the given rows."""
    inner = np.clip((EDGES[None, 1:-1] - shift[:, None]) / factor[:, None], EDGES[0], EDGES[-1])
    place = (np.arcsinh(inner / Z_SCALE) + X_MAX) / X_WIDTH
    index = np.clip(place.astype(np.int64), 0, words.N_BINS - 1)
    part = (inner - EDGES[index]) / (EDGES[index + 1] - EDGES[index])
    below = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)), axis=1)
    at = np.take_along_axis(below, index, axis=1)
    at += np.clip(part, 0.0, 1.0) * np.take_along_axis(rows, index, axis=1)
    ends = np.zeros((len(rows), 1)), np.broadcast_to(below[:, -1:], (len(rows), 1))
    found = np.diff(np.concatenate((ends[0], at, ends[1]), axis=1), axis=1)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
