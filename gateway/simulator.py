"""The paper counterparty as a process: started here, adopted when it outlived an earlier gateway.

It is a broker of its own: it keeps its own quotes, capture and process group, and a killed gateway
does not take it along. Not here: what it does with an order (`fix.ems`).
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fix.ems_control import SimulatorConfig, set_session
from gateway.clock import pause
from gateway.errors import NotReadyError

START_WITHIN_S = 20.0


class Simulator:
    """One simulator in the folder `ems` of the state."""

    def __init__(self, config: SimulatorConfig, log: Path) -> None:
        """Prepare; `start` starts or adopts it."""
        self._config = config
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        """The TCP port it accepts FIX on."""
        return self._config.port

    def start(self) -> bool:
        """Start it, or adopt the one that still runs in this folder; returns True when adopted.

        Raises:
            NotReadyError: it does not accept connections in time.
        """
        folder = self._config.folder
        folder.mkdir(parents=True, exist_ok=True)
        left = self._left_behind()
        if left is not None:
            self._config = replace(self._config, port=left)
            return True
        port = self._config.port or free_port()
        self._config = replace(self._config, port=port)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._config.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._pid_file.write_text(f"{self._process.pid} {port}\n")
        wait_for(lambda: accepts(port), START_WITHIN_S, part="simulator")
        return False

    def set_session(self, session: int) -> None:
        """Tell it which session of its own quotes is current."""
        set_session(self._config.control, session)

    def stop(self) -> None:
        """End it."""
        pid = self._pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            if self._process is not None:
                try:
                    self._process.wait(5.0)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
        self._pid_file.unlink(missing_ok=True)

    @property
    def _pid_file(self) -> Path:
        return self._config.folder / "pid"

    def _pid(self) -> int | None:
        """Return the pid in the pid file when that process is a simulator of this folder."""
        try:
            pid = int(self._pid_file.read_text().split()[0])
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except (OSError, ValueError, IndexError):
            return None
        return pid if "fix.ems" in command and str(self._config.folder) in command else None

    def _left_behind(self) -> int | None:
        """Return the port of a simulator that outlived its gateway."""
        if self._pid() is None:
            return None
        port = int(self._pid_file.read_text().split()[1])
        return port if accepts(port) else None


def free_port() -> int:
    """Return a TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Tell whether somebody listens on a loopback port, without connecting to it."""
    needle = f":{port:04X} 00000000:0000 0A"
    return any(needle in line for line in Path("/proc/net/tcp").read_text().splitlines())


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
