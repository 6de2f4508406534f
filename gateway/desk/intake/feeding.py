"""What feeds deliver: each item judged, a change of condition on record before it has an effect.

Not here: what is wrong with an item (`gateway.feeds.live.conditions`), bodies of requests.

Rules:

- A change of condition has one record. The same condition of a feed is recorded at most once a
  minute, so a flood of bad items cannot fill the ledger; `watch` records what stands after that.
- An account's day begins with the first mark of a new session of one of its instruments, by the
  exchange's date of it; without a calendar with the UTC day.
- Holdings are marked at the middle of a fresh, firm, narrow quote within a band of the last close,
  at most once in `mark_every_us`. Otherwise the last such mark stays, with its time, and the
  quote's condition is on record. A wrong mark is corrected by two officers
  (`desk.officers.adjustment`).
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from audit.sequencer.ledger import Lane
from gateway.errors import FeedRefusedError
from gateway.feeds.files.state import FileState
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import STANDS, Condition, Finding
from gateway.feeds.live.delivered import SOURCES_MAX
from gateway.feeds.live.items import BARS, QUOTES, BarItem
from gateway.feeds.live.series import Item
from gateway.feeds.news.posted import ALL, EVENTS, EventItem
from gateway.walk.journal.run import FeedCondition, feed_mark
from gateway.walk.ports import LedgerPort, Tags

AGAIN_US: Final = 60_000_000
_Line = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A condition that is not about one item."""

    condition: str
    detail: str


class Keeper(Protocol):
    """Keeps bars and events over a restart."""

    def keep(self, bars: Sequence[BarItem]) -> None:
        """Keep bars durably; one that is kept already stays as it is.

        Raises:
            NotReadyError: nothing was kept.
        """

    def keep_events(self, events: Sequence[EventItem], received_us: int) -> None:
        """Keep events likewise."""

    def around(self, instrument: str, source: str, first: int, last: int) -> tuple[BarItem, ...]:
        """Return the bars from one sequence to another, and the next one on each side."""

    def position(self, name: str) -> dict[str, Any] | None:
        """Return where a followed file is read up to, None if nobody kept it."""

    def keep_position(self, name: str, document: dict[str, Any]) -> None:
        """Keep where a followed file is read up to."""


class WaitingKeeper(Protocol):
    """Keeps over a restart which bars wait for their close."""

    def keep_waiting(self, source: str, bars: Sequence[BarItem]) -> None:
        """Keep which bars of a source wait, in place of what was kept.

        Raises:
            NotReadyError: nothing was kept.
        """


