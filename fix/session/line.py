"""How a session that is down comes up again: its tries, and connects that hang without an answer.

The engine has no timeout for a connect. Linux only (TCP_INFO). Not here: the engine, and when it
may try (`redial`).
"""

import os
import socket
import stat
from pathlib import Path
from typing import Protocol

from fix.dialects.profile import Profile
from fix.session.redial import Redial

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


class EngineSession(Protocol):
    """The part of the engine's session that logs on."""

    def sentLogon(self) -> bool: ...  # noqa: D102, N802 - the engine's own names
    def isEnabled(self) -> bool: ...  # noqa: D102, N802
    def getExpectedSenderNum(self) -> int: ...  # noqa: D102, N802
    def setLogonTimeout(self, seconds: int) -> None: ...  # noqa: D102, N802
    def logon(self) -> None: ...  # noqa: D102
    def logout(self) -> None: ...  # noqa: D102


class Dialling:
    """Lets the engine of a session that is down try to log on."""

    def __init__(self, profile: Profile) -> None:
        """Start with no try counted."""
        self._redial = Redial(profile)
        self._looked_us = 0
        self._hanging: frozenset[int] = frozenset()

    def step(self, session: EngineSession, now_us: int, *, hurry: bool) -> None:
        """Let the engine try at the profile's interval, or every second if `hurry`."""
        trying, number = bool(session.sentLogon()), int(session.getExpectedSenderNum())
        advice = self._redial.step(now_us, hurry=hurry, trying=trying, number=number)
        session.setLogonTimeout(advice.patience_s)
        if advice.may_try and not session.isEnabled():
            session.logon()
        elif not advice.may_try and session.isEnabled() and not session.sentLogon():
            session.logout()
        if hurry and now_us - self._looked_us >= advice.patience_s * 1_000_000:
            self._looked_us = now_us
            if abandon(self._hanging):
                self._redial.abandoned()
            self._hanging = hanging()
