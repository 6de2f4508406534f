"""Token ids of codec v1.

384 ids: specials, prefix words, narrative words, spare ids, then 256 contiguous return bins.
The layout is part of the codec's digest: an id never changes its meaning within a version.
"""

from typing import Final

from inference.snapshot import AssetClass, EventType, Frequency

PAD: Final = 0
BOS: Final = 1
EOS: Final = 2

CLASS_START: Final = 4
N_CLASSES: Final = 8
FREQUENCY_START: Final = 12
N_FREQUENCIES: Final = 2
CLOCK_START: Final = 16
N_WEEKDAYS: Final = 7
N_HOURS: Final = 24
LEVEL_START: Final = 48
N_LEVELS: Final = 8
RATIO_START: Final = 56
N_RATIOS: Final = 16

TYPE_START: Final = 72
N_TYPES: Final = 13
LEAN_START: Final = 85
N_LEANS: Final = 7
"""Three directions by two strengths, then NONE."""
AGE_START: Final = 92
N_AGES: Final = 5
"""Ages 0, 1, 2-5, 6 and more bars, then NONE."""

NARRATIVE_IDS: Final = frozenset(range(TYPE_START, AGE_START + N_AGES))

BIN_START: Final = 128
N_BINS: Final = 256
VOCAB_SIZE: Final = 384

CLASSES: Final = tuple(AssetClass)
FREQUENCIES: Final = tuple(Frequency)
EVENT_TYPES: Final = tuple(EventType)

N_SLOTS: Final = 3
"""Narrative slots in every prompt; empty ones are filled with NONE words."""
NO_NEWS: Final = (TYPE_START + N_TYPES - 1, LEAN_START + N_LEANS - 1, AGE_START + N_AGES - 1)
HEAD_LENGTH: Final = 3
"""BOS, class, frequency."""
TAIL_LENGTH: Final = 3 * N_SLOTS + 3
"""Narrative slots, clock, sigma over long-run sigma, sigma level."""
MAX_CONTEXT: Final = 128
"""Most return bins in a prompt."""


def is_bin(token: int) -> bool:
    """Return whether a token is a return bin."""
    return BIN_START <= token < BIN_START + N_BINS