@dataclass(slots=True)
class Feeding:
    """Takes items into the market of `serve`; safe from any thread.

    A feed is named by its kind, its instrument and its source.
    """

    market: FedMarket
    ledger: LedgerPort
    tags: Tags
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]
    accounts: Callable[[], frozenset[str]]
    mark_every_us: int = 60_000_000
    table: Keeper | None = None
    waits: WaitingKeeper | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _unkept: list[BarItem] = field(default_factory=list)
    _untold: list[EventItem] = field(default_factory=list)
    _early: set[str] = field(default_factory=set)
    _recorded: dict[_Line, str] = field(default_factory=dict)
    _when: dict[tuple[_Line, str], int] = field(default_factory=dict)
    _number: int = 0
    _marked_us: dict[str, int] = field(default_factory=dict)
    _days: dict[str, str] = field(default_factory=dict)

    def take(self, feed: str, items: Sequence[Item | EventItem]) -> dict[str, Any]:
        """Take items in order and return what became of them.

        Items before one that is refused, or before a ledger that does not answer, are taken: the
        caller posts all of them again, and those are then repeats.

        Raises:
            FeedRefusedError: another item has this sequence, or too many sources deliver the feed.
            AuditError: a change of condition could not be recorded.
            NotReadyError: bars could not be kept; they are when they are posted again, or later.
        """
        taken = repeats = 0
        told: list[dict[str, Any]] = []
        with self._turn:
            try:
                self._take_due()
                for number, item in enumerate(items, start=1):
                    if isinstance(item, EventItem):
                        finding = self._take_event(item, number)
                    else:
                        finding = self._take(feed, item, number)
                    repeats += finding.condition is Condition.REPEAT
                    taken += finding.condition is not Condition.REPEAT
                    if finding.condition not in {Condition.OK, Condition.REPEAT}:
                        told.append(_told(number, item, finding))
            finally:
                self._keep()
        return {"taken": taken, "repeats": repeats, "conditions": told}

    def fill(
        self, feed: str, items: Sequence[Item | EventItem], detail: Callable[[list[int]], str]
    ) -> int:
        """Record that a feed is filled from a file, by `detail` of its sequences, and take it.

        Nothing else is taken in between, so the record names what then stands: how many items is
        returned. What stood before is no part of it.

        Raises:
            FeedRefusedError: an item would not stand; nothing is recorded or taken.
            AuditError: the ledger does not take the record; nothing is taken.
            NotReadyError: bars could not be kept; they are with the next call.
        """
        with self._turn:
            items = self._standing_after(feed, items)
            if not items:
                return 0
            numbers: dict[tuple[str, str], list[int]] = {}
            for one in items:
                numbers.setdefault((one.instrument, one.source), []).append(one.sequence)
            self._append(
                *(
                    ((feed, *line), Noted(condition="filled", detail=detail(found)), found[-1])
                    for line, found in numbers.items()
                )
            )
            # a crash here leaves the record of a fill that did not happen: the command is repeated
            try:
                for number, one in enumerate(items, start=1):
                    if isinstance(one, EventItem):
                        self._take_event(one, number)
                    else:
                        self._take(feed, one, number)
            finally:
                self._keep()
            return len(items)

    def tell_file(self, state: FileState) -> None:
        """Record how a followed file is, if that changed.

        Raises:
            AuditError: the ledger does not take the record.
        """
        finding = Noted(condition=state.condition, detail=state.said)
        with self._turn:
            self._record((state.record_feed, ALL, state.source), finding, state.line)

    def position(self, name: str) -> dict[str, Any] | None:
        """Return where a followed file is read up to, None if nobody kept it."""
        return None if self.table is None else self.table.position(name)

    def keep_position(self, name: str, document: dict[str, Any]) -> None:
        """Keep where a followed file is read up to.

        Raises:
            NotReadyError: it could not be kept.
        """
        if self.table is not None:
            self.table.keep_position(name, document)

    def interrupt(self, feed: str, instrument: str, source: str, finding: Finding) -> None:
        """Record that a source cannot deliver now, and refuse the instrument until it does.

        Raises:
            AuditError: the ledger does not take the record; the instrument is refused all the same.
        """
        with self._turn:
            sequence = self.market.last_sequence(feed, instrument, source)
            try:
                self._record((feed, instrument, source), finding, sequence)
            finally:  # a stop needs no record; `watch` records what stands
                self.market.interrupt(feed, instrument, source, finding)

    def watch(self) -> None:
        """Record what became stale or was not recorded yet, and mark the holdings.

        Raises:
            AuditError: the ledger does not take a record.
            NotReadyError: bars could not be kept.
        """
        with self._turn:
            self._take_due()
            self._keep()
            lines = self.market.feeds()
            for line in lines:
                self._record(line, self.market.finding(*line), self.market.last_sequence(*line))
            narrative = self.market.narrative
            for name in narrative.sources():
                line = (EVENTS, ALL, name)
                self._record(line, narrative.finding(name), narrative.last_sequence(name))
            for instrument in sorted({line[1] for line in lines if line[0] == QUOTES}):
                self._mark(instrument)

    def _take_due(self) -> None:
        """Take the bars that came before their close, now that it is there."""
        for bar in self.market.due_bars():
            with contextlib.suppress(FeedRefusedError):  # another one has its number by now
                self._take(BARS, bar, 1)

    def _standing_after(
        self, feed: str, items: Sequence[Item | EventItem]
    ) -> list[Item | EventItem]:
        """Return the items that do not stand yet and would; refuse one that would not."""
        new: list[Item | EventItem] = [one for one in items if isinstance(one, EventItem)]
        own = [one for one in items if not isinstance(one, EventItem)]
        for number, (one, finding) in enumerate(
            self.market.would_stand(feed, own, self.wall_us()), start=1
        ):
            if finding.condition in STANDS:
                new.append(one)
            elif finding.condition is not Condition.REPEAT:
                said = f"{finding.condition}: {finding.detail}".removesuffix(": ")
                raise FeedRefusedError(
                    item=number,
                    problem=f"item {number}: {one.instrument} sequence {one.sequence} of"
                    f" {one.source}: {said}",
                )
        return new

    def _take(self, feed: str, item: Item, number: int) -> Finding:
        if not self.market.has_room(feed, item):
            raise FeedRefusedError(
                item=number,
                problem=f"item {number}: {feed} of {item.instrument} have {SOURCES_MAX} sources"
                f" already; {item.source} can come when one of them is quiet",
            )
        received_us = self.wall_us()
        finding = told = self.market.judged(feed, item, received_us)
        if finding.condition in STANDS:
            told = self.market.contradicted(feed, item) or finding
        if finding.condition is not Condition.REPEAT:
            self._record((feed, item.instrument, item.source), told, item.sequence)
        # a crash here leaves a condition on record; the feed posts the item again
        waited = self.market.waits(item)
        self.market.take(feed, item, finding, received_us)
        if waited or self.market.waits(item):
            self._early.add(item.source)
        if isinstance(item, BarItem) and finding.condition in STANDS:
            self._unkept.append(item)
        if finding.condition is Condition.CONFLICT:
            raise FeedRefusedError(
                item=number,
                problem=f"item {number}: {item.instrument} sequence {item.sequence} of"
                f" {item.source}: {finding.detail}",
            )
        return told

    def _take_event(self, item: EventItem, number: int) -> Finding:
        narrative, received_us = self.market.narrative, self.wall_us()
        if not narrative.has_room(item.source):
            raise FeedRefusedError(
                item=number,
                problem=f"item {number}: events come from too many sources already; one of them"
                ' must end: post its {"complete_us": .., "ends": true}',
            )
        finding = narrative.judged(item, received_us)
        if finding.condition is Condition.REPEAT:
            return finding
        self._record((EVENTS, ALL, item.source), finding, item.sequence)
        # a crash here leaves a condition on record; the feed posts the event again
        narrative.take(item, finding)
        if finding.condition is Condition.CONFLICT:
            raise FeedRefusedError(
                item=number,
                problem=f"item {number}: sequence {item.sequence} of {item.source}:"
                f" {finding.detail}",
            )
        if finding.condition in STANDS:
            self._untold.append(item)
        return finding

    def _keep(self) -> None:
        """Keep the bars and events that stand, and the bars that wait for their close.

        What was not kept is kept with the next call.
        """
        if self.table is not None:
            # a crash here leaves items that nobody kept: no answer said so, they are posted again
            if self._unkept:
                self.table.keep(self._unkept)
            self._unkept.clear()
            if self._untold:
                self.table.keep_events(self._untold, self.wall_us())
        if self.waits is not None:
            # a crash here leaves a bar that stands among those that wait: it no longer does
            for source in sorted(self._early):
                self.waits.keep_waiting(source, self.market.waiting(source))
        self._early.clear()
        self._unkept.clear()
        self._untold.clear()

    def _record(self, line: _Line, finding: Finding | Noted, sequence: int) -> None:
        if self._recorded.get(line) == finding.condition:
            return
        now_us, key = self.monotonic_us(), (line, finding.condition)
        if key in self._when and now_us - self._when[key] < AGAIN_US:
            return
        self._append((line, finding, sequence))
        self._recorded[line], self._when[key] = finding.condition, now_us

    def _append(self, *changes: tuple[_Line, Finding | Noted, int]) -> None:
        """Record changes of feeds, each with a sequence, in one batch."""
        first, self._number = self._number + 1, self._number + len(changes)
        self.ledger.append(
            *(
                FeedCondition(
                    run_id=self.tags.run_id,
                    instrument=line[1],
                    feed=line[0],
                    source=line[2],
                    condition=str(finding.condition),
                    sequence=sequence,
                    detail=finding.detail,
                    received_us=self.wall_us(),
                ).draft(number=number)
                for number, (line, finding, sequence) in enumerate(changes, start=first)
            )
        )

    def _mark(self, instrument: str) -> None:
        price, now_us = self.market.fresh_middle(instrument), self.wall_us()
        last_us = self._marked_us.get(instrument)
        if price is None or (last_us is not None and 0 <= now_us - last_us < self.mark_every_us):
            return
        day = self.market.day(instrument)
        accounts = sorted(self.accounts())
        self.ledger.append(
            *(
                feed_mark(
                    replace(self.tags, account=account),
                    instrument=instrument,
                    market_time_us=now_us,
                    price_ticks=price,
                    day=day,
                    opens=day > self._days.get(account, ""),
                )
                for account in accounts
            ),
            lane=Lane.URGENT,
        )
        self._marked_us[instrument] = now_us
        self._days |= {one: max(day, self._days.get(one, "")) for one in accounts}


def _told(number: int, item: Item | EventItem, finding: Finding) -> dict[str, Any]:
    return {
        "item": number,
        "instrument": item.instrument,
        "sequence": item.sequence,
        "condition": finding.condition.value,
        "detail": finding.detail,
    }
