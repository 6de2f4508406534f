"""The end of the log in memory answers as the database does, and is there before the writer."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import pytest
from msgspec import structs

from audit.records.kinds import Kind
from audit.records.row import Row
from audit.sequencer import ledger as sequencing
from audit.store.reader import LedgerReader
from audit.store.recent import RecentRecords
from tests.doubles.audit_log import note, opening, refused, started
from tests.doubles.audit_server import opened
from tests.doubles.memory_ledger import MemoryLedger

pytestmark = pytest.mark.postgres


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the end of the log hold this many records."""
    most = 9
    monkeypatch.setattr(sequencing, "RecentRecords", partial(RecentRecords, most=most))
    return most


def test_every_question_has_the_databases_answer(postgres_dsn: str, few: int) -> None:
    with opened(postgres_dsn) as ledger:
        stored = LedgerReader(postgres_dsn)
        reader = LedgerReader(postgres_dsn, recent=ledger.recent)
        blob = ledger.put_blob(b"snapshot")
        ledger.append(started())
        for number in range(2 * few):
            name, account_of = f"d{number // 3}", "acc" if number % 2 else "other"
            batch = (note(f"+{number}"), opening(name, blob), refused(name, account_of))
            ledger.append(note(str(number)), batch[number % 3])
            assert reader.log_size() == stored.log_size() == ledger.size
            kinds = (None, (Kind.OPERATOR_NOTE,), (Kind.INTENT_RECEIVED, Kind.RUN_STARTED))
            stretches = ((-1, None), (ledger.size - 3, None), (ledger.size - few, ledger.size - 1))
            for kind, (after, before), stream, account in product(
                kinds, stretches, (None, "control", f"decision/{name}"), (None, "acc")
            ):
                for newest_first, limit in ((False, None), (True, 2), (False, 1)):
                    ask: dict[str, Any] = {
                        "stream": stream,
                        "kinds": kind,
                        "account": account,
                        "after_seq": after,
                        "before_seq": before,
                        "limit": limit,
                        "newest_first": newest_first,
                    }
                    assert [*reader.records(**ask)] == [*stored.records(**ask)], ask
        assert ledger.recent.between(0, None, stream=None, kinds=None, account=None) is None
        for one in (stored, reader):
            one.close()


def test_who_appended_finds_it_at_once_whoever_else_does(postgres_dsn: str, few: int) -> None:
    with opened(postgres_dsn) as ledger:
        reader = LedgerReader(postgres_dsn, recent=ledger.recent)

        def appended(number: int) -> bool:
            (record,) = ledger.append(note(f"n{number}"))
            return record in reader.records(after_seq=record.seq - 1)

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(appended, range(20 * few)))
        reader.close()


def test_a_disavowal_makes_what_is_kept_be_read_again() -> None:
    """A kept record may be the one that is said to be none."""
    log = MemoryLedger()
    rows = [
        Row(record=record, account=None, commitments=b"")
        for record in log.append(note("a"), note("b"))
    ]
    kept = RecentRecords(0)
    ask = partial(kept.between, stream=None, kinds=None, account=None)
    kept.landed(rows, 2)
    assert ask(-1, None) == [row.record for row in rows]
    said = structs.replace(rows[1].record, seq=2, kind=Kind.RECORD_DISAVOWED)
    kept.landed([Row(record=said, account=None, commitments=b"")], 3)
    assert (ask(-1, None), ask(2, None), kept.size) == (None, [], 3)
