"""One run of the FIX child: its process, pending answers, death.

Not here: when a child is started again, and what is said to it (`fix`).
"""

import contextlib
import itertools
import logging
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fix.dialects.profile import Profile
from fix.durable.journal import read_live
from fix.durable.kill_word import KillWord
from fix.errors import FixError
from fix.session.link import PREPARED_MAX, Frame, Json, encode, number
from fix.wire.messages import Fields
from gateway.installation.children.child import ChildProcess

log = logging.getLogger(__name__)
DOWN: Frame = {"result": "refused", "reason": "the FIX child is down"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixChildConfig:
    """Configuration of the child.

    Attributes:
        folder: session folder: store, log, inbox, journal.
        kill_word: the mapped kill word; must exist.
        log_path: of the child's stderr.
        program: command line of the child, before the pipe's descriptor.
        answer_timeout_s: after this a hand or pass is ``unknown``.
        backoff_s: first and longest pause before a restart.
        foreign: returns the orders that work at the broker and are not ours, by name.
        announced: returns the fields of our orders on record that may work, oldest first.
    """

    profile: Profile
    folder: Path
    kill_word: Path
    log_path: Path
    program: tuple[str, ...] = (sys.executable, "-m", "fix.session.main")
    answer_timeout_s: float = 3.0
    backoff_s: tuple[float, float] = (0.2, 10.0)
    foreign: Callable[[], Sequence[str]] = tuple
    announced: Callable[[], Sequence[Fields]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildHello:
    """What the child says at its start: next sequence numbers and the journal's live orders."""

    next_sender: int
    next_target: int
    live: tuple[str, ...]
    journal_damaged: bool

    @classmethod
    def of(cls, frame: Frame) -> Self:
        """Read a hello.

        Raises:
            ChildError: a field is of another type.
        """
        live = frame.get("live")
        return cls(
            next_sender=number(frame, "next_sender"),
            next_target=number(frame, "next_target"),
            live=tuple(str(one) for one in live) if isinstance(live, list) else (),
            journal_damaged=frame.get("damaged") is True,
        )


def is_kept(config: FixChildConfig) -> bool:
    """Return whether a kill is in force and an order is live, by the files of a session."""
    with contextlib.suppress(FixError):
        word = KillWord(config.kill_word)
        try:
            return word.read().killed and bool(read_live(config.folder / "journal"))
        finally:
            word.close()
    return False


class Life(ChildProcess):
    """One FIX child with its pending answers and its death."""

    def __init__(self, config: FixChildConfig) -> None:
        super().__init__(config.program, config.log_path)
        self.pending: dict[int, queue.SimpleQueue[Frame]] = {}
        self.prepared: dict[str, Fields] = {}
        self.dead = threading.Event()
        self._numbers = itertools.count(1)
        self._left_alone = False

    def say(self, frame: Frame, timeout_s: float) -> None:
        """Write one frame; kill a child that does not read. Errors reach the caller by `bury`."""
        try:
            self.write(encode(frame), timeout_s)
        except BlockingIOError:
            log.exception("the FIX child reads nothing: killed")
            self.process.kill()
        except OSError:
            pass  # it is dead, or another frame is stuck, whose writer kills it

    def ask(self, frame: Frame, timeout_s: float) -> Callable[[], Frame]:
        """Give a command; return what waits for its answer, ``unknown`` if none comes in time."""
        if self.dead.is_set():
            return lambda: DOWN
        n = next(self._numbers)
        waiting: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self.pending[n] = waiting
        end = time.monotonic() + timeout_s
        if self.dead.is_set():
            waiting.put(DOWN)
        else:
            self.say(frame | {"n": n}, timeout_s)

        def wait() -> Frame:
            try:
                return waiting.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return {"result": "unknown", "reason": f"no answer in {timeout_s:g} s"}
            finally:
                self.pending.pop(n, None)

        return wait

    def prepare(self, cl_ord_id: str, fields: Fields, timeout_s: float) -> None:
        """Let the child build an order; the oldest one that nobody handed out is forgotten."""
        if self.dead.is_set():
            return
        while len(self.prepared) >= PREPARED_MAX:
            self.prepared.pop(next(iter(self.prepared)), None)
        self.prepared[cl_ord_id] = fields
        pairs: list[Json] = [[tag, value] for tag, value in fields]
        self.say({"op": "prepare", "cl_ord_id": cl_ord_id, "fields": pairs}, timeout_s)

    def leave_alone(self) -> None:
        """Let the child live on: it ends by itself once its cancels are answered."""
        self._left_alone = True
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)
        threading.Thread(target=self.process.wait, name="last FIX child", daemon=True).start()

    def slay(self) -> None:
        """Kill the child and wait for its end, unless it was left alone."""
        if self._left_alone:
            return
        self.process.kill()
        self.process.wait()

    def bury(self) -> None:
        """Answer ``unknown`` to all who wait, and close the pipe."""
        self.slay()
        self.dead.set()
        for waiting in list(self.pending.values()):
            waiting.put({"result": "unknown", "reason": "the FIX child died"})
        self.link.close()
