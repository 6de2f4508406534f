"""What a gateway and its children use, read from /proc, over time too; deaths of its engine."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

EVERY_S: Final = 0.5
MINUTE_S: Final = 60.0
KIB: Final = 2**20 / 1_000
"""A MiB in kB."""
ENGINE: Final = "inference.engine"
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    """Return the children of a process, also of those that a thread of it made."""
    try:
        lists = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(word) for one in lists for word in one.split()]


def family(pid: int) -> list[int]:
    """Return a process and all that it made."""
    return [pid, *(one for child in children(pid) for one in family(child))]


def rss_mib(pid: int) -> float:
    """Return a process' resident memory, 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * _PAGE / 2**20


def cpu_s(pid: int) -> float:
    """Return a process' CPU time, 0 if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS


def engine_of(pid: int) -> int | None:
    """Return the process of a gateway's engine, the topmost, or None."""
    for one in family(pid):
        try:
            said = Path(f"/proc/{one}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if ENGINE in said:
            return one
    return None


def used_by(pid: int) -> dict[str, float]:
    """Return the CPU time of a gateway, its engine, and its database and FIX child, in seconds."""
    engine = engine_of(pid)
    engines = set() if engine is None else set(family(engine))
    others = sum(cpu_s(one) for one in family(pid)[1:] if one not in engines)
    return {
        "gateway": cpu_s(pid),
        "engine": sum(map(cpu_s, engines)),
        "database and FIX": others,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A gateway's memory at a time of a load, and how many decisions it had made by then."""

    at_s: float
    mib: float
    decided: int


def grown(samples: Sequence[Sampled], from_s: float) -> str:
    """Return how much memory grew a decision between a time and the last sample, in words."""
    since = next((one for one in samples if one.at_s >= from_s), None)
    if since is None or since is samples[-1] or samples[-1].decided <= since.decided:
        return f"not known: the load ends before {from_s / MINUTE_S:g} minutes and one more sample"
    last = samples[-1]
    made = last.decided - since.decided
    each = (last.mib - since.mib) * KIB / made
    return (
        f"{each:+.2f} kB a decision, from {since.mib:.0f} to {last.mib:.0f} MiB over {made}"
        f" decisions, minute {since.at_s / MINUTE_S:.0f} to {last.at_s / MINUTE_S:.0f}"
    )


@dataclass(slots=True)
class MemoryWatch:
    """Samples a gateway's memory while it watches, once a minute; use as a context."""

    gateway: int
    decided: Callable[[], int]
    every_s: float = MINUTE_S
    samples: list[Sampled] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, with a last sample."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        began_s, over = time.monotonic(), False
        while not over:
            over = self._over.wait(self.every_s)
            at_s = time.monotonic() - began_s
            one = Sampled(at_s=at_s, mib=rss_mib(self.gateway), decided=self.decided())
            self.samples.append(one)


@dataclass(slots=True)
class EngineWatch:
    """Notes each engine process that a gateway had while it watches; use as a context."""

    gateway: int
    seen: set[int] = field(default_factory=set)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def deaths(self) -> int:
        """How many engines ended."""
        now = engine_of(self.gateway)
        return len(self.seen - {now})

    def __enter__(self) -> Self:
        """Begin."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while True:
            if (engine := engine_of(self.gateway)) is not None:
                self.seen.add(engine)
            if self._over.wait(EVERY_S):
                return
