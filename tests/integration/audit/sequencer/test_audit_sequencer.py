"""Batches built ahead of the database's answer: retries, refusals, lost commits, coroutines."""

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from audit.errors import (
    GuardMovedError,
    IdempotencyConflictError,
    LaneFullError,
    LedgerStoppedError,
    LedgerTimeoutError,
    LedgerUnsafeError,
    LedgerWriteError,
)
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.clock_watch import monotonic_us, read_clock
from audit.sequencer.config import SequencerConfig
from audit.sequencer.ledger import Guard, Lane, Ledger, LedgerConfig
from audit.sequencer.sequencer import AFTER_COMMIT, BEFORE_COMMIT
from audit.store.catalog import digests
from audit.store.connection import Pool
from audit.store.reader import LedgerReader
from audit.store.tables import connect
from audit.store.tiles import TileStore, TileWriter, pooled
from audit.store.watchdog import Watchdog
from tests.doubles.audit_log import SIGNER, TIME_US, note, refused
from tests.doubles.audit_server import frozen, opened, sequencer_pid
from tests.doubles.audit_spoiled import arm, disarm, verify_database

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)


def verified(dsn: str) -> list[Record]:
    """Check the whole log and return its records without the maps."""
    assert verify_database(dsn, [KEY]).findings == 0
    reader = LedgerReader(dsn)
    records = [record for record in reader.records() if record.kind is not Kind.STREAM_HEADS]
    reader.close()
    return records


class Steps:
    """Holds the sequencer at a step until it is let go."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.reached = threading.Event()
        self.go = threading.Event()

    def __call__(self, step: str) -> None:
        if step == self.step:
            self.reached.set()
            assert self.go.wait(30)


def test_the_same_draft_from_many_sides_at_once_is_one_record(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger, ThreadPoolExecutor(16) as threads:
        ledger.append(note("first"))
        keys = [number % 25 for number in range(400)]
        found = list(threads.map(lambda n: ledger.append(note(f"n{n}"))[0], keys))
    by_key = {record.idem_key: record for record in found}
    assert len(by_key) == 25
    assert all(by_key[record.idem_key] == record for record in found)
    assert len(verified(postgres_dsn)) == 26


def test_a_key_on_record_is_found_by_the_database_and_hurts_nobody_else(postgres_dsn: str) -> None:
    """The second process has never seen the keys of the first."""
    with opened(postgres_dsn) as ledger:
        old = ledger.append(*(note(str(number)) for number in range(300)))
    gate = Steps(BEFORE_COMMIT)
    with opened(postgres_dsn, on_step=gate) as ledger, ThreadPoolExecutor(8) as threads:
        lone = threads.submit(ledger.append, note("holds the door"))
        assert gate.reached.wait(10)
        same = threads.submit(ledger.append, *(note(str(number)) for number in range(300)))
        other = threads.submit(ledger.append, note("other text", key="note:7"))
        part = threads.submit(ledger.append, note("3"), note("new"))
        fresh = threads.submit(ledger.append, *(note(f"f{number}") for number in range(200)))
        while sum(map(len, ledger._lanes._queues.values())) < 4:  # noqa: SLF001 - nothing else shows it
            time.sleep(0.005)
        gate.go.set()
        assert same.result(20) == old
        with pytest.raises(IdempotencyConflictError, match="record 7"):
            other.result(20)
        assert part.result(20)[0] == old[3]
        assert len(fresh.result(20)) == 200
        assert lone.result(20)
    keys = [record.idem_key for record in verified(postgres_dsn)]
    assert len(keys) == len(set(keys)) == 300 + 1 + 1 + 200


def test_a_guard_does_not_stop_a_retry_and_stops_everything_new(postgres_dsn: str) -> None:
    before = Guard(section="acc", basis_seq=-1)
    with opened(postgres_dsn) as ledger:
        first = ledger.append(refused("d1"), guard=before)
    with opened(postgres_dsn) as ledger:
        assert ledger.append(refused("d1"), guard=before) == first
        with pytest.raises(GuardMovedError):
            ledger.append(refused("d1"), refused("d2"), guard=before)
        with pytest.raises(GuardMovedError):
            ledger.append(refused("d2"), guard=before)
        assert ledger.append(refused("d2"), guard=Guard(section="acc", basis_seq=first[0].seq))
    assert len(verified(postgres_dsn)) == 2


def test_what_was_built_on_a_lost_commit_is_built_again(postgres_dsn: str) -> None:
    """The back end is killed while a batch is in it and the next one stands on that batch."""
    with opened(postgres_dsn, config=SequencerConfig(in_doubt_s=20)) as ledger:
        ledger.append(note("before"))
        for number in range(3):
            with connect(postgres_dsn) as admin, ThreadPoolExecutor(4) as threads:
                admin.execute("BEGIN")
                admin.execute("LOCK TABLE ledger.entry IN SHARE MODE")
                flying = threads.submit(ledger.append, note(f"a{number}"), timeout_s=30)
                time.sleep(0.1)
                behind = [
                    threads.submit(ledger.append, note(f"b{number}:{i}"), timeout_s=30)
                    for i in range(3)
                ]
                time.sleep(0.1)
                admin.execute("SELECT pg_terminate_backend(%s)", (sequencer_pid(postgres_dsn),))
                admin.execute("ROLLBACK")
                seqs = {done.result(30)[0].seq for done in (flying, *behind)}
                assert seqs == set(range(1 + 4 * number, 5 + 4 * number))
    records = verified(postgres_dsn)
    assert [record.idem_key for record in records[1::4]] == ["note:a0", "note:a1", "note:a2"]


def test_a_batch_the_database_refuses_is_refused_and_the_next_one_stands(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a migration had made one constraint more."""
    with connect(postgres_dsn) as admin:
        admin.execute("ALTER TABLE ledger.entry ADD CONSTRAINT p CHECK (idem_key <> 'note:poison')")
        monkeypatch.setattr("audit.store.catalog.DIGESTS", digests(admin))
    with opened(postgres_dsn) as ledger:
        ledger.append(note("before"))
        with pytest.raises(LedgerWriteError, match="refused"):
            ledger.append(note("poison"))
        assert ledger.append(note("after"))[0].seq == 1
    assert len(verified(postgres_dsn)) == 2


