"""TCP connects of this process that hang without an answer to the first packet.

The engine has no timeout for a connect. Linux only (TCP_INFO). Not here: the engine.
"""

import os
import socket
import stat
from pathlib import Path

_SYN_SENT = 2
_OWN_FILES = Path("/proc/self/fd")


def hanging() -> frozenset[int]:
    """Return the inodes of this process's sockets that wait for the first answer."""
    return frozenset(inode for inode, _ in _connecting(abandon=frozenset()))


def abandon(inodes: frozenset[int]) -> int:
    """Shut down those connects that still hang and return how many; the engine tries again."""
    return sum(gone for _, gone in _connecting(abandon=inodes))


def _connecting(*, abandon: frozenset[int]) -> list[tuple[int, bool]]:
    """Return the inode of each hanging connect and whether it was abandoned."""
    found: list[tuple[int, bool]] = []
    for entry in _OWN_FILES.iterdir():
        try:
            own = os.dup(int(entry.name))
        except OSError:
            continue  # closed since
        try:
            status = os.fstat(own)
            if not stat.S_ISSOCK(status.st_mode):
                continue
            found += _looked_at(own, status.st_ino, status.st_ino in abandon)
        finally:
            os.close(own)
    return found


def _looked_at(descriptor: int, inode: int, give_up: bool) -> list[tuple[int, bool]]:  # noqa: FBT001
    with socket.socket(fileno=os.dup(descriptor)) as link:
        try:
            state = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            if state != _SYN_SENT:
                return []
            if give_up:
                link.shutdown(socket.SHUT_RDWR)  # the engine sees an error on its own descriptor
        except OSError:
            return []  # no TCP, or it has an answer now
        return [(inode, give_up)]
