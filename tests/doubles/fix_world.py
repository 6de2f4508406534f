"""A broker and a desk for tests: the real simulator, the real child, real TCP."""

import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fix.dialects.profile import Profile, simulator_profile
from fix.durable.kill_word import KillWord
from fix.session.link import Frame, HandResult, SessionState
from fix.simulator.control import Captured, SimulatorConfig, read_capture
from fix.wire.messages import Fields, new_order, parse
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import FixChildConfig
from risk.approved import ApprovedOrder, approve
from risk.evaluate import evaluate
from tests.doubles.risk_cases import PLAYBACK, intent_with, state_with

ROOT = Path(__file__).resolve().parents[2]
LATE_US = 60_000_000
PROFILE = simulator_profile(9878)


def wall_us() -> int:
    return time.time_ns() // 1000  # noqa: TID251 - a test's own clock


def leaf(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def approved(name: str = "order", **changes: Any) -> ApprovedOrder:  # noqa: ANN401 - any field
    """A real approval of a real verdict; `name` stands for the approving record."""
    intent = intent_with(**changes)
    verdict = evaluate(PLAYBACK, state_with(), intent)
    return approve(intent, verdict, leaf(name), wall_us() + LATE_US, 3)


def order_fields(name: str = "order", profile: Profile = PROFILE, **changes: Any) -> Fields:  # noqa: ANN401
    return new_order(
        approved(name, **changes), profile=profile, tick_minor=1, lot=1, transact_time_us=wall_us()
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], object], timeout_s: float = 40.0) -> bool:
    """Wait until something holds; False when it never did."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


class Broker:
    """The simulator as a process of its own, with its capture."""

    def __init__(self, folder: Path, **settings: Any) -> None:  # noqa: ANN401 - simulator settings
        self.config = SimulatorConfig(folder=folder, port=free_port(), **settings)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def profile(self) -> Profile:
        return simulator_profile(self.config.port)

    def start(self) -> None:
        self.process = subprocess.Popen(self.config.command(), cwd=ROOT, start_new_session=True)
        assert until(self._listens, 60.0), "the simulator does not listen"

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def captured(self, msg_type: str = "", direction: str = "in") -> list[Captured]:
        return [
            one
            for one in read_capture(self.config.capture)
            if one.direction == direction and (not msg_type or one.msg_type == msg_type)
        ]

    def fields(self, msg_type: str, direction: str = "in") -> list[dict[int, str]]:
        return [dict(parse(one.raw)) for one in self.captured(msg_type, direction)]

    def order_ids(self) -> list[str]:
        """ClOrdID of every order that ever arrived, in order, with repeats."""
        return [fields[11] for fields in self.fields("D")]

    def forget_received(self, messages: int) -> None:
        """Make a stopped broker believe that it has not seen our last messages."""
        (path,) = (self.config.folder / "store").glob("*.seqnums")
        sender, target = (int(part) for part in path.read_text().split(":"))
        path.write_text(f"{sender:020d} : {target - messages:020d}")

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(0.2)
            return probe.connect_ex(("127.0.0.1", self.config.port)) == 0


class Desk:
    """The gateway's half: kill word, supervised child, and what it said."""

    def __init__(
        self, folder: Path, profile: Profile, mutation: str = "", answer_timeout_s: float = 20.0
    ) -> None:
        self.folder = folder
        self.word = KillWord(folder / "kill.word", create=True)
        self.events: list[tuple[str, Frame]] = []
        self.profile = profile
        self.child = FixChild(
            FixChildConfig(
                profile=profile,
                folder=folder / "fix",
                kill_word=folder / "kill.word",
                log_path=folder / "fix.log",
                program=program(mutation),
                answer_timeout_s=answer_timeout_s,
            ),
            lambda name, frame: self.events.append((name, frame)),
        )

    def open(self) -> None:
        """Start, log on, reconcile nothing: ready for orders."""
        self.child.start()
        self.child.logon(min_next_sender=1)
        self.ready()

    def ready(self) -> None:
        assert self.child.wait_for(SessionState.RECONCILING, 60.0), self.log()
        assert self.child.set_reconciled(self.child.logon_no)

    def hand(self, fields: Fields, *, kill_epoch: int = 0, late_us: int = LATE_US) -> HandResult:
        until_us = time.monotonic_ns() // 1000 + late_us
        return self.child.hand(dict(fields)[11], fields, kill_epoch, wall_us() + late_us, until_us)

    def said(self, name: str) -> list[Frame]:
        return [frame for event, frame in list(self.events) if event == name]

    def sweeps(self, phase: str = "ended") -> list[Frame]:
        return [frame for frame in self.said("sweep") if frame["phase"] == phase]

    def reports(self, cl_ord_id: str) -> list[dict[int, str]]:
        """Inbound messages about one order, by ClOrdID or OrigClOrdID, from the inbox."""
        found = [dict(parse(entry.raw)) for entry in self.child.inbox_since(0)]
        return [one for one in found if cl_ord_id in {one.get(11), one.get(41)}]

    def statuses(self, cl_ord_id: str) -> list[str]:
        return [one.get(39, "") for one in self.reports(cl_ord_id)]

    def log(self) -> str:
        path = self.folder / "fix.log"
        return path.read_text() if path.exists() else ""


def program(mutation: str) -> tuple[str, ...]:
    """The child's command line; a mutation is a child that is wrong on purpose."""
    if not mutation:
        return (sys.executable, "-m", "fix.session.main")
    return (sys.executable, "-m", "tests.doubles.fix_mutants", mutation)


@contextlib.contextmanager
def broker_at(folder: Path, **settings: Any) -> Iterator[Broker]:  # noqa: ANN401 - simulator settings
    broker = Broker(folder / "ems", **settings)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


@contextlib.contextmanager
def desk_at(
    folder: Path, profile: Profile, mutation: str = "", answer_timeout_s: float = 20.0
) -> Iterator[Desk]:
    desk = Desk(folder, profile, mutation, answer_timeout_s)
    try:
        yield desk
    finally:
        desk.child.stop(sweep=False)
        desk.word.close()


def quotes_above(folder: Path) -> Path:
    """Quotes at which the usual order does not trade in session 0 and does in session 1."""
    path = folder / "quotes.jsonl"
    path.write_text(
        quote_line(session=0, instrument="SPXN", market_time_us=1, bid="299.90", ask="300.00")
        + quote_line(session=1, instrument="SPXN", market_time_us=2, bid="259.90", ask="260.00")
    )
    return path


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def hang(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def quick(profile: Profile, sweep_timeout_s: int) -> Profile:
    """The profile with less patience."""
    return replace_pace(profile, sweep_timeout_s=sweep_timeout_s)


def replace_pace(profile: Profile, **changes: int) -> Profile:
    return profile.model_copy(update={"pace": profile.pace.model_copy(update=changes)})


def quote_line(*, session: int, instrument: str, market_time_us: int, bid: str, ask: str) -> str:
    """Return one line of the quotes file, newline included."""
    document = {
        "session": session,
        "instrument": instrument,
        "market_time_us": market_time_us,
        "bid": bid,
        "ask": ask,
    }
    return json.dumps(document, separators=(",", ":")) + "\n"
