"""Whether a PostgreSQL server runs in a data folder, by the kernel and not by files alone."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from gateway.errors import PostgresError

_POLL_S = 0.05
_DEAD_WITHIN_S = 15.0


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until a started child is stored; a child that is not would never be ended."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is ever interrupted
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


def live_postmaster(data: Path) -> int | None:
    """Return the process id of the live postmaster of a data folder, or None."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        pid = int(lines[0])
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    proc = Path("/proc") / str(pid)
    if not Path("/proc/self").exists():
        return pid
    try:
        state = (proc / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        at_home = (proc / "cwd").resolve() == data.resolve()
    except (OSError, IndexError):
        return None
    return pid if state != "Z" and at_home else None


def clear_dead_lock(data: Path, socket_dir: Path) -> None:
    """Remove the lock files of a dead postmaster.

    A zombie still answers signal 0, so PostgreSQL would refuse to start.

    Raises:
        PostgresError: processes still work in the data folder.
    """
    lock = data / "postmaster.pid"
    if not lock.exists() or not Path("/proc/self").exists():
        return
    if not left_alone(data):
        raise PostgresError(f"processes of a dead server still work in {data}")
    lock.unlink(missing_ok=True)
    for socket_lock in socket_dir.glob(".s.PGSQL.*.lock"):
        socket_lock.unlink(missing_ok=True)


def left_alone(data: Path) -> bool:
    """Wait until no process works in a data folder; return whether that happened."""
    deadline = time.monotonic() + _DEAD_WITHIN_S
    while _in_use(data):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _in_use(data: Path) -> bool:
    home = data.resolve()
    if not Path("/proc/self").exists():
        return False
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").resolve(strict=True) == home:
                    return True
    return False
