"""An urgent append is committed on its caller's thread while the sequencer has nothing to do."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from audit.errors import GuardMovedError, LedgerStoppedError, LedgerTimeoutError
from audit.records.record import Record
from audit.sequencer.config import SequencerConfig
from audit.sequencer.ledger import Guard, Hooks, Lane, Ledger
from audit.sequencer.sequencer import AFTER_COMMIT, BEFORE_COMMIT
from audit.store.tables import connect
from tests.doubles.audit_log import SIGNER, note, refused
from tests.doubles.audit_server import opened, sequencer_pid
from tests.doubles.audit_spoiled import verify_database
from tests.integration.audit.sequencer.test_audit_telling import commits_waiting, told

pytestmark = pytest.mark.postgres


def findings(dsn: str) -> int:
    """Check the whole log; return how much is wrong."""
    return verify_database(dsn, [str(SIGNER.vkey)]).findings


def urgent(ledger: Ledger, text: str, *, timeout_s: float = 20.0) -> Record:
    return ledger.append(note(text), lane=Lane.URGENT, timeout_s=timeout_s)[0]


def until_wrong(ledger: Ledger, hooks: Hooks) -> None:
    """Append until the thread has nothing to do, so that a hook is called."""
    for number in count():
        ledger.append(note(f"b{number}"), lane=Lane.URGENT, hooks=hooks)


def test_only_an_urgent_append_is_committed_on_its_callers_thread(postgres_dsn: str) -> None:
    threads: list[str] = []

    def steps(_: str) -> None:
        threads.append(threading.current_thread().name)

    with opened(postgres_dsn, on_step=steps) as ledger:
        ledger.append(note("a"))
        assert set(threads) == {"ledger-sequencer"}
        threads.clear()
        urgent(ledger, "b")
        assert set(threads) == {threading.current_thread().name}
    assert findings(postgres_dsn) == 0


def test_what_a_caller_does_beside_its_append_comes_in_order(postgres_dsn: str) -> None:
    seen: list[str] = []
    heard = threading.Event()

    def subscriber(_: tuple[Record, ...]) -> None:
        seen.append("subscriber")
        heard.set()

    with opened(postgres_dsn, on_step=seen.append) as ledger:
        ledger.subscribe(subscriber)
        hooks = Hooks(
            meanwhile=lambda records: seen.append(f"meanwhile {records[0].seq}"),
            landed=lambda records: seen.append(f"landed {records[0].seq}"),
        )
        ledger.append(note("a"), lane=Lane.URGENT, hooks=hooks)
        assert heard.wait(20)
    assert seen[:5] == [BEFORE_COMMIT, "meanwhile 0", AFTER_COMMIT, "landed 0", "subscriber"]


def test_a_guarded_append_with_hooks_is_led_and_refused_like_any_other(postgres_dsn: str) -> None:
    seen: list[tuple[int, ...]] = []
    hooks = Hooks(meanwhile=lambda records: seen.append(tuple(one.seq for one in records)))
    with opened(postgres_dsn) as ledger:
        ledger.append(note("a"), guard=Guard(section="acc", basis_seq=-1), hooks=hooks)
        assert seen == [(0,)]
        ledger.append(refused("moves"))
        with pytest.raises(GuardMovedError):
            ledger.append(note("c"), guard=Guard(section="acc", basis_seq=0), hooks=hooks)
        assert seen == [(0,), ()], "what is not committed has no records"
        assert ledger.size == 2
    assert findings(postgres_dsn) == 0


def test_a_hook_that_raises_stops_nobody_else(postgres_dsn: str) -> None:
    def wrong(*_: object) -> None:
        raise ValueError("a mistake of the caller")

    batches: list[tuple[Record, ...]] = []
    with opened(postgres_dsn) as ledger:
        ledger.subscribe(batches.append)
        with pytest.raises(ValueError, match="a mistake of the caller"):
            ledger.append(note("a"), lane=Lane.URGENT, hooks=Hooks(meanwhile=wrong))
        with pytest.raises(ValueError, match="a mistake of the caller"):
            until_wrong(ledger, Hooks(landed=wrong))
        assert urgent(ledger, "after").seq == ledger.size - 1
        size = ledger.size
    assert told(batches)[:size] == list(range(size))
    assert findings(postgres_dsn) == 0


def test_a_commit_that_takes_long_is_left_to_the_sequencer(postgres_dsn: str) -> None:
    batches: list[tuple[Record, ...]] = []
    with opened(postgres_dsn) as ledger, ThreadPoolExecutor(4) as threads:
        ledger.subscribe(batches.append)
        with commits_waiting(postgres_dsn):
            first = threads.submit(urgent, ledger, "first")
            with pytest.raises(LedgerTimeoutError):
                urgent(ledger, "short of time", timeout_s=0.3)
            behind = threads.submit(urgent, ledger, "behind")
            assert not first.done()
        assert first.result(20).seq < behind.result(20).seq
    assert told(batches) == sorted(told(batches))
    assert findings(postgres_dsn) == 0


def test_a_commit_in_doubt_is_left_to_the_sequencer(postgres_dsn: str) -> None:
    with opened(postgres_dsn, config=SequencerConfig(in_doubt_s=20)) as ledger:
        urgent(ledger, "before")
        for number in range(3):
            with connect(postgres_dsn) as admin, ThreadPoolExecutor(1) as threads:
                admin.execute("BEGIN")
                admin.execute("LOCK TABLE ledger.entry IN SHARE MODE")
                flying = threads.submit(urgent, ledger, f"flying {number}")
                admin.execute("SELECT pg_terminate_backend(%s)", (sequencer_pid(postgres_dsn),))
                admin.execute("ROLLBACK")
                assert flying.result(30).seq == 1 + number
    assert findings(postgres_dsn) == 0


def test_many_urgent_callers_at_once_make_one_log(postgres_dsn: str) -> None:
    batches: list[tuple[Record, ...]] = []
    with opened(postgres_dsn) as ledger, ThreadPoolExecutor(16) as threads:
        ledger.subscribe(batches.append)
        lanes = [Lane.URGENT, Lane.URGENT, Lane.DECISION]
        done = [
            threads.submit(ledger.append, note(str(number)), lane=lanes[number % 3], timeout_s=30)
            for number in range(600)
        ]
        seqs = sorted(one.result(60)[0].seq for one in done)
    assert seqs == list(range(600))
    assert told(batches)[:600] == seqs
    assert findings(postgres_dsn) == 0


def test_a_mistake_on_the_callers_thread_stops_the_ledger(postgres_dsn: str) -> None:
    def step(name: str) -> None:
        if name == AFTER_COMMIT:
            raise ValueError("a mistake at a step")

    stopped = threading.Event()
    with opened(postgres_dsn, on_step=step, on_stop=lambda _: stopped.set()) as ledger:
        with pytest.raises(LedgerTimeoutError, match="a mistake at a step"):
            urgent(ledger, "a")
        assert stopped.wait(20)
        with pytest.raises(LedgerStoppedError):
            urgent(ledger, "b")
