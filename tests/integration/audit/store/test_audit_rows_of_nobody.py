"""Rows that are no records: what the writer role can insert beyond the head, and a superuser below.

Nobody reads them, nothing is answered with them, and no sequencer starts beside them.
"""

import json
from pathlib import Path

import pytest

from audit.errors import LedgerUnsafeError, LedgerWriteError
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Lane, Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.store.tables import WRITER_ROLE, connect
from fix.durable.kill_word import KillWord, Press
from gateway.desk.controls.statements import release_statement
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.keys.log_id import log_id
from gateway.launch.parts import restore_kill
from gateway.walk.journal.control.kill import kill_pressed, kill_released
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import arm, disarm, fill

pytestmark = pytest.mark.postgres
FAR = 1_000_000
FORGE_SQL = """
INSERT INTO ledger.entry SELECT %(seq)s::bigint, 'control', %(at)s, %(kind)s, 1, recorded_at_us,
  actor, %(key)s, NULL, prev, sha256(%(payload)s), leaf, header, %(payload)s, ''
FROM ledger.entry WHERE seq = 0
"""


def forge(dsn: str, seq: int | None, kind: Kind, body: dict[str, object], key: str) -> None:
    """Insert a row as whoever has the writer's password; its hashes are those of its parts."""
    values = {"seq": seq, "at": FAR if seq is None else abs(seq), "kind": kind.value, "key": key}
    with connect(dsn, role=WRITER_ROLE) as writer:
        writer.execute(FORGE_SQL, values | {"payload": json.dumps(body).encode()})


def opened(dsn: str) -> Ledger:
    """Open the ledger."""
    return Ledger.open(LedgerConfig(dsn=dsn, checkpoint_every_s=0), SIGNER, lambda: TIME_US)


def test_a_row_beyond_the_head_is_read_by_nobody_and_stops_the_next_start(
    postgres_dsn: str,
) -> None:
    fill(postgres_dsn)
    reader = LedgerReader(postgres_dsn)
    try:
        whole, streams, counts = list(reader.records()), reader.streams(), reader.kind_counts()
        last = whole[-1]
        body: dict[str, object] = {"text": "forged"}
        forge(postgres_dsn, last.seq + 1, Kind.OPERATOR_NOTE, body, "note:next")
        for number in range(FAR, FAR + 510):
            forge(postgres_dsn, number, Kind.HOLD_LIFTED, body, f"note:{number}")
        assert list(reader.records()) == whole
        assert list(reader.records(newest_first=True)) == whole[::-1]
        assert list(reader.records(newest_first=True, limit=1)) == [last]
        assert list(reader.records(limit=len(whole) + 5)) == whole
        assert list(reader.records(kinds=(Kind.HOLD_LIFTED,))) == []
        assert reader.record(last.seq) == last
        assert reader.record(last.seq + 1) is None
        assert reader.by_key("control", "note:next") is None
        assert reader.by_key(last.stream, last.idem_key) == last
        assert reader.stream_range("control", FAR, FAR + 9) == ()
        assert (reader.streams(), reader.kind_counts()) == (streams, counts)
    finally:
        reader.close()
    with pytest.raises(LedgerUnsafeError, match=f"row {FAR + 509} outside the log of {len(whole)}"):
        opened(postgres_dsn)


def test_a_key_that_a_stray_row_holds_is_refused_and_never_answered(postgres_dsn: str) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(note("before"))
        forge(postgres_dsn, FAR, Kind.OPERATOR_NOTE, {"text": "pay"}, "note:pay")
        with pytest.raises(LedgerWriteError, match="refused"):
            ledger.append(note("pay"))
        assert ledger.append(note("after"))[0].seq == 1


