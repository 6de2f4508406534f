"""The market of `serve`: what a decision may see of what its feeds delivered, on the wall clock.

Not here: who delivers and which source leads (`delivered`), what is wrong with an item
(`conditions`), records (`gateway.desk.intake.feeding`), bars on disk (`kept`).

Rules:

- Only a sound item stands. After one that is not sound, the instrument is refused until the next
  sound one; the earlier quote then counts as having a gap behind it.
- Bars are used without a hole: the unbroken run that ends at the last.
- While two sources contradict each other, the instrument is refused.
- While the market is closed no quote is stale, and the instrument is refused.
- A restart keeps bars and loses quotes.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from typing_extensions import override

from gateway import clock
from gateway.clock import MarketInstant
from gateway.errors import RequestError
from gateway.feeds.files.state import FileState
from gateway.feeds.live.calendars import Calendars
from gateway.feeds.live.conditions import SAID, STANDS, Condition, FeedLimits, Finding
from gateway.feeds.live.delivered import BARS_USED, Delivered
from gateway.feeds.live.items import BARS, QUOTES, BarItem
from gateway.feeds.live.splits import BarSplit
from gateway.feeds.market import Market
from gateway.feeds.news.fed import FedNarrative
from gateway.feeds.scales import Scales
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.ports import NarrativeReach, Tick
from gateway.walk.projections.gathering import SessionReading
from inference.codec.codec import MIN_BARS
from inference.snapshot import AssetClass, Bar, Frequency, NewsItem, Snapshot
from risk.state.activity import REPEAT_US
from risk.state.instrument import Instrument
from risk.state.state import Phase, Quote

_Held = tuple[list[BarItem], tuple[NewsItem, ...], Scales | None]
"""What a snapshot was made of."""


class FedMarket(Delivered, Market):
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
        Market.__init__(self)
        Delivered.__init__(
            self, instruments, limits, (wall_us, monotonic_us), calendars or Calendars({})
        )
        self.narrative = FedNarrative(limits)
        self.files: tuple[FileState, ...] = ()
        self.scales: Scales | None = None
        self._held: dict[str, tuple[_Held, Snapshot]] = {}

    @override
    def now_us(self) -> int:
        """Return the wall clock's time."""
        return self._wall_us()

    @override
    def take_adjusted(self, done: BookAdjusted) -> None:
        """Restate the bars from before a recorded split; the same record again changes nothing."""
        if done.split is None or done.effective_us is None:
            return
        new, old = done.split
        split = BarSplit(ref=done.ref, before_us=done.effective_us, new=new, old=old)
        with self._board:
            known = {one.ref: one for one in self.splits.get(done.instrument, ())}
            ordered = sorted((known | {done.ref: split}).values(), key=lambda one: one.before_us)
            self.splits[done.instrument] = tuple(ordered)

    def fresh_middle(self, instrument: str) -> int | None:
        """Return the middle of a sound and fresh quote, ticks; None without one."""
        with self._board:
            series = self.series(QUOTES, instrument)
            if series is None or series.standing is None or self.said_closed(instrument):
                return None
            if self.finding(QUOTES, instrument, series.source).condition not in STANDS:
                return None
            return (series.standing.bid_ticks + series.standing.ask_ticks) // 2

    @override
    def snapshot(self, instrument: str) -> Snapshot:
        """Return what a decision may see now: see `inputs`.

        Raises:
            RequestError: the market is closed, there is no fresh sound quote, or there are not
                enough bars; the message names it.
        """
        with self._board:
            if closed := self.said_closed(instrument):
                raise RequestError(problem=f"{instrument}: {closed}")
            self._refuse_quote(instrument)
            return self.inputs(instrument)

    @override
    def inputs(self, instrument: str) -> Snapshot:
        """Return the last unbroken bars with the news, as of the newest of them.

        Raises:
            RequestError: there are not enough bars, or two sources contradict each other.
        """
        with self._board:
            known, now_us = self._usable_bars(instrument), self._wall_us()
            bars = known[-BARS_USED:]
            news = self.narrative.news(instrument, now_us)
            held = self._held.get(instrument)
            if held is not None and held[0] == (known, news, self.scales):
                return held[1]  # the bars are the same objects, so this compares no price
            newest_us = max((bars[-1].event_us, *(one.published_us for one in news)))
            snapshot = Snapshot(
                instrument=instrument,
                asset_class=AssetClass(self.instruments[instrument].asset_class),
                frequency=Frequency.DAILY,
                as_of_us=newest_us,
                bars=tuple(map(_seen, bars)),
                news=news,
            )
        if self.scales is not None:
            snapshot = self.scales.on(snapshot, [_seen(bar) for bar in known])
        with self._board:
            self._held[instrument] = ((known, news, self.scales), snapshot)
        return snapshot

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
                seq_gap=series.refused + sum(one is not None for one in self.doubts(series)),
                phase=Phase.CLOSED if self.said_closed(instrument) else Phase.OPEN,
            )
            return Tick(quote=quote, instant=instant)

    @override
    def session_reading(self, instrument: str) -> SessionReading | None:
        """Return how far the session is; None without a calendar, or without a quote's volume."""
        with self._board:
            now_us, series = self._wall_us(), self.series(QUOTES, instrument)
            hours = self.calendars.hours(instrument, now_us)
            opened_us = hours.opened_us(now_us) if hours else None
            if not hours or opened_us is None or series is None or not series.volumes:
                return None
            return SessionReading(
                since_open_us=now_us - opened_us,
                to_close_us=hours.closing_us(now_us) - now_us,
                market_lots=series.traded_since(now_us - REPEAT_US)
                // self.instruments[instrument].lot,
                volume_age_us=max(0, now_us - series.volumes[-1][0]),
            )

    @override
    def bars_due_us(self, instrument: str, close_us: int) -> int | None:
        """Return when the session after a bar's opened or will; None where nobody knows."""
        hours = self.calendars.hours(instrument, self._wall_us())
        return hours.due_us(close_us) if hours else None

    def day(self, instrument: str) -> str:
        """Return the trading day of an instrument now: its last session's date, else UTC's."""
        now_us = self._wall_us()
        hours = self.calendars.hours(instrument, now_us)
        utc = datetime.fromtimestamp(now_us / 1_000_000, tz=UTC).date().isoformat()
        return (hours.date(now_us) if hours else "") or utc

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
        now_us = self._wall_us()
        bars = [bar for bar in self.run_of(series) if bar.event_us <= now_us]
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


def _seen(bar: BarItem) -> Bar:
    return Bar(
        close_time_us=bar.event_us,
        open_ticks=bar.open_ticks,
        high_ticks=bar.high_ticks,
        low_ticks=bar.low_ticks,
        close_ticks=bar.close_ticks,
    )
