"""Commits in doubt, hung and killed servers, two sequencers: nothing is lost, doubled or forked."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from audit.errors import LedgerError, LedgerStoppedError, LedgerTimeoutError
from audit.sequencer.config import SequencerConfig
from audit.store.reader import LedgerReader
from audit.store.tables import connect
from audit.upkeep.dump import verify_database
from tests.doubles.audit_log import SIGNER, note
from tests.doubles.audit_server import frozen, opened, sequencer_pid

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)


def test_a_hung_database_times_out_as_unknown_and_is_decided_later(postgres_dsn: str) -> None:
    config = SequencerConfig(commit_deadline_s=20, in_doubt_s=20)
    with opened(postgres_dsn, config=config) as ledger:
        ledger.append(note("before"))
        with frozen(sequencer_pid(postgres_dsn)):
            start = time.monotonic()
            with pytest.raises(LedgerTimeoutError) as caught:
                ledger.append(note("hung"), timeout_s=0.5)
            assert time.monotonic() - start < 2
            assert caught.value.written is None
            with pytest.raises(LedgerTimeoutError) as queued:
                ledger.append(note("behind"), timeout_s=0.2)
            assert queued.value.written is False
        record = ledger.resolve("control", "note:hung")
        assert record is not None
        assert ledger.append(note("hung")) == (record,)
        assert ledger.resolve("control", "note:behind") is None
    assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_a_commit_in_doubt_that_landed_is_success_once(postgres_dsn: str) -> None:
    """The back end hangs past the deadline, its connection is cut, and then it commits."""
    config = SequencerConfig(commit_deadline_s=0.5, in_doubt_s=20)
    with opened(postgres_dsn, config=config) as ledger, ThreadPoolExecutor(1) as threads:
        ledger.append(note("before"))
        with frozen(sequencer_pid(postgres_dsn)):
            hung = threads.submit(ledger.append, note("hung"), timeout_s=20)
            time.sleep(1.5)
            assert not hung.done()
        (record,) = hung.result(20)
        assert record.seq == 1
        assert ledger.append(note("after"))[0].seq == 2
    assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_a_killed_back_end_is_survived(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        for number in range(3):
            with connect(postgres_dsn) as admin:
                pid = sequencer_pid(postgres_dsn)
                admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
            assert ledger.append(note(str(number)))[0].seq == number
    assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_a_database_that_stays_away_stops_the_ledger_for_good(postgres_dsn: str) -> None:
    stopped: list[LedgerError] = []
    config = SequencerConfig(commit_deadline_s=0.2, in_doubt_s=0.5)
    ledger = opened(postgres_dsn, config=config, on_stop=stopped.append)
    ledger.append(note("before"))
    with frozen(sequencer_pid(postgres_dsn)):
        with pytest.raises(LedgerTimeoutError) as caught:
            ledger.append(note("hung"), timeout_s=20)
        assert caught.value.written is None
        with pytest.raises(LedgerStoppedError):
            ledger.append(note("after"))
    assert ledger.stopped is not None
    ledger.close()  # ends the thread that tells
    assert len(stopped) == 1


def test_a_sequencer_whose_head_was_moved_stops_and_writes_nothing(postgres_dsn: str) -> None:
    """Even without the lock (a failed-over server forgets it) the head's compare-and-swap holds."""
    with opened(postgres_dsn) as first:
        first.append(note("a"))
        with connect(postgres_dsn) as admin:
            admin.execute("UPDATE ledger.head SET fence = fence + 1")
        with pytest.raises(LedgerTimeoutError):
            first.append(note("b"))
        assert first.stopped is not None
    with opened(postgres_dsn) as second:
        assert second.size == 1
        second.append(note("c"))
    assert verify_database(postgres_dsn, [KEY]).findings == 0


@pytest.mark.timeout(300)
def test_two_sequencers_fighting_never_fork_the_log(postgres_dsn: str) -> None:
    """Each takes the log over by killing the other's session, again and again."""
    acknowledged: dict[int, bytes] = {}
    opened_by = [0, 0]
    clash = threading.Lock()
    until = time.monotonic() + 90

    def fight(side: int) -> None:
        number = 0
        while (len(acknowledged) <= 40 or min(opened_by) < 4) and time.monotonic() < until:
            with connect(postgres_dsn) as admin:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                    " application_name = 'countersign-sequencer'"
                    " AND datname = current_database()"
                )
            config = SequencerConfig(in_doubt_s=0.3)
            try:
                ledger = opened(postgres_dsn, config=config)
            except LedgerError:
                continue
            opened_by[side] += 1
            try:
                for _ in range(15):
                    number += 1
                    (record,) = ledger.append(note(f"{side}:{number}"))
                    with clash:
                        assert acknowledged.setdefault(record.seq, record.leaf) == record.leaf
            except LedgerError:
                pass
            finally:
                ledger.close()

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(fight, side) for side in range(2)]:
            done.result(120)
    reader = LedgerReader(postgres_dsn)
    stored = {record.seq: record.leaf for record in reader.records()}
    reader.close()
    assert len(acknowledged) > 40, opened_by
    assert acknowledged.items() <= stored.items()
    with opened(postgres_dsn):
        pass
    assert verify_database(postgres_dsn, [KEY]).findings == 0
