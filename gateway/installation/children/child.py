"""A child process, the pipe to it, and the handshake: what the children's supervisors share.

Rules of the handshake:

- The gateway's own values are read when its supervisor of the child is made, and kept: files that
  change later do not change them.
- A child that says another value, or none, does not serve; the error says what to do.
- No child knows the policy, so none is asked for it.

Not here: what a frame means, who waits for which answer, when a child is started again (`engine`,
`fix`; docs/decisions/044-one-child.md says why).
"""

import contextlib
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

AGREES: Final = "agrees"
UNKNOWN: Final = "no answer yet"
_SHOWN: Final = 16
_TO_DO: Final = {
    "build": "restart the gateway, so that both run the code that is installed now",
    "model": "the model pair changed after the gateway read it: put the old one back, or restart"
    " the gateway to serve the new one",
    "dictionary": "the data dictionary changed after the gateway read it: put the old one back, or"
    " restart the gateway to use the new one",
    "order_profile": "restart the gateway, so that both read the broker's profile alike",
}


class ChildProcess:
    """One started child, with a socket pair as its pipe. Any thread may call `write`."""

    def __init__(
        self,
        command: Sequence[str],
        log_path: Path,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start the child in a session of its own and append its output to `log_path`.

        The pipe's descriptor becomes the last word of `command`. Environment and working folder
        are ours where they are None. PR_SET_PDEATHSIG in the child follows the *thread* that calls
        this: it must live as long.

        Raises:
            OSError: no process, descriptor or log is left; nothing stays open.
        """
        self.lock = threading.Lock()
        log_path.parent.mkdir(parents=True, exist_ok=True)
        self.link, theirs = socket.socketpair()
        try:
            with theirs, log_path.open("ab") as log:
                self.process = subprocess.Popen(
                    [*command, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
        except OSError:
            self.link.close()
            raise

    def write(self, frame: bytes, timeout_s: float) -> None:
        """Write one whole frame; after an error half a frame may be on its way.

        Receiving stays unlimited: only SO_SNDTIMEO is set.

        Raises:
            TimeoutError: another thread's frame is stuck in the pipe.
            BlockingIOError: the child does not read; kill it.
            OSError: the child is gone.
        """
        end = time.monotonic() + timeout_s
        if not self.lock.acquire(timeout=timeout_s):
            raise TimeoutError("another frame is stuck in the pipe")
        try:
            with contextlib.suppress(BlockingIOError):  # a pipe that is read takes it at once
                frame = frame[self.link.send(frame, socket.MSG_DONTWAIT) :]
            if not frame:
                return
            left_us = max(1_000, int((end - time.monotonic()) * 1e6))
            limit = struct.pack("@ll", *divmod(left_us, 1_000_000))
            self.link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            self.link.sendall(frame)
        finally:
            self.lock.release()


class Handshake:
    """What the gateway has, and what the newest child said. Thread-safe: values are replaced whole.

    Attributes:
        own: the gateway's value of each thing that is compared.
        agreed: the same once a child said so; empty before, and after one that disagreed.
    """

    def __init__(self, process: str, own: Mapping[str, str]) -> None:
        """Keep the gateway's own values."""
        self.process = process
        self.own = dict(own)
        self.agreed: dict[str, str] = {}
        self._problems: dict[str, str] = {}

    def meet(self, said: Mapping[str, object]) -> str:
        """Compare a child with the gateway; return what differs and what to do, or ""."""
        problems = {
            name: f"the {self.process} has {name.replace('_', ' ')} {_short(said.get(name))}, the"
            f" gateway has {_short(own)}: {_TO_DO[name]}"
            for name, own in self.own.items()
            if said.get(name) != own
        }
        self.agreed = {} if problems else dict(self.own)
        self._problems = problems
        return "; ".join(problems.values())

    @property
    def standing(self) -> dict[str, str]:
        """Each thing that is compared: "agrees", "no answer yet", or what is wrong."""
        fallback = AGREES if self.agreed or self._problems else UNKNOWN
        return {name: self._problems.get(name, fallback) for name in self.own}


def overall(agreements: Iterable[Handshake], policy: str) -> dict[str, str]:
    """Return how each thing stands over all children, for readiness; `policy` as it stands here."""
    found: dict[str, list[str]] = {}
    for one in agreements:
        for name, said in one.standing.items():
            found.setdefault(name, []).append(said)
    merged = {name: _worst(said) for name, said in found.items()}
    return {"policy": AGREES if policy == "ACTIVE" else policy, **merged}


def _worst(said: list[str]) -> str:
    """Return what is wrong, else that an answer lacks, else that all agree."""
    wrong = [one for one in said if one not in {AGREES, UNKNOWN}]
    return "; ".join(wrong) or (UNKNOWN if UNKNOWN in said else AGREES)


def _short(value: object) -> str:
    """Return the beginning of a digest; "none" for what is no text."""
    if not isinstance(value, str) or not value:
        return "none"
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}.."
