"""A witness in a process of its own, and small servers that answer as no witness should.

Run as a program (`python -m tests.doubles.witness_process STATE LOG...`) it is the real witness;
with `--die N` it kills itself after the N-th tree is durable and before it is answered for.
"""

import argparse
import contextlib
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from audit.tlog.checkpoint import Checkpoint
from audit.witnesses.memory import WitnessMemory
from gateway.surfaces.witness import server as witness_server

ROOT = Path(__file__).resolve().parents[2]
NAME = "witness.example/w"


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessProcess:
    """A running witness."""

    url: str
    state: Path
    process: subprocess.Popen[bytes]

    @property
    def policy(self) -> bytes:
        """The policy file that it wrote."""
        return (self.state / "policy").read_bytes()

    def kill(self) -> None:
        """Kill it as a power cut would end it, as far as a process can tell."""
        self.process.kill()
        self.process.wait(10)


@contextlib.contextmanager
def witness_process(
    state: Path, logs: Sequence[str], *, port: int = 0, die: int = 0, within_s: float = 15.0
) -> Iterator[WitnessProcess]:
    """Start a witness and wait until it listens."""
    command = [sys.executable, "-m", "tests.doubles.witness_process", str(state), *logs]
    process = subprocess.Popen(
        [*command, f"--port={port}", f"--die={die}", f"--within-s={within_s}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        url = ""
        for line in process.stdout:
            if found := re.match(rb"witness +(http://\S+),", line):
                url = found[1].decode()
                break
        assert url, "the witness did not start"
        yield WitnessProcess(url=url, state=state, process=process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@contextlib.contextmanager
def serving(
    answer: Callable[[socket.socket], None], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Listen on loopback and let a function answer each connection; yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(1.0)
            if tls is None:
                _read_request(connection)
                answer(connection)
                return
            with tls.wrap_socket(connection, server_side=True) as secure:
                _read_request(secure)
                answer(secure)

    def accept() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=one, args=(connection,)))
                threads[-1].start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http{'s' * bool(tls)}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        thread.join()
        listener.close()
        for worker in threads:
            worker.join()


def _read_request(connection: socket.socket) -> None:
    """Read a request whole, so that closing the socket does not reset it."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    left = int(length[1]) - len(body) if length else 0
    while left > 0 and (more := connection.recv(65_536)):
        left -= len(more)


class _DyingMemory(WitnessMemory):
    """A memory whose process dies right after it remembered."""

    left = 0

    @override
    def remember(self, checkpoint: Checkpoint) -> None:
        super().remember(checkpoint)
        type(self).left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=Path)
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--port", default="0")
    parser.add_argument("--die", type=int, default=0)
    parser.add_argument("--within-s", type=float, default=15.0)
    asked = parser.parse_args()
    if asked.die:
        _DyingMemory.left = asked.die
        setattr(witness_server, "WitnessMemory", _DyingMemory)  # noqa: B010 - takes its place
    name = NAME + asked.state.name
    limits = replace(witness_server.LIMITS, request_within_s=asked.within_s)
    return witness_server.serve_witness(
        asked.state, asked.logs, f"127.0.0.1:{asked.port}", None, name, limits
    )


if __name__ == "__main__":
    sys.exit(main())
