"""A broker that writes its own bytes, takes logons again and again, and can begin its numbers anew.

It counts both directions as FIX 4.4 says: too low ends the session with a Logout that names both
numbers, too high is asked for again. What it does at the next logon is told by `next_logon`.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

from fix.errors import MessageError
from fix.wire.fields import SOH
from fix.wire.messages import parse, timestamp, wire_text
from tests.doubles.fix_world import until, wall_us

LOGON, LOGOUT, TEST, HEARTBEAT, RESEND, GAP_FILL = "A", "5", "1", "0", "2", "4"


class ResettingBroker:
    """One session at a time, on a port of its own."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.received: list[dict[int, str]] = []
        self.nightly = False
        """Whether both numbers begin anew after a logout."""
        self.next_logon = ""
        """"flag": begin anew with 141=Y; "forget": begin anew and say nothing; else go on."""
        self.out = 1
        self.expects = 1
        self._link: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.hang_up()
        self._thread.join(5.0)

    def hang_up(self) -> None:
        """End the connection without a word."""
        link = self._link
        if link is not None:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def say(self, msg_type: str, *body: tuple[int, str]) -> None:
        """Send a message under the next number."""
        with self._lock:
            head = (
                (35, msg_type),
                (49, "EMSSIM"),
                (56, "COUNTERSIGN"),
                (34, str(self.out)),
                (52, timestamp(wall_us())),
            )
            self.out += 1
            assert self._link is not None
            with contextlib.suppress(OSError):
                self._link.sendall(wire_text((*head, *body)).encode("latin-1"))

    def of_type(self, msg_type: str) -> list[dict[int, str]]:
        return [one for one in list(self.received) if one[35] == msg_type]

    def await_type(self, msg_type: str, count: int = 1, timeout_s: float = 30.0) -> dict[int, str]:
        """Wait until a message of this type came so often; return the last."""
        assert until(lambda: len(self.of_type(msg_type)) >= count, timeout_s), (
            msg_type,
            self.received[-5:],
        )
        return self.of_type(msg_type)[count - 1]

    def acknowledge(self, order: dict[int, str], exec_id: str) -> None:
        """Report an order as new."""
        self.say(
            "8",
            (37, "B1"),
            (11, order[11]),
            (17, exec_id),
            (150, "0"),
            (39, "0"),
            (55, order[55]),
            (54, order[54]),
            (38, order[38]),
            (151, order[38]),
            (14, "0"),
            (6, "0"),
            (60, timestamp(wall_us())),
        )

    def _serve(self) -> None:
        while True:
            try:
                self._link, _ = self.listener.accept()
            except OSError:
                return
            with self._link as link, contextlib.suppress(OSError):
                self._read(link)

    def _read(self, link: socket.socket) -> None:
        buffer = ""
        while chunk := link.recv(65536):
            buffer += chunk.decode("latin-1")
            while (end := buffer.find(f"{SOH}10=")) >= 0 and len(buffer) >= end + 8:
                raw, buffer = buffer[: end + 8], buffer[end + 8 :]
                if not self._take(raw):
                    return

    def _take(self, raw: str) -> bool:
        """Take one message; False when the connection is to end."""
        try:
            fields = dict(parse(raw))
        except MessageError:
            return True
        self.received.append(fields)
        number, msg_type = int(fields[34]), fields[35]
        if msg_type == LOGON:
            return self._logon(fields, number)
        if number < self.expects and fields.get(43) != "Y":
            return self._too_low(number)
        if msg_type == GAP_FILL:
            self.expects = int(fields[36])
            return True
        if number > self.expects and msg_type != RESEND:  # which no engine leaves unanswered
            return True  # asked for already, at the logon
        if number == self.expects:
            self.expects = number + 1
        return self._answer(fields, msg_type)

    def _answer(self, fields: dict[int, str], msg_type: str) -> bool:
        if msg_type == TEST:
            self.say(HEARTBEAT, (112, fields[112]))
        elif msg_type == RESEND:
            begin = int(fields[7])
            after, self.out = self.out, begin
            self.say(GAP_FILL, (43, "Y"), (123, "Y"), (36, str(after)))
            self.out = after
        elif msg_type == LOGOUT:
            self.say(LOGOUT)
            if self.nightly:
                self.out, self.expects = 1, 1
            return False
        return True

    def _logon(self, fields: dict[int, str], number: int) -> bool:
        how, self.next_logon = self.next_logon, ""
        if how:
            self.out, self.expects = 1, 1
        if how == "flag":
            self.say(LOGON, (98, "0"), (108, fields[108]), (141, "Y"))
            return True
        if fields.get(141) == "Y" and number == 1:
            if self.out > 2:  # asked for by the other side: agreed
                self.out = 1
                self.say(LOGON, (98, "0"), (108, fields[108]), (141, "Y"))
            self.expects = 2
            return True
        if number < self.expects:
            return self._too_low(number)
        self.say(LOGON, (98, "0"), (108, fields[108]))
        if number > self.expects:
            self.say(RESEND, (7, str(self.expects)), (16, "0"))
        else:
            self.expects = number + 1
        return True

    def _too_low(self, number: int) -> bool:
        words = f"MsgSeqNum too low, expecting {self.expects} but received {number}"
        self.say(LOGOUT, (58, words))
        return False
