"""The market of `serve`: what its feeds delivered, on the wall clock.

Not here: what is wrong with an item (`conditions`), what one source delivered (`series`), records
(`gateway.desk.feeding`), bars on disk (`kept`).

Rules:

- Only a sound item stands. After one that is not sound, the instrument is refused until the next
  sound one; the earlier quote then counts as having a gap behind it.
- Bars are used without a hole: the unbroken run that ends at the last.
- Of several sources the first by name leads, unless it is quiet. While a second one contradicts it
  (`sources`), nobody knows which is right, and the instrument is refused.
- While the market is closed no quote is stale, and the instrument is refused.
- A restart keeps bars and loses quotes.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Final

from typing_extensions import override

from gateway import clock
from gateway.clock import MarketInstant
from gateway.errors import RequestError
from gateway.feeds.files.state import FileState
from gateway.feeds.live.calendars import Calendars
from gateway.feeds.live.conditions import (
    SAID,
    STANDS,
    Condition,
    FeedLimits,
    Finding,
    judge,
    stale,
    stale_bars,
)
from gateway.feeds.live.items import BARS, QUOTES, BarItem
from gateway.feeds.live.series import Item, Series
from gateway.feeds.live.sources import apart
from gateway.feeds.market import Market
from gateway.feeds.news.fed import FedNarrative
from gateway.feeds.scales import Scales
from gateway.walk.ports import NarrativeReach, Tick
from gateway.walk.projections.gathering import SessionReading
from inference.codec.codec import MIN_BARS
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot
from risk.state.activity import REPEAT_US
from risk.state.instrument import Instrument
from risk.state.state import Phase, Quote

BARS_USED: Final = 300
SOURCES_MAX: Final = 4
"""Sources of one feed of one instrument; one more replaces a quiet one, or is refused."""


class FedMarket(Market):
    """The quotes and bars that feeds delivered. Thread-safe; one caller takes items at a time."""

    def __init__(
        self,
        instruments: dict[str, Instrument],
        limits: FeedLimits,
        wall_us: Callable[[], int] = clock.wall_us,
        monotonic_us: Callable[[], int] = clock.monotonic_us,
        calendars: Calendars | None = None,
    ) -> None:
        """Start without an item; without calendars every market is always open."""
        super().__init__()
        self._instruments = instruments
        self.limits = limits
        self.narrative = FedNarrative(limits)
        self.files: tuple[FileState, ...] = ()
        self.scales: Scales | None = None
        self._wall_us = wall_us
        self._monotonic_us = monotonic_us
        self._calendars = calendars
        self._lines: dict[tuple[str, str], dict[str, Series]] = {}
        self._board = threading.RLock()

    @override
    def now_us(self) -> int:
        """Return the wall clock's time."""
        return self._wall_us()

    def bring_back(self, bars: Iterable[BarItem]) -> None:
        """Take bars that were kept before a restart; of instruments that are still listed."""
        with self._board:
            for bar in bars:
                if bar.instrument in self._instruments:
                    self._place(BARS, bar.instrument, bar.source).bring_back(bar)

    def missing(self, feed: str, instrument: str, source: str) -> int:
        """Return how many of a source's bars are missing between the first and the last."""
        with self._board:
            series = self._found(feed, instrument, source)
            return 0 if series is None else series.holes

    def since_us(self, seen_us: int) -> int:
        """Return the time since a monotonic reading."""
        return self._monotonic_us() - seen_us

    def feeds(self) -> tuple[tuple[str, str, str], ...]:
        """Return (feed, instrument, source) of everything that is known."""
        with self._board:
            return tuple((*line, name) for line, by_name in self._lines.items() for name in by_name)

    def has_room(self, feed: str, item: Item) -> bool:
        """Return whether a source may deliver a feed: it does so already, or there is room."""
        with self._board:
            line = self._lines.get((feed, item.instrument), {})
            return (
                item.source in line
                or len(line) < SOURCES_MAX
                or any(self._is_quiet(one) for one in line.values())
            )

    def judged(self, feed: str, item: Item, received_us: int) -> Finding:
        """Return what an item's condition would be; nothing changes."""
        with self._board:
            series = self._found(feed, item.instrument, item.source)
            series = series or Series(feed=feed, instrument=item.instrument, source=item.source)
            return judge(
                item,
                past=series.past,
                same=series.seen.get(item.sequence),
                missing=series.missing_with(item),
                received_us=received_us,
                limits=self.limits,
            )

    def contradicted(self, feed: str, item: Item) -> Finding | None:
        """Return how a sound item contradicts another source, or None; nothing changes."""
        with self._board:
            line = self._lines.get((feed, item.instrument), {})
            others = [one for one in line.values() if one.source != item.source]
            return apart(item, filter(self._speaks, others), self.limits.apart_bp)

    def take(self, feed: str, item: Item, finding: Finding, received_us: int) -> None:
        """Take a judged item; its record, where one is due, is already on the ledger."""
        if finding.condition is Condition.REPEAT:
            return
        with self._board:
            series = self._place(feed, item.instrument, item.source)
            series.take(item, finding, received_us, self._monotonic_us())

    def interrupt(self, feed: str, instrument: str, source: str, finding: Finding) -> None:
        """Let a source stand refused until its next sound item; also one that brought none yet."""
        with self._board:
            self._place(feed, instrument, source).interrupt(finding)

    def finding(self, feed: str, instrument: str, source: str) -> Finding:
        """Return a source's condition now: its last item's, stale, or contradicted."""
        with self._board:
            series = self._lines[feed, instrument][source]
            if series.finding.condition not in STANDS:
                return series.finding
            if feed == QUOTES:
                old = stale(self._quiet_us(instrument, series.seen_us), self.limits)
            else:
                old = stale_bars(self._wall_us() - series.last_close_us, self.limits)
            return old or self._contradiction(series) or series.finding

    def series(self, feed: str, instrument: str) -> Series | None:
        """Return what the leading source of a feed delivered, or None."""
        with self._board:
            line = self._lines.get((feed, instrument), {})
            ordered = [line[name] for name in sorted(line)]
            loud = [one for one in ordered if not self._is_quiet(one)]
            return next(iter([*loud, *sorted(ordered, key=_newest, reverse=True)]), None)

    def lines(self, feed: str, instrument: str) -> tuple[Series, ...]:
        """Return what each source of a feed delivered, by name."""
        with self._board:
            line = self._lines.get((feed, instrument), {})
            return tuple(line[name] for name in sorted(line))

    def age_us(self, series: Series) -> int:
        """Return the time since something new came."""
        return self._monotonic_us() - series.heard_us

    def last_sequence(self, feed: str, instrument: str, source: str) -> int:
        """Return the highest sequence of a source, 0 without one."""
        with self._board:
            found = self._found(feed, instrument, source)
            return 0 if found is None else found.last_sequence

    def fresh_middle(self, instrument: str) -> int | None:
        """Return the middle of a sound and fresh quote, ticks; None without one."""
        with self._board:
            series = self.series(QUOTES, instrument)
            if series is None or series.standing is None or self.said_closed(instrument):
                return None
            if self.finding(QUOTES, instrument, series.source).condition not in STANDS:
                return None
            return (series.standing.bid_ticks + series.standing.ask_ticks) // 2

    def unbroken(self, instrument: str) -> list[BarItem]:
        """Return the unbroken run of bars that ends at the last, in order."""
        with self._board:
            series = self.series(BARS, instrument)
            return [] if series is None else series.last_run()

    @override
    def snapshot(self, instrument: str) -> Snapshot:
        """Return what a decision may see now: the last unbroken bars.

        Raises:
            RequestError: the market is closed, there is no fresh sound quote, or there are not
                enough bars; the message names it.
        """
        with self._board:
            if closed := self.said_closed(instrument):
                raise RequestError(problem=f"{instrument}: {closed}")
            self._refuse_quote(instrument)
            known, now_us = self._usable_bars(instrument), self._wall_us()
            bars = known[-BARS_USED:]
            snapshot = Snapshot(
                instrument=instrument,
                asset_class=AssetClass(self._instruments[instrument].asset_class),
                frequency=Frequency.DAILY,
                as_of_us=now_us,
                bars=tuple(map(_seen, bars)),
                news=self.narrative.news(instrument, now_us),
            )
        if self.scales is None:
            return snapshot
        return self.scales.on(snapshot, [_seen(bar) for bar in known])

    @override
    def reach(self) -> NarrativeReach:
        """Return up to when the narrative is complete; ask before the snapshot is taken."""
        return self.narrative.reach(self._wall_us())

    @override
    def tick(self, instrument: str) -> Tick:
        """Return the last sound quote; what came after it and was not sound counts as a gap.

        Raises:
            RequestError: no sound quote since the start.
        """
        with self._board:
            series = self.series(QUOTES, instrument)
            if series is None or (standing := series.standing) is None:
                raise RequestError(problem=f"{instrument}: no sound quote since the start")
            instant = MarketInstant(tick_us=series.received_us, seen_us=series.seen_us)
            quote = Quote(
                bid_ticks=standing.bid_ticks,
                ask_ticks=standing.ask_ticks,
                time_us=min(standing.event_us, series.received_us),
                seq_gap=series.refused + int(self._contradiction(series) is not None),
                phase=Phase.CLOSED if self.said_closed(instrument) else Phase.OPEN,
            )
            return Tick(quote=quote, instant=instant)

    @override
    def session_reading(self, instrument: str) -> SessionReading | None:
        """Return how far the session is; None without a calendar, or without a quote's volume."""
        with self._board:
            now_us, series = self._wall_us(), self.series(QUOTES, instrument)
            hours = self._calendars and self._calendars.hours(instrument, now_us)
            opened_us = hours.opened_us(now_us) if hours else None
            if not hours or opened_us is None or series is None or not series.volumes:
                return None
            return SessionReading(
                since_open_us=now_us - opened_us,
                to_close_us=hours.closing_us(now_us) - now_us,
                market_lots=series.traded_since(now_us - REPEAT_US)
                // self._instruments[instrument].lot,
                volume_age_us=max(0, now_us - series.volumes[-1][0]),
            )

    def _found(self, feed: str, instrument: str, source: str) -> Series | None:
        return self._lines.get((feed, instrument), {}).get(source)

    def _place(self, feed: str, instrument: str, source: str) -> Series:
        """Return a source's series; a new source may take the place of a quiet one."""
        line = self._lines.setdefault((feed, instrument), {})
        if source not in line:
            if len(line) >= SOURCES_MAX:
                quiet = [one for one in line.values() if self._is_quiet(one)]
                line.pop(min(quiet or line.values(), key=_newest).source)
            line[source] = Series(feed=feed, instrument=instrument, source=source)
        return line[source]

    def _is_quiet(self, series: Series) -> bool:
        """Return whether a source brought nothing new for too long, or has too few bars to lead."""
        if series.feed == QUOTES:
            return self._quiet_us(series.instrument, series.heard_us) > self.limits.stale_us
        old = stale_bars(self._wall_us() - series.last_close_us, self.limits)
        return old is not None or len(series.last_run()) < MIN_BARS

    def said_closed(self, instrument: str) -> str:
        """Return that a market is closed and when it opens; empty while it is open."""
        now_us = self._wall_us()
        hours = self._calendars and self._calendars.hours(instrument, now_us)
        return hours.said_closed(now_us) if hours else ""

    def _quiet_us(self, instrument: str, since_us: int) -> int:
        """Return the time since a monotonic reading while the market was open; 0 when closed."""
        passed_us, now_us = self._monotonic_us() - since_us, self._wall_us()
        hours = self._calendars and self._calendars.hours(instrument, now_us)
        if not hours:
            return passed_us
        opened_us = hours.opened_us(now_us)
        return 0 if opened_us is None else min(passed_us, now_us - opened_us)

    def _speaks(self, series: Series) -> bool:
        """Return whether what a source says now may contradict another."""
        if series.feed == BARS:
            return True
        fresh = self._monotonic_us() - series.seen_us <= self.limits.stale_us
        return series.standing is not None and fresh

    def _contradiction(self, series: Series) -> Finding | None:
        item = series.standing
        if series.feed == QUOTES:
            return None if item is None else self.contradicted(QUOTES, item)
        found = (self.contradicted(BARS, bar) for bar in reversed(series.last_run()[-BARS_USED:]))
        return next((one for one in found if one is not None), None)

    def _refuse_quote(self, instrument: str) -> None:
        series = self.series(QUOTES, instrument)
        if series is None:
            raise RequestError(
                problem=f"{instrument}: no quote since the start; feeds post to /v1/market/quotes"
            )
        finding = self.finding(QUOTES, instrument, series.source)
        if finding.condition is not Condition.OK:
            raise RequestError(problem=f"{instrument}: quote is {words(finding)}")

    def _usable_bars(self, instrument: str) -> list[BarItem]:
        series = self.series(BARS, instrument)
        if series is None:
            raise RequestError(
                problem=f"{instrument}: no bars, {MIN_BARS} are needed; post them to"
                " /v1/market/bars"
            )
        bars = [bar for bar in series.last_run() if bar.event_us <= self._wall_us()]
        if len(bars) < MIN_BARS:
            holes = "" if len(series.sound) == len(bars) else "; earlier ones lie before a gap"
            raise RequestError(
                problem=f"{instrument}: {MIN_BARS - len(bars)} bars are missing, {series.source}"
                f" delivered {len(bars)} of {MIN_BARS}{holes}"
            )
        finding = self.finding(BARS, instrument, series.source)
        if finding.condition not in STANDS:
            raise RequestError(problem=f"{instrument}: bars are {words(finding)}")
        return bars


def words(finding: Finding) -> str:
    """Return a condition for a person: its name and what was found."""
    said = SAID.get(finding.condition, finding.condition.value)
    return f"{said}: {finding.detail}" if finding.detail else said


def _newest(series: Series) -> tuple[int, int]:
    return series.heard_us, series.last_close_us


def _seen(bar: BarItem) -> Bar:
    return Bar(
        close_time_us=bar.event_us,
        open_ticks=bar.open_ticks,
        high_ticks=bar.high_ticks,
        low_ticks=bar.low_ticks,
        close_ticks=bar.close_ticks,
    )
