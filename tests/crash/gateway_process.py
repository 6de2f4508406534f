"""A gateway in a process of its own, forked from a server that has its modules loaded.

It serves the folder that `init` made (`gateway_desk`). All but the model's arithmetic is the
product: PostgreSQL, ledger, FIX child, rules, feeds, HTTP; the engine's answers are captures drawn
from the shipped pair's own rows (`table_engine`), and a `whole` start has the model's child too.
Its broker is outside, behind the campaign's line. Over a pipe it does a few things for the
campaign: `Ask` names them.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fix.session.link import SessionState
from gateway.feeds.live.board import FedMarket
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import PREFIX, load
from gateway.launch.app import App, running
from gateway.launch.plan import Plan, serving_plan
from gateway.walk import failpoints
from tests.crash import gateway_mutants
from tests.crash.gateway_desk import PATHS

ACCOUNT = "desk"
ENGINE_WITHIN_S = 1200.0
"""Longer than the campaign waits for the start, which says so in its own words."""
ENGINE = (sys.executable, "-m", "tests.doubles.table_engine")

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload([__name__])


class Ask(StrEnum):
    """What the campaign may ask of the process."""

    ARM = "arm"  # a failpoint
    STANDING = "standing"  # how the desk stands
    PIDS = "pids"  # of the gateway and its children
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a gateway is started."""

    folder: Path
    api_port: int
    mutant: str
    said: Path
    whole: bool = False


class Gateway:
    """A forked gateway, seen from the campaign."""

    def __init__(self, start: Start, within_s: float, patience: float = 1.0) -> None:
        """Start it and wait until it serves; everything may take `patience` times as long.

        Raises:
            RuntimeError: it did not start in time, or died.
        """
        self._pipe, theirs = _server.Pipe()
        self._asking, self._patience = threading.Lock(), patience
        self._process = _server.Process(target=_be, args=(start, theirs))
        self._process.start()
        theirs.close()
        self._said = start.said
        try:
            first = self._heard(within_s)
        except EOFError:
            first = None
        if not isinstance(first, dict):
            self.kill()
            raise RuntimeError(  # noqa: TRY004 - no mistake of a caller
                f"the gateway did not start: {first}; {self.said()}"
            )
        self.address = str(first["address"])

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it lives."""
        return self._process.is_alive()

    def ask(self, what: Ask, word: str = "", within_s: float = 30.0) -> Any:  # noqa: ANN401
        """Ask and return the answer; None if it died instead.

        Raises:
            RuntimeError: it lives and does not answer in time, or the asking failed there.
        """
        try:
            with self._asking:  # callers and faults ask at once: an answer belongs to its question
                self._pipe.send((what.value, word))
                answer = self._heard(within_s)
        except (OSError, EOFError):
            return None
        if isinstance(answer, str):
            raise RuntimeError(  # noqa: TRY004 - no mistake of a caller
                f"{what} failed in the gateway: {answer}"
            )
        return answer

    def kill(self) -> None:
        """SIGKILL; its children end with it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._process.join()

    def end(self, within_s: float = 60.0) -> int | None:
        """End it as a person would and return its exit code; None if it had to be killed."""
        with contextlib.suppress(OSError):
            self._pipe.send((Ask.END.value, ""))
        self._process.join(within_s)
        if self._process.is_alive():
            self.kill()
            return None
        return self._process.exitcode

    def said(self) -> str:
        """Return the end of what it wrote."""
        return self._said.read_text(errors="replace")[-300:] if self._said.exists() else ""

    def _heard(self, within_s: float) -> Any:  # noqa: ANN401
        within_s *= self._patience
        if not self._pipe.poll(within_s):
            raise RuntimeError(f"the gateway is silent for {within_s:g} s; {self.said()}")
        return self._pipe.recv()


def plan_of(start: Start) -> Plan:
    """Return the plan of `serve` in the installation's folder, which becomes the present one."""
    os.chdir(start.folder)
    for name in [one for one in os.environ if one.startswith(PREFIX)]:
        del os.environ[name]  # what tests set: the first pair, the first policy
    os.environ["COUNTERSIGN_API__PORT"] = str(start.api_port)
    if start.whole:  # the number of paths too is what ships
        return serving_plan(load())
    os.environ["COUNTERSIGN_ENGINE__PATHS"] = str(PATHS)
    return replace(serving_plan(load()), engine_program=ENGINE)


def _be(start: Start, pipe: Connection) -> None:
    """Be the gateway; runs in the forked process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign ends it
    file = os.open(start.said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    try:
        gateway_mutants.apply(start.mutant)
        with running(plan_of(start), _say) as app, app.housekeeping.in_background():
            wait_for(lambda: app.engine.wait_ready(0.1), ENGINE_WITHIN_S, part="engine")
            _serve(app, pipe)
    except BaseException:  # noqa: BLE001 - said, and the process ends
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(70)
    sys.stdout.flush()
    os._exit(0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _serve(app: App, pipe: Connection) -> None:
    """Answer the campaign until it says end, or ends."""
    pipe.send({"address": app.server.address})
    while True:
        try:
            what, word = pipe.recv()
        except EOFError:
            return
        if what == Ask.END:
            return
        try:
            pipe.send(_ANSWERS[Ask(what)](app, word))
        except Exception:  # noqa: BLE001 - told to the campaign
            pipe.send(traceback.format_exc()[-300:])


def _arm(_app: App, word: str) -> dict[str, Any]:
    failpoints.arm(word or None)
    return {}


def _pids(app: App, _word: str) -> dict[str, Any]:
    return {"gateway": os.getpid(), "fix": app.fix.pid, "engine": app.engine.pid}


def _standing(app: App, _word: str) -> dict[str, Any]:
    """Return what must hold still before a round is judged, and the book."""
    section = app.desk.own.section
    books = [section.book(account) for account in sorted(section.accounts)]
    parts = {name: state for name, state in app.desk.parts().items() if state != "ready"}
    symbols, market = app.plan.instruments, app.market
    assert isinstance(market, FedMarket)
    return {
        "ready": app.fix.state is SessionState.READY and app.settler.ready,
        "fix": f"{app.fix.state} {app.fix.refused}".strip(),
        "parts": parts,
        "forecast": [symbol for symbol in symbols if section.forecasts.stands(symbol)],
        "quoted": [symbol for symbol in symbols if market.fresh_middle(symbol)],
        "in_doubt": [one.cl_ord_id for one in app.orders.in_doubt()],
        "live": [one.cl_ord_id for one in app.orders.live()],
        "held": [one.decision_id for one in app.orders.held()],
        "lots": {symbol: sum(book.lots(symbol) for book in books) for symbol in symbols},
        "booked": {
            one.cl_ord_id: one.filled_lots + section.differences.adjusted_of(one.cl_ord_id)
            for one in app.orders.placed()
        },
        "differences": [one.document() for one in section.differences.open()],
        "reserved": [one.decision_id for book in books for one in book.reservations],
        "engine": app.engine.state.name,
        "killed": app.desk.kill_switch.state[1],
        "session": [app.fix.pid, app.fix.logon_no],
    }


_ANSWERS: dict[Ask, Callable[[App, str], dict[str, Any]]] = {
    Ask.ARM: _arm,
    Ask.PIDS: _pids,
    Ask.STANDING: _standing,
}
