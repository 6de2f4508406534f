"""A line between FIX child and broker that goes silent and comes back, in one of several ways.

| way   | while silent                                              | when it is back             |
|-------|-----------------------------------------------------------|-----------------------------|
| hold  | nothing is forwarded; connects are taken                  | what was held goes on       |
| drop  | everything is swallowed, both ways                        | what lost bytes is reset    |
| reset | everything is cut at once, connects are refused           | connects are taken          |
| mute  | the broker's words are swallowed, ours arrive             | what lost bytes is reset    |
| gag   | our words are swallowed, the broker's arrive              | what lost bytes is reset    |
| deaf  | as drop, and the first packet of a connect gets no answer | connects are taken          |
"""

import contextlib
import select
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Final

WAYS: Final = ("hold", "drop", "reset", "mute", "deaf")
"""The ways that `kill_throws` draws from; `gag` is one more."""
_SWALLOWED: Final = {
    "drop": ("out", "in"),
    "deaf": ("out", "in"),
    "mute": ("in",),
    "gag": ("out",),
}
_CHUNK = 1 << 16
_BACKLOG = 16
_RESET = struct.pack("ii", 1, 0)


@dataclass(eq=False)
class _Pair:
    """One connection through the line; `theirs` is None until the line reaches the broker."""

    ours: socket.socket
    theirs: socket.socket | None = None
    held: dict[str, bytes] = field(default_factory=lambda: {"out": b"", "in": b""})
    lost: bool = False

    def ends(self) -> list[socket.socket]:
        return [one for one in (self.ours, self.theirs) if one is not None]


class Line:
    """A TCP relay on a thread of its own; `silence` and `restore` act at once."""

    def __init__(self, broker_port: int) -> None:
        self._broker = ("127.0.0.1", broker_port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[_Pair] = []
        self._fillers: list[socket.socket] = []
        self._lock = threading.Lock()
        self._way = ""
        self.cuts = 0
        """How many connections were cut so far."""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def silence(self, way: str) -> None:
        """Go silent in this way."""
        with self._lock:
            self._way = way
            if way == "reset":
                for pair in list(self._pairs):
                    self._cut(pair)
                self._listener.close()
            elif way == "deaf":
                self._listener.listen(0)
                for _ in range(4):  # whoever comes now stands in a queue that is full
                    filler = socket.socket()
                    filler.setblocking(False)  # noqa: FBT003
                    filler.connect_ex(("127.0.0.1", self.port))
                    self._fillers.append(filler)

    def restore(self) -> None:
        """Be a line again."""
        with self._lock:
            way, self._way = self._way, ""
            for filler in self._fillers:
                filler.close()
            self._fillers.clear()
            if way == "reset":
                self._listener = self._listening()
            elif way == "deaf":
                self._listener.listen(_BACKLOG)
            for pair in list(self._pairs):
                if pair.lost:
                    self._cut(pair)
                else:
                    self._forward_held(pair)

    def close(self) -> None:
        """End everything."""
        self._closing.set()
        self._thread.join(5.0)
        with self._lock:
            for pair in list(self._pairs):
                self._cut(pair)
            self._listener.close()
            for filler in self._fillers:
                filler.close()

    def _listening(self) -> socket.socket:
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        link.bind(("127.0.0.1", self.port))
        link.listen(_BACKLOG)
        return link

    def _serve(self) -> None:
        while not self._closing.is_set():
            with self._lock:
                ears = [end for pair in self._pairs for end in pair.ends()]
                if self._way not in {"reset", "deaf"}:
                    ears.append(self._listener)
            try:
                ready, _, _ = select.select(ears, [], [], 0.02)
            except (OSError, ValueError):
                continue  # cut meanwhile
            with self._lock, contextlib.suppress(OSError):
                for one in ready:
                    self._act(one)

    def _act(self, ready: socket.socket) -> None:
        if ready is self._listener:
            ours, _ = ready.accept()
            pair = _Pair(ours)
            self._pairs.append(pair)
            if self._way in {"", "mute", "gag"}:
                self._reach(pair)
            return
        for pair in list(self._pairs):
            if ready in pair.ends():
                self._relay(pair, ready)

    def _relay(self, pair: _Pair, ready: socket.socket) -> None:
        where = "out" if ready is pair.ours else "in"
        try:
            chunk = ready.recv(_CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._ended(pair, where)
            return
        if where in _SWALLOWED.get(self._way, ()):
            pair.lost = True
            return
        pair.held[where] += chunk
        if self._way != "hold":
            self._forward_held(pair)

    def _ended(self, pair: _Pair, where: str) -> None:
        """One side closed: tell the other, if the line lets it know."""
        if self._way in {"drop", "deaf", "hold"} and pair.theirs is not None:
            pair.lost = True
            if where == "out":
                pair.ours.close()
                pair.ours = socket.socket()  # never ready; the broker still believes in it
                self._pairs.remove(pair)
                self._broken(pair.theirs)
                return
        self._cut(pair)

    def _broken(self, theirs: socket.socket) -> None:
        """Keep the broker's half open until the line is back: it cannot know."""
        pair = _Pair(theirs)
        pair.lost = True
        self._pairs.append(pair)

    def _reach(self, pair: _Pair) -> None:
        try:
            pair.theirs = socket.create_connection(self._broker, timeout=2.0)
        except OSError:
            self._cut(pair)

    def _forward_held(self, pair: _Pair) -> None:
        if pair.theirs is None:
            self._reach(pair)
        for where, end in (("out", pair.theirs), ("in", pair.ours)):
            data, pair.held[where] = pair.held[where], b""
            if data and end is not None:
                try:
                    end.sendall(data)
                except OSError:
                    self._cut(pair)

    def _cut(self, pair: _Pair) -> None:
        """Reset both halves."""
        if pair in self._pairs:
            self._pairs.remove(pair)
            self.cuts += 1
        for end in pair.ends():
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            end.close()
