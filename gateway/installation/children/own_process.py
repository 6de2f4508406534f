"""Proof that a process and its port are our own.

Process ids are reused, and any process may answer a port. So the kernel is asked: for the owner and
the start time of the process, and for the listening socket among its open files.
"""

import contextlib
import os
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple

_LISTENING: Final = "0A"
_START_FIELD: Final = 19
"""Index of the start time in /proc/PID/stat after the command. Source: proc(5), field 22."""


class Started(NamedTuple):
    """A process id with its start time in ticks since boot, which tell processes apart."""

    pid: int
    began: int


def started(pid: int) -> Started | None:
    """Return the running process of this id, or None."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in {"Z", "X"}:
        return None
    return Started(pid, int(fields[_START_FIELD]))


def is_running(process: Started, *words: str) -> bool:
    """Return whether this process still runs, as our user, with these words in its command."""
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
    """Return who listens on a TCP port of this machine, without connecting."""
    listening = _listeners(port)
    if not listening:
        return PortListener.NOBODY
    itself = process is not None and started(process.pid) == process
    if process is not None and itself and listening <= _sockets(process.pid):
        return PortListener.ITSELF
    return PortListener.OTHERS


def _listeners(port: int) -> frozenset[int]:
    """Return the inodes of the sockets that listen on a port. Source: proc(5)."""
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
    found = set()
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                target = str(Path(entry.path).readlink())
                if target.startswith("socket:["):
                    found.add(int(target[8:-1]))
    except OSError:
        return frozenset()  # it has ended, or belongs to another user
    return frozenset(found)
