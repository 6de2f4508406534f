"""Items as a feed posts them, made from the playback's first session and moved to today."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from typing_extensions import override

from gateway.desk.intake.feeding import Feeding
from gateway.errors import NotReadyError
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.calendars import Calendars
from gateway.feeds.live.conditions import FeedLimits
from gateway.feeds.live.items import BarItem
from gateway.feeds.news.posted import EventItem
from gateway.feeds.sessions import PlaybackSession, load_playback, price_text
from gateway.walk.ports import Tick
from tests.doubles.memory_desk import MemoryDesk, Still
from tests.doubles.set_clock import SetClock
from tests.doubles.small_desk import INSTRUMENTS

HOUR_US = 3_600_000_000


@cache
def first_session() -> PlaybackSession:
    """Return the playback's first session, of SPXN."""
    return next(iter(load_playback().sessions(1)))


def quote(number: int, time_us: int, **changes: object) -> dict[str, Any]:
    """Return a quote as posted."""
    session = first_session()
    return {
        "source": "alpha",
        "instrument": session.instrument,
        "sequence": number,
        "event_time_us": time_us,
        "bid": price_text(session.bid_ticks),
        "ask": price_text(session.ask_ticks),
        **changes,
    }


def bars(count: int, now_us: int) -> list[dict[str, Any]]:
    """Return the last bars before the session, the newest closed an hour ago."""
    known = first_session().snapshot.bars[-count:]
    shift = now_us - HOUR_US - known[-1].close_time_us
    return [
        {
            "source": "alpha",
            "instrument": first_session().instrument,
            "sequence": number,
            "close_time_us": bar.close_time_us + shift,
            "open": price_text(bar.open_ticks),
            "high": price_text(bar.high_ticks),
            "low": price_text(bar.low_ticks),
            "close": price_text(bar.close_ticks),
        }
        for number, bar in enumerate(known, start=1)
    ]


class SetMarket(FedMarket):
    """A fed market whose quotes grow old by its own clocks alone."""

    @override
    def tick(self, instrument: str) -> Tick:
        """Return the last sound quote, at this market's time."""
        tick = super().tick(instrument)
        passed_us = self.since_us(tick.instant.seen_us)
        return replace(tick, instant=Still(tick_us=tick.instant.tick_us + passed_us, seen_us=0))


@dataclass(frozen=True, slots=True)
class FedDesk:
    """A desk in memory that feeds deliver to, and its clock."""

    desk: MemoryDesk
    clock: SetClock
    market: FedMarket
    feeding: Feeding


def fed_desk(
    desk: MemoryDesk, calendars: Calendars | None = None, clock: SetClock | None = None
) -> FedDesk:
    """Turn a desk's market into one that feeds deliver, by a clock that only the test moves.

    A busy machine may stand still for seconds between a quote's posting and its decision.
    """
    clock = clock or SetClock.still()
    own = desk.small.desk.own
    limits = FeedLimits(late_us=60_000_000)
    market = SetMarket(INSTRUMENTS, limits, clock.wall_us, clock.monotonic_us, calendars)
    feeding = Feeding(
        market=market,
        ledger=own.tools.ledger,
        tags=desk.small.tags,
        wall_us=clock.wall_us,
        monotonic_us=clock.monotonic_us,
        accounts=lambda: own.section.accounts,
    )
    dispatching = replace(own.dispatching, market_now_us=market.now_us)
    desk.small.desk.own = replace(own, market=market, feeding=feeding, dispatching=dispatching)
    return FedDesk(desk, clock, market, feeding)


class KeptInMemory:
    """The tables of bars and events in memory, which may be away."""

    def __init__(self) -> None:
        self.rows: list[BarItem] = []
        self.events: list[EventItem] = []
        self.waiting: dict[str, list[BarItem]] = {}
        self.positions: dict[str, dict[str, Any]] = {}
        self.away = False

    def around(self, instrument: str, source: str, first: int, last: int) -> tuple[BarItem, ...]:
        mine = [one for one in self.rows if (one.instrument, one.source) == (instrument, source)]
        below = max((one.sequence for one in mine if one.sequence < first), default=first)
        above = min((one.sequence for one in mine if one.sequence > last), default=last)
        return tuple(one for one in mine if below <= one.sequence <= above)

    def position(self, name: str) -> dict[str, Any] | None:
        return self.positions.get(name)

    def keep_position(self, name: str, document: dict[str, Any]) -> None:
        if self.away:
            raise NotReadyError(part="the table of positions", state="away")
        self.positions[name] = document

    def keep(self, bars: Sequence[BarItem]) -> None:
        if self.away:
            raise NotReadyError(part="the table of bars", state="away")
        self.rows += bars

    def keep_waiting(self, source: str, bars: Sequence[BarItem]) -> None:
        if self.away:
            raise NotReadyError(part="the table of bars", state="away")
        self.waiting[source] = list(bars)

    def keep_events(self, events: Sequence[EventItem], received_us: int) -> None:
        assert received_us
        self.events += events
