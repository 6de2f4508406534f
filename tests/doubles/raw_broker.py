"""A broker that writes its own bytes: one connection, session replies, and what it is told.

The simulator is an engine and writes fields in an engine's order; this one does not.
"""

import contextlib
import queue
import socket
import threading
from types import TracebackType
from typing import Self

from fix.errors import MessageError
from fix.wire.fields import SOH
from fix.wire.messages import parse, timestamp, wire_text
from tests.doubles.fix_world import wall_us


class RawBroker:
    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.received: queue.SimpleQueue[dict[int, str]] = queue.SimpleQueue()
        self.sent: list[str] = []
        self._number = 0
        self._link: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.listener.close()
        if self._link is not None:
            with contextlib.suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)
        self._thread.join(5.0)

    def say(self, msg_type: str, *body: tuple[int, str]) -> str:
        """Send these fields in this order, and return the bytes as text."""
        self._number += 1
        head = (
            (35, msg_type),
            (49, "EMSSIM"),
            (56, "COUNTERSIGN"),
            (34, str(self._number)),
            (52, timestamp(wall_us())),
        )
        raw = wire_text((*head, *body))
        assert self._link is not None
        self._link.sendall(raw.encode("latin-1"))
        self.sent.append(raw)
        return raw

    def await_type(self, msg_type: str, timeout_s: float = 10.0) -> dict[int, str]:
        """Wait for a message of this type; others are skipped."""
        while True:
            fields = self.received.get(timeout=timeout_s)
            if fields[35] == msg_type:
                return fields

    def _serve(self) -> None:
        try:
            self._link, _ = self.listener.accept()
        except OSError:
            return
        # The child may hang up between a message of its and our answer: then nobody is left to
        # answer, which ends this conversation and is no fault.
        with self._link as link, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._read_until_the_end(link)

    def _read_until_the_end(self, link: socket.socket) -> None:
        buffer = ""
        while chunk := link.recv(65536):
            buffer += chunk.decode("latin-1")
            while (end := buffer.find(f"{SOH}10=")) >= 0 and len(buffer) >= end + 8:
                raw, buffer = buffer[: end + 8], buffer[end + 8 :]
                self._take(raw)

    def _take(self, raw: str) -> None:
        try:
            fields = dict(parse(raw))
        except MessageError:
            return
        self.answer(fields)
        self.received.put(fields)

    def answer(self, fields: dict[int, str]) -> None:
        """Answer a session message."""
        if fields[35] == "A":
            self.say("A", (98, "0"), (108, fields[108]))
        elif fields[35] == "1":
            self.say("0", (112, fields[112]))
        elif fields[35] == "5":
            self.say("5")
