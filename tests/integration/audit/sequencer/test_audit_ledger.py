"""The ledger on a real PostgreSQL: durability, order, lanes, doubt, forks, checkpoints."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from audit.errors import (
    BlobMissingError,
    GuardMovedError,
    IdempotencyConflictError,
    LaneFullError,
    LedgerStoppedError,
    LedgerWriteError,
)
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.sequencer.ledger import Guard, Lane
from audit.sequencer.sequencer import BEFORE_COMMIT
from audit.store.reader import LedgerReader
from audit.store.tables import connect
from audit.tlog.checkpoint import Checkpoint, open_checkpoint
from audit.tlog.merkle import verify_consistency, verify_inclusion
from audit.upkeep.dump import verify_database
from tests.doubles.audit_log import SIGNER, note, opening, refused, started
from tests.doubles.audit_server import opened, sequencer_pid

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)


class Gate:
    """A step that waits until it is opened; lets a test hold the sequencer before its commit."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go = threading.Event()

    def __call__(self, step: str) -> None:
        if step == BEFORE_COMMIT:
            self.reached.set()
            assert self.go.wait(30)


def test_what_is_appended_is_read_back_and_verifies(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        blob = ledger.put_blob(b"snapshot")
        written = ledger.append(started(), opening("d1", blob))
        written += ledger.append(refused("d1"))
        reader = LedgerReader(postgres_dsn)
        assert tuple(reader.records()) == written
        assert reader.record(1) == written[1]
        assert reader.record(9) is None
        assert reader.by_key("decision/d1", "released") == written[2]
        assert [r.seq for r in reader.records(stream="decision/d1", newest_first=True)] == [2, 1]
        assert [r.seq for r in reader.records(account="acc", kinds=[Kind.INTENT_RECEIVED])] == [1]
        assert [r.seq for r in reader.records(after_seq=0, before_seq=2)] == [1]
        assert reader.blob(blob) == b"snapshot"
        assert reader.blob("00" * 32) is None
        assert set(reader.streams()) == {"control", "decision/d1"}
        assert reader.streams("decision/")["decision/d1"].leaf == written[2].leaf
        assert reader.head().size == 3
        assert reader.size_bytes() > 0
        reader.close()
    report = verify_database(postgres_dsn, [KEY])
    assert (report.exit_code, report.findings) == (0, 0)


def test_records_read_in_pages_are_whole_and_in_order(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(*(note(str(number)) for number in range(1_203)))
    reader = LedgerReader(postgres_dsn)
    assert [r.seq for r in reader.records(kinds=[Kind.OPERATOR_NOTE])] == list(range(1_203))
    assert [r.seq for r in reader.records(limit=700, newest_first=True)] == [*range(1_203, 503, -1)]
    reader.close()


def test_a_large_batch_goes_by_copy_and_verifies(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        assert [r.seq for r in ledger.append(*(note(str(n)) for n in range(500)))] == [*range(500)]
    assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_proofs_lead_to_the_signed_root(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(*(note(str(number)) for number in range(10)))
        first = ledger.checkpoint_now()
        ledger.append(*(note(str(number)) for number in range(10, 33)))
        second = ledger.checkpoint_now()
    assert first is not None
    assert second is not None
    reader = LedgerReader(postgres_dsn)
    for record in reader.records(before_seq=first.size):
        path = reader.inclusion_proof(record.seq, second.size)
        verify_inclusion(record.leaf, record.seq, second.size, path, second.root)
    path = reader.consistency_proof(first.size, second.size)
    verify_consistency(first.size, first.root, second.size, second.root, path)
    reader.close()


def test_the_cadence_signs_what_was_appended_and_nothing_when_idle(postgres_dsn: str) -> None:
    with opened(postgres_dsn, checkpoint_every_s=0.05) as ledger:
        ledger.append(note("a"))
        deadline = time.monotonic() + 10
        signed = None
        while signed is None and time.monotonic() < deadline:
            time.sleep(0.01)
            signed = ledger.last_checkpoint
        assert signed is not None
        assert open_checkpoint(signed.note, [SIGNER.vkey]) == signed
        time.sleep(0.3)
        assert ledger.last_checkpoint is signed
        assert ledger.size == signed.size == 2


def test_each_stored_checkpoint_is_passed_on_once_and_a_broken_reader_hurts_nothing(
    postgres_dsn: str,
) -> None:
    told: list[Checkpoint] = []

    def reader(checkpoint: Checkpoint) -> None:
        told.append(checkpoint)
        raise RuntimeError("a broken reader")

    with opened(postgres_dsn, on_checkpoint=reader) as ledger:
        assert ledger.checkpoint_now() is None
        ledger.append(note("a"))
        first = ledger.checkpoint_now()
        assert ledger.checkpoint_now() is first
        ledger.append(note("b"))
    assert [checkpoint.size for checkpoint in told] == [2, 4]
    assert told[0] is first
    assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_a_ledger_opened_again_goes_on_where_it_stood(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(note("a"), refused("d1"))
    with opened(postgres_dsn) as ledger:
        (again,) = ledger.append(note("a"))
        assert again.seq == 0
        with pytest.raises(GuardMovedError):
            ledger.append(note("late"), guard=Guard(section="acc", basis_seq=0))
        ledger.append(note("b"), guard=Guard(section="acc", basis_seq=1))
        assert ledger.last_checkpoint is not None
    assert verify_database(postgres_dsn, [KEY]).findings == 0


def test_a_key_with_other_content_is_refused(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(note("a", key="k"))
        with pytest.raises(IdempotencyConflictError, match="record 0"):
            ledger.append(note("b", key="k"))
        assert ledger.size == 1


def test_a_payload_may_only_name_a_blob_that_is_stored(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        with pytest.raises(BlobMissingError):
            ledger.append(opening("d1", "ab" * 32))
        blob = ledger.put_blob(b"x")
        assert ledger.put_blob(b"x") == blob
        ledger.append(opening("d1", blob))


def test_only_one_of_many_guarded_writers_wins_each_basis(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger, ThreadPoolExecutor(8) as threads:

        def claim(number: int) -> bool:
            try:
                ledger.append(refused(f"d{number}"), guard=Guard(section="acc", basis_seq=-1))
            except GuardMovedError:
                return False
            return True

        assert sum(threads.map(claim, range(8))) == 1


def test_waiting_writers_share_a_commit(postgres_dsn: str) -> None:
    gate = Gate()
    batches: list[int] = []
    with opened(postgres_dsn, on_step=gate) as ledger, ThreadPoolExecutor(21) as threads:
        ledger.subscribe(lambda records: batches.append(len(records)))
        first = threads.submit(ledger.append, note("first"))
        assert gate.reached.wait(10)
        rest = [threads.submit(ledger.append, note(str(number))) for number in range(20)]
        while len(ledger._lanes._queues[Lane.DECISION]) < 20:  # noqa: SLF001 - nothing else shows it
            time.sleep(0.01)
        gate.go.set()
        for done in (first, *rest):
            done.result(10)
    assert batches[:2] == [1, 20]


def test_an_urgent_record_overtakes_waiting_decisions(postgres_dsn: str) -> None:
    gate = Gate()
    with opened(postgres_dsn, on_step=gate) as ledger, ThreadPoolExecutor(3) as threads:
        first = threads.submit(ledger.append, note("first"))
        assert gate.reached.wait(10)
        decision = threads.submit(ledger.append, note("decision"))
        while not ledger._lanes._queues[Lane.DECISION]:  # noqa: SLF001 - nothing else shows it
            time.sleep(0.01)
        urgent = threads.submit(ledger.append, refused("d1"), lane=Lane.URGENT)
        while not ledger._lanes._queues[Lane.URGENT]:  # noqa: SLF001 - nothing else shows it
            time.sleep(0.01)
        gate.go.set()
        order = [done.result(10)[0].seq for done in (first, urgent, decision)]
    assert order == [0, 1, 2]


def test_a_full_lane_refuses_decisions_and_never_reports(postgres_dsn: str) -> None:
    gate = Gate()
    with (
        opened(postgres_dsn, on_step=gate, decision_lane_max=1) as ledger,
        ThreadPoolExecutor(3) as threads,
    ):
        threads.submit(ledger.append, note("first"))
        assert gate.reached.wait(10)
        threads.submit(ledger.append, note("second"))
        while not ledger._lanes._queues[Lane.DECISION]:  # noqa: SLF001 - nothing else shows it
            time.sleep(0.01)
        with pytest.raises(LaneFullError):
            ledger.append(note("third"))
        report = threads.submit(ledger.append, refused("d1"), lane=Lane.URGENT)
        gate.go.set()
        assert report.result(10)


def test_subscribers_see_every_record_in_order_and_cannot_hurt(postgres_dsn: str) -> None:
    seen: list[Record] = []

    def broken(_: tuple[Record, ...]) -> None:
        raise RuntimeError("a broken subscriber")

    with opened(postgres_dsn) as ledger, ThreadPoolExecutor(8) as threads:
        ledger.subscribe(broken)
        ledger.subscribe(seen.extend)
        list(threads.map(lambda number: ledger.append(note(str(number))), range(100)))
    assert [record.seq for record in seen] == list(range(101))


def test_a_closed_ledger_takes_nothing(postgres_dsn: str) -> None:
    ledger = opened(postgres_dsn)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerStoppedError):
        ledger.append(note("late"))


def test_no_database_is_one_clear_error(postgres_dsn: str) -> None:
    with pytest.raises(LedgerWriteError, match="cannot open"):
        opened(postgres_dsn.replace("/test_", "/nowhere_"))


def test_the_last_records_are_signed_although_every_idle_connection_was_dropped(
    postgres_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(note("a"))
        ledger.checkpoint_now()
        ledger.append(note("b"))
        with connect(postgres_dsn) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND state = 'idle' AND pid <> %s"
                " AND pid <> pg_backend_pid()",
                (sequencer_pid(postgres_dsn),),
            )
    assert "last_checkpoint_failed" not in caplog.text
    assert verify_database(postgres_dsn, [KEY]).exit_code == 0