def test_coroutines_append_as_threads_do(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:

        async def write() -> list[Record]:
            jobs = (ledger.append_async(note(f"{n % 90}")) for n in range(400))
            return [records[0] for records in await asyncio.gather(*jobs)]

        found = asyncio.run(write())
        assert len({record.seq for record in found}) == 90
        blob = ledger.put_blob(b"x")

        async def refusals() -> None:
            with pytest.raises(IdempotencyConflictError):
                await ledger.append_async(note("other", key="note:1"))
            with pytest.raises(GuardMovedError):
                await ledger.append_async(refused("d2"), guard=Guard(section="acc", basis_seq=-1))

        ledger.append(refused("d1"))
        asyncio.run(refusals())
        assert blob
    with pytest.raises(LedgerStoppedError):
        asyncio.run(ledger.append_async(note("late")))
    assert len(verified(postgres_dsn)) == 91


def test_a_cancelled_coroutine_neither_loses_nor_doubles_a_record(postgres_dsn: str) -> None:
    gate = Steps(BEFORE_COMMIT)
    with opened(postgres_dsn, on_step=gate, decision_lane_max=2) as ledger:

        async def cancel() -> None:
            sent = asyncio.ensure_future(ledger.append_async(note("sent")))
            await asyncio.to_thread(gate.reached.wait, 10)
            queued = asyncio.ensure_future(ledger.append_async(note("queued")))
            late = asyncio.ensure_future(ledger.append_async(note("late"), timeout_s=0.05))
            await asyncio.sleep(0)
            with pytest.raises(LaneFullError):
                await ledger.append_async(note("refused"))
            with pytest.raises(LedgerTimeoutError) as caught:
                await late
            assert caught.value.written is False
            for task in (sent, queued):
                task.cancel()
            # first of all: a task hears that it is cancelled when the loop runs
            assert await asyncio.gather(sent, queued, return_exceptions=True)
            gate.go.set()
            (again,) = await ledger.append_async(note("sent"), lane=Lane.URGENT)
            assert again.seq == 0

        asyncio.run(cancel())
        assert ledger.resolve("control", "note:queued") is None
        assert ledger.resolve("control", "note:late") is None
    assert [record.idem_key for record in verified(postgres_dsn)] == ["note:sent"]


def test_an_event_loop_that_is_gone_does_not_stop_the_ledger(postgres_dsn: str) -> None:
    gate = Steps(AFTER_COMMIT)
    with opened(postgres_dsn, on_step=gate) as ledger:

        async def leave() -> None:
            asyncio.ensure_future(ledger.append_async(note("alone")))  # noqa: RUF006 - left on purpose
            await asyncio.to_thread(gate.reached.wait, 10)

        asyncio.run(leave())
        gate.go.set()
        assert ledger.append(note("after"))[0].seq == 1
    assert len(verified(postgres_dsn)) == 2


def test_a_full_urgent_lane_makes_a_coroutine_wait_and_not_the_loop(postgres_dsn: str) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0, urgent_lane_max=1)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:

        async def write() -> int:
            ledger.append(note("before"))
            with frozen(sequencer_pid(postgres_dsn)):
                jobs = [
                    asyncio.ensure_future(
                        ledger.append_async(refused(f"d{n}"), lane=Lane.URGENT, timeout_s=20)
                    )
                    for n in range(4)
                ]
                for _ in range(20):
                    await asyncio.sleep(0.005)
                assert not any(job.done() for job in jobs)
            return len(await asyncio.gather(*jobs))

        assert asyncio.run(write()) == 4
    assert len(verified(postgres_dsn)) == 5


