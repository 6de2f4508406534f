"""What feeds deliver: each item judged, a change of condition on record before it has an effect.

Not here: what is wrong with an item (`gateway.feeds.conditions`), bodies of requests.

Rules:

- A change of condition has one record. The same condition of a feed is recorded at most once a
  minute, so a flood of bad items cannot fill the ledger; `watch` records what stands after that.
- Holdings are marked at the middle of a fresh sound quote, at most once in `mark_every_us`.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from audit.sequencer.ledger import Lane
from gateway.errors import FeedRefusedError
from gateway.feeds.board import QUOTES, FedMarket, Item
from gateway.feeds.conditions import Condition, Finding
from gateway.walk.journal.run import feed_condition, feed_mark
from gateway.walk.ports import LedgerPort, Tags

AGAIN_US: Final = 60_000_000
_Feed = tuple[str, str]


@dataclass(slots=True)
class Feeding:
    """Takes items into the market of `serve`; safe from any thread."""

    market: FedMarket
    ledger: LedgerPort
    tags: Tags
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]
    accounts: Callable[[], frozenset[str]]
    mark_every_us: int = 60_000_000
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _recorded: dict[_Feed, Condition] = field(default_factory=dict)
    _when: dict[tuple[_Feed, Condition], int] = field(default_factory=dict)
    _number: int = 0
    _marked_us: dict[str, int] = field(default_factory=dict)
    _days: dict[tuple[str, str], str] = field(default_factory=dict)

    def take(self, feed: str, items: Sequence[Item]) -> dict[str, Any]:
        """Take items in order and return what became of them.

        Items before one that is refused, or before a ledger that does not answer, are taken: the
        caller posts all of them again, and those are then repeats.

        Raises:
            FeedRefusedError: another item has this sequence, or another source delivers the feed.
            AuditError: a change of condition could not be recorded.
        """
        taken = repeats = 0
        told: list[dict[str, Any]] = []
        with self._turn:
            for number, item in enumerate(items, start=1):
                finding = self._take(feed, item, number)
                repeats += finding.condition is Condition.REPEAT
                taken += finding.condition is not Condition.REPEAT
                if finding.condition not in {Condition.OK, Condition.REPEAT}:
                    told.append(
                        {
                            "item": number,
                            "instrument": item.instrument,
                            "sequence": item.sequence,
                            "condition": finding.condition.value,
                            "detail": finding.detail,
                        }
                    )
        return {"taken": taken, "repeats": repeats, "conditions": told}

    def watch(self) -> None:
        """Record what became stale or was not recorded yet, and mark the holdings.

        Raises:
            AuditError: the ledger does not take a record.
        """
        with self._turn:
            for feed, instrument in self.market.feeds():
                finding = self.market.finding(feed, instrument)
                source = self.market.source(feed, instrument)
                sequence = self.market.last_sequence(feed, instrument)
                self._record((feed, instrument), source, finding, sequence)
                if feed == QUOTES:
                    self._mark(instrument)

    def _take(self, feed: str, item: Item, number: int) -> Finding:
        delivers = self.market.delivers(feed, item.instrument)
        if delivers and delivers != item.source:
            raise FeedRefusedError(
                problem=f"item {number}: {feed} of {item.instrument} come from {delivers}; a second"
                " source is not taken while it delivers"
            )
        received_us = self.wall_us()
        finding = self.market.judged(feed, item, received_us)
        if finding.condition is not Condition.REPEAT:
            self._record((feed, item.instrument), item.source, finding, item.sequence)
        # a crash here leaves a condition on record, and a feed that starts anew with the process
        self.market.take(feed, item, finding, received_us)
        if finding.condition is Condition.CONFLICT:
            raise FeedRefusedError(
                problem=f"item {number}: {item.instrument} sequence {item.sequence} of"
                f" {item.source}: {finding.detail}"
            )
        return finding

    def _record(self, feed: _Feed, source: str, finding: Finding, sequence: int) -> None:
        if self._recorded.get(feed) is finding.condition:
            return
        now_us, key = self.monotonic_us(), (feed, finding.condition)
        if key in self._when and now_us - self._when[key] < AGAIN_US:
            return
        self._number += 1
        self.ledger.append(
            feed_condition(
                self.tags.run_id,
                number=self._number,
                instrument=feed[1],
                feed=feed[0],
                source=source,
                condition=finding.condition.value,
                sequence=sequence,
                detail=finding.detail,
                received_us=self.wall_us(),
            )
        )
        self._recorded[feed], self._when[key] = finding.condition, now_us

    def _mark(self, instrument: str) -> None:
        price, now_us = self.market.fresh_middle(instrument), self.wall_us()
        last_us = self._marked_us.get(instrument)
        if price is None or (last_us is not None and 0 <= now_us - last_us < self.mark_every_us):
            return
        day = datetime.fromtimestamp(now_us / 1_000_000, tz=UTC).date().isoformat()
        accounts = sorted(self.accounts())
        self.ledger.append(
            *(
                feed_mark(
                    replace(self.tags, account=account),
                    instrument=instrument,
                    market_time_us=now_us,
                    price_ticks=price,
                    day=day,
                    opens=self._days.get((account, instrument)) != day,
                )
                for account in accounts
            ),
            lane=Lane.URGENT,
        )
        self._marked_us[instrument] = now_us
        self._days |= {(account, instrument): day for account in accounts}