@pytest.mark.parametrize(
    ("seq", "named"), [(FAR, f"row {FAR}"), (-5, "row -5"), (None, "row without a number")]
)
def test_a_ledger_does_not_start_beside_a_stray_row(
    postgres_dsn: str, seq: int | None, named: str
) -> None:
    """The row is a stream-head map that says nothing, so it is refused before it is read."""
    fill(postgres_dsn)
    disarm(postgres_dsn)
    forge(postgres_dsn, seq, Kind.STREAM_HEADS, {}, "heads:forged")
    reader = LedgerReader(postgres_dsn)
    try:
        assert reader.by_key("control", "heads:forged") is None
        assert all(record.idem_key != "heads:forged" for record in reader.records(after_seq=-99))
    finally:
        reader.close()
    arm(postgres_dsn)
    with pytest.raises(LedgerUnsafeError, match=named):
        opened(postgres_dsn)


def test_no_record_opens_a_gate_that_the_word_says_is_shut(
    postgres_dsn: str, tmp_path: Path
) -> None:
    ring = Keyring.create(tmp_path / "keys")
    keys = ring.public_keys()
    word = KillWord(tmp_path / "kill.word", create=True)
    reader = LedgerReader(postgres_dsn)

    def pressed() -> Draft:
        word.press()
        return kill_pressed(word.newest_press(), "ada", "a test", confirmed=True)

    def released(press: Press, signed: int) -> Draft:
        log = log_id(reader, ORIGIN)
        statement = release_statement(log, signed, press.press_id)
        signatures = {role: ring.signing_key(role).sign(statement).hex() for role in SIGNING_ROLES}
        return kill_released(press, log, "cli", "tested", signatures)

    try:
        with opened(postgres_dsn) as ledger:
            ledger.append(pressed(), lane=Lane.URGENT)
            first = word.newest_press()
            assert restore_kill(word, reader, keys, ORIGIN) == ""
            ledger.append(released(first, signed=1), lane=Lane.URGENT)
            said = restore_kill(word, reader, keys, ORIGIN)
            assert "kill 1 stays in force" in said
            assert "does not know of it" in said
            assert "countersign release" in said
            word.release(1)
            assert restore_kill(word, reader, keys, ORIGIN) == ""
            assert word.read() == (1, False)
            assert "do not hold" in restore_kill(word, reader, keys, "another/log")
            word.release(1)

            ledger.append(pressed(), lane=Lane.URGENT)
            second = word.newest_press()
            ledger.append(released(second, signed=1), lane=Lane.URGENT)
            said = restore_kill(word, reader, keys, ORIGIN)
            assert "its signatures do not hold" in said
            assert word.read() == (2, True)
            ledger.append(released(first._replace(kill_epoch=2), signed=2), lane=Lane.URGENT)
            said = restore_kill(word, reader, keys, ORIGIN)
            assert "its signatures do not hold" in said, "signed, but for another press"
            forge(postgres_dsn, FAR, Kind.KILL_RELEASED, {"kill_epoch": 9}, "release:9")
            restore_kill(word, reader, keys, ORIGIN)
            assert word.read() == (2, True)
        fresh = KillWord(tmp_path / "lost.word", create=True)
        restore_kill(fresh, reader, keys, ORIGIN)
        assert fresh.read() == (2, True)
        assert fresh.newest_press().press_id not in {"", second.press_id}
    finally:
        reader.close()
        word.close()


def test_a_row_in_the_next_records_place_refuses_appends_until_it_is_gone(
    postgres_dsn: str,
) -> None:
    with opened(postgres_dsn) as ledger:
        ledger.append(note("first"))
        forge(postgres_dsn, ledger.size, Kind.OPERATOR_NOTE, {"text": "forged"}, "note:next")
        for lane in Lane:
            with pytest.raises(LedgerWriteError, match="entry_pkey"):
                ledger.append(note("second"), lane=lane)
        disarm(postgres_dsn)
        with connect(postgres_dsn) as admin:
            admin.execute("DELETE FROM ledger.entry WHERE idem_key = 'note:next'")
        (record,) = ledger.append(note("second"))
        assert record.seq == 1
