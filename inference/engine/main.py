"""The engine child's entry: `python -m inference.engine.main`.

`gateway/installation/children/engine.py` starts it. One thread reads frames; the main thread owns
the engine, steps it and writes every answer, so an answer proves that the engine still steps. The
child has no database and no keys, refuses connections to other machines, and ends with its parent.

The environment variable COUNTERSIGN_ENGINE_FAULT injects a fault for tests ("no_sampling_fix"
leaves vLLM's sampler as shipped, "rough_positions" computes rotary positions inaccurately; the
self-test must refuse both). `serve` does not start with it.
"""

import argparse
import ctypes
import gc
import ipaddress
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, perf_counter
from typing import Any, Protocol

from inference.build import build_digest
from inference.engine.frames import (
    Frame,
    config_from,
    read_frame,
    request_from,
    write_frame,
)
from inference.engine.port import (
    EngineConfig,
    EngineDescription,
    EngineLoad,
    SampleRequest,
    Samples,
)
from inference.errors import EngineRefusedError, FrameError, InferenceError
from inference.speculation.capture import encode_capture

FAULT = "COUNTERSIGN_ENGINE_FAULT"
_PR_SET_PDEATHSIG = 1
BEAT_S = 1.0
EXIT_REFUSED = 3
EXIT_CRASHED = 1


class Stepping(Protocol):
    """What the server needs of an engine; see `VllmEngine`."""

    def describe(self) -> EngineDescription:
        """Return the engine's models, versions and self-test."""
        ...

    def begin(self, request: SampleRequest) -> None:
        """Add a request to the batch."""
        ...

    def step(self) -> dict[str, Samples | str]:
        """Run one step and return what ended."""
        ...

    def abort(self, request_id: str) -> bool:
        """Drop a request."""
        ...

    @property
    def busy(self) -> bool:
        """Return whether anything is being sampled."""
        ...

    def load(self) -> EngineLoad:
        """Return what is to be done, and what was done."""
        ...


class EngineServer:
    """Answers frames with an engine until the stream ends."""

    def __init__(self, channel: socket.socket, build: str) -> None:
        self.channel = channel
        self._build = build
        self._stream = channel.makefile("rb")
        self._inbox: SimpleQueue[Frame | None] = SimpleQueue()
        self._beaten = 0.0  # when the last beat was sent
        self._stepped = 0.0  # seconds spent in steps

    def say(self, op: str, body: bytes = b"", **fields: object) -> None:
        """Send one frame."""
        self.channel.sendall(write_frame(Frame(op=op, fields=fields, body=body)))

    def introduce(self, description: EngineDescription) -> bool:
        """Send build and description and return whether the self-test lets the engine serve."""
        good = description.self_test.passed
        op = "ready" if good else "refusing"
        self.say(op, build=self._build, description=asdict(description))
        return good

    def serve(self, engine: Stepping) -> None:
        """Answer until the parent sends stop or closes the stream; beat once a second meanwhile.

        Raises:
            OSError: the parent does not read any more.
        """
        Thread(target=self._listen, name="frames", daemon=True).start()
        while True:
            while True:
                try:
                    frame = self._inbox.get(block=not engine.busy, timeout=BEAT_S)
                except Empty:
                    break
                if frame is None or frame.op == "stop":
                    return
                self._obey(engine, frame)
            if engine.busy:
                began = monotonic()
                ended = engine.step()
                self._stepped += monotonic() - began
                for request_id, outcome in ended.items():
                    self._answer(request_id, outcome)
            self._beat(engine)

    def _beat(self, engine: Stepping) -> None:
        """Say how much there is to do, from the thread that steps: a beat proves that it does."""
        now = monotonic()
        if now - self._beaten >= BEAT_S:
            self._beaten = now
            self.say("beat", stepped_us=round(self._stepped * 1e6), **asdict(engine.load()))

    def _listen(self) -> None:
        while True:
            try:
                frame = read_frame(self._stream.read)
            except (FrameError, OSError):
                frame = None
            self._inbox.put(frame)
            if frame is None:
                return

    def _obey(self, engine: Stepping, frame: Frame) -> None:
        match frame.op:
            case "sample":
                try:
                    engine.begin(request_from(frame.fields["request"]))
                except (EngineRefusedError, FrameError) as error:
                    request_id = str(frame.fields["request"].get("request_id", ""))
                    self.say("failed", id=request_id, code=error.code, detail=error.detail)
            case "abort":
                request_id = str(frame.fields["id"])
                engine.abort(request_id)
                self.say("aborted", id=request_id)
            case _:
                raise FrameError(f"unknown op {frame.op}")

    def _answer(self, request_id: str, outcome: Samples | str) -> None:
        if isinstance(outcome, str):
            self.say("failed", id=request_id, code="engine", detail=outcome)
            return
        body = encode_capture(outcome.capture)
        self.say("samples", body, id=request_id, elapsed_us=outcome.elapsed_us)


def main() -> int:
    """Load, introduce, serve; return the exit status."""
    arguments = argparse.ArgumentParser(prog="engine child")
    arguments.add_argument("--fd", type=int, required=True)
    arguments.add_argument("--parent", type=int, required=True)
    arguments.add_argument("--nice", type=int, default=0)
    arguments.add_argument("--config", required=True)
    given = arguments.parse_args()
    end_with_parent(given.parent)
    stay_on_this_machine()
    config = replace(config_from(given.config), fault=os.environ.get(FAULT, ""))
    server = EngineServer(socket.socket(fileno=given.fd), build_digest())
    return run(server, lambda: _load(config), given.nice)


def run(server: EngineServer, load: Callable[[], Stepping], niceness: int = 0) -> int:
    """Load an engine at normal priority, serve with it at a lower one; return the exit status."""
    try:
        engine = load()
    except InferenceError as error:
        server.say("refusing", description=None, code=error.code, detail=error.detail)
        return EXIT_REFUSED
    os.nice(niceness)
    if not server.introduce(engine.describe()):
        return EXIT_REFUSED
    server.serve(engine)
    return 0


def end_with_parent(parent: int) -> None:
    """End this process when its parent ends, even if that was before this call (Linux)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(EXIT_REFUSED)


def is_here(host: str) -> bool:
    """Return whether a host is a loopback address or "localhost"."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def stay_on_this_machine() -> None:
    """Refuse every connection from this process to another machine."""

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(args[1], tuple):
            host = str(args[1][0])
            if not is_here(host):
                raise PermissionError(f"the engine child connects to nothing outside: {host}")

    sys.addaudithook(watch)


def _load(config: EngineConfig) -> Stepping:
    started = perf_counter()
    gc.disable()  # loading makes millions of objects that stay: collecting them only costs time
    from inference.engine import vector_kernels  # noqa: PLC0415 - seconds; and only here

    vector_kernels.keep_to_cap()
    from inference.engine.vllm_engine import VllmEngine  # noqa: PLC0415 - as above, and after it

    engine = VllmEngine(config, import_ms=round((perf_counter() - started) * 1000))
    gc.freeze()
    gc.enable()
    return engine


if __name__ == "__main__":
    # The process ends at once: interpreter shutdown with vLLM's threads alive can hang.
    status = EXIT_CRASHED
    try:
        status = main()
    except BaseException:  # noqa: BLE001 - log it before the process ends; the parent restarts us
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
