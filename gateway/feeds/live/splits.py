"""Bars from before a split in today's units. Pure.

- A recorded split (`BarSplit`) restates the bars that closed before it, unless their source has
  restated them already: then no jump of its ratio is between them and what follows.
- Without a record two histories that differ by one ratio of a split up to some day, and agree after
  it, are one history before and after the split. The one that has no jump there is right.

Not here: the record (`gateway.desk.officers.adjustment`), which source leads (`board`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gateway.feeds.live.conditions import far_from
from gateway.feeds.live.items import BarItem

OLD_MAX: Final = 4
NEW_MAX: Final = 100
"""Ratios of a split that nobody recorded: new to old, at most 100:1 and 100:4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSplit:
    """Of each `old` units there are `new` for every bar that closes after `before_us`."""

    ref: str
    before_us: int
    new: int
    old: int


def restated(
    bars: Sequence[BarItem], splits: Sequence[BarSplit], now_ticks: int | None
) -> list[BarItem]:
    """Return bars, oldest first, in the units after all splits; `now_ticks` is a price of today."""
    found = list(bars)
    for split in splits:
        earlier = sum(bar.event_us <= split.before_us for bar in found)
        after = found[earlier].open_ticks if earlier < len(found) else now_ticks
        if earlier and _jumps(found[earlier - 1].close_ticks, after, split):
            found[:earlier] = [in_new_units(bar, split) for bar in found[:earlier]]
    return found


def in_units_until(bar: BarItem, until_us: int, splits: Sequence[BarSplit]) -> Iterator[BarItem]:
    """Yield a bar as it is, and in the units after each split between it and a later time.

    Its source may have restated it for any number of them already.
    """
    yield bar
    for split in splits:
        if bar.event_us <= split.before_us < until_us:
            bar = in_new_units(bar, split)
            yield bar


def far_apart(item: BarItem, other: BarItem, splits: Sequence[BarSplit]) -> str:
    """Return how two bars are absurdly far apart whatever recorded splits are between, or ""."""
    if other.event_us < item.event_us:
        pairs = [(item, one) for one in in_units_until(other, item.event_us, splits)]
    else:
        pairs = [(one, other) for one in in_units_until(item, other.event_us, splits)]
    found = [far_from(*pair) for pair in pairs]
    return found[0] if all(found) else ""


def in_new_units(bar: BarItem, split: BarSplit) -> BarItem:
    """Return a bar from before a split in the units after it; half a tick goes up."""

    def price(ticks: int) -> int:
        return max(1, (2 * ticks * split.old + split.new) // (2 * split.new))

    return replace(
        bar,
        open_ticks=price(bar.open_ticks),
        high_ticks=price(bar.high_ticks),
        low_ticks=price(bar.low_ticks),
        close_ticks=price(bar.close_ticks),
    )


def is_restated(before: BarItem, after: BarItem, split: BarSplit) -> bool:
    """Return whether a bar is one from before a split in new units, but for a tick of rounding."""
    made = in_new_units(before, split)
    prices = zip(_prices(made), _prices(after), strict=True)
    same_bar = before.event_us == after.event_us and before.event_us <= split.before_us
    return same_bar and all(abs(one - other) <= 1 for one, other in prices)


def outdated(
    mine: Mapping[int, int], other: Mapping[int, int], now_ticks: int | None, near_bp: int
) -> str:
    """Return which split a history lacks that another has, `2:1`, or nothing.

    Args:
        mine: closes of a source by day.
        other: closes of another source.
        now_ticks: a price of today; None if nobody knows.
        near_bp: how far the same price may differ between the two.
    """
    common = sorted(mine.keys() & other.keys())
    apart = [day for day in common if not _near(mine[day], other[day], 1, 1, near_bp)]
    agreeing = common[len(apart) :]
    if len(apart) < 2 or common[: len(apart)] != apart:  # noqa: PLR2004 - one day shows no ratio
        return ""
    ratio = Fraction(sum(mine[day] for day in apart), sum(other[day] for day in apart))
    higher = (ratio if ratio > 1 else 1 / ratio).limit_denominator(OLD_MAX)
    new, old = higher.numerator, higher.denominator
    if not old < new <= NEW_MAX:
        return ""
    ours, theirs = (new, old) if ratio > 1 else (old, new)
    if not all(_near(mine[day], other[day], ours, theirs, near_bp) for day in apart):
        return ""
    after = mine[agreeing[0]] if agreeing else now_ticks
    split = BarSplit(ref="", before_us=0, new=ours, old=theirs)
    jumps = after is not None and _jumps(mine[apart[-1]], after, split)
    return f"{ours}:{theirs}" if jumps else ""


def _prices(bar: BarItem) -> tuple[int, ...]:
    return bar.open_ticks, bar.high_ticks, bar.low_ticks, bar.close_ticks


def _jumps(before: int, after: int | None, split: BarSplit) -> bool:
    """Return whether the change from one price to the next is nearer to the split's than to none.

    Without a next price it is taken for one: bars are delivered as they traded.
    """
    if after is None:
        return True
    change, ratio = before * before * split.old, after * after * split.new
    return change > ratio if split.new > split.old else change < ratio


def _near(one: int, other: int, new: int, old: int, near_bp: int) -> bool:
    """Return whether one price is `new` to `old` of another, but for so much or half a tick."""
    apart = abs(one * old - other * new)
    rounding = 2 * apart <= max(new, old)
    return rounding or apart * 10_000 <= near_bp * min(one * old, other * new)
