"""What is wrong with an item of a feed. Pure: no clock, no I/O.

Not here: what stands after it (`board`), its record (`gateway.desk.feeding`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.feeds.live.items import BarItem, QuoteItem
from inference.snapshot import MAX_TICKS


class Condition(StrEnum):
    """State of a feed of one instrument after an item; a closed list.

    The last three come without an item, from a source that the gateway itself asks: it is not
    connected, it refused the request, or the top of its book is not known.
    """

    OK = "ok"
    GAP = "gap"
    REPEAT = "repeat"
    CONFLICT = "conflict"
    NON_POSITIVE = "non_positive"
    CROSSED = "crossed"
    BACKWARDS = "backwards"
    LATE = "late"
    AHEAD = "ahead"
    STALE = "stale"
    BIASED = "biased"
    DOWN = "down"
    REFUSED = "refused"
    INCOMPLETE = "incomplete"


STANDS: Final = frozenset({Condition.OK, Condition.GAP})
"""An item of these conditions becomes the standing one."""
SAID: Final = {
    Condition.NON_POSITIVE: "not positive",
    Condition.CONFLICT: "in conflict",
    Condition.GAP: "after a gap",
    Condition.REFUSED: "refused by the source",
}
"""Conditions in words, where the value itself is not a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLimits:
    """When an item or a feed is too old; seconds as microseconds.

    Attributes:
        stale_us: longest time without a sound quote.
        late_us: oldest event time of a quote at its receipt.
        ahead_us: how far an event time may lie after the receipt (clocks differ).
        bar_age_us: oldest close of the last bar.
        apart_bp: how far two sources' prices may be apart, basis points.
    """

    stale_us: int = 5_000_000
    late_us: int = 2_000_000
    ahead_us: int = 1_000_000
    bar_age_us: int = 432_000_000_000
    apart_bp: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Where a feed stands: its highest sequence, the event time of its last sound item."""

    sequence: int
    event_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An item's condition, in words too."""

    condition: Condition
    detail: str = ""


def judge(
    item: QuoteItem | BarItem,
    *,
    past: Reached | None,
    same: QuoteItem | BarItem | None,
    missing: int,
    received_us: int,
    limits: FeedLimits,
) -> Finding:
    """Classify one item.

    Args:
        item: what came.
        past: where the feed stood before it; None before its first item.
        same: what came earlier under the same sequence.
        missing: sequences that are missing once the item is there.
        received_us: the gateway's wall clock at the receipt.
        limits: when an item is too old.
    """
    if same is not None:
        if same == item:
            return Finding(condition=Condition.REPEAT)
        return _found(Condition.CONFLICT, "another item came before under the same sequence")
    unsound = _unsound_quote(item) if isinstance(item, QuoteItem) else _unsound_bar(item)
    if unsound is not None:
        return unsound
    early_us = item.event_us - received_us
    if early_us > limits.ahead_us:
        return _found(Condition.AHEAD, f"event time {early_us / 1e6:.1f} s after its receipt")
    if past is not None and (backwards := _backwards(item, past)):
        return _found(Condition.BACKWARDS, backwards)
    if isinstance(item, QuoteItem) and -early_us > limits.late_us:
        limit_s = limits.late_us / 1e6
        said = f"event time {-early_us / 1e6:.1f} s before its receipt, limit {limit_s:g} s"
        return _found(Condition.LATE, said)
    if missing > 0:
        return _found(Condition.GAP, f"{missing} missing before sequence {item.sequence}")
    return Finding(condition=Condition.OK)


def stale(quiet_us: int, limits: FeedLimits) -> Finding | None:
    """Return what is wrong with a quote that came so long ago, or None."""
    if quiet_us <= limits.stale_us:
        return None
    said = f"last {quiet_us / 1e6:.0f} s ago, limit {limits.stale_us / 1e6:g} s"
    return _found(Condition.STALE, said)


def stale_bars(age_us: int, limits: FeedLimits) -> Finding | None:
    """Return what is wrong with a last bar that closed so long ago, or None."""
    if age_us <= limits.bar_age_us:
        return None
    hours, limit = age_us // 3_600_000_000, limits.bar_age_us / 3.6e9
    return _found(Condition.STALE, f"last close {hours} h ago, limit {limit:g} h")


def _backwards(item: QuoteItem | BarItem, past: Reached) -> str:
    """Return what goes backwards, or nothing; a bar of an earlier sequence fills a gap."""
    if item.sequence < past.sequence:
        if isinstance(item, QuoteItem):
            return f"sequence {item.sequence} after {past.sequence}"
        if item.event_us >= past.event_us:
            return f"closes after sequence {past.sequence}"
        return ""
    bar = isinstance(item, BarItem) and item.event_us == past.event_us
    if bar or item.event_us < past.event_us:
        return f"event time {item.event_us} after {past.event_us}"
    return ""


def _unsound_quote(item: QuoteItem) -> Finding | None:
    prices = [item.bid_ticks, item.ask_ticks]
    prices += [] if item.last_ticks is None else [item.last_ticks]
    if not all(0 < price <= MAX_TICKS for price in prices):
        return _found(Condition.NON_POSITIVE, f"bid {item.bid_ticks}, ask {item.ask_ticks} ticks")
    if item.bid_ticks > item.ask_ticks:
        said = f"bid {item.bid_ticks} is above ask {item.ask_ticks} ticks"
        return _found(Condition.CROSSED, said)
    return None


def _unsound_bar(item: BarItem) -> Finding | None:
    prices = (item.open_ticks, item.high_ticks, item.low_ticks, item.close_ticks)
    if not all(0 < price <= MAX_TICKS for price in prices):
        return _found(Condition.NON_POSITIVE, f"low {item.low_ticks} ticks")
    if item.low_ticks != min(prices) or item.high_ticks != max(prices):
        said = f"low {item.low_ticks} and high {item.high_ticks} do not hold open and close"
        return _found(Condition.CROSSED, said)
    return None


def _found(condition: Condition, detail: str) -> Finding:
    return Finding(condition=condition, detail=detail)
