"""The tail of a durable write at a fixed rate: the ledger's, PostgreSQL's own, and the disk's.

In each turn one side writes while another process calls `fdatasync` on the same schedule, so that a
stalled disk hits both. Call durations are compared with call durations, and delays since the due
time with delays since the due time.

Both are shown because a waiting caller cannot call meanwhile: for one caller a stall is one slow
call, but it delays every call that was due in it.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from scripts.ledger_loads import Appends, Yardsticks

_PAGE = bytes(range(256)) * 32
_FILE_SIZE = 2**24


@dataclass(slots=True)
class Paced:
    """One side's calls in seconds: each duration, and each delay since the due time."""

    calls_s: list[float] = field(default_factory=list)
    late_s: list[float] = field(default_factory=list)

    def add(self, other: "Paced") -> None:
        """Add another turn's calls."""
        self.calls_s += other.calls_s
        self.late_s += other.late_s


@dataclass(slots=True)
class Against:
    """One side, and the `fdatasync` calls beside it."""

    side: Paced = field(default_factory=Paced)
    disk: Paced = field(default_factory=Paced)


@dataclass(slots=True)
class Tails:
    """All turns: one thread's appends, one thread's bare INSERTs, and appends on schedule."""

    append: Against = field(default_factory=Against)
    bare: Against = field(default_factory=Against)
    arrivals: Against = field(default_factory=Against)


def paced(call: Callable[[int], object], rate: float, seconds: float) -> Paced:
    """Call on schedule, one at a time; after a late answer, call again at once."""
    made = Paced()
    start = time.perf_counter() + 0.05
    for number in range(int(rate * seconds)):
        due = start + number / rate
        if (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        begun = time.perf_counter()
        call(number)
        done = time.perf_counter()
        made.calls_s.append(done - begun)
        made.late_s.append(done - due)
    return made


def flushes(folder: Path, rate: float, seconds: float) -> Paced:
    """Write 8 KiB and `fdatasync` it, on schedule."""
    with _flushed_file(folder) as handle:

        def flush(number: int) -> None:
            os.pwrite(handle, _PAGE, number * len(_PAGE) % _FILE_SIZE)
            os.fdatasync(handle)

        return paced(flush, rate, seconds)


def turn(
    tails: Tails,
    sides: tuple[Appends, Yardsticks],
    beside: Callable[[], Callable[[], Paced]],
    rate: float,
    seconds: float,
) -> None:
    """Let every side write for `seconds` at `rate` calls a second; add the figures to `tails`.

    `beside` starts the flushes in another process and returns a function that waits for them.
    """
    ours, yard = sides
    number = int(rate * seconds)
    rows = yard.rows(number)
    ways: tuple[tuple[Against, Callable[[], Paced]], ...] = (
        (tails.append, lambda: paced(lambda _: ours.one(), rate, seconds)),
        (tails.bare, lambda: paced(lambda place: yard.one(rows[place]), rate, seconds)),
        (tails.arrivals, lambda: Paced(late_s=list(ours.arrivals(rate, seconds).calls_s))),
    )
    for against, write in ways:
        ours.ready(number)
        flushed = beside()
        against.side.add(write())
        against.disk.add(flushed())


def flusher(
    executor: Executor, folder: Path, rate: float, seconds: float
) -> Callable[[], Callable[[], Paced]]:
    """Return a function that starts the flushes in another process."""
    executor.submit(os.getpid).result()  # start the process before anything is timed

    def start() -> Callable[[], Paced]:
        return executor.submit(flushes, folder, rate, seconds).result

    return start


@contextlib.contextmanager
def _flushed_file(folder: Path) -> Iterator[int]:
    """Yield a file that is already written to disk, as the server's log segments are."""
    path = folder / "fdatasync"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.pwrite(handle, bytes(_FILE_SIZE), 0)
        os.fsync(handle)
        yield handle
    finally:
        os.close(handle)
        path.unlink()
