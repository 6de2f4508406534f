"""The broker simulator: a FIX 4.4 acceptor, started as ``python -m fix.simulator.acceptor``.

It is the paper broker and the tests' broker, and it outlives the gateway: tests compare the
gateway's promises with its capture.

Not here: what happens to an order (`fix.simulator.market`).

Rules:
- Every message is in the capture, fsynced, before it is acted on or leaves.
- Callbacks only capture and queue; one worker acts. A fault in a callback ends the process, because
  a wrong capture is worse than none.
- After a restart the table continues where the capture ends. Orders that were live are gone, and a
  status request for one is answered with unknown order.
"""

import argparse
import heapq
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import quickfix

from fix.dialects.versions import SPEECH, Version
from fix.session.dictionaries import DICTIONARIES
from fix.session.initiator import DICTIONARY
from fix.session.listener import wire_view
from fix.simulator.acts import MARKET_ACTS, SESSION_ACTS, BrokerAct
from fix.simulator.control import (
    DEFAULT_PORT,
    Control,
    SimulatedQuote,
    SimulatorConfig,
    exec_number,
    read_capture,
    read_control,
    read_quotes,
    write_control,
)
from fix.simulator.cut import cut
from fix.simulator.market import SimulatedMarket
from fix.simulator.order import Manner, Reply
from fix.simulator.strictness import strict
from fix.simulator.ticker import Ticker, read_prices
from fix.wire.messages import Fields, parse, timestamp, wire_text

POLL_S = 0.02
LOGGED_OUT_S = 2.0
"""How long no logon is taken after a logout by hand."""
CUT_WITHIN_S = 1.0
"""How long the engine has to notice that its connection is cut."""
EXIT_FAULT = 70
_MSG_TYPE, _RESET_FLAG = 35, 141
_LOGON = "A"
_PRICES = frozenset("WX")
"""Types that are not captured: their number has no bound, and no promise is about them."""
MARKET_DICTIONARY = DICTIONARIES / SPEECH[Version.FIX_44].market


def wall_us() -> int:
    """Return wall clock microseconds."""
    return time.time_ns() // 1000  # noqa: TID251  # a broker has a clock of its own


