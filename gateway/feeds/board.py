"""The market of `serve`: what its feeds delivered, in memory, on the wall clock.

Not here: what is wrong with an item (`conditions`), records (`gateway.desk.feeding`).

Rules:

- Only a sound item stands. After one that is not sound, the instrument is refused until the next
  sound one; the earlier quote then counts as having a gap behind it.
- Bars are used without a hole: the unbroken run that ends at the last.
- A restart loses everything here; refusals say so.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from typing_extensions import override

from gateway import clock
from gateway.clock import MarketInstant
from gateway.errors import RequestError
from gateway.feeds.conditions import (
    SAID,
    STANDS,
    Condition,
    FeedLimits,
    Finding,
    Reached,
    judge,
    stale,
    stale_bars,
)
from gateway.feeds.items import BarItem, QuoteItem
from gateway.feeds.market import Market
from gateway.walk.ports import Tick
from inference.codec.codec import MIN_BARS
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot
from risk.state.instrument import Instrument
from risk.state.state import Phase, Quote

Item = QuoteItem | BarItem
BARS: Final = "bars"
QUOTES: Final = "quotes"
KEPT: Final = {QUOTES: 4096, BARS: 1024}
"""Items whose sequence is remembered, the newest; a repeat of an older one is `backwards`."""
BARS_USED: Final = 300


@dataclass(slots=True)
class _Series:
    """What came of one feed of one instrument.

    Attributes:
        seen_us: when the standing quote came, monotonic.
        heard_us: when anything new came, monotonic.
        refused: how many items came after the standing quote, or are missing before it.
    """

    source: str
    seen: dict[int, Item] = field(default_factory=dict)
    sound: dict[int, BarItem] = field(default_factory=dict)
    past: Reached | None = None
    finding: Finding = field(default_factory=lambda: Finding(condition=Condition.OK))
    standing: QuoteItem | None = None
    received_us: int = 0
    seen_us: int = 0
    heard_us: int = 0
    refused: int = 0

    def missing_with(self, item: Item) -> int:
        """Return how many sequences are missing once this item is there."""
        if isinstance(item, QuoteItem):
            return 0 if self.past is None else max(0, item.sequence - self.past.sequence - 1)
        numbers = {*self.sound, item.sequence}
        return max(numbers) - min(numbers) + 1 - len(numbers)

    def last_run(self) -> list[BarItem]:
        """Return the unbroken run of bars that ends at the last, in order."""
        found: list[BarItem] = []
        number = max(self.sound, default=0)
        while (bar := self.sound.get(number)) is not None:
            if found and bar.event_us >= found[-1].event_us:
                break
            found.append(bar)
            number -= 1
        return found[::-1]


class FedMarket(Market):
    """The quotes and bars that feeds delivered. Thread-safe; one caller takes items at a time."""

    def __init__(
        self,
        instruments: dict[str, Instrument],
        limits: FeedLimits,
        wall_us: Callable[[], int] = clock.wall_us,
        monotonic_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """Start without an item."""
        super().__init__()
        self._instruments = instruments
        self._limits = limits
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._series: dict[tuple[str, str], _Series] = {}
        self._board = threading.RLock()

    @override
    def now_us(self) -> int:
        """Return the wall clock's time."""
        return self._wall_us()

    def feeds(self) -> tuple[tuple[str, str], ...]:
        """Return (feed, instrument) of everything that delivered since the start."""
        with self._board:
            return tuple(self._series)

    def source(self, feed: str, instrument: str) -> str:
        """Return who delivered a feed last."""
        with self._board:
            return self._series[feed, instrument].source

    def delivers(self, feed: str, instrument: str) -> str:
        """Return who delivers a feed now; empty if nobody does, or no quote for too long."""
        with self._board:
            series = self._series.get((feed, instrument))
            if series is None:
                return ""
            quiet_us = self._monotonic_us() - series.heard_us
            quiet = feed == QUOTES and quiet_us > self._limits.stale_us
            return "" if quiet else series.source

    def judged(self, feed: str, item: Item, received_us: int) -> Finding:
        """Return what an item's condition would be; nothing changes."""
        with self._board:
            series = self._series_of(feed, item)
            return judge(
                item,
                past=series.past,
                same=series.seen.get(item.sequence),
                missing=series.missing_with(item),
                received_us=received_us,
                limits=self._limits,
            )

    def take(self, feed: str, item: Item, finding: Finding, received_us: int) -> None:
        """Take a judged item; its record, where one is due, is already on the ledger."""
        if finding.condition is Condition.REPEAT:
            return
        with self._board:
            series = self._series_of(feed, item)
            self._series[feed, item.instrument] = series
            series.finding, series.heard_us = finding, self._monotonic_us()
            if finding.condition is Condition.CONFLICT:
                series.refused += 1
                return
            series.seen[item.sequence] = item
            _forget(series.seen, KEPT[feed])
            sound = finding.condition in STANDS
            past = series.past or Reached(sequence=0, event_us=0)
            series.past = Reached(
                sequence=max(past.sequence, item.sequence),
                event_us=max(past.event_us, item.event_us) if sound else past.event_us,
            )
            if not sound:
                series.refused += 1
                return
            series.received_us, series.seen_us = received_us, self._monotonic_us()
            series.refused = int(finding.condition is Condition.GAP)
            if isinstance(item, QuoteItem):
                series.standing = item
            else:
                series.sound[item.sequence] = item
                _forget(series.sound, KEPT[feed])

    def finding(self, feed: str, instrument: str) -> Finding:
        """Return the condition now of a feed that delivered: its last item's, or stale."""
        with self._board:
            series = self._series[feed, instrument]
            if series.finding.condition not in STANDS:
                return series.finding
            if feed == QUOTES:
                old = stale(self._monotonic_us() - series.seen_us, self._limits)
            else:
                last_us = max((bar.event_us for bar in series.sound.values()), default=0)
                old = stale_bars(self._wall_us() - last_us, self._limits)
            return old or series.finding

    def last_sequence(self, feed: str, instrument: str) -> int:
        """Return the highest sequence of a feed, 0 without one."""
        with self._board:
            past = self._series[feed, instrument].past
            return 0 if past is None else past.sequence

    def fresh_middle(self, instrument: str) -> int | None:
        """Return the middle of a sound and fresh quote, ticks; None without one."""
        with self._board:
            series = self._series.get((QUOTES, instrument))
            if series is None or series.standing is None:
                return None
            if self.finding(QUOTES, instrument).condition not in STANDS:
                return None
            return (series.standing.bid_ticks + series.standing.ask_ticks) // 2

    def unbroken(self, instrument: str) -> list[BarItem]:
        """Return the unbroken run of bars that ends at the last, in order."""
        with self._board:
            series = self._series.get((BARS, instrument))
            return [] if series is None else series.last_run()

    @override
    def snapshot(self, instrument: str) -> Snapshot:
        """Return what a decision may see now: the last unbroken bars.

        Raises:
            RequestError: no fresh sound quote, or not enough bars; the message names the condition.
        """
        with self._board:
            self._refuse_quote(instrument)
            bars = self._usable_bars(instrument)
            return Snapshot(
                instrument=instrument,
                asset_class=AssetClass(self._instruments[instrument].asset_class),
                frequency=Frequency.DAILY,
                as_of_us=self._wall_us(),
                bars=tuple(
                    Bar(
                        close_time_us=bar.event_us,
                        open_ticks=bar.open_ticks,
                        high_ticks=bar.high_ticks,
                        low_ticks=bar.low_ticks,
                        close_ticks=bar.close_ticks,
                    )
                    for bar in bars
                ),
                news=(),
            )

    @override
    def tick(self, instrument: str) -> Tick:
        """Return the last sound quote; what came after it and was not sound counts as a gap.

        Raises:
            RequestError: no sound quote since the start.
        """
        with self._board:
            series = self._series.get((QUOTES, instrument))
            if series is None or (standing := series.standing) is None:
                raise RequestError(problem=f"{instrument}: no sound quote since the start")
            instant = MarketInstant(tick_us=series.received_us, seen_us=series.seen_us)
            quote = Quote(
                bid_ticks=standing.bid_ticks,
                ask_ticks=standing.ask_ticks,
                time_us=min(standing.event_us, series.received_us),
                seq_gap=series.refused,
                phase=Phase.OPEN,
            )
            return Tick(quote=quote, instant=instant)

    def _series_of(self, feed: str, item: Item) -> _Series:
        found = self._series.get((feed, item.instrument))
        if found is None or found.source != item.source:
            return _Series(source=item.source)
        return found

    def _refuse_quote(self, instrument: str) -> None:
        if (QUOTES, instrument) not in self._series:
            raise RequestError(
                problem=f"{instrument}: no quote since the start; feeds post to /v1/market/quotes"
            )
        finding = self.finding(QUOTES, instrument)
        if finding.condition is not Condition.OK:
            raise RequestError(problem=f"{instrument}: quote is {_words(finding)}")

    def _usable_bars(self, instrument: str) -> list[BarItem]:
        series = self._series.get((BARS, instrument))
        if series is None:
            raise RequestError(
                problem=f"{instrument}: no bars since the start, {MIN_BARS} are needed; post them"
                " to /v1/market/bars (a restart loses them)"
            )
        bars = [bar for bar in self.unbroken(instrument) if bar.event_us <= self._wall_us()]
        if len(bars) < MIN_BARS:
            holes = "" if len(series.sound) == len(bars) else "; earlier ones lie before a gap"
            raise RequestError(
                problem=f"{instrument}: {MIN_BARS - len(bars)} bars are missing, {len(bars)} of"
                f" {MIN_BARS} came since the start{holes}"
            )
        finding = self.finding(BARS, instrument)
        if finding.condition not in STANDS:
            raise RequestError(problem=f"{instrument}: bars are {_words(finding)}")
        return bars[-BARS_USED:]


def _words(finding: Finding) -> str:
    said = SAID.get(finding.condition, finding.condition.value)
    return f"{said}: {finding.detail}"


def _forget(items: dict[int, Any], kept: int) -> None:
    """Forget the lowest sequences above the number that is kept."""
    while len(items) > kept:
        del items[min(items)]
