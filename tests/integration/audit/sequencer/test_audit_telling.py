"""Subscribers are told of every batch in the order of the log, whatever way a batch took."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from audit.errors import GuardMovedError
from audit.records.record import Record
from audit.sequencer.ledger import Guard, Lane, Ledger
from audit.store.tables import connect
from tests.doubles.audit_log import note
from tests.doubles.audit_server import opened

pytestmark = pytest.mark.postgres
MOVED = Guard(section="none", basis_seq=-2)


@contextmanager
def commits_waiting(dsn: str) -> Iterator[None]:
    """Hold the head's row, so that what was sent is in flight until this ends."""
    with connect(dsn) as connection, connection.transaction():
        connection.execute(b"SELECT 1 FROM ledger.head FOR UPDATE")
        yield


def wait_until_taken(ledger: Ledger) -> None:
    """Wait until the sequencer has taken everything out of the lanes."""
    deadline = time.monotonic() + 20
    queues = ledger._lanes._queues  # noqa: SLF001 - nothing else shows it
    while any(queues[lane] for lane in Lane):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(0.05)


def told(batches: list[tuple[Record, ...]]) -> list[int]:
    return [record.seq for batch in batches for record in batch]


def test_a_batch_whose_guard_moved_is_told_of_after_the_one_before(postgres_dsn: str) -> None:
    batches: list[tuple[Record, ...]] = []
    with opened(postgres_dsn) as ledger, ThreadPoolExecutor(3) as threads:
        ledger.append(note("zero"))
        ledger.subscribe(batches.append)
        with commits_waiting(postgres_dsn):
            first = threads.submit(ledger.append, note("first"))
            wait_until_taken(ledger)  # it flies; what comes now is built on top of it
            refused = threads.submit(ledger.append, note("refused"), guard=MOVED)
            beside = threads.submit(ledger.append, note("beside"))
            wait_until_taken(ledger)
        assert first.result(20)[0].seq < beside.result(20)[0].seq
        with pytest.raises(GuardMovedError):
            refused.result(20)
    assert told(batches) == sorted(told(batches))
    assert len(told(batches)) >= 2
