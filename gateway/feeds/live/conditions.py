"""What is wrong with an item of a feed. Pure: no clock, no I/O.

Not here: what stands after it (`board`), its record (`gateway.desk.intake.feeding`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.feeds.live.items import BarItem, QuoteItem
from inference.snapshot import MAX_TICKS

DAY_US: Final = 86_400_000_000
JUMP_DAYS: Final = 7
"""Bars that may be missing besides one for each day that has passed."""
TIMES_MAX: Final = 5
"""How many times the last close a bar's prices may be, or the last close of them."""


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
    JUMP = "jump"
    WIDE = "wide"
    NOT_FIRM = "not_firm"
    CURRENCY = "currency"
    OUTSIDE = "outside"
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
    Condition.NOT_FIRM: "not firm",
    Condition.CURRENCY: "in another currency",
    Condition.OUTSIDE: "far from the last close",
}
"""Conditions in words, where the value itself is not a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLimits:
    """When an item or a feed is too old; seconds as microseconds.

    Attributes:
        stale_us: longest time without a sound quote.
        late_us: oldest event time of a quote at its receipt.
        ahead_us: how far an event time may lie after the receipt (clocks differ).
        bar_age_us: oldest close of the last bar, where no calendar says when sessions are.
        missed_max: sessions that may have closed without a bar, where a calendar says so.
        wide_bp: widest quote, ask less bid of their middle, basis points.
        band_bp: how far a quote's middle may lie from the last close, where the policy has no
            number for it, basis points.
        apart_bp: how far two sources' prices may be apart, basis points.
    """

    stale_us: int = 5_000_000
    late_us: int = 2_000_000
    ahead_us: int = 1_000_000
    bar_age_us: int = 432_000_000_000
    missed_max: int = 1
    wide_bp: int = 200
    band_bp: int = 2_000
    apart_bp: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Where a feed stands: its last sequence, the event time of its last sound item.

    `again` is the sequence of an item that went backwards just before, 0 without one: the next that
    goes on from there shows that the source numbers anew, or that the higher number was absurd.
    """

    sequence: int
    event_us: int
    again: int = 0


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
    absurd: str = "",
    missing: int,
    received_us: int,
    limits: FeedLimits,
) -> Finding:
    """Classify one item.

    Args:
        item: what came.
        past: where the feed stood before it; None before its first item.
        same: what came earlier under the same sequence.
        absurd: how a bar is far from those that stand (`far_from`), "" if it is not.
        missing: sequences that are missing once the item is there.
        received_us: the gateway's wall clock at the receipt.
        limits: when an item is too old.
    """
    if same == item:
        return Finding(condition=Condition.REPEAT)
    if same is not None and not _is_later_quote(item, past):
        return _found(Condition.CONFLICT, "another item came before under the same sequence")
    return (
        _unsound(item, limits)
        or _badly_timed(item, past, received_us, limits)
        or (_found(Condition.OUTSIDE, absurd) if absurd else None)
        or _after_a_gap(item, past, missing)
        or Finding(condition=Condition.OK)
    )


def _unsound(item: QuoteItem | BarItem, limits: FeedLimits) -> Finding | None:
    return _unsound_quote(item, limits) if isinstance(item, QuoteItem) else _unsound_bar(item)


def _badly_timed(
    item: QuoteItem | BarItem, past: Reached | None, received_us: int, limits: FeedLimits
) -> Finding | None:
    """Return how an item's time or number does not fit its receipt and the items before."""
    early_us = item.event_us - received_us
    if early_us > limits.ahead_us:
        return _found(Condition.AHEAD, f"event time {early_us / 1e6:.1f} s after its receipt")
    if past is not None and isinstance(item, BarItem) and (jump := _jump(item, past)):
        return _found(Condition.JUMP, jump)
    if past is not None and (backwards := _backwards(item, past)):
        return _found(Condition.BACKWARDS, backwards)
    if isinstance(item, QuoteItem) and -early_us > limits.late_us:
        limit_s = limits.late_us / 1e6
        said = f"event time {-early_us / 1e6:.1f} s before its receipt, limit {limit_s:g} s"
        return _found(Condition.LATE, said)
    return None


def _after_a_gap(item: QuoteItem | BarItem, past: Reached | None, missing: int) -> Finding | None:
    if past is not None and item.sequence < past.sequence and _goes_on(item, past):
        return _found(Condition.GAP, f"numbers go on from {past.again}, not {past.sequence}")
    if missing > 0:
        return _found(Condition.GAP, f"{missing} missing before sequence {item.sequence}")
    return None


