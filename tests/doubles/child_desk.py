"""The FIX child's desk without an engine: real journal, inbox, kill word, gate; a session by hand.

The session asks the gate as the engine does in `toApp`, and notes what leaves. One thread of its
own runs the desk, as in the child; `ask` and `settle` return when it has done its turn.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from fix.dialects.profile import Profile
from fix.durable.inbox import Entry, Inbox
from fix.durable.journal import Journal
from fix.durable.kill_word import KillWord
from fix.durable.resets import Reset
from fix.session.guard import Gate, Refusal
from fix.session.initiator import InitiatorSession
from fix.session.link import Frame
from fix.session.listener import Sent
from fix.session.sweep_worker import Parts
from fix.session.worker import SessionWorker
from fix.wire.messages import Fields, parse, wire_text
from tests.doubles.fix_world import PROFILE

PATIENCE_S = 10.0
NOW_US = 50_000_000
EPOCH = 3
Numbers = tuple[int, int]


@dataclass
class Numbering:
    """What the desk asks of `fix.durable.resets.Sequence`."""

    epoch: int = EPOCH
    accept_once: bool = False
    last_refused: Reset | None = None
    on: Reset | None = None

    def goes_on(self) -> Reset | None:
        return self.on


@dataclass
class Session:
    """A session that is up, unless told otherwise."""

    gate: Gate
    before_send: Callable[[Mapping[int, str]], None] = lambda _fields: None
    is_logged_on: bool = True
    is_started: bool = True
    resent_us: int = 0
    next_numbers: Numbers = (7, 4)
    free: bool = True
    refuses: Refusal | None = None
    sequence: Numbering = field(default_factory=Numbering)
    sent: list[dict[int, str]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)
    probes: list[str] = field(default_factory=list)
    hurries: list[bool] = field(default_factory=list)
    first_number: int = 7

    def prepare(self, fields: Fields) -> None:
        self.ready.append(dict(fields)[11])

    def send(self, fields: Fields) -> Sent | Refusal:
        self.before_send(dict(fields))
        refusal = self.refuses or self.gate.judge(dict(fields), logged_on=self.is_logged_on)
        if refusal is not None:
            return refusal
        self.sent.append(dict(fields))
        number = self.first_number + len(self.sent) - 1
        return Sent(msg_seq_num=number, raw=wire_text(fields), epoch=self.sequence.epoch)

    def types(self) -> list[str]:
        return [one[35] for one in self.sent]

    def probe(self, test_req_id: str) -> None:
        self.probes.append(test_req_id)

    def redial(self, now_us: int, *, hurry: bool) -> None:
        assert now_us >= NOW_US
        self.hurries.append(hurry)

    def numbers(self) -> Numbers:
        return self.next_numbers

    def raise_sender(self, number: int) -> None:
        self.done.append(f"raise {number}")

    def expect_from_first(self) -> None:
        self.done.append("expect from first")

    def start(self) -> None:
        self.is_started = True
        self.done.append("start")

    def stop(self) -> None:
        self.is_logged_on = False
        self.done.append("stop")

    def nothing_in_flight(self, timeout_s: float) -> bool:
        assert 0 < timeout_s < 1
        return self.free


class ChildDesk:
    """One desk, its parts, and what it told the gateway."""

    def __init__(
        self, folder: Path, profile: Profile = PROFILE, *, reconciled: bool = True
    ) -> None:
        self.folder = folder
        self.now_us = NOW_US
        self.wall_us = 2 * NOW_US
        self.word = KillWord(folder / "kill.word", create=True)
        self.journal = Journal(folder / "journal")
        self.inbox = Inbox(folder / "inbox")
        self.gate = Gate(self.word.read, lambda: self.wall_us, lambda: self.now_us)
        self.session = Session(self.gate)
        self.told: list[Frame] = []
        self._said: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self._numbers = 0
        self.desk = SessionWorker(
            Parts(
                profile=profile,
                session=cast("InitiatorSession", self.session),
                gate=self.gate,
                journal=self.journal,
                inbox=self.inbox,
                word=self.word,
                post=self._post,
                monotonic_us=lambda: self.now_us,
                wall_us=lambda: self.wall_us,
            )
        )
        self.thread = threading.Thread(target=self.desk.run, daemon=True)
        if reconciled:
            assert self.gate.reconciled(self.gate.begin_logon())

    def _post(self, frame: Frame) -> None:
        self.told.append(frame)
        if frame["ev"] == "answer":
            self._said.put(frame)

    def ask(self, op: str, **rest: object) -> Frame:
        """Give a command and return its answer."""
        self._numbers += 1
        self.desk.command(cast("Frame", {"op": op, "n": self._numbers, **rest}))
        answer = self._said.get(timeout=PATIENCE_S)
        assert answer["n"] == self._numbers
        return answer

    def settle(self) -> None:
        """Wait until everything queued, and the sweep's step after it, is done."""
        for _ in range(2):  # the first one's answer comes before the step of its turn
            assert self.ask("nothing")["reason"] == "unknown command nothing"

    def prepare(self, name: str = "ORDER") -> None:
        """Let the desk build an order that nobody may have announced yet."""
        pairs = [list(pair) for pair in order(name)]
        frame = {"op": "prepare", "cl_ord_id": name, "fields": pairs}
        self.desk.command(cast("Frame", frame))

    def go(self, name: str = "ORDER", **changes: object) -> Frame:
        """Hand out an order that was prepared."""
        return self.ask("go", **self._ticket(name) | changes)

    def hand(self, name: str = "ORDER", **changes: object) -> Frame:
        pairs = [list(pair) for pair in order(name)]
        return self.ask("hand", **self._ticket(name) | {"fields": pairs} | changes)

    def _ticket(self, name: str) -> dict[str, object]:
        return {
            "cl_ord_id": name,
            "kill_epoch": self.word.read().kill_epoch,
            "send_before_us": self.wall_us + 1,
            "send_until_us": self.now_us + 1,
        }

    def hears(self, *fields: tuple[int, str]) -> Entry:
        """Have the broker say something, as the engine's thread hands it in."""
        entry = self.inbox.append(wire_text(fields))
        self.desk.received(entry)
        self.settle()
        return entry

    def live(self) -> list[str]:
        return [one.cl_ord_id for one in self.journal.live()]

    def said(self, event: str) -> list[Frame]:
        return [one for one in self.told if one["ev"] == event]

    def ends(self) -> bool:
        """Whether the desk's thread ends within the bound."""
        self.thread.join(PATIENCE_S)
        return not self.thread.is_alive()