def clocks(*times_us: int) -> Iterator[int]:
    """Tell these times, then the last one for ever."""
    yield from times_us
    yield from itertools.repeat(times_us[-1])


class SetClock:
    """A clock that runs, and can be set."""

    def __init__(self) -> None:
        self.moved_us = TIME_US - monotonic_us()

    def __call__(self) -> int:
        return monotonic_us() + self.moved_us


def observed(records: Sequence[Record]) -> list[tuple[int, object]]:
    return [(r.seq, r.body["reason"]) for r in records if r.kind is Kind.CLOCK_OBSERVED]


def test_a_clock_that_goes_back_is_on_record_and_reorders_nothing(postgres_dsn: str) -> None:
    clock = SetClock()
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0, clock_source=read_clock)
    with Ledger.open(config, SIGNER, clock) as ledger:
        ledger.append(note("a"))
        ledger.append(note("b"))
        clock.moved_us -= 3_600_000_000
        ledger.append(note("c"))
        ledger.append(note("d"))
    records = verified(postgres_dsn)
    assert observed(records) == [(0, "opened"), (3, "went_back")]
    step_us = records[3].body["step_us"]
    assert isinstance(step_us, int)
    assert -3_600_100_000 < step_us <= -3_599_000_000
    times = [record.recorded_at_us for record in records]
    assert times == sorted(times)
    assert times[2:] == [times[2]] * 4, "they stand still until the clock is past them"

    with Ledger.open(config, SIGNER, clock) as ledger:
        ledger.append(note("e"))
    after = verified(postgres_dsn)[6:]
    assert observed(after) == [(after[0].seq, "went_back")], "the next process finds it as well"
    assert int(str(after[0].body["step_us"])) < -3_500_000_000


def test_a_clock_that_runs_ahead_is_on_record(postgres_dsn: str) -> None:
    ahead = clocks(TIME_US + 10, TIME_US + 3_600_000_000, TIME_US + 20)
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: next(ahead)) as ledger:
        for text in "def":
            ledger.append(note(text))
    records = verified(postgres_dsn)
    assert observed(records) == [(1, "jumped_ahead")]
    assert int(str(records[1].body["step_us"])) > 3_500_000_000
    assert [record.recorded_at_us - TIME_US for record in records] == [
        10, 3_600_000_000, 3_600_000_000, 3_600_000_000
    ]  # fmt: skip


def test_a_log_is_taken_over_from_its_tiles_only_if_they_lead_to_the_signed_root(
    postgres_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(*(note(str(number)) for number in range(700)))
        signed = ledger.checkpoint_now()
        assert signed is not None
    watchdog = Watchdog()
    pool = Pool(postgres_dsn, watchdog)
    rows = pooled(pool, 10.0)
    assert TileWriter(rows, TileStore(rows)).write(signed.size) == 2
    pool.close()
    watchdog.close()
    with connect(postgres_dsn) as admin:
        with opened(postgres_dsn) as ledger:
            assert ledger.append(note("more"))[0].seq == signed.size
        assert "tiles" not in caplog.text
        disarm(postgres_dsn)
        admin.execute("UPDATE ledger.tile SET hashes = overlay(hashes PLACING '\\x00' FROM 9)")
        arm(postgres_dsn)
        with opened(postgres_dsn) as ledger:
            assert ledger.size == signed.size + 2
        assert "tiles_do_not_lead_to_the_checkpoint" in caplog.text
        disarm(postgres_dsn)
        admin.execute("UPDATE ledger.entry SET leaf = sha256('x') WHERE seq = 5")
        arm(postgres_dsn)
        with pytest.raises(LedgerUnsafeError, match="do not lead to the checkpoint"):
            opened(postgres_dsn)