def far_from(item: BarItem, other: BarItem) -> str:
    """Return how a bar's prices are absurd against another's close, "" if they are not.

    No market moves so far in a day: they are in another unit (pence for pounds), after a split that
    nobody recorded, or wrong by a decimal.
    """
    close = other.close_ticks
    for name, ticks in (("high", item.high_ticks), ("low", item.low_ticks)):
        if max(ticks, close) > TIMES_MAX * min(ticks, close):
            return (
                f"{name} {ticks} ticks and the close {close} of sequence {other.sequence} are more"
                f" than {TIMES_MAX} times apart: post it in the same unit, or record the split"
            )
    return ""


def stale(quiet_us: int, limits: FeedLimits) -> Finding | None:
    """Return what is wrong with a quote that came so long ago, or None."""
    if quiet_us <= limits.stale_us:
        return None
    said = f"last {quiet_us / 1e6:.0f} s ago, limit {limits.stale_us / 1e6:g} s"
    return _found(Condition.STALE, said)


def missed_bars(sessions: int, limits: FeedLimits) -> Finding | None:
    """Return what is wrong when so many sessions have closed without a bar, or None."""
    if sessions <= limits.missed_max:
        return None
    said = f"{sessions} sessions have closed without a bar, limit {limits.missed_max}"
    return _found(Condition.STALE, said)


def stale_bars(age_us: int, limits: FeedLimits) -> Finding | None:
    """Return what is wrong with a last bar that closed so long ago, or None."""
    if age_us <= limits.bar_age_us:
        return None
    hours, limit = age_us // 3_600_000_000, limits.bar_age_us / 3.6e9
    return _found(Condition.STALE, f"last close {hours} h ago, limit {limit:g} h")


def _is_later_quote(item: QuoteItem | BarItem, past: Reached | None) -> bool:
    """Return whether a quote is a new one of a source that numbers anew, not another of a number.

    A bar under a number that stands is another one, whenever it closes.
    """
    return isinstance(item, QuoteItem) and goes_back(item, past)


def _goes_on(item: QuoteItem | BarItem, past: Reached) -> bool:
    """Return whether an item goes on, in number and in time, from one that went backwards."""
    return 0 < past.again < item.sequence and item.event_us > past.event_us


def goes_back(item: QuoteItem | BarItem, past: Reached | None) -> bool:
    """Return whether only an item's number is before the last one's: its time is after it."""
    return past is not None and item.sequence <= past.sequence and item.event_us > past.event_us


def _jump(item: BarItem, past: Reached) -> str:
    """Return why a daily bar's number is absurd: more days are missing than have passed."""
    missing = item.sequence - past.sequence - 1
    days = (item.event_us - past.event_us) // DAY_US
    if past.event_us == 0 or missing <= max(0, days) + JUMP_DAYS:
        return ""
    return f"sequence {item.sequence} after {past.sequence}: {missing} missing in {days} days"


def _backwards(item: QuoteItem | BarItem, past: Reached) -> str:
    """Return what goes backwards, or nothing; a bar of an earlier sequence fills a gap."""
    if item.sequence <= past.sequence and _goes_on(item, past):
        return ""
    if isinstance(item, QuoteItem) and item.sequence <= past.sequence:
        return f"sequence {item.sequence} after {past.sequence}"
    if item.sequence < past.sequence:
        if item.event_us >= past.event_us:
            return f"closes after sequence {past.sequence}"
        return ""
    bar = isinstance(item, BarItem) and item.event_us == past.event_us
    if bar or item.event_us < past.event_us:
        return f"event time {item.event_us} after {past.event_us}"
    return ""


def _unsound_quote(item: QuoteItem, limits: FeedLimits) -> Finding | None:
    if item.other_currency:
        return _found(Condition.CURRENCY, item.other_currency)
    if item.not_firm:
        return _found(Condition.NOT_FIRM, item.not_firm)
    prices = [item.bid_ticks, item.ask_ticks]
    prices += [] if item.last_ticks is None else [item.last_ticks]
    if not all(0 < price <= MAX_TICKS for price in prices):
        return _found(Condition.NON_POSITIVE, f"bid {item.bid_ticks}, ask {item.ask_ticks} ticks")
    if item.bid_ticks > item.ask_ticks:
        said = f"bid {item.bid_ticks} is above ask {item.ask_ticks} ticks"
        return _found(Condition.CROSSED, said)
    middle_2, spread = item.bid_ticks + item.ask_ticks, item.ask_ticks - item.bid_ticks
    if spread > 1 and 2 * 10_000 * spread > limits.wide_bp * middle_2:
        bp = -(-2 * 10_000 * spread // middle_2)
        said = f"bid {item.bid_ticks}, ask {item.ask_ticks} ticks: {bp} bp"
        return _found(Condition.WIDE, f"{said}, limit {limits.wide_bp} bp")
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
