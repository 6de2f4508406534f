"""Supervisor of the market data child: its quotes go through the same door as posted ones.

Rules:

- A child that died is started again after a pause; it asks for everything anew.
- While nothing can come (no child, no logon, a refusal, a book with a side missing) each instrument
  is refused, with the reason on record.
- Sequences go on over children: the child counts from 1, this adds what stood before.

Not here: the market (`gateway.feeds.live`), records (`gateway.desk.intake.feeding`).
"""

import contextlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from audit.errors import AuditError
from fix.dialects.profile import Profile, profile_document
from fix.errors import FixError
from fix.session.link import Frame, encode, frames, number, text
from gateway.errors import GatewayError, IntakeError
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import Condition, Finding
from gateway.feeds.live.items import QUOTES, QuoteItem, parse
from gateway.installation.children.child import ChildProcess
from inference.snapshot import MAX_TICKS
from risk.state.instrument import Instrument

log = logging.getLogger(__name__)
READY: Final = "ready"
STABLE_S: Final = 30.0
END_S: Final = 5.0
WRITE_S: Final = 3.0
_CONDITIONS: Final = {
    "down": Condition.DOWN,
    "refused": Condition.REFUSED,
    "incomplete": Condition.INCOMPLETE,
    "silent": Condition.STALE,
}


class MarketDoor(Protocol):
    """Takes quotes; `gateway.desk.intake.feeding` does."""

    @property
    def market(self) -> FedMarket:
        """The market that they go to."""

    def take(self, feed: str, items: Sequence[QuoteItem]) -> object:
        """Take items; errors of the ledger and of the feed are raised."""

    def interrupt(self, feed: str, instrument: str, source: str, finding: Finding) -> None:
        """Record that a source cannot deliver now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineConfig:
    """Configuration of the child; `prefix` makes its MDReqIDs differ from those of other runs."""

    profile: Profile
    folder: Path
    log_path: Path
    prefix: str
    program: tuple[str, ...] = (sys.executable, "-m", "fix.feed.main")
    backoff_s: tuple[float, float] = (0.2, 10.0)


class BrokerLine:
    """The broker's market data as the gateway sees them. Thread-safe."""

    def __init__(
        self, config: LineConfig, door: MarketDoor, instruments: Mapping[str, Instrument]
    ) -> None:
        """Prepare; nothing runs before `start`."""
        data = config.profile.market_data
        if data is None:
            raise GatewayError("the profile has no market data")
        self._config, self._door, self._instruments = config, door, instruments
        self._source = data.source
        self._by_symbol = {data.symbols.get(name, name): name for name in instruments}
        self._before: dict[str, int] = {}
        self._child: ChildProcess | None = None
        self._state, self._failing = "CONNECTING", ""
        self._lives = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="market data", daemon=True)

    @property
    def state(self) -> str:
        """`ready`, or what the session does."""
        return self._failing or self._state

    @property
    def pid(self) -> int:
        """Process id of the present child, 0 without one."""
        return self._child.process.pid if self._child else 0

    def start(self) -> None:
        """Start the child and connect, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Log out and end the child. Idempotent."""
        self._stopping.set()
        child = self._child
        if child is not None and child.process.poll() is None:
            with contextlib.suppress(OSError):
                child.write(encode({"op": "stop"}), WRITE_S)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(END_S)
            child.process.kill()
        if self._thread.ident is not None:
            self._thread.join(END_S)

    def _supervise(self) -> None:
        """Run one child after the other until `stop`; this thread is their parent."""
        pause_s, longest_s = self._config.backoff_s
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._live_one()
            except (OSError, FixError):
                log.exception("the market data child could not be run")
            if self._stopping.is_set():
                return
            self._state = "DOWN"
            self._interrupt_all(Finding(condition=Condition.DOWN, detail="its process ended"))
            if time.monotonic() - began > STABLE_S:
                pause_s = self._config.backoff_s[0]
            if not self._stopping.wait(pause_s):
                pause_s = min(longest_s, pause_s * 2)

    def _live_one(self) -> None:
        self._lives += 1
        market = self._door.market
        for name in self._instruments:
            last = market.last_sequence(QUOTES, name, self._source)
            # an absurd number that somebody posted under this name leaves no room above it
            self._before[name] = last if last < MAX_TICKS // 2 else 0
        child = ChildProcess(self._config.program, self._config.log_path)
        self._child = child
        try:
            configure: Frame = {
                "op": "configure",
                "profile": profile_document(self._config.profile),
                "folder": str(self._config.folder),
                "symbols": list(self._by_symbol),
                "currencies": {
                    symbol: self._instruments[name].currency
                    for symbol, name in self._by_symbol.items()
                },
                "prefix": f"{self._config.prefix}-{self._lives}",
            }
            child.write(encode(configure), WRITE_S)
            for frame in frames(child.link):
                self._take(frame)
        finally:
            child.process.kill()
            child.process.wait()
            child.link.close()

    def _take(self, frame: Frame) -> None:
        try:
            match frame.get("ev"):
                case "session":
                    state, detail = text(frame, "state"), text(frame, "detail")
                    self._state = READY if state == "READY" else f"{state} {detail}".rstrip()
                case "quote":
                    self._quote(frame)
                case "trouble":
                    self._interrupt(frame)
                case other:
                    log.error("the market data child said %r", other)
        except (AuditError, GatewayError) as error:
            if not self._failing:
                log.exception("a quote of the broker was not taken")
            self._failing = f"not taken: {type(error).__name__}"
        else:
            self._failing = ""

    def _quote(self, frame: Frame) -> None:
        name = self._by_symbol[text(frame, "symbol")]
        posted = {
            "source": self._source,
            "instrument": name,
            "sequence": self._before[name] + number(frame, "number"),
            "event_time_us": number(frame, "event_us"),
            "bid": text(frame, "bid"),
            "ask": text(frame, "ask"),
            "last": frame.get("last"),
        }
        try:
            item = parse(QUOTES, posted, self._instruments)
        except IntakeError as error:
            said = f"{error.where}: {error.problem}"
            finding = Finding(condition=Condition.INCOMPLETE, detail=said[:300])
            self._door.interrupt(QUOTES, name, self._source, finding)
            return
        if isinstance(item, QuoteItem):
            self._door.take(QUOTES, [item])

    def _interrupt(self, frame: Frame) -> None:
        name = self._by_symbol[text(frame, "symbol")]
        condition = _CONDITIONS.get(text(frame, "what"), Condition.INCOMPLETE)
        finding = Finding(condition=condition, detail=text(frame, "detail"))
        self._door.interrupt(QUOTES, name, self._source, finding)

    def _interrupt_all(self, finding: Finding) -> None:
        for name in self._instruments:
            try:
                self._door.interrupt(QUOTES, name, self._source, finding)
            except (AuditError, GatewayError):
                log.exception("not recorded: %s has no market data", name)
