"""The peer of `bench_fix.py`: a FIX acceptor on plain sockets that times what arrives.

It answers session messages, acknowledges orders, confirms cancels, and rejects what is over a
throttle. Nothing is written to disk, so that only the sender's work is measured.

Not here: any rule of a broker that the bench does not need; `fix.simulator` is the broker.
"""

import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from fix.errors import MessageError
from fix.wire.fields import SOH
from fix.wire.messages import Fields, parse, timestamp, wire_text

_END = f"{SOH}10=".encode()
_TRAILER = 8


@dataclass(slots=True)
class Throttle:
    """A bucket: `burst` messages, then `rate` a second, and one for jitter; counts what is over."""

    rate: float
    burst: float
    level: float = 0.0
    at_s: float = 0.0
    rejected: int = 0

    def takes(self, now_s: float) -> bool:
        """Count a message; return whether it is within the limit."""
        self.level = max(0.0, self.level - (now_s - self.at_s) * self.rate)
        self.at_s = now_s
        if self.level > self.burst:
            self.rejected += 1
            return False
        self.level += 1
        return True


@dataclass(slots=True)
class Sink:
    """Listens on a free port of this machine; times are `time.perf_counter` seconds."""

    ends_orders: bool = True
    throttle: Throttle | None = None
    arrived: dict[str, float] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    live: dict[str, dict[int, str]] = field(default_factory=dict)
    known: threading.Condition = field(default_factory=threading.Condition)
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _reports: int = 0

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Serve every connection on a thread of its own."""
        threading.Thread(target=self._accept, name="sink", daemon=True).start()

    def stop(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def wait_for(self, cl_ord_id: str, timeout_s: float = 20.0) -> float:
        """Return when this order arrived.

        Raises:
            TimeoutError: it did not.
        """
        with self.known:
            if not self.known.wait_for(lambda: cl_ord_id in self.arrived, timeout_s):
                raise TimeoutError(f"{cl_ord_id} did not arrive")
            return self.arrived[cl_ord_id]

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_Line(self, link).serve, daemon=True).start()

    def answers(self, said: dict[int, str], now_s: float) -> list[Fields]:
        """Note an application message; return what is answered."""
        kind = said[35]
        with self.known:
            self.times[kind].append(now_s)
            answers = self._answers(kind, said, now_s)
            self.known.notify_all()
        return answers

    def _answers(self, kind: str, said: dict[int, str], now_s: float) -> list[Fields]:
        if kind == "D":
            self.arrived[said[11]] = now_s
            if self.ends_orders:
                return [self._report(said, "4", "4")]
            self.live[said[11]] = said
            return [self._report(said, "0", "0")]
        if kind == "F":
            if self.throttle is not None and not self.throttle.takes(now_s):
                words = ((45, said[34]), (372, kind), (379, said[11]), (380, "99"))
                return [((35, "j"), *words, (58, "throttled"))]
            order = self.live.pop(said[41], said)
            return [self._report(order, "4", "4", ((11, said[11]), (41, said[41])))]
        if kind == "q":
            head = ((35, "r"), (37, "M"), (11, said[11]), (530, "7"), (531, "7"))
            ended = [self._report(one, "4", "4") for one in self.live.values()]
            self.live.clear()
            return [head, *ended]
        return []

    def _report(
        self, order: dict[int, str], exec_type: str, status: str, more: Fields = ()
    ) -> Fields:
        self._reports += 1
        fields = {35: "8", 37: f"E{order[11]}", 11: order[11], 17: f"S{self._reports}"}
        fields |= {150: exec_type, 39: status, 55: order[55], 54: order[54], 38: order[38]}
        fields |= {151: "0" if status == "4" else order[38], 14: "0", 6: "0", **dict(more)}
        return tuple(fields.items())


class _Line:
    """One connection."""

    def __init__(self, sink: Sink, link: socket.socket) -> None:
        self._sink, self._link = sink, link
        self._number = 0
        self._names = ("", "")

    def serve(self) -> None:
        """Answer until the peer closes."""
        buffer = b""
        try:
            while chunk := self._link.recv(1 << 16):
                now_s = time.perf_counter()
                buffer += chunk
                while (end := buffer.find(_END)) >= 0 and len(buffer) >= end + _TRAILER:
                    raw, buffer = buffer[: end + _TRAILER], buffer[end + _TRAILER :]
                    self._take(raw.decode("latin-1"), now_s)
        except (OSError, MessageError):
            return

    def _take(self, raw: str, now_s: float) -> None:
        said = dict(parse(raw))
        self._names = (said[56], said[49])
        match said[35]:
            case "A":
                self._say((35, "A"), (98, "0"), (108, said[108]))
            case "1":
                self._say((35, "0"), (112, said[112]))
            case "5":
                self._say((35, "5"))
            case "D" | "F" | "q" | "H" | "AF":
                for fields in self._sink.answers(said, now_s):
                    self._say(*fields)
            case _:
                return

    def _say(self, kind: tuple[int, str], *body: tuple[int, str]) -> None:
        self._number += 1
        now = timestamp(time.time_ns() // 1000)  # noqa: TID251 - a broker has a clock of its own
        ours, theirs = self._names
        head = (kind, (34, str(self._number)), (49, ours), (52, now), (56, theirs))
        self._link.sendall(wire_text((*head, *body)).encode("latin-1"))
