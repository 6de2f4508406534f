"""The playback: the sessions of 2018 of two real index series, one decision each, in order.

Each index of the `arch` package's data is played as a notional ETF: price in US dollars = index
level / 10, tick one cent, lot 1, multiplier 1. The quote at a session's open is the open plus and
minus half a spread; positions are marked at the close. Trading days are the days of the series.

Not here: pacing, decisions, fills.

Rules:

- Nothing in a snapshot is later than its `as_of_us`, the open: bars end at the previous close, and
  an event enters only if it was published at or before the open.
- Times are New York session times as UTC microseconds; half days close at 13:00.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.errors import IntakeError
from gateway.feeds.intake import DailySeries, DatedEvent, DayRow, parse_daily_series
from gateway.feeds.news.events import load_events, news_item
from gateway.feeds.scales import Scales
from inference.scale.schedule import FIT_MAX
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot
from risk.forms.money import minor_digits, money_text

NEW_YORK = ZoneInfo("America/New_York")
OPEN = time(9, 30)
CLOSE = time(16, 0)
EARLY_CLOSE = time(13, 0)
PLAYED_YEAR = 2018
HISTORY_BARS = 300
FITTED_BARS = FIT_MAX + 100  # a fit ends at a quarter's start, up to 66 bars back
HALF_SPREAD_BP = 2
NEWS_DAYS = 10
TICKS_PER_LEVEL = Decimal(10)  # level / 10 dollars, 100 ticks a dollar


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedInstrument:
    """A notional ETF and the series behind it."""

    symbol: str
    series: str
    statement: str
    tick_minor: int = 1
    lot: int = 1
    multiplier: int = 1
    currency: str = "USD"


PLAYED = (
    PlayedInstrument(
        symbol="SPXN",
        series="sp500",
        statement="notional ETF on the S&P 500: price in USD = index level / 10, tick 0.01, lot 1",
    ),
    PlayedInstrument(
        symbol="NDXN",
        series="nasdaq",
        statement="notional ETF on the NASDAQ Composite: price in USD = index level / 10,"
        " tick 0.01, lot 1",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackSession:
    """One decision's market: what is known at the open, its quote, and the later close.

    Attributes:
        index: number of the decision within the playback, from 0.
        session: number of the trading day within the playback, from 0.
        snapshot: everything that the decision may see; `as_of_us` is the open.
        close_ticks: the mark, known only at `close_time_us`.
    """

    index: int
    session: int
    session_date: date
    instrument: str
    snapshot: Snapshot
    bid_ticks: int
    ask_ticks: int
    market_time_us: int
    close_ticks: int
    close_time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Playback:
    """The loaded series and events; build with `load_playback`."""

    series: tuple[tuple[PlayedInstrument, DailySeries], ...]
    events: tuple[DatedEvent, ...]
    days: tuple[date, ...]
    scales: Scales | None = None

    def sessions(self, limit: int | None = None) -> Iterator[PlaybackSession]:
        """Yield one entry per instrument and session in time order, at most `limit`."""
        index = 0
        for session, day in enumerate(self.days):
            for instrument, series in self.series:
                if limit is not None and index >= limit:
                    return
                yield self._one(index, session, day, instrument, series)
                index += 1

    def first_as_of_us(self) -> int:
        """Return the first decision's `as_of_us`."""
        return market_time_us(self.days[0], OPEN)

    def source(self) -> dict[str, str]:
        """Return the digest of each series' unpacked bytes, by name."""
        return {f"arch.data.{i.series}": s.digest for i, s in self.series}

    def write_quotes(self, path: Path) -> None:
        """Write the simulator's copy of the quotes, a JSON line per instrument and session."""
        lines = []
        for session, day in enumerate(self.days):
            for instrument, series in self.series:
                bid, ask = quote(series.rows[series.place(day)])
                line = {
                    "instrument": instrument.symbol,
                    "session": session,
                    "market_time_us": market_time_us(day, OPEN),
                    "bid": price_text(bid, instrument),
                    "ask": price_text(ask, instrument),
                }
                lines.append(json.dumps(line, separators=(",", ":"), sort_keys=True))
        path.write_text("\n".join(lines) + "\n", encoding="ascii")

    def _one(
        self, index: int, session: int, day: date, instrument: PlayedInstrument, series: DailySeries
    ) -> PlaybackSession:
        at = series.place(day)
        if at < HISTORY_BARS:
            raise IntakeError(
                where=instrument.series, problem=f"under {HISTORY_BARS} bars to {day}"
            )
        open_us = market_time_us(day, OPEN)
        row = series.rows[at]
        bid_ticks, ask_ticks = quote(row)
        since_us = open_us - NEWS_DAYS * 86_400_000_000
        snapshot = Snapshot(
            instrument=instrument.symbol,
            asset_class=AssetClass.INDEX,
            frequency=Frequency.DAILY,
            as_of_us=open_us,
            bars=tuple(bar_of(past) for past in series.rows[at - HISTORY_BARS : at]),
            news=tuple(
                news_item(event)
                for event in self.events
                if since_us < event.published_us <= open_us
            ),
        )
        if self.scales is not None:
            known = [bar_of(past) for past in series.rows[max(0, at - FITTED_BARS) : at]]
            snapshot = self.scales.on(snapshot, known)
        return PlaybackSession(
            index=index,
            session=session,
            session_date=day,
            instrument=instrument.symbol,
            snapshot=snapshot,
            bid_ticks=bid_ticks,
            ask_ticks=ask_ticks,
            market_time_us=open_us,
            close_ticks=row.close_ticks,
            close_time_us=market_time_us(day, closing_time(day)),
        )


