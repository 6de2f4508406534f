"""The narrative of `serve`: the events that feeds delivered, and up to when they are complete.

Rules:

- A source's narrative is complete up to the last event of its unbroken run of sequences, or up to
  the time that it gave its word for, if every sequence through that word came.
- The whole narrative is complete as far as the slowest source says. Without a source there is none,
  and nobody claims one.
- An event enters a snapshot from its publication on, for ten days.

Not here: rule R25, which limits the narrative's age.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gateway.feeds.live.conditions import STANDS, Condition, FeedLimits, Finding
from gateway.feeds.news.posted import EventItem
from gateway.walk.ports import NarrativeReach
from inference.snapshot import NewsItem

NEWS_US: Final = 10 * 86_400_000_000
SOURCES_MAX: Final = 8


@dataclass(slots=True)
class _Teller:
    """What one source told.

    Attributes:
        upto: end of the unbroken run of sequences, None before the first event.
        run_us: newest publication in that run.
        word: the source's newest word of completeness.
    """

    items: dict[int, EventItem] = field(default_factory=dict)
    upto: int | None = None
    run_us: int | None = None
    word: EventItem | None = None
    finding: Finding = field(default_factory=lambda: Finding(condition=Condition.OK))

    def missing(self, through: int) -> int:
        """Return how many events are missing through a sequence; what came before the first is."""
        start = through if self.upto is None else self.upto + 1
        return sum(number not in self.items for number in range(start, through))

    def take(self, item: EventItem) -> None:
        if item.news is None:
            if self.word is None or item.event_us >= self.word.event_us:
                self.word = item
            return
        self.items[item.sequence] = item
        if self.upto is None:
            self.upto = item.sequence - 1
        while (one := self.items.get(self.upto + 1)) is not None:
            self.upto += 1
            if not one.scheduled:
                self.run_us = max(self.run_us or 0, one.event_us)

    def reach_us(self) -> int | None:
        """Return up to when this source is complete; None before it said anything of use."""
        word, reached = self.word, self.run_us
        if word is None or word.sequence > (self.upto or 0):
            return reached
        return max(reached or 0, word.event_us)


class FedNarrative:
    """The events that feeds delivered. Thread-safe."""

    def __init__(self, limits: FeedLimits) -> None:
        self._limits = limits
        self._told: dict[str, _Teller] = {}
        self._turn = threading.Lock()

    def bring_back(self, items: Iterable[EventItem]) -> None:
        """Take events that were kept before a restart, in order of their sequences."""
        with self._turn:
            for item in items:
                self._told.setdefault(item.source, _Teller()).take(item)

    def has_room(self, source: str) -> bool:
        """Return whether a source may deliver."""
        with self._turn:
            return source in self._told or len(self._told) < SOURCES_MAX

    def judged(self, item: EventItem, received_us: int) -> Finding:
        """Return what an item's condition would be; nothing changes."""
        with self._turn:
            told = self._told.get(item.source) or _Teller()
        early_us = item.event_us - received_us
        if item.news is None and item == told.word:
            return Finding(condition=Condition.REPEAT)
        if item.news is not None and (same := told.items.get(item.sequence)) is not None:
            if same == item:
                return Finding(condition=Condition.REPEAT)
            said = "another event came before under the same sequence"
            return Finding(condition=Condition.CONFLICT, detail=said)
        if early_us > self._limits.ahead_us and not item.scheduled:
            said = f"its time is {early_us / 1e6:.1f} s after its receipt"
            return Finding(condition=Condition.AHEAD, detail=said)
        missing = told.missing(item.sequence + (item.news is None))
        if missing:
            said = f"{missing} missing before sequence {item.sequence + (item.news is None)}"
            return Finding(condition=Condition.GAP, detail=said)
        return Finding(condition=Condition.OK)

    def take(self, item: EventItem, finding: Finding) -> None:
        """Take a judged item that is no repeat."""
        with self._turn:
            told = self._told.setdefault(item.source, _Teller())
            told.finding = finding
            if finding.condition in STANDS:
                told.take(item)
            if item.ends:
                del self._told[item.source]

    def sources(self) -> tuple[str, ...]:
        """Return who delivers events."""
        with self._turn:
            return tuple(self._told)

    def finding(self, source: str) -> Finding:
        """Return a source's condition: its last item's, or a gap that stands."""
        with self._turn:
            told = self._told.get(source) or _Teller()
            missing = told.missing(max(told.items, default=0))
            if told.finding.condition in STANDS:
                gap = Finding(condition=Condition.GAP, detail=f"{missing} missing")
                return gap if missing else Finding(condition=Condition.OK)
            return told.finding

    def last_sequence(self, source: str) -> int:
        """Return the highest sequence of a source, 0 without one."""
        with self._turn:
            told = self._told.get(source)
            return 0 if told is None else max(told.items, default=0)

    def held(self, source: str) -> int:
        """Return how many events of a source are held."""
        with self._turn:
            told = self._told.get(source)
            return 0 if told is None else len(told.items)

    def reach_of(self, source: str) -> int | None:
        """Return up to when a source is complete, None if nobody knows."""
        with self._turn:
            told = self._told.get(source)
            return None if told is None else told.reach_us()

    def reach(self, now_us: int) -> NarrativeReach:
        """Return up to when the narrative is complete; absent without a source."""
        with self._turn:
            reached = [told.reach_us() for told in self._told.values()]
        if not reached:
            return NarrativeReach(absent=True, as_of_us=None)
        if None in reached:
            return NarrativeReach(absent=False, as_of_us=None)
        slowest_us = min(one for one in reached if one is not None)
        return NarrativeReach(absent=False, as_of_us=min(now_us, slowest_us))

    def news(self, instrument: str, now_us: int) -> tuple[NewsItem, ...]:
        """Return what was published in the last ten days about an instrument, in order."""
        with self._turn:
            items = [item for told in self._told.values() for item in told.items.values()]
        found = {
            item.news.event_id: item.news
            for item in items
            if item.news is not None
            and now_us - NEWS_US < item.event_us <= now_us
            and (not item.instruments or instrument in item.instruments)
        }
        return tuple(sorted(found.values(), key=lambda one: (one.published_us, one.event_id)))
