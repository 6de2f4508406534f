"""A FIX child in this process: it hears each frame of its supervisor and answers as it is told."""

import contextlib
import itertools
import queue
import socket
import threading
from pathlib import Path
from typing import Any

from typing_extensions import override

from fix.build import identity
from fix.dialects.profile import simulator_profile
from fix.durable.kill_word import KillWord
from fix.session.dictionaries import words_of
from fix.session.link import Frame, SessionState, encode, frames
from fix.wire.messages import Fields
from gateway.installation.children.fix import FixChild
from gateway.installation.children.fix_life import ChildHello, FixChildConfig, Life

BOUND_S = 30.0
PROFILE = simulator_profile(1)


class Process:
    """What the supervisor sees of a process: it ends when it is killed or waited for."""

    def __init__(self, link: socket.socket) -> None:
        """Run."""
        self.pid, self.returncode = 4_711, None
        self.killed = threading.Event()
        self._link = link

    def kill(self) -> None:
        """End it."""
        self.killed.set()
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def wait(self, timeout: float | None = None) -> int:  # noqa: ARG002 - it ends at once
        """End it."""
        self.kill()
        return 0

    def poll(self) -> int | None:
        """Say whether it has ended."""
        return 0 if self.killed.is_set() else None


class Child:
    """A child in this process: it hears every frame, and answers what the test wants."""

    def __init__(self, link: socket.socket, process: Process) -> None:
        """Listen."""
        self.link, self.process = link, process
        self.heard: list[dict[str, Any]] = []
        self.known = threading.Condition()
        self.answers: dict[str, Frame | None] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def say(self, **frame: Any) -> None:  # noqa: ANN401 - any frame
        """Say one frame."""
        self.link.sendall(encode(frame))

    def hello(self, **more: Any) -> None:  # noqa: ANN401 - as above
        """Say what its store holds."""
        told: Frame = {"ev": "hello", "next_sender": 5, "next_target": 7, "live": ["A", "B"]}
        own: Frame = dict(identity(PROFILE, words_of(PROFILE)))  # this process's: it is the child
        self.say(**{**told, "damaged": False, **own, **more})

    def session(self, state: SessionState, logon_no: int = 1, detail: str = "") -> None:
        """Say the state of the session."""
        self.say(ev="session", state=state.value, logon_no=logon_no, detail=detail)

    def told(self, op: str, count: int = 1) -> list[dict[str, Any]]:
        """Return the frames of a sort, once there are so many."""
        with self.known:
            assert self.known.wait_for(lambda: len(self._of(op)) >= count, BOUND_S), self.heard
            return self._of(op)

    def die(self) -> None:
        """End, as a process ends."""
        self.link.shutdown(socket.SHUT_RDWR)

    def _of(self, op: str) -> list[dict[str, Any]]:
        return [one for one in self.heard if one["op"] == op]

    def _listen(self) -> None:
        with self.link, contextlib.suppress(OSError):  # it is dead
            self._hear()

    def _hear(self) -> None:
        for frame in frames(self.link):
            answer = self.answers.get(str(frame["op"]), {"result": "ok"})
            with self.known:
                self.heard.append(dict(frame))
                self.known.notify_all()
            if answer is not None and frame.get("n", 0):
                self.say(ev="answer", n=frame["n"], **answer)


class World:
    """A supervisor whose children live in this process."""

    def __init__(
        self,
        folder: Path,
        answer_timeout_s: float = BOUND_S,
        backoff_s: tuple[float, float] = (0.0, 0.01),
    ) -> None:
        """Make a supervisor; nothing runs yet."""
        KillWord(folder / "kill.word", create=True).close()
        self.config = FixChildConfig(
            profile=PROFILE,
            folder=folder,
            kill_word=folder / "kill.word",
            log_path=folder / "child.log",
            answer_timeout_s=answer_timeout_s,
            backoff_s=backoff_s,
        )
        self.born: queue.Queue[Child] = queue.Queue()
        self.events: list[tuple[str, Frame]] = []
        self.hello: ChildHello | None = None
        self.fix = FixChild(self.config, lambda name, event: self.events.append((name, event)))

    def life(self) -> type[Life]:
        """Return what the supervisor is to make in place of a process."""
        world = self

        class InThisProcess(Life):
            """A life without a process."""

            @override
            def __init__(self, config: FixChildConfig) -> None:
                """Be at the other end of a socket."""
                assert config is world.config
                self.pending: dict[int, queue.SimpleQueue[Frame]] = {}
                self.prepared: dict[str, Fields] = {}
                self.dead = threading.Event()
                self._numbers = itertools.count(1)
                self._left_alone = False
                self.lock = threading.Lock()
                self.link, theirs = socket.socketpair()
                self.process = Process(theirs)  # type: ignore[assignment]
                world.born.put(Child(theirs, self.process))  # type: ignore[arg-type]

        return InThisProcess

    def child(self) -> Child:
        """Return the next child that is made."""
        return self.born.get(timeout=BOUND_S)

    def start(self, **hello: Any) -> Child:  # noqa: ANN401 - as above
        """Start, with a child that says hello."""
        found: list[Child] = []

        def greets() -> None:
            found.append(self.child())
            found[0].hello(**hello)

        greeting = threading.Thread(target=greets)
        greeting.start()
        self.hello = self.fix.start(BOUND_S)
        greeting.join()
        return found[0]