def order(name: str = "ORDER", qty: str = "5") -> Fields:
    return ((35, "D"), (11, name), (1, "ACC"), (55, "SPXN"), (54, "1"), (38, qty), (44, "10"))


def report(name: str, exec_type: str, status: str, **changes: str) -> Fields:
    """An ExecutionReport about an order; changes by ``t`` and tag."""
    fields = {35: "8", 34: "9", 37: "E1", 11: name, 17: f"X{exec_type}{status}", 150: exec_type}
    fields |= {39: status, 55: "SPXN", 54: "1", 38: "5", 151: "0", 14: "0"}
    fields |= {int(tag[1:]): value for tag, value in changes.items()}
    return tuple(fields.items())


def read_fields(frame: Frame) -> dict[int, str]:
    return dict(parse(str(frame["raw"])))


@contextmanager
def child_desk(
    folder: Path, profile: Profile = PROFILE, *, reconciled: bool = True
) -> Iterator[ChildDesk]:
    """Yield a desk that works; it ends with the test."""
    world = ChildDesk(folder, profile, reconciled=reconciled)
    world.thread.start()
    try:
        yield world
    finally:
        world.desk.command({"op": "stop", "n": 0, "sweep": False})
        world.thread.join(PATIENCE_S)
        world.journal.close()
        world.inbox.close()
        world.word.close()
