"""The playback's market: one clock and one standing quote per instrument, repeated every second.

Market time is the session's tick time plus the time measured since the session opened. It is the
same for every instrument.

Not here: the sessions themselves (`sessions`), the market of `serve` (`board`).
"""

import threading
from dataclasses import replace

from gateway.clock import MarketInstant, monotonic_us
from gateway.errors import RequestError
from gateway.feeds.sessions import PlaybackSession
from gateway.walk.journal.control.adjustment import BookAdjusted
from gateway.walk.ports import NarrativeReach, Tick
from gateway.walk.projections.gathering import SessionReading
from inference.snapshot import Snapshot
from risk.state.state import Phase, Quote

REPEAT_US = 1_000_000


class Market:
    """The quotes that stand now. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._instant = MarketInstant(tick_us=0, seen_us=monotonic_us())
        self._sessions: dict[str, PlaybackSession] = {}

    def open_session(self, session: PlaybackSession) -> None:
        """Set an instrument's standing quote; the first of a day moves the clock to its open."""
        with self._lock:
            if session.market_time_us > self._instant.now_us() or not self._sessions:
                self._instant = MarketInstant(
                    tick_us=session.market_time_us, seen_us=monotonic_us()
                )
            self._sessions[session.instrument] = session

    def close_session(self, close_time_us: int) -> None:
        """Move the clock to the session's close."""
        with self._lock:
            if close_time_us > self._instant.now_us():
                self._instant = MarketInstant(tick_us=close_time_us, seen_us=monotonic_us())

    def now_us(self) -> int:
        """Return market time now, microseconds UTC."""
        with self._lock:
            return self._instant.now_us()

    def session(self, instrument: str) -> PlaybackSession:
        """Return an instrument's current session.

        Raises:
            RequestError: the instrument is not quoted.
        """
        with self._lock:
            found = self._sessions.get(instrument)
        if found is None:
            quoted = ", ".join(sorted(self._sessions)) or "none yet"
            raise RequestError(problem=f"{instrument} is not quoted here; quoted: {quoted}")
        return found

    def snapshot(self, instrument: str) -> Snapshot:
        """Return what a decision may see now.

        Raises:
            RequestError: the instrument is not quoted.
        """
        return self.session(instrument).snapshot

    def inputs(self, instrument: str) -> Snapshot:
        """Return what a forecast is made of now; it needs neither a quote nor an open market.

        Raises:
            RequestError: there are not enough bars.
        """
        return self.session(instrument).snapshot

    def reach(self) -> NarrativeReach | None:
        """Return up to when the narrative is complete; None: up to a snapshot's own time."""
        return None

    def bars_due_us(self, instrument: str, close_us: int) -> int | None:  # noqa: ARG002
        """Return when the session after a bar's opened or will; None where nobody knows."""
        return None

    def take_adjusted(self, done: BookAdjusted) -> None:
        """Take what officers adjusted; a played market has no bars from before a split."""

    def session_reading(self, instrument: str) -> SessionReading | None:
        """Return how far the session is and what traded in it; None: the playback has no volume."""
        del instrument
        return None

    def said_closed(self, instrument: str) -> str:
        """Return that a market is closed and when it opens; empty while it is open, as played."""
        del instrument
        return ""

    def tick(self, instrument: str) -> Tick:
        """Return the standing quote as the feed last repeated it."""
        session = self.session(instrument)
        with self._lock:
            instant = self._instant
        elapsed_us = instant.now_us() - instant.tick_us
        repeated = replace(
            instant,
            tick_us=instant.tick_us + elapsed_us // REPEAT_US * REPEAT_US,
            seen_us=instant.seen_us + elapsed_us // REPEAT_US * REPEAT_US,
        )
        quote = Quote(
            bid_ticks=session.bid_ticks,
            ask_ticks=session.ask_ticks,
            time_us=repeated.tick_us,
            seq_gap=0,
            phase=Phase.OPEN,
        )
        return Tick(quote=quote, instant=repeated)
