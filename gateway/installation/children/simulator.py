"""The paper counterparty as a process: started here, or adopted after it outlived a gateway.

Rules:

- There is one simulator per folder: it inherits a lock, which lasts as long as it lives.
- Only a process that is proven ours is adopted, stopped or traded with (`own_process`): the
  listening socket must be its own. `stranger` is asked at every logon; another process on the port
  gets no order.

Not here: what it does with an order (`fix.simulator.acceptor`).
"""

import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fix.simulator.control import SimulatorConfig, set_session
from gateway.clock import pause
from gateway.errors import NotReadyError
from gateway.installation.children.own_process import (
    PortListener,
    Started,
    is_running,
    listener,
    started,
)

START_WITHIN_S = 20.0
ADOPT_WITHIN_S = 5.0
END_WITHIN_S = 5.0
LOCK_WITHIN_S = 2.0
PORTS_TRIED = 5
"""How many free ports to try when other processes take them first."""


class Simulator:
    """The simulator of one state folder."""

    def __init__(self, config: SimulatorConfig, log: Path) -> None:
        self._config = config
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._running: Started | None = None

    @property
    def port(self) -> int:
        """The TCP port it accepts FIX on."""
        return self._config.port

    def start(self) -> bool:
        """Start it, or adopt the one that still runs in this folder; return whether it was adopted.

        Raises:
            NotReadyError: it does not accept connections in time, the given port is another
                process's, or an unknown process works in its folder.
        """
        folder = self._config.folder
        folder.mkdir(parents=True, exist_ok=True)
        if self._adopt():
            return True
        lock = self._lock(folder)
        try:
            for tried in range(1, PORTS_TRIED + 1):
                try:
                    self._start_at(self._config.port or free_port(), lock)
                    break
                except _PortTakenError:
                    if self._config.port or tried == PORTS_TRIED:
                        raise
        finally:
            os.close(lock)  # the simulator has its own
        return False

    def stranger(self) -> str:
        """Return why the port's listener is not this simulator; "" if it is."""
        if self._running is None or not self._is_ours(self._running):
            return f"the simulator that was started here has ended; port {self.port} is not its own"
        if listener(self._running, self.port) is not PortListener.ITSELF:
            return f"port {self.port} is not held by the simulator alone"
        return ""

    def set_session(self, session: int) -> None:
        """Tell it which session of its quotes is current."""
        set_session(self._config.control, session)

    def stop(self) -> None:
        """End it."""
        found = self._noted()
        if found is not None:
            os.kill(found[0].pid, signal.SIGTERM)
        if found is not None and self._process is None:  # adopted, so not our child
            running = found[0]
            with suppress(NotReadyError):
                wait_for(lambda: started(running.pid) != running, END_WITHIN_S, part="simulator")
            if self._is_ours(running):
                os.kill(running.pid, signal.SIGKILL)
        if self._process is not None:
            try:
                self._process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._pid_file.unlink(missing_ok=True)

    @property
    def _pid_file(self) -> Path:
        return self._config.folder / "pid"

    def _start_at(self, port: int, lock: int) -> None:
        config = replace(self._config, port=port)
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                config.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,
            )
        running = started(process.pid)
        if running is not None:  # a crash before this leaves a lock without a pid: refused
            self._note(running, port)
            if _listens(running, port, process):
                self._config, self._process, self._running = config, process, running
                return
        process.kill()
        process.wait()
        self._pid_file.unlink(missing_ok=True)
        if listener(None, port) is PortListener.OTHERS:
            raise _PortTakenError(part="simulator", state=f"port {port} is another process's")
        raise NotReadyError(part="simulator", state=f"not up; see {self._log}")

    def _adopt(self) -> bool:
        """Adopt the simulator that outlived its gateway; return whether there is one."""
        found = self._noted()
        if found is None:
            return False
        running, port = found
        for _ in range(int(ADOPT_WITHIN_S / 0.02)):  # it may have been started just now
            match listener(running, port):
                case PortListener.ITSELF:
                    self._config = replace(self._config, port=port)
                    self._running = running
                    return True
                case PortListener.OTHERS:
                    break
                case PortListener.NOBODY:
                    pause(0.02)
        if self._is_ours(running):  # ours, but the port is not its own
            os.kill(running.pid, signal.SIGKILL)
            wait_for(lambda: started(running.pid) is None, ADOPT_WITHIN_S, part="simulator")
        return False

    def _note(self, running: Started, port: int) -> None:
        fresh = self._pid_file.with_suffix(".new")
        fresh.write_text(f"{running.pid} {running.began} {port}\n")
        fresh.replace(self._pid_file)

    def _noted(self) -> tuple[Started, int] | None:
        """Return process and port of the pid file if that process is our simulator."""
        try:
            pid, began, port = (int(word) for word in self._pid_file.read_text().split())
        except (OSError, ValueError):
            return None
        running = Started(pid, began)
        return (running, port) if self._is_ours(running) else None

    def _is_ours(self, running: Started) -> bool:
        return is_running(running, "fix.simulator.acceptor", str(self._config.folder))

    def _lock(self, folder: Path) -> int:
        """Take the folder's lock, which the simulator inherits."""
        path = folder / "lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(int(LOCK_WITHIN_S / 0.02)):  # a killed process releases it a little later
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pause(0.02)
            else:
                return lock
        os.close(lock)
        raise NotReadyError(
            part="simulator",
            state=f"refused: another process works in {folder}: end it (lsof {path} names it)",
        )


class _PortTakenError(NotReadyError):
    """Another process took the port first."""


def free_port() -> int:
    """Return a TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(condition: Callable[[], bool], timeout_s: float, *, part: str) -> None:
    """Poll until a condition holds.

    Raises:
        NotReadyError: it does not in time.
    """
    for _ in range(int(timeout_s / 0.02)):
        if condition():
            return
        pause(0.02)
    raise NotReadyError(part=part, state=f"not up within {timeout_s:g} s")


def _listens(running: Started, port: int, process: subprocess.Popen[bytes]) -> bool:
    for _ in range(int(START_WITHIN_S / 0.02)):
        holder = listener(running, port)
        if holder is not PortListener.NOBODY or process.poll() is not None:
            return holder is PortListener.ITSELF
        pause(0.02)
    return False
