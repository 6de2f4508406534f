"""Who delivers: what each source brought of each feed of each instrument, and which one leads.

Not here: what a decision may see (`board`), what one source delivered (`series`), what is wrong
with an item (`conditions`).

Rules:

- Of several sources the first by name leads, unless it is quiet or what it says is not sound. While
  a second one contradicts it (`sources`), nobody knows which is right.
- Bars of before a split are used in today's units (`splits`).
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from gateway.feeds.live.calendars import Calendars
from gateway.feeds.live.conditions import (
    STANDS,
    Condition,
    FeedLimits,
    Finding,
    judge,
    missed_bars,
    stale,
    stale_bars,
)
from gateway.feeds.live.items import BARS, QUOTES, BarItem
from gateway.feeds.live.series import DAY_US, Item, Series
from gateway.feeds.live.sources import apart, closes_apart
from gateway.feeds.live.splits import BarSplit, far_apart, is_restated, outdated, restated
from inference.codec.codec import MIN_BARS
from risk.state.instrument import Instrument

BARS_USED: Final = 300
SOURCES_MAX: Final = 4
"""Sources of one feed of one instrument; one more replaces a quiet one, or is refused."""


class Delivered:
    """What feeds delivered, by feed, instrument and source. Thread-safe."""

    def __init__(
        self,
        instruments: dict[str, Instrument],
        limits: FeedLimits,
        clocks: tuple[Callable[[], int], Callable[[], int]],
        calendars: Calendars,
    ) -> None:
        """Start without an item; `clocks` are the wall's and the monotonic one."""
        self.instruments = instruments
        self.limits = limits
        self.calendars = calendars
        self.band_bp: Callable[[], int | None] = lambda: None
        self._wall_us, self._monotonic_us = clocks
        self.splits: dict[str, tuple[BarSplit, ...]] = {}
        self._lines: dict[tuple[str, str], dict[str, Series]] = {}
        self._board = threading.RLock()

    def bring_back(self, bars: Iterable[BarItem], waiting: Iterable[BarItem] = ()) -> None:
        """Take bars that were kept before a restart, and those that waited for their close.

        Bars of an instrument that is no longer listed are left.
        """
        with self._board:
            for bar in bars:
                if bar.instrument in self.instruments:
                    self._place(BARS, bar.instrument, bar.source).bring_back(bar)
            for bar in waiting:
                if bar.instrument in self.instruments:
                    self._place(BARS, bar.instrument, bar.source).wait_again(bar)

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
            return self._judged(series, item, received_us)

    def contradicted(self, feed: str, item: Item) -> Finding | None:
        """Return how a sound item contradicts another source, or None; nothing changes."""
        with self._board:
            line = self._lines.get((feed, item.instrument), {})
            others = [one for one in line.values() if one.source != item.source]
            if isinstance(item, BarItem):
                others = [one for one in others if not self._other_units(item, one)]
            return apart(item, filter(self._speaks, others), self.limits.apart_bp)

    def would_stand(
        self, feed: str, items: Sequence[Item], received_us: int
    ) -> list[tuple[Item, Finding]]:
        """Return what each item's condition would be if all came in this order; nothing changes."""
        tried: dict[tuple[str, str], Series] = {}
        found = []
        with self._board:
            for item in items:
                line = item.instrument, item.source
                if line not in tried:
                    series = self._found(feed, *line)
                    tried[line] = (
                        Series(feed=feed, instrument=line[0], source=line[1])
                        if series is None
                        else series.copy()
                    )
                finding = self._judged(tried[line], item, received_us)
                if finding.condition is not Condition.REPEAT:
                    tried[line].take(item, finding, received_us, 0)
                found.append((item, finding))
        return found

    def waiting(self, source: str | None = None) -> tuple[BarItem, ...]:
        """Return the bars that came early or are doubted, of one source or all, by their close."""
        with self._board:
            found = (
                bar
                for series in self._sources()
                if source in {None, series.source}
                for bar in (*series.waiting.values(), *series.doubted.values())
            )
            return tuple(sorted(found, key=_by_close))

    def waits(self, item: Item) -> bool:
        """Return whether a bar of an item's number waits for its close, or is doubted."""
        with self._board:
            series = self._found(BARS, item.instrument, item.source)
            return (
                isinstance(item, BarItem)
                and series is not None
                and item.sequence in {**series.waiting, **series.doubted}
            )

    def due_bars(self) -> tuple[BarItem, ...]:
        """Return the bars that wait no longer, by their close: it is there, or a split is recorded.

        One that came early may be doubted then; it is told as any other that comes.
        """
        now_us = self._wall_us()
        with self._board:
            found = [
                bar
                for series in self._sources()
                for bar in (
                    *(one for one in series.waiting.values() if one.event_us <= now_us),
                    *(one for one in series.doubted.values() if not self._absurd(series, one)),
                )
            ]
        return tuple(sorted(found, key=_by_close))

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
                old = self._old_bars(series)
            return old or next(filter(None, self.doubts(series)), series.finding)

    def doubts(self, series: Series) -> tuple[Finding | None, Finding | None]:
        """Return how a source contradicts another one, and that it is far from the last close."""
        return self.contradiction(series), self._outside(series)

    def series(self, feed: str, instrument: str) -> Series | None:
        """Return what the leading source of a feed delivered, or None."""
        with self._board:
            line = self._lines.get((feed, instrument), {})
            ordered = [line[name] for name in sorted(line)]
            loud = [one for one in ordered if not self._is_quiet(one)]
            if len(loud) > 1:
                loud = [one for one in loud if self._is_usable(one)] or loud
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

    def unbroken(self, instrument: str) -> list[BarItem]:
        """Return the unbroken run of bars that ends at the last, in order, in today's units."""
        with self._board:
            series = self.series(BARS, instrument)
            return [] if series is None else self.run_of(series)

    def _sources(self) -> Iterator[Series]:
        return (series for line in self._lines.values() for series in line.values())

    def _judged(self, series: Series, item: Item, received_us: int) -> Finding:
        return judge(
            item,
            past=series.past,
            same=self._same(series, item),
            absurd=self._absurd(series, item),
            missing=series.missing_with(item),
            received_us=received_us,
            limits=self.limits,
        )

    def _same(self, series: Series, item: Item) -> Item | None:
        """Return what came under an item's number; the item itself, if a split restates it so."""
        same = series.seen.get(item.sequence)
        if isinstance(same, BarItem) and isinstance(item, BarItem) and same != item:
            splits = self.splits.get(item.instrument, ())
            if any(is_restated(same, item, one) for one in splits):
                return item
        return same

    def _absurd(self, series: Series, item: Item) -> str:
        """Return how a bar is far from the one before it, whatever recorded splits are between."""
        if not isinstance(item, BarItem) or (other := series.beside(item)) is None:
            return ""
        return far_apart(item, other, self.splits.get(item.instrument, ()))

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

    def _is_usable(self, series: Series) -> bool:
        """Return whether a source may lead before others: what it says is sound, in today's units.

        What contradicts another source refuses the instrument, whichever of them leads.
        """
        if series.finding.condition not in STANDS:
            return False
        return series.feed == QUOTES or self._outdated(series) is None

    def _is_quiet(self, series: Series) -> bool:
        """Return whether a source brought nothing new for too long, or has too few bars to lead."""
        if series.feed == QUOTES:
            return self._quiet_us(series.instrument, series.heard_us) > self.limits.stale_us
        return self._old_bars(series) is not None or len(series.last_run()) < MIN_BARS

    def _old_bars(self, series: Series) -> Finding | None:
        """Return what is wrong with a source's last bar by now: by sessions, else by its age."""
        now_us, last_us = self._wall_us(), series.last_close_us
        hours = self.calendars.hours(series.instrument, now_us)
        if hours and hours.sessions:
            return missed_bars(hours.missed(last_us, now_us), self.limits)
        return stale_bars(now_us - last_us, self.limits)

    def said_closed(self, instrument: str) -> str:
        """Return that a market is closed and when it opens; empty while it is open."""
        now_us = self._wall_us()
        hours = self.calendars.hours(instrument, now_us)
        return hours.said_closed(now_us) if hours else ""

    def _quiet_us(self, instrument: str, since_us: int) -> int:
        """Return the time since a monotonic reading while the market was open; 0 when closed."""
        passed_us, now_us = self._monotonic_us() - since_us, self._wall_us()
        hours = self.calendars.hours(instrument, now_us)
        if not hours:
            return passed_us
        opened_us = hours.opened_us(now_us)
        return 0 if opened_us is None else min(passed_us, now_us - opened_us)

    def _speaks(self, series: Series) -> bool:
        """Return whether what a source says now may contradict another."""
        if series.feed == BARS:
            return self._old_bars(series) is None
        fresh = self._monotonic_us() - series.seen_us <= self.limits.stale_us
        return series.standing is not None and fresh

    def contradiction(self, series: Series) -> Finding | None:
        """Return how a source contradicts another one now, or None."""
        item = series.standing
        if series.feed == QUOTES:
            return None if item is None else self.contradicted(QUOTES, item)
        if (old := self._outdated(series)) is not None:
            return old
        line = self._lines[BARS, series.instrument]
        others = [
            one
            for one in line.values()
            if one is not series and self._speaks(one) and self._outdated(one) is None
        ]
        closes = self._closes(series) if others else {}
        found = (
            closes_apart(series.source, closes, one.source, self._closes(one), self.limits.apart_bp)
            for one in others
        )
        return next((one for one in found if one is not None), None)

    def _outside(self, series: Series) -> Finding | None:
        """Return that a quote is beyond the band of the last close; without bars there is none."""
        quote, known = series.standing, self.unbroken(series.instrument)
        if quote is None or not known:
            return None
        close, band_bp = known[-1].close_ticks, self.band_bp() or self.limits.band_bp
        middle = (quote.bid_ticks + quote.ask_ticks) // 2
        apart_bp = -(-abs(middle - close) * 10_000 // close)
        if apart_bp <= band_bp:
            return None
        said = f"middle {middle} ticks is {apart_bp} bp from the close {close}, limit {band_bp} bp"
        return Finding(condition=Condition.OUTSIDE, detail=said)

    def _outdated(self, series: Series) -> Finding | None:
        """Return that a source's bars are from before a split that another's are not."""
        others = self._lines[BARS, series.instrument].values()
        if len(others) < 2:  # noqa: PLR2004 - nobody to compare with
            return None
        mine, now_ticks = self._closes(series), self._now_ticks(series.instrument)
        for other in others:
            theirs = self._closes(other)
            if other is not series and (
                ratio := outdated(mine, theirs, now_ticks, self.limits.apart_bp)
            ):
                said = f"{other.source} has the bars from before a split of {ratio} restated"
                return Finding(condition=Condition.BIASED, detail=f"{said}, {series.source} not")
        return None

    def _other_units(self, item: BarItem, other: Series) -> bool:
        """Return whether a bar and another source's may be in the units before and after a split.

        `finding` compares the two histories; one bar does not show it.
        """
        if any(item.event_us <= one.before_us for one in self.splits.get(item.instrument, ())):
            return True
        series, theirs = self._found(BARS, item.instrument, item.source), self._closes(other)
        mine = {} if series is None else self._closes(series)
        mine |= {item.event_us // DAY_US: item.close_ticks}
        now_ticks, near_bp = self._now_ticks(item.instrument), self.limits.apart_bp
        return bool(
            outdated(mine, theirs, now_ticks, near_bp) or outdated(theirs, mine, now_ticks, near_bp)
        )

    def run_of(self, series: Series) -> list[BarItem]:
        """Return a source's last run in today's units."""
        splits = self.splits.get(series.instrument, ())
        run = series.last_run()
        return restated(run, splits, self._now_ticks(series.instrument)) if splits else run

    def _closes(self, series: Series) -> dict[int, int]:
        """Return a source's newest closes in today's units, by the UTC day."""
        return {bar.event_us // DAY_US: bar.close_ticks for bar in self.run_of(series)[-BARS_USED:]}

    def _now_ticks(self, instrument: str) -> int | None:
        """Return the middle of the newest quote that stands, None without one."""
        line = self._lines.get((QUOTES, instrument), {})
        standing = [one for one in line.values() if one.standing is not None]
        newest = max(standing, key=lambda one: one.seen_us, default=None)
        if newest is None or newest.standing is None:
            return None
        return max(1, (newest.standing.bid_ticks + newest.standing.ask_ticks) // 2)


def _newest(series: Series) -> tuple[int, int]:
    return series.heard_us, series.last_close_us


def _by_close(bar: BarItem) -> tuple[int, str, str]:
    return bar.event_us, bar.instrument, bar.source
