"""The state of each feed, for people and monitoring; read from memory.

Not here: records of conditions, which are the evidence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.feeds.files.state import FileState
from gateway.feeds.live.board import FedMarket, words
from gateway.feeds.live.conditions import Condition
from gateway.feeds.live.items import BARS, QUOTES
from gateway.feeds.market import Market
from gateway.feeds.news.posted import ALL, EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLine:
    """One feed of one instrument and one source.

    Attributes:
        source: who delivers; empty if nobody did.
        leads: decisions use this source.
        condition: its condition now, a value of `Condition`, or `none` or `closed`.
        said: the condition in words.
        sequence: the highest sequence; of a file, the last line that was taken.
        age_ms: since something new came; None if nothing did since the start.
        lag_ms: from the last item's event to its receipt; None likewise.
        missing: sequences missing between the first and the last.
        held: bars held, or events; of a file, the items taken since the start.
    """

    feed: str
    instrument: str
    source: str = ""
    leads: bool = False
    condition: str = "none"
    said: str = "nothing delivered"
    sequence: int = 0
    age_ms: int | None = None
    lag_ms: int | None = None
    missing: int = 0
    held: int = 0

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.condition in {Condition.OK.value, "closed"}


def overview(market: Market, instruments: Iterable[str]) -> tuple[FeedLine, ...] | None:
    """Return a line for each feed of each instrument, the events, the files that are followed.

    None of a played market.
    """
    if not isinstance(market, FedMarket):
        return None
    lines: list[FeedLine] = []
    for instrument in instruments:
        for feed in (QUOTES, BARS):
            found = _of_instrument(market, feed, instrument)
            lines += found or [FeedLine(feed=feed, instrument=instrument)]
    told = [_of_events(market, source) for source in market.narrative.sources()]
    told = told or [FeedLine(feed=EVENTS, instrument=ALL)]
    return (*lines, *told, *(_of_file(market, state) for state in market.files))


def faults(lines: tuple[FeedLine, ...]) -> dict[str, str]:
    """Return what is wrong with the leading feeds; a missing narrative is no fault."""
    return {
        f"{line.instrument} {line.feed}": line.said
        for line in lines
        if not line.good
        and (line.leads or not line.source)
        and (line.feed != EVENTS or line.source)
    }


def _of_instrument(market: FedMarket, feed: str, instrument: str) -> list[FeedLine]:
    leading = market.series(feed, instrument)
    closed = market.said_closed(instrument) if feed == QUOTES else ""
    lines = []
    for series in market.lines(feed, instrument):
        finding = market.finding(feed, instrument, series.source)
        condition, said = finding.condition.value, words(finding)
        if closed and finding.condition is Condition.OK:
            condition, said = "closed", closed
        heard = series.count > 0
        lines.append(
            FeedLine(
                feed=feed,
                instrument=instrument,
                source=series.source,
                leads=leading is series,
                condition=condition,
                said=said,
                sequence=series.last_sequence,
                age_ms=market.age_us(series) // 1_000 if heard else None,
                lag_ms=series.lag_us // 1_000 if heard else None,
                missing=series.holes,
                held=len(series.sound),
            )
        )
    return lines


def _of_events(market: FedMarket, source: str) -> FeedLine:
    narrative, finding = market.narrative, market.narrative.finding(source)
    reach_us = narrative.reach_of(source)
    return FeedLine(
        feed=EVENTS,
        instrument=ALL,
        source=source,
        leads=True,
        condition=finding.condition.value,
        said=words(finding),
        sequence=narrative.last_sequence(source),
        age_ms=None if reach_us is None else (market.now_us() - reach_us) // 1_000,
        held=narrative.held(source),
    )


def _of_file(market: FedMarket, state: FileState) -> FeedLine:
    unread = f"; {state.unread} bytes not taken yet" if state.unread else ""
    return FeedLine(
        feed=state.record_feed,
        instrument=ALL,
        source=state.source,
        leads=True,
        condition=state.condition,
        said=f"{state.said}{unread}",
        sequence=state.line,
        age_ms=market.since_us(state.heard_us) // 1_000 if state.heard_us else None,
        held=state.items,
    )