def load_playback() -> Playback:
    """Return the playback from the files of the `arch` package, which is not imported.

    Raises:
        IntakeError: a series or the event file is missing or malformed, or the series have
            different trading days.
    """
    spec = find_spec("arch")
    if spec is None or not spec.submodule_search_locations:
        raise IntakeError(where="arch", problem="the package that carries the series is missing")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    loaded: list[tuple[PlayedInstrument, DailySeries]] = []
    for instrument in PLAYED:
        path = folder / instrument.series / f"{instrument.series}.csv.gz"
        try:
            packed = path.read_bytes()
        except OSError as error:
            raise IntakeError(where=str(path), problem=str(error.strerror)) from None
        name = instrument.series
        series = parse_daily_series(packed, name=name, ticks_per_unit=TICKS_PER_LEVEL)
        loaded.append((instrument, series))
    days = [tuple(r.day for r in s.rows if r.day.year == PLAYED_YEAR) for _, s in loaded]
    if not days[0] or any(other != days[0] for other in days):
        raise IntakeError(
            where="playback", problem=f"the series differ in the days of {PLAYED_YEAR}"
        )
    return Playback(series=tuple(loaded), events=load_events(), days=days[0])


def quote(row: DayRow) -> tuple[int, int]:
    """Return bid and ask in ticks: the open minus and plus half a spread, at least one tick."""
    half = max(1, round(Decimal(row.open_ticks * HALF_SPREAD_BP) / 10_000))  # ties to even
    return row.open_ticks - half, row.open_ticks + half


def price_text(ticks: int, instrument: PlayedInstrument = PLAYED[0]) -> str:
    """Return a price of a played instrument as decimal text in its currency."""
    return money_text(ticks * instrument.tick_minor, minor_digits(instrument.currency))


def closing_time(day: date) -> time:
    """Return the New York Stock Exchange's regular closing time of a trading day.

    13:00 on the day after Thanksgiving, on 3 July when Independence Day is a Tuesday to Friday, and
    on 24 December when it is a Monday to Thursday.

    Source: NYSE holidays and trading hours, as practised in 2013 to 2018.
    """
    monday, thursday, friday = 0, 3, 4
    weekday = day.weekday()
    thanksgiving_friday = day.month == 11 and weekday == friday and 23 <= day.day <= 29  # noqa: PLR2004 - the calendar
    eve = (day.month, day.day) in {(7, 3), (12, 24)} and monday <= weekday <= thursday
    return EARLY_CLOSE if thanksgiving_friday or eve else CLOSE


def bar_of(row: DayRow) -> Bar:
    """Return a day's finished bar."""
    return Bar(
        close_time_us=market_time_us(row.day, closing_time(row.day)),
        open_ticks=row.open_ticks,
        high_ticks=row.high_ticks,
        low_ticks=row.low_ticks,
        close_ticks=row.close_ticks,
    )


def market_time_us(day: date, at: time) -> int:
    """Return New York wall time on `day` as microseconds UTC."""
    local = datetime.combine(day, at, tzinfo=NEW_YORK)
    return (local - datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))) // timedelta(microseconds=1)
