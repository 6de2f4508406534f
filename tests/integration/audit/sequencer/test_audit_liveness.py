"""A database that would not take an append is found out within a bound, however it stands still."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from audit.errors import LedgerError
from audit.sequencer.config import SequencerConfig
from audit.sequencer.liveness import Liveness
from audit.store.tables import DatabaseError, connect
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.doubles.audit_log import note
from tests.doubles.audit_server import frozen, opened, sequencer_pid

pytestmark = pytest.mark.postgres
WITHIN_S = 1.0
BOUND_S = 20.0
"""Three questions of a second each, and of connecting; the rest is a busy machine's."""


@contextmanager
def alive(dsn: str) -> Iterator[Liveness]:
    """Yield a log's liveness, asked once already: the log does not grow any more."""
    config = SequencerConfig(commit_deadline_s=0.5, in_doubt_s=0.5, patient=True)
    with opened(dsn, config=config) as ledger:
        ledger.append(note("before"))
        liveness = Liveness(ledger, dsn)
        try:
            liveness.beat(30.0)
            liveness.beat(30.0)
            yield liveness
            liveness.beat(30.0)
            assert ledger.append(note("after"), timeout_s=30.0)
        finally:
            liveness.close()


def fails(liveness: Liveness) -> None:
    """Ask a database that does not answer, and see that the question ends."""
    began = time.monotonic()
    with pytest.raises((LedgerError, DatabaseError)):
        liveness.beat(WITHIN_S)
    assert time.monotonic() - began < BOUND_S


def test_a_stopped_session_of_the_sequencer_is_noticed(postgres_dsn: str) -> None:
    with alive(postgres_dsn) as liveness, frozen(sequencer_pid(postgres_dsn)):
        fails(liveness)


def test_a_server_that_lets_nobody_in_is_noticed(
    postgres_dsn: str, postgres: EmbeddedPostgres
) -> None:
    assert postgres.pid is not None
    with alive(postgres_dsn) as liveness, frozen(postgres.pid):
        fails(liveness)


@pytest.mark.parametrize(
    "held",
    [
        "SELECT FROM ledger.head FOR UPDATE",
        "LOCK TABLE ledger.entry IN SHARE MODE",
        "LOCK TABLE ledger.entry IN ACCESS EXCLUSIVE MODE",
    ],
)
def test_a_lock_that_somebody_holds_is_noticed(postgres_dsn: str, held: str) -> None:
    with alive(postgres_dsn) as liveness, ExitStack() as stack:
        holder = stack.enter_context(connect(postgres_dsn))
        stack.enter_context(holder.transaction())
        holder.execute(held.encode())
        fails(liveness)


def test_a_ledger_is_patient_until_it_is_closed(postgres_dsn: str) -> None:
    config = SequencerConfig(commit_deadline_s=0.2, in_doubt_s=0.2, patient=True)
    with opened(postgres_dsn, config=config) as ledger:
        ledger.append(note("before"))
        pid = sequencer_pid(postgres_dsn)
        with frozen(pid), pytest.raises(LedgerError):
            ledger.append(note("hung"), timeout_s=3.0)
        assert ledger.stopped is None
        record = ledger.resolve("control", "note:hung", timeout_s=30.0)
        assert record is None or record.seq == 1
    ledger = opened(postgres_dsn, config=config)
    pid = sequencer_pid(postgres_dsn)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(LedgerError):
            ledger.append(note("again"), timeout_s=1.0)
        ledger.close()
        deadline = time.monotonic() + 30.0
        while ledger.stopped is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ledger.stopped is not None
    finally:
        os.kill(pid, signal.SIGCONT)
