"""The loads that `bench_ledger.py` puts on one PostgreSQL: the ledger's and the yardsticks'.

The yardsticks write the same valid rows into a table with the same columns, keys, checks, indexes
and triggers. Their rows are built before the clock starts; the ledger's are checked, canonicalised,
hashed, chained and put in the tree while it runs.
"""

import asyncio
import gc
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

import psycopg
from psycopg.rows import TupleRow

from audit.records.kinds import Kind
from audit.records.record import Draft, Record, prepare
from audit.records.row import Row
from audit.sequencer.batch import Builder, LogPosition
from audit.sequencer.lanes import Append
from audit.sequencer.ledger import Ledger
from audit.store.tables import TupleConnection, connect
from audit.store.wire import COLUMNS
from audit.tlog.merkle import Frontier
from gateway import clock

Cursor = psycopg.Cursor[TupleRow]
WriteBatch = Callable[[Cursor, Sequence[tuple[object, ...]]], None]
BATCH = 256
_RATE_MAX = 20_000.0
"""More records a second than a ledger takes on this machine."""
OPEN_DECISIONS, RECORDS_EACH = 32, 8
"""As in `big_log.py`, so that as many streams change in a second as with real decisions."""
TEXT = "x" * 900
"""Makes a payload of about 1 KiB."""
_NAMES = ", ".join(COLUMNS)
_COPY_SQL = f"COPY bench.entry ({_NAMES}) FROM STDIN (FORMAT BINARY)"
_COPY_TYPES = [{"bigint": "int8", "integer": "int4"}.get(kind, kind) for kind in COLUMNS.values()]
_INSERT_SQL = " ".join(
    (
        "INSERT INTO bench.entry (", _NAMES, ") VALUES (", ", ".join("%b" for _ in COLUMNS), ")",
    )
)  # fmt: skip
_TABLE_SQL = """
CREATE SCHEMA bench;
CREATE TABLE bench.entry (LIKE ledger.entry INCLUDING ALL);
CREATE TRIGGER entry_no_change BEFORE UPDATE OR DELETE ON bench.entry
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON bench.entry
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
ALTER TABLE bench.entry ENABLE ALWAYS TRIGGER entry_no_change;
ALTER TABLE bench.entry ENABLE ALWAYS TRIGGER entry_no_truncate;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One phase: records a second, and the sorted durations of its calls."""

    rate: float
    calls_s: Sequence[float]

    def at(self, share: float) -> float:
        """Return a percentile in milliseconds."""
        place = min(len(self.calls_s) - 1, int(len(self.calls_s) * share))
        return self.calls_s[place] * 1000


def load_of(rows: int, elapsed_s: float, calls_s: Sequence[float]) -> Load:
    """Return a phase's figures."""
    return Load(rate=rows / elapsed_s, calls_s=sorted(calls_s))


def drafts(numbers: Iterator[int]) -> Iterator[Draft]:
    """Yield drafts without end, for some open decisions in turn."""
    for number in numbers:
        group, slot = number // (OPEN_DECISIONS * RECORDS_EACH), number % OPEN_DECISIONS
        yield Draft(
            stream=f"decision/{group * OPEN_DECISIONS + slot}",
            kind=Kind.RESERVATION_RELEASED,
            payload={"account": f"desk-{number % 4}", "reason": TEXT, "run_id": "bench"},
            actor="gateway",
            idem_key=f"released:{number}",
        )


