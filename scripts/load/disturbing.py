"""What goes wrong beside a load: streams that nobody reads, a storm of quotes, a killed engine.

Not here: the load.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final
from urllib.parse import urlsplit

from scripts.load.callers import OK
from scripts.load.plan import Beside
from scripts.load.served import ServedDesk
from scripts.load.watching import engine_of

Facts = list[tuple[str, str]]
STREAMS_EACH: Final = 2
"""As many as a key may have."""
READ_BYTES: Final = 2_048
"""The receive buffer of a reader that never reads: it is full at once."""
ESTABLISHED: Final = 1
BACK_WITHIN_S: Final = 120.0
POLL_S: Final = 0.1


def disturbed(
    desk: ServedDesk, beside: Beside | None, seconds: float
) -> AbstractContextManager[Facts]:
    """Disturb a desk while the context lasts; its facts are complete when it ends."""
    match beside:
        case None:
            return nullcontext([])
        case Beside.STALLED:
            return stalled(desk)
        case Beside.STORM:
            return storm(desk)
        case Beside.KILLED:
            return killed(desk, seconds / 2)


@contextmanager
def stalled(desk: ServedDesk) -> Iterator[Facts]:
    """Open as many event streams as every key may have, from the first record on; read none."""
    facts: Facts = []
    where = urlsplit(desk.address)
    links = []
    for holder in (*desk.agents, "operator"):
        for _ in range(STREAMS_EACH):
            link = socket.socket()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)
            link.connect((where.hostname or "", where.port or 0))
            head = f"GET /v1/events?after=0 HTTP/1.1\r\nHost: {where.netloc}\r\n"
            link.sendall(f"{head}Authorization: Bearer {desk.tokens[holder]}\r\n\r\n".encode())
            links.append(link)
    try:
        yield facts
    finally:
        left = sum(_state(link) == ESTABLISHED for link in links)
        facts.append(("event streams that nobody read", f"{len(links)}, {left} open at the end"))
        for link in links:
            link.close()


@contextmanager
def storm(desk: ServedDesk) -> Iterator[Facts]:
    """Let the feed post its quotes a hundred times as often."""
    facts: Facts = []
    desk.feed.send_signal(signal.SIGUSR1)
    try:
        yield facts
    finally:
        desk.feed.send_signal(signal.SIGUSR2)
        facts.append(("quotes beside it", _told(desk)))


@contextmanager
def killed(desk: ServedDesk, after_s: float) -> Iterator[Facts]:
    """Kill the engine's process in the middle, as a machine short of memory does."""
    facts: Facts = []

    def kill() -> None:
        time.sleep(after_s)
        engine = engine_of(desk.gateway.pid)
        if engine is None:
            facts.append(("engine killed", "there was none"))
            return
        os.kill(engine, signal.SIGKILL)
        began_s = time.monotonic()
        back = _until(lambda: engine_of(desk.gateway.pid) not in {None, engine})
        ready = back and _until(lambda: desk.parts().get("engine") == "ready")
        took_s = time.monotonic() - began_s
        said = f"an engine serves again {took_s:.1f} s later" if ready else "no engine came back"
        facts.append(("engine killed", f"after {after_s:g} s; {said}"))

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield facts
    finally:
        thread.join()
        _until(lambda: desk.get("/readyz")[0] == OK)


def _until(condition: Callable[[], bool]) -> bool:
    """Poll for a condition; return whether it came."""
    end_s = time.monotonic() + BACK_WITHIN_S
    while not (held := condition()) and time.monotonic() < end_s:
        time.sleep(POLL_S)
    return held


def _told(desk: ServedDesk) -> str:
    """Return the feed's last words about its storm."""
    log = desk.top / "feed.log"
    lines: list[str] = []

    def there() -> bool:
        lines[:] = [
            line
            for line in log.read_text(errors="replace").splitlines()
            if line.startswith("storm ")
        ]
        return bool(lines)

    _until(there)
    return lines[-1].removeprefix("storm ") if lines else "the feed said nothing"


def _state(link: socket.socket) -> int:
    """Return the state of a connection, as the kernel numbers it."""
    return link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