class CaptureFile:
    """Every message received and sent as a JSON line; a line cut off by a crash is dropped."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.read_bytes() if path.exists() else b""
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self._descriptor, whole.rfind(b"\n") + 1)
        self._lock = threading.Lock()

    def note(self, direction: str, raw: str) -> None:
        """Append one message; durable on return."""
        msg_type = dict(parse(raw)).get(35, "")
        row = {"wall_us": wall_us(), "direction": direction, "msg_type": msg_type, "raw": raw}
        line = json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            os.write(self._descriptor, line)
            os.fdatasync(self._descriptor)


class Acceptor(quickfix.Application):
    """quickfix's callbacks, which only capture and queue."""

    def __init__(
        self, capture: CaptureFile, arrived: "queue.SimpleQueue[str]", market: "Ticker | None"
    ) -> None:
        super().__init__()
        self._market = market
        self._capture = capture
        self._arrived = arrived
        self.begin_anew = False
        """Whether the next logon has 141=Y, on which the engine resets its numbers."""

    def onCreate(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogon(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogout(self, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Queue an empty text, for cancel-on-disconnect; prices end with their session."""
        if self._market is not None and self._market.is_of(session_id.toString()):
            self._market.forget()
        else:
            self._arrived.put("")

    def toAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Capture a session message as it leaves."""
        if self.begin_anew and message.getHeader().getField(_MSG_TYPE) == _LOGON:
            self.begin_anew = False
            message.setField(_RESET_FLAG, "Y")
        self._note("out", message)

    def toApp(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Capture a report as it leaves, also a resent one."""
        if message.getHeader().getField(_MSG_TYPE) not in _PRICES:
            self._note("out", message)

    def fromAdmin(self, message: quickfix.Message, _session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Capture a session message."""
        self._note("in", message)

    def fromApp(self, message: quickfix.Message, session_id: quickfix.SessionID) -> None:  # noqa: N802
        """Capture an application message and queue it."""
        raw = self._note("in", message)
        if self._market is not None and self._market.is_of(session_id.toString()):
            self._market.asked.put(dict(parse(raw)))
        else:
            self._arrived.put(raw)

    def _note(self, direction: str, message: quickfix.Message) -> str:
        try:
            raw = wire_view(message.toString())
            self._capture.note(direction, raw)
        except BaseException as error:  # noqa: BLE001  # see the module's second rule
            sys.stderr.write(f"simulator: {direction}: {error!r}\n")
            sys.stderr.flush()
            os._exit(EXIT_FAULT)
        return raw


class SimulatedBroker:
    """The acceptor and its worker; `run` listens."""

    def __init__(self, config: SimulatorConfig) -> None:
        self._config = config
        config.folder.mkdir(parents=True, exist_ok=True)
        if not config.control.exists() or config.silent:
            write_control(config.control, Control(silent=config.silent))
        self._control = read_control(config.control)
        self._muted = self._control.silent
        self._quotes = read_quotes(config.quotes) if config.quotes else {}
        self._quotes_stamp = self._stamp()
        self._market = self._continued_market()
        self._arrived: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ticker: Ticker | None = None
        if config.market_target:
            planted = read_prices(config.prices) if config.prices else None
            self._ticker = Ticker(config.market_target, config.tick_ms, planted, self._quote)
        self._later: list[tuple[float, str]] = []
        self._acceptor = self._open_acceptor(CaptureFile(config.capture))
        self._id = quickfix.SessionID("FIX.4.4", config.sender, config.target)
        self._market_id = quickfix.SessionID("FIX.4.4", config.sender, config.market_target)
        self._dictionary = quickfix.DataDictionary(str(config.dictionary))
        self._prices = quickfix.DataDictionary(str(MARKET_DICTIONARY))
        self._back_s = 0.0
        self.stopping = threading.Event()

    def run(self) -> None:
        """Listen and work until `stopping` is set; the process must exit next.

        The engine is not stopped: its stop iterates over a set that its thread changes, and
        sometimes never returns.
        """
        self._acceptor.start()
        while not self.stopping.is_set():
            self._send(self._work_once())
            if self._ticker is not None:
                self._tell(self._ticker.step(time.monotonic()))

    def _work_once(self) -> list[Reply]:
        """Wait shortly for a message or a delayed reply; return the replies to send."""
        due_s = self._later[0][0] - time.monotonic() if self._later else POLL_S
        try:
            raw = self._arrived.get(timeout=max(0.0, min(POLL_S, due_s)))
        except queue.Empty:
            raw = None
        answers = self._follow_control()
        if self._back_s and time.monotonic() >= self._back_s:
            self._back_s = 0.0
            quickfix.Session.lookupSession(self._id).logon()  # a logged-out engine refuses logons
        if raw:
            answers += self._market.receive(dict(parse(raw)))
        elif raw == "" and self._config.cancel_on_disconnect:
            answers += self._market.cancel_all()
        while self._later and self._later[0][0] <= time.monotonic():
            answers += self._market.finish(heapq.heappop(self._later)[1])
        return answers

    def _follow_control(self) -> list[Reply]:
        control = read_control(self._config.control)
        if self._config.quotes and self._stamp() != self._quotes_stamp:
            self._quotes_stamp = self._stamp()
            self._quotes = read_quotes(self._config.quotes)
        before, self._control = self._control, control
        if control is before or control == before:
            return []
        if control.silent != before.silent:
            self._muted = control.silent
        if control.resets != before.resets:
            self._begin_anew(flagged=control.reset_flag)
        self._market.cancels, self._market.replaces = (
            Manner(control.cancels),
            Manner(control.replaces),
        )
        self._market.deal(control.deal[len(before.deal) :])
        answers = [] if control.session == before.session else self._market.session_changed()
        for words in control.acts[len(before.acts) :]:
            answers += self._play(BrokerAct(*words))
        return answers

    def _play(self, act: BrokerAct) -> list[Reply]:
        """Do what a test or a person asked for."""
        if act.what in MARKET_ACTS:
            if self._ticker is not None and act.what == "market_drop":
                quickfix.Session.lookupSession(self._market_id).disconnect()
            elif self._ticker is not None:
                self._tell(self._ticker.act(act.what, act.order))
            return []
        if act.what not in SESSION_ACTS:
            return self._market.act(act)
        session = quickfix.Session.lookupSession(self._id)
        match act.what:
            case "disconnect":
                self._cut(session)
            case "logout":
                session.logout()
                self._back_s = time.monotonic() + LOGGED_OUT_S
            case "reset" | "restart":
                self._begin_anew(flagged=act.what == "reset")
            case _:
                self._muted = act.what == "silent"
        return []

    def _begin_anew(self, *, flagged: bool) -> None:
        """End the session; the numbers are reset at the next logon, with 141=Y if `flagged`."""
        session = quickfix.Session.lookupSession(self._id)
        self._application.begin_anew = flagged
        self._cut(session)
        if not flagged:
            until = time.monotonic() + CUT_WITHIN_S
            while session.isLoggedOn() and time.monotonic() < until:
                time.sleep(POLL_S)
            session.reset()

    def _cut(self, session: quickfix.Session) -> None:
        """End the connection; where prices have a session on the same port, only that of orders."""
        if self._ticker is None:
            cut(self._config.port)
        else:
            session.disconnect()

    def _stamp(self) -> int:
        quotes = self._config.quotes
        return quotes.stat().st_mtime_ns if quotes and quotes.exists() else 0

    def _send(self, answers: list[Reply]) -> None:
        for answer in answers:
            if answer.later:
                due = time.monotonic() + self._config.partial_delay_ms / 1000
                heapq.heappush(self._later, (due, dict(answer.fields)[11]))
            elif answer.drop:
                self._cut(quickfix.Session.lookupSession(self._id))
            elif self._muted:
                self._market.hold(answer.fields)
            else:
                fields = (*answer.fields, (60, timestamp(wall_us())))
                message = quickfix.Message(wire_text(fields), self._dictionary, False)  # noqa: FBT003
                quickfix.Session.sendToTarget(message, self._id)

    def _tell(self, messages: list[Fields]) -> None:
        for fields in messages:
            message = quickfix.Message(wire_text(fields), self._prices, False)  # noqa: FBT003
            quickfix.Session.sendToTarget(message, self._market_id)

    def _quote(self, symbol: str) -> SimulatedQuote | None:
        return self._quotes.get((self._control.session, symbol))

    def _continued_market(self) -> SimulatedMarket:
        orders, reports, known, used = 0, 0, set(), self._config.exec_after
        for captured in read_capture(self._config.capture):
            if captured.direction == "in" and captured.msg_type == "D":
                fields = dict(parse(captured.raw))
                orders += 1
                known.add(fields[11])
            if captured.direction == "out" and captured.msg_type == "8":
                reports += 1
                used = max(used, exec_number(dict(parse(captured.raw)).get(17, "")))
        return SimulatedMarket(
            seed=self._config.seed,
            script=self._config.script,
            fee_bp=self._config.fee_bp,
            orders_before=orders,
            reports_before=max(reports, used),
            known=frozenset(known),
            quote=self._quote,
            has_quotes=self._config.quotes is not None,
        )

    def _open_acceptor(self, capture: CaptureFile) -> quickfix.SocketAcceptor:
        folder, config = self._config.folder, self._config
        lines = [
            "[DEFAULT]",
            "ConnectionType=acceptor",
            "NonStopSession=Y",
            f"FileStorePath={folder / 'store'}",
            f"FileLogPath={folder / 'log'}",
            "UseDataDictionary=Y",
            f"DataDictionary={config.dictionary}",
            "TimestampPrecision=6",
            "SocketNodelay=Y",
            "SocketReuseAddress=Y",
            f"SocketAcceptPort={config.port}",
            f"ResetOnLogon={'Y' if config.reset_on_logon else 'N'}",
            "[SESSION]",
            "BeginString=FIX.4.4",
            f"SenderCompID={config.sender}",
            f"TargetCompID={config.target}",
        ]
        if config.market_target:
            lines += [
                "[SESSION]",
                "BeginString=FIX.4.4",
                f"SenderCompID={config.sender}",
                f"TargetCompID={config.market_target}",
                f"DataDictionary={MARKET_DICTIONARY}",
            ]
        for name in ("store", "log"):
            (folder / name).mkdir(exist_ok=True)
        config.dictionary.write_bytes(strict(DICTIONARY.read_bytes()))
        path = folder / "simulator.cfg"
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        self._settings = quickfix.SessionSettings(str(path))
        self._stores = quickfix.FileStoreFactory(self._settings)
        self._logs = quickfix.FileLogFactory(self._settings)
        self._application = Acceptor(capture, self._arrived, self._ticker)
        return quickfix.SocketAcceptor(self._application, self._stores, self._settings, self._logs)


def parse_arguments(words: Sequence[str]) -> SimulatorConfig:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m fix.simulator.acceptor", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="store, log, capture, control")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--sender", default="EMSSIM", help="our CompID")
    parser.add_argument("--target", default="COUNTERSIGN", help="the gateway's CompID")
    parser.add_argument("--seed", default="countersign", help="of the published table")
    parser.add_argument("--quotes", type=Path, help="quotes file; default: trade at the limit")
    parser.add_argument("--fee-bp", type=int, default=1, help="commission, basis points")
    parser.add_argument("--partial-delay-ms", type=int, default=20)
    parser.add_argument("--script", default="", help="first outcomes, separated by commas")
    parser.add_argument("--market-target", default="", help="the gateway's market data CompID")
    parser.add_argument("--prices", type=Path, help="planted prices; default: those of --quotes")
    parser.add_argument("--tick-ms", type=int, default=200)
    parser.add_argument("--exec-after", type=int, default=0, help="last ExecID in use")
    parser.add_argument("--reset-on-logon", action="store_true")
    parser.add_argument("--cancel-on-disconnect", action="store_true")
    parser.add_argument("--silent", action="store_true", help="receive and capture, reply nothing")
    found = vars(parser.parse_args(words))
    found["script"] = tuple(word for word in found["script"].split(",") if word)
    return SimulatorConfig(**found)


def main(words: Sequence[str]) -> int:
    """Run the simulator until SIGTERM or SIGINT."""
    simulator = SimulatedBroker(parse_arguments(words))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: simulator.stopping.set())
    simulator.run()
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # quickfix's threads and destructors get no chance to hang the exit
