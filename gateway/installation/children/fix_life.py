"""One run of the FIX child: its process, pending answers, death.

Not here: when a child is started again, and what is said to it (`fix`).
"""

import contextlib
import logging
import queue
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fix.dialects.profile import Profile
from fix.session.link import Frame, encode
from gateway.installation.children.child import ChildProcess

log = logging.getLogger(__name__)


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
    """

    profile: Profile
    folder: Path
    kill_word: Path
    log_path: Path
    program: tuple[str, ...] = (sys.executable, "-m", "fix.session.main")
    answer_timeout_s: float = 3.0
    backoff_s: tuple[float, float] = (0.2, 10.0)
    foreign: Callable[[], Sequence[str]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildHello:
    """What the child says at its start: next sequence numbers and the journal's live orders."""

    next_sender: int
    next_target: int
    live: tuple[str, ...]
    journal_damaged: bool


class Life(ChildProcess):
    """One FIX child with its pending answers and its death."""

    def __init__(self, config: FixChildConfig) -> None:
        super().__init__(config.program, config.log_path)
        self.pending: dict[int, queue.SimpleQueue[Frame]] = {}
        self.dead = threading.Event()
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
