"""What one source delivered of one feed of one instrument: sequences, bars, the standing quote.

Not here: which source leads, what a decision may see (`board`), what is wrong with an item
(`conditions`).
"""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeGuard

from gateway.feeds.live.conditions import STANDS, Condition, Finding, Reached, goes_back
from gateway.feeds.live.items import BARS, QUOTES, BarItem, QuoteItem

DAY_US: Final = 86_400_000_000
SECOND_US: Final = 1_000_000
WAIT_US: Final = DAY_US
"""How long before its close a bar may come and wait for it."""
WAITING: Final = 16
"""Bars that may wait for their close, or for a split's record, of a source."""
VOLUMES: Final = 1_024
"""More than one a second for ten minutes."""
Item = QuoteItem | BarItem
KEPT: Final = {QUOTES: 4096, BARS: 1024}
"""Items whose sequence is remembered, the newest; a repeat of an older quote is `backwards`."""


@dataclass(slots=True)
class Series:
    """What one source delivered.

    Attributes:
        seen: items by sequence: all quotes, and the bars that stood.
        waiting: bars that came before their close, by sequence.
        doubted: bars far from the last close, by sequence; a split that is recorded explains them.
        seen_us: when the standing item came, monotonic.
        heard_us: when anything new came, monotonic; 0 if only before the start.
        by_day: sound bars by the UTC day of their close.
        refused: how many items came after the standing quote, or are missing before it.
        lag_us: from the event to its receipt, of the last item.
        count: items that came since the start.
        volumes: (time, day's volume) of the last quotes with one, at most one a second.
    """

    feed: str
    instrument: str
    source: str
    seen: dict[int, Item] = field(default_factory=dict)
    sound: dict[int, BarItem] = field(default_factory=dict)
    by_day: dict[int, BarItem] = field(default_factory=dict)
    waiting: dict[int, BarItem] = field(default_factory=dict)
    doubted: dict[int, BarItem] = field(default_factory=dict)
    past: Reached | None = None
    finding: Finding = field(default_factory=lambda: Finding(condition=Condition.OK))
    standing: QuoteItem | None = None
    received_us: int = 0
    seen_us: int = 0
    heard_us: int = 0
    refused: int = 0
    lag_us: int = 0
    count: int = 0
    volumes: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=VOLUMES))
    _run: tuple[BarItem, ...] | None = field(default=None, init=False, repr=False, compare=False)

    def traded_since(self, since_us: int) -> int:
        """Return what traded between the first and the last volume since a time, never more.

        What traded before the first one is left out, so that an own share is too large rather than
        too small.
        """
        found = [volume for time_us, volume in self.volumes if time_us >= since_us]
        return found[-1] - found[0] if found else 0

    def missing_with(self, item: Item) -> int:
        """Return how many sequences are missing once this item is there."""
        if isinstance(item, QuoteItem):
            return 0 if self.past is None else max(0, item.sequence - self.past.sequence - 1)
        return _holes({*self.sound, item.sequence})

    def beside(self, bar: BarItem) -> BarItem | None:
        """Return the sound bar that closes last before another one, else the first after it."""
        others = [one for one in self.sound.values() if one.sequence != bar.sequence]
        before = [one for one in others if one.event_us < bar.event_us]
        return max(before, key=_closed, default=min(others, key=_closed, default=None))

    @property
    def holes(self) -> int:
        """How many bars are missing between the first and the last; 0 for quotes."""
        return _holes(set(self.sound))

    @property
    def last_sequence(self) -> int:
        """The last sequence, 0 without one."""
        return 0 if self.past is None else self.past.sequence

    @property
    def last_close_us(self) -> int:
        """When the last bar closed, 0 without one."""
        self._run = run = self._unbroken() if self._run is None else self._run
        return run[-1].event_us if run else 0

    def last_run(self) -> list[BarItem]:
        """Return the unbroken run of bars that ends at the last to close, in order.

        The highest number may be an absurd one, so it does not say which bar is the last. A bar
        that does not close before the next one breaks the run as a missing one does. It is asked
        for many times a second and changes with a bar, so it is kept until the next one.
        """
        if self._run is None:
            self._run = self._unbroken()
        return [*self._run]

    def _unbroken(self) -> tuple[BarItem, ...]:
        found: list[BarItem] = []
        newest = max(self.sound.values(), key=_closed, default=None)
        number = 0 if newest is None else newest.sequence
        while (bar := self.sound.get(number)) is not None:
            if found and bar.event_us >= found[-1].event_us:
                break
            found.append(bar)
            number -= 1
        return tuple(found[::-1])

    def bring_back(self, bar: BarItem) -> None:
        """Take a bar that was kept from before the start; it counts as sound."""
        self._keep(bar)
        self.seen[bar.sequence] = bar
        newest = max(self.sound.values(), key=_closed)
        self.past = Reached(sequence=newest.sequence, event_us=newest.event_us)

    def wait_again(self, bar: BarItem) -> None:
        """Let a bar wait that did so before the start, unless one of its number stands by now."""
        if bar.sequence not in self.seen:
            self.waiting[bar.sequence] = bar

    def interrupt(self, finding: Finding) -> None:
        """Stand refused until the next sound item."""
        self.finding = finding
        self.refused += 1

    def take(self, item: Item, finding: Finding, received_us: int, now_us: int) -> None:
        """Take a judged item that is no repeat; `now_us` is monotonic."""
        self.waiting.pop(item.sequence, None)
        self.doubted.pop(item.sequence, None)
        if self.waits(item, finding, received_us):
            self.waiting[item.sequence] = item
            return
        self.finding, self.heard_us = finding, now_us
        self.count += 1
        self.lag_us = received_us - item.event_us
        if finding.condition is Condition.CONFLICT:
            self.refused += 1
            return
        if finding.condition not in STANDS:
            self._refuse(item, finding)
            return
        self._remember(item)
        self.received_us, self.seen_us = received_us, now_us
        self.refused = int(finding.condition is Condition.GAP)
        if isinstance(item, QuoteItem):
            self.standing = item
            self._note_volume(item)
        else:
            self._keep(item)

    def copy(self) -> "Series":
        """Return a copy that takes items of its own."""
        return replace(
            self,
            seen=dict(self.seen),
            sound=dict(self.sound),
            by_day=dict(self.by_day),
            waiting=dict(self.waiting),
            doubted=dict(self.doubted),
            volumes=self.volumes.copy(),
        )

    def waits(self, item: Item, finding: Finding, received_us: int) -> TypeGuard[BarItem]:
        """Return whether a bar came before its close and is taken when that time is there."""
        return (
            isinstance(item, BarItem)
            and finding.condition is Condition.AHEAD
            and item.event_us - received_us <= WAIT_US
            and len(self.waiting) < WAITING
        )

    def _note_volume(self, quote: QuoteItem) -> None:
        if quote.volume is None:
            return
        if self.volumes and quote.volume < self.volumes[-1][1]:
            self.volumes.clear()  # another day
        if self.volumes and quote.event_us < self.volumes[-1][0] + SECOND_US:
            self.volumes[-1] = (self.volumes[-1][0], quote.volume)
        else:
            self.volumes.append((quote.event_us, quote.volume))

    def _keep(self, bar: BarItem) -> None:
        self.sound[bar.sequence] = self.by_day[bar.event_us // DAY_US] = bar
        _forget(self.sound, KEPT[BARS])
        _forget(self.by_day, KEPT[BARS])
        self._run = None

    def _remember(self, item: Item) -> None:
        """Remember a sound item; one that goes on from lower numbers says where the feed stands."""
        past = self.past or Reached(sequence=0, event_us=0)
        anew = goes_back(item, past)
        if anew and isinstance(item, QuoteItem):  # higher numbers come anew
            self.seen = {n: one for n, one in self.seen.items() if n < item.sequence}
        self.seen[item.sequence] = item
        _forget(self.seen, KEPT[self.feed])
        self.past = Reached(
            sequence=item.sequence if anew else max(past.sequence, item.sequence),
            event_us=max(past.event_us, item.event_us),
        )

    def _refuse(self, item: Item, finding: Finding) -> None:
        """Count an item that does not stand.

        A bar leaves nothing that another one under its number would contradict. A quote's number
        counts, so that the next one is not taken for the first after a gap.
        """
        self.refused += 1
        past = self.past or Reached(sequence=0, event_us=0)
        back = finding.condition is Condition.BACKWARDS and goes_back(item, past)
        again = item.sequence if back else 0
        if isinstance(item, BarItem):
            if finding.condition is Condition.OUTSIDE and len(self.doubted) < WAITING:
                self.doubted[item.sequence] = item
            self.past = self.past and replace(self.past, again=again)
            return
        self.seen[item.sequence] = item
        _forget(self.seen, KEPT[self.feed])
        sequence = past.sequence if back else max(past.sequence, item.sequence)
        self.past = replace(past, sequence=sequence, again=again)


def _closed(bar: BarItem) -> tuple[int, int]:
    return bar.event_us, bar.sequence


def _holes(numbers: set[int]) -> int:
    return max(numbers) - min(numbers) + 1 - len(numbers) if numbers else 0


def _forget(items: dict[int, Any], kept: int) -> None:
    """Forget the lowest sequences above the number that is kept."""
    while len(items) > kept:
        del items[min(items)]
