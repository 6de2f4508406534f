"""A child process and the pipe to it: what the engine's and the FIX child's supervisors share.

Not here: what a frame means, who waits for which answer, when a child is started again (`engine`,
`fix`; docs/decisions/044-one-child.md says why).
"""

import contextlib
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


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