class Yardsticks:
    """The table with the ledger's constraints, and the plain ways to write into it."""

    def __init__(self, dsn: str) -> None:
        self._connection: TupleConnection = connect(dsn)
        self._connection.execute(_TABLE_SQL)
        self._drafts = drafts(count())
        self._position = LogPosition(
            log="bench.example/log",
            frontier=Frontier(),
            heads={},
            changed={},
            sections={},
            firm_seq=-1,
            recorded_at_us=0,
        )

    def rows(self, number: int) -> list[tuple[object, ...]]:
        """Return new valid rows as column values."""
        builder = Builder(self._position, {}, clock.wall_us())
        for _ in range(number):
            builder.add(Append(prepared=(prepare(next(self._drafts)),)))
        made = [_values(row) for row in builder.finish().rows]
        self._position = builder.advance()
        return made

    def copy(self, seconds: float) -> Load:
        """Write by COPY BINARY, with a durable commit for every batch."""
        return self._batches(seconds, self._copy)

    def executemany(self, seconds: float) -> Load:
        """Write by prepared INSERTs in the driver's pipeline, with a durable commit per batch."""
        return self._batches(seconds, self._many)

    def bare(self, seconds: float) -> Load:
        """Write by one prepared INSERT and one durable commit at a time."""
        calls: list[float] = []
        while sum(calls) < seconds:
            calls += [self.one(row) for row in self.rows(64)]
        return load_of(len(calls), sum(calls), calls)

    def one(self, row: Sequence[object]) -> float:
        """Commit one row; return the duration in seconds."""
        start = time.perf_counter()
        self._connection.execute(_INSERT_SQL.encode(), row, prepare=True)
        return time.perf_counter() - start

    def _batches(self, seconds: float, write: WriteBatch) -> Load:
        calls: list[float] = []
        while sum(calls) < seconds:
            made = self.rows(BATCH)
            start = time.perf_counter()
            with self._connection.transaction(), self._connection.cursor() as cursor:
                write(cursor, made)
            calls.append(time.perf_counter() - start)
        return load_of(BATCH * len(calls), sum(calls), calls)

    @staticmethod
    def _copy(cursor: Cursor, made: Sequence[tuple[object, ...]]) -> None:
        with cursor.copy(_COPY_SQL.encode()) as copy:
            copy.set_types(_COPY_TYPES)
            for row in made:
                copy.write_row(row)

    @staticmethod
    def _many(cursor: Cursor, made: Sequence[tuple[object, ...]]) -> None:
        cursor.executemany(_INSERT_SQL.encode(), made)

    def settle(self) -> None:
        """Make the server write its pages now and not during a phase."""
        self._connection.execute("CHECKPOINT")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Appends:
    """The ledger's own append, by coroutines and by a thread."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._drafts = drafts(count())
        self._made: deque[Draft] = deque()

    def one(self) -> float:
        """Append one record from this thread; return the duration in seconds."""
        draft = self._next()
        start = time.perf_counter()
        self._ledger.append(draft, timeout_s=60)
        return time.perf_counter() - start

    def ready(self, number: int) -> None:
        """Make drafts before the clock starts."""
        self._made.extend(islice(self._drafts, max(0, number - len(self._made))))
        gc.collect()
        gc.freeze()  # so that the collector does not scan them while the clock runs

    def writers(self, number: int, seconds: float) -> Load:
        """Append from `number` coroutines, each as fast as it is answered."""
        calls: list[float] = []
        self.ready(int(_RATE_MAX * seconds))

        async def write(until: float) -> None:
            while (start := time.perf_counter()) < until:
                await self._ledger.append_async(self._next(), timeout_s=60)
                calls.append(time.perf_counter() - start)

        async def everybody() -> float:
            start = time.perf_counter()
            await asyncio.gather(*(write(start + seconds) for _ in range(number)))
            return time.perf_counter() - start

        elapsed = asyncio.run(everybody())
        return load_of(len(calls), elapsed, calls)

    def arrivals(self, rate: float, seconds: float) -> Load:
        """Append on schedule, whether earlier appends are answered or not.

        A call's time counts from the moment it was due, so a stall counts for all calls it delays.
        """
        calls: list[float] = []
        self.ready(int(rate * seconds))

        async def write(due: float) -> None:
            await self._ledger.append_async(self._next(), timeout_s=60)
            calls.append(time.perf_counter() - due)

        async def schedule() -> float:
            start = time.perf_counter() + 0.05
            going: set[asyncio.Task[None]] = set()
            for number in range(int(rate * seconds)):
                due = start + number / rate
                if (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                task = asyncio.ensure_future(write(due))
                going.add(task)
                task.add_done_callback(going.discard)
            await asyncio.gather(*going)
            return time.perf_counter() - start

        with asyncio.Runner(loop_factory=_punctual_loop) as runner:
            elapsed = runner.run(schedule())
        return load_of(len(calls), elapsed, calls)

    def _next(self) -> Draft:
        return self._made.popleft() if self._made else next(self._drafts)


def _punctual_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that wakes on time: the default, epoll, rounds up to a millisecond."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def _values(row: Row) -> tuple[object, ...]:
    record: Record = row.record
    beside = {
        "kind": record.kind.value,
        "account": row.account,
        "commitments": row.commitments,
        "mac": record.leaf,  # has the length of a MAC
    }
    return tuple(beside[name] if name in beside else getattr(record, name) for name in COLUMNS)
