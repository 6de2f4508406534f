"""News items to narrative words: which items, in which order, and how old.

At most three items are used: the youngest, the stronger first among equals, then by id, so the
choice does not depend on the order of arrival. Age counts the bars that closed after publication;
an item published at the very close is not in that bar, so its age is 0. Text never becomes a
token: only the closed words of `vocabulary.py` do.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from inference.codec import vocabulary as words
from inference.snapshot import Direction, EventType, NewsItem, Snapshot, Strength

MAX_AGE_BARS: Final = 20
"""Older items are not used."""
_AGE_EDGES: Final = (1, 2, 6)
_DIRECTIONS: Final = tuple(Direction)
_STRENGTHS: Final = tuple(Strength)


def speaking(snapshot: Snapshot) -> list[tuple[int, NewsItem]]:
    """Return the items that speak, at most three, each with its age in bars."""
    closes = [bar.close_time_us for bar in snapshot.bars]
    aged = [
        (len(closes) - bisect_right(closes, item.published_us), item)
        for item in snapshot.news
        if item.event_type is not EventType.NONE
    ]
    return sorted(
        (pair for pair in aged if pair[0] <= MAX_AGE_BARS),
        key=lambda pair: (
            pair[0],
            pair[1].strength is Strength.WEAK,
            pair[1].event_type is EventType.ECHO,
            pair[1].event_id,
        ),
    )[: words.N_SLOTS]


def narrative_tokens(snapshot: Snapshot) -> tuple[int, ...]:
    """Return nine words: type, lean and age for each of three slots."""
    items = speaking(snapshot)
    tokens = [token for age, item in items for token in slot_tokens(item, age)]
    tokens.extend(words.NO_NEWS * (words.N_SLOTS - len(items)))
    return tuple(tokens)


def is_wordless(token_ids: Sequence[int]) -> bool:
    """Return whether every narrative slot of a prompt of codec 1 or 2 is blank."""
    slots = tuple(token_ids[-words.TAIL_LENGTH :][: len(words.NO_NEWS) * words.N_SLOTS])
    return slots == words.NO_NEWS * words.N_SLOTS


def slot_tokens(item: NewsItem, age_bars: int) -> tuple[int, int, int]:
    """Return the words of one item; `age_bars` bars closed since its publication."""
    lean = _DIRECTIONS.index(item.direction) * len(_STRENGTHS) + _STRENGTHS.index(item.strength)
    return (
        words.TYPE_START + words.EVENT_TYPES.index(item.event_type),
        words.LEAN_START + lean,
        words.AGE_START + sum(age_bars >= limit for limit in _AGE_EDGES),
    )
