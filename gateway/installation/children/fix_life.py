"""One life of the FIX child: its process, the pipe to it, who waits for an answer, its death.

Not here: when a child is started again, and what is said to it (`fix`).
"""

import contextlib
import logging
import queue
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from fix.dialects.profile import Profile
from fix.session.link import Frame, encode
from gateway.installation.children.child import ChildProcess

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixChildConfig:
    """What the supervisor needs to know.

    Attributes:
        folder: session folder: store, log, inbox, journal.
        kill_word: the mapped kill word; must exist.
        log_path: the child's stderr.
        program: command line of the child, before the pipe's descriptor.
        answer_timeout_s: after this a hand or pass is ``unknown``.
        backoff_s: first and last pause before a restart.
    """

    profile: Profile
    folder: Path
    kill_word: Path
    log_path: Path
    program: tuple[str, ...] = (sys.executable, "-m", "fix.session.main")
    answer_timeout_s: float = 3.0
    backoff_s: tuple[float, float] = (0.2, 10.0)


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
        """Write one frame; a child that does not take it in time is killed or left unasked."""
        try:
            self.write(encode(frame), timeout_s)
        except BlockingIOError:
            log.exception("the FIX child reads nothing: killed")
            self.process.kill()
        except OSError:
            pass  # dead: `bury` answers all who wait; or another frame is stuck: its writer kills

    def leave_alone(self) -> None:
        """Let it live on without us: it has cancels to send, and ends when they are answered."""
        self._left_alone = True
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)
        threading.Thread(target=self.process.wait, name="last FIX child", daemon=True).start()

    def slay(self) -> None:
        """Make sure that it is dead; nothing it held back can leave any more."""
        if self._left_alone:
            return
        self.process.kill()
        self.process.wait()

    def bury(self) -> None:
        """After its death: let everybody who waits for an answer know, and close the pipe."""
        self.slay()
        self.dead.set()
        for waiting in list(self.pending.values()):
            waiting.put({"result": "unknown", "reason": "the FIX child died"})
        self.link.close()
