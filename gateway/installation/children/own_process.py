"""Whether a process that was started earlier is still ours, and whether a port is really its own.

A number in a file proves nothing: process ids are used again, and a port that is answered may be
answered by anybody. Proof is taken from the kernel: the owner and the start time of the process,
and the listening socket among its open files. Not here: starting and stopping.
"""

import os
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple

_LISTENING: Final = "0A"
_START_FIELD: Final = 19
"""Start time in /proc/PID/stat, counted behind the command's closing parenthesis. proc(5): 22."""


class Started(NamedTuple):
    """A process as the kernel tells it apart: its id, and when it began (ticks since boot)."""

    pid: int
    began: int


def started(pid: int) -> Started | None:
    """Return the running process of this id, None without one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in {"Z", "X"}:
        return None
    return Started(pid, int(fields[_START_FIELD]))


def is_running(process: Started, *words: str) -> bool:
    """Return whether this very process runs, as our own user, with these words in its command."""
    folder = Path(f"/proc/{process.pid}")
    try:
        command = (folder / "cmdline").read_bytes().decode(errors="replace")
        owner = folder.stat().st_uid
    except OSError:
        return False
    same = started(process.pid) == process and owner == os.geteuid()
    return same and all(word in command for word in words)


class PortListener(Enum):
    """Who listens on a port."""

    NOBODY = auto()
    ITSELF = auto()
    OTHERS = auto()


def listener(process: Started | None, port: int) -> PortListener:
    """Return who listens on a TCP port of this machine; nobody is connected to."""
    listening = _listeners(port)
    if not listening:
        return PortListener.NOBODY
    itself = process is not None and started(process.pid) == process
    if process is not None and itself and listening <= _sockets(process.pid):
        return PortListener.ITSELF
    return PortListener.OTHERS


def _listeners(port: int) -> frozenset[int]:
    """Return the inodes of the sockets that listen on a port, at any address. Source: proc(5)."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(int(fields[9]))
    return frozenset(found)


def _sockets(pid: int) -> frozenset[int]:
    """Return the inodes of a process's open sockets."""
    found = set()
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            target = _target(entry.path)
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        return frozenset()  # it has ended, or is not ours to look into
    return frozenset(found)


def _target(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
