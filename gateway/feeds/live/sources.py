"""Whether two sources of one instrument contradict each other. Pure.

- Two quotes are apart by the room between them: the higher bid less the lower ask, 0 if they
  overlap.
- Two bars of one UTC day are apart by the difference of their closes; two histories before and
  after a split are not (`splits`).

They contradict each other if that is more than `apart_bp` of the lower price. Which of the two is
wrong cannot be known from two; so neither is used.
"""

from collections.abc import Iterable, Mapping

from gateway.feeds.live.conditions import Condition, Finding
from gateway.feeds.live.items import BarItem, QuoteItem
from gateway.feeds.live.series import DAY_US, Item, Series


def apart(item: Item, others: Iterable[Series], limit_bp: int) -> Finding | None:
    """Return the first contradiction between an item and what other sources say, or None."""
    for other in others:
        if isinstance(item, BarItem):
            room, lower = _closes(item, other)
        else:
            room, lower = _room(item, other.standing)
        if room * 10_000 > limit_bp * lower:
            return _biased(item.source, other.source, room, lower, limit_bp)
    return None


def closes_apart(
    source: str, closes: Mapping[int, int], other: str, others: Mapping[int, int], limit_bp: int
) -> Finding | None:
    """Return how two sources' closes of the newest day on which they differ too much are apart."""
    for day in sorted(closes.keys() & others.keys(), reverse=True):
        room, lower = abs(closes[day] - others[day]), min(closes[day], others[day])
        if room * 10_000 > limit_bp * lower:
            return _biased(source, other, room, lower, limit_bp)
    return None


def _biased(source: str, other: str, room: int, lower: int, limit_bp: int) -> Finding:
    bp = -(-room * 10_000 // lower)
    said = f"{source} and {other} are {bp} bp apart, limit {limit_bp} bp"
    return Finding(condition=Condition.BIASED, detail=said)


def _room(one: QuoteItem, other: QuoteItem | None) -> tuple[int, int]:
    if other is None:
        return 0, 1
    room = max(one.bid_ticks, other.bid_ticks) - min(one.ask_ticks, other.ask_ticks)
    return max(0, room), max(1, min(one.ask_ticks, other.ask_ticks))


def _closes(one: BarItem, other: Series) -> tuple[int, int]:
    bar = other.by_day.get(one.event_us // DAY_US)
    if bar is None:
        return 0, 1
    return abs(one.close_ticks - bar.close_ticks), min(one.close_ticks, bar.close_ticks)
