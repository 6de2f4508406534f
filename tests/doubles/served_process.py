"""A served desk as a process of its own, with the scripted engine: it lives until it is killed.

`python -m tests.doubles.served_process` serves the desk of the present folder.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx

from gateway.clock import pause
from gateway.installation.children.simulator import wait_for
from gateway.installation.settings import load
from gateway.launch.app import running
from gateway.launch.plan import serving_plan
from tests.doubles.fix_world import ROOT, until
from tests.doubles.scene_desk import BACK_S, PROGRAM, WITHIN_S, ServedDesk

MODULE = "tests.doubles.served_process"


@contextlib.contextmanager
def served_apart(desk: ServedDesk, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the process that serves a desk that is made; `killed` ends it, or the test's end."""
    words = (sys.executable, "-m", MODULE)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with log.open("ab") as file:
        one = subprocess.Popen(
            words, env={**os.environ, "PYTHONPATH": path}, stdout=file, stderr=file
        )
    try:
        up = until(lambda: is_ready(desk) or one.poll() is not None, BACK_S)
        assert up, log.read_text()[-3_000:]
        assert one.poll() is None, log.read_text()[-3_000:]
        yield one
    finally:
        if one.poll() is None:
            killed(one)


def is_ready(desk: ServedDesk) -> bool:
    """Return whether the gateway says that it takes orders."""
    try:
        return httpx.get(f"{desk.address}/readyz", trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def killed(one: subprocess.Popen[bytes], *, whole: bool = False) -> None:
    """SIGKILL. Its FIX child then cancels what is live, logs out and ends.

    With `whole` the FIX child is killed too, before the gateway could see that, as by the end of
    the machine; then nothing is cancelled.
    """
    if whole:
        one.send_signal(signal.SIGSTOP)
        (child,) = filter(_is_fix_child, _children(one.pid))
        os.kill(child, signal.SIGKILL)
    one.send_signal(signal.SIGKILL)
    one.wait()


def _children(pid: int) -> list[int]:
    """Return the children of a process, also of those that a thread of it made."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for one in lists for word in one.read_text().split()]


def _is_fix_child(pid: int) -> bool:
    return b"fix.session.main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def main() -> None:
    """Serve until killed."""
    plan = replace(serving_plan(load()), engine_program=PROGRAM)
    with running(plan, print) as app, app.housekeeping.in_background():
        wait_for(lambda: app.engine.wait_ready(0.1), WITHIN_S, part="engine")
        while True:
            pause(60)


if __name__ == "__main__":
    main()
