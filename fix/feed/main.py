"""The market data child: ``python -m fix.feed.main FD``, started by the gateway only.

JSON lines over one socket pair. Commands: ``configure`` {profile, folder, symbols, currencies,
prefix}, then ``stop``. Events: ``session`` {state, detail}; ``quote`` {symbol, number, event_us,
bid, ask, last}, whose number rises by one for each symbol, so that an event that is lost shows;
``trouble`` {symbol, what, detail}. It exits when the gateway is gone. It has no order, no kill word
and no journal.

Not here: what a quote is worth, and the order session (`fix.session`).
"""

import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fix.dialects.market_data import MarketData
from fix.dialects.profile import Profile, parse_profile
from fix.dialects.versions import Version
from fix.errors import ChildError, FixError
from fix.feed.initiator import EXIT_FAULT, Happened, MarketSession
from fix.feed.subscriptions import Subscriptions
from fix.session.link import Frame, frames, text
from fix.session.main import EXIT_CONFIG, Outbox, die_with_parent, install_signals, lock_store

POLL_S: Final = 0.05
PATIENCE_S: Final = 10.0
_UNTIL_THE_END: "Final[list[Feed]]" = []
"""What the engine's threads still call while the process ends: it must not be freed before."""


def monotonic_us() -> int:
    """Return this machine's monotonic clock, microseconds."""
    return time.monotonic_ns() // 1000


class Feed:
    """The worker: what the session did goes to the subscriptions, their events to the gateway."""

    def __init__(self, profile: Profile, folder: Path, frame: Frame, outbox: Outbox) -> None:
        data = profile.market_data
        symbols, currencies = frame.get("symbols"), frame.get("currencies")
        if (
            not isinstance(data, MarketData)
            or not isinstance(symbols, list)
            or not isinstance(currencies, dict)
        ):
            raise ChildError(problem="the profile has no market data, or no symbols were named")
        self._session = profile.market_session
        self._passed: queue.SimpleQueue[Happened] = queue.SimpleQueue()
        self._wanted = Subscriptions(
            data,
            tuple(str(one) for one in symbols),
            prefix=text(frame, "prefix"),
            before_44=profile.version is Version.FIX_42,
            currencies={str(name): str(one) for name, one in currencies.items()},
        )
        self._line = MarketSession(self._session, folder, self._passed)
        self._outbox = outbox
        self._on = False
        self.stopping = threading.Event()

    def run(self) -> None:
        """Connect and work until `stopping` is set."""
        self._say("CONNECTING", "")
        began_us, warned = monotonic_us(), False
        self._line.start()
        while not self.stopping.is_set():
            self._work()
            late_us = monotonic_us() - began_us - self._session.logon_timeout_s * 1_000_000
            if not self._on and not warned and late_us > 0:
                warned = True
                self._tell_down(f"no logon in {self._session.logon_timeout_s} s")
        self._line.stop()

    def _work(self) -> None:
        try:
            passed = self._passed.get(timeout=POLL_S)
        except queue.Empty:
            passed = None
        now_us = monotonic_us()
        events: list[Frame] = []
        match passed:
            case Happened(what="on"):
                self._on = True
                self._wanted.logged_on(now_us)
                self._say("READY", "")
            case Happened(what="off", text=why) if self._on:
                self._on = False
                self._tell_down(why)
            case Happened(what="message", text=raw):
                events += self._wanted.received(raw, now_us)
            case Happened(what="lost", text=why):
                events += self._wanted.lost(why, now_us)
            case _:
                pass
        for ask in self._wanted.due(now_us):
            if number := self._line.send(ask.fields):
                self._wanted.sent(ask.request_id, number)
        events += self._wanted.unanswered(now_us)
        for event in events:
            self._outbox.post(event)

    def _tell_down(self, why: str) -> None:
        self._say("CONNECTING", why)
        for event in self._wanted.logged_off(why):
            self._outbox.post(event)

    def _say(self, state: str, detail: str) -> None:
        self._outbox.post({"ev": "session", "state": state, "detail": detail})


def _follow(commands: Iterator[Frame], feed: Feed) -> None:
    for frame in commands:
        if frame.get("op") == "stop":
            break
    feed.stopping.set()


def main(arguments: list[str]) -> int:
    """Run the child until it is stopped or its parent is gone; return the exit code."""
    link = socket.socket(fileno=int(arguments[0]))
    if not die_with_parent():
        return 0
    outbox = Outbox(link)
    try:
        commands = frames(link)
        frame = next(commands)
        folder = Path(text(frame, "folder"))
        lock_store(folder, PATIENCE_S)  # released as this process ends
        (folder / "store").mkdir(exist_ok=True)
        feed = Feed(parse_profile(text(frame, "profile")), folder, frame, outbox)
        _UNTIL_THE_END.append(feed)
    except (FixError, OSError, StopIteration) as error:
        sys.stderr.write(f"market data child: {error}\n")
        return EXIT_CONFIG
    install_signals(feed.stopping.set)
    threading.Thread(target=_follow, args=(commands, feed), name="commands", daemon=True).start()
    feed.run()
    outbox.drain(0.5)
    return 0


if __name__ == "__main__":
    code = EXIT_FAULT
    try:
        code = main(sys.argv[1:])
    finally:
        sys.stderr.flush()
        os._exit(code)  # quickfix's threads and destructors get no chance to hang the exit
