"""Constraints, indexes and triggers are held against the migrations, rows against every index."""
# ruff: noqa: S608 - statements are this file's own constants

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from psycopg.rows import dict_row

from audit.errors import LedgerUnsafeError
from audit.records.canonical import canonical
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.catalog import DIGESTS, digests
from audit.store.reader import LedgerReader
from audit.store.tables import READER_ROLE, WRITER_ROLE, connect
from audit.verifier.verify import OK, TAMPERED, Report
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import disarm, fill, fsck_database, plan_of, silent
from tests.doubles.audit_spoiled import verify_database as verify

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
ENTRY = "ALTER TABLE ledger.entry "
ONCE = "WHERE indexrelid = 'ledger.entry_once'::regclass"
ALL = "stream, idem_key"
TRICKS: dict[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "a constraint less": (
        "ledger.entry",
        (ENTRY + "DROP CONSTRAINT entry_once",),
        (ENTRY + f"ADD CONSTRAINT entry_once UNIQUE ({ALL})",),
    ),
    "an index that is not kept": (
        "ledger.entry",
        (f"UPDATE pg_index SET indisready = false {ONCE}",),
        (f"UPDATE pg_index SET indisready = true {ONCE}",),
    ),
    "an index that is not valid": (
        "ledger.entry",
        (f"UPDATE pg_index SET indisvalid = false {ONCE}",),
        (f"UPDATE pg_index SET indisvalid = true {ONCE}",),
    ),
    "an index that is not unique": (
        "ledger.entry",
        (f"UPDATE pg_index SET indisunique = false {ONCE}",),
        (f"UPDATE pg_index SET indisunique = true {ONCE}",),
    ),
    "a check that lies": (
        "ledger.entry",
        (
            ENTRY + "ADD CONSTRAINT lie CHECK (stream <> 'decision/d1') NOT VALID",
            "UPDATE pg_constraint SET convalidated = true WHERE conname = 'lie'",
        ),
        (ENTRY + "DROP CONSTRAINT lie",),
    ),
    "a trigger that is disabled": (
        "ledger.blob",
        ("ALTER TABLE ledger.blob DISABLE TRIGGER blob_no_change",),
        ("ALTER TABLE ledger.blob ENABLE ALWAYS TRIGGER blob_no_change",),
    ),
    "a trigger that can be bypassed": (
        "ledger.blob",
        ("ALTER TABLE ledger.blob ENABLE TRIGGER blob_no_change",),
        ("ALTER TABLE ledger.blob ENABLE ALWAYS TRIGGER blob_no_change",),
    ),
    "triggers that are not looked for": (
        "ledger.tile",
        ("UPDATE pg_class SET relhastriggers = false WHERE oid = 'ledger.tile'::regclass",),
        ("UPDATE pg_class SET relhastriggers = true WHERE oid = 'ledger.tile'::regclass",),
    ),
    "checks that are not looked for": (
        "ledger.head",
        ("UPDATE pg_class SET relchecks = 0 WHERE oid = 'ledger.head'::regclass",),
        ("UPDATE pg_class SET relchecks = 5 WHERE oid = 'ledger.head'::regclass",),
    ),
    "a column that may be null": (
        "ledger.disclosure",
        ("ALTER TABLE ledger.disclosure ALTER sealed DROP NOT NULL",),
        ("ALTER TABLE ledger.disclosure ALTER sealed SET NOT NULL",),
    ),
    "a policy": (
        "ledger.checkpoint",
        ("CREATE POLICY p ON ledger.checkpoint USING (false)",),
        ("DROP POLICY p ON ledger.checkpoint",),
    ),
    "a function with its owner's rights": (
        "functions in ledger",
        ("ALTER FUNCTION ledger.refuse() SECURITY DEFINER",),
        ("ALTER FUNCTION ledger.refuse() SECURITY INVOKER",),
    ),
}
"""What is changed: of which table, how it is done, and how it is undone."""


def both(dsn: str, folder: Path) -> tuple[Report, Report]:
    """Return what verify and fsck say."""
    return verify(dsn, [KEY]), fsck_database(dsn, plan_of(folder, KEY), silent, None)


def opened(dsn: str) -> Ledger:
    return Ledger.open(LedgerConfig(dsn=dsn, checkpoint_every_s=0), SIGNER, lambda: TIME_US)


def test_what_is_expected_is_what_the_migrations_make(postgres_dsn: str) -> None:
    """Whoever changes a migration changes `DIGESTS` with it."""
    for role in (None, READER_ROLE, WRITER_ROLE):
        with connect(postgres_dsn, role=role) as connection:
            assert digests(connection) == DIGESTS


def test_no_change_of_the_catalogue_is_opened_or_found_sound(
    postgres_dsn: str, tmp_path: Path
) -> None:
    fill(postgres_dsn)
    with connect(postgres_dsn) as admin:
        for trick, (part, done, undone) in TRICKS.items():
            for statement in done:
                admin.execute(statement.encode())
            found = f"{part}: not as the migrations made it"
            with pytest.raises(LedgerUnsafeError, match=f"{found}.*countersign fsck"):
                opened(postgres_dsn)
            reports = both(postgres_dsn, tmp_path)
            for statement in undone:
                admin.execute(statement.encode())
            for report in reports:
                assert report.exit_code == TAMPERED, trick
                assert found in report.reason, trick
            assert reports[0].lines == reports[1].lines
    for report in both(postgres_dsn, tmp_path):
        assert (report.exit_code, report.findings) == (OK, 0), report.lines
    opened(postgres_dsn).close()


def test_a_database_cannot_change_what_a_session_of_ours_reads(postgres_dsn: str) -> None:
    """A CHECK that lies hides a decision from a planner that may use it."""
    fill(postgres_dsn)
    defaults = {
        "constraint_exclusion": "on",
        "transform_null_equals": "on",
        "array_nulls": "off",
        "bytea_output": "escape",
        "row_security": "on",
        "quote_all_identifiers": "on",
        "default_transaction_isolation": "serializable",
    }
    with connect(postgres_dsn) as admin:
        (name,) = admin.execute("SELECT current_database()").fetchone() or ("",)
        for statement in TRICKS["a check that lies"][1]:
            admin.execute(statement.encode())
        for setting, value in defaults.items():
            admin.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'".encode())
    reader = LedgerReader(postgres_dsn)
    try:
        assert len(list(reader.records(stream="decision/d1"))) == 3
    finally:
        reader.close()
    with connect(postgres_dsn, role=READER_ROLE) as session:
        for setting, value in defaults.items():
            assert session.execute(f"SHOW {setting}".encode()).fetchone() != (value,), setting


@pytest.mark.parametrize("role", [READER_ROLE, WRITER_ROLE])
def test_no_time_out_of_a_server_ends_a_session_of_ours(postgres_dsn: str, role: str) -> None:
    """Repro r16: a check holds one snapshot for longer than many servers let it stand idle."""
    fill(postgres_dsn)
    timeouts = ["idle_in_transaction_session_timeout", "idle_session_timeout", "statement_timeout"]
    with connect(postgres_dsn) as admin:
        (name,) = admin.execute("SELECT current_database()").fetchone() or ("",)
        if admin.info.server_version >= 170_000 and role == READER_ROLE:
            timeouts.append("transaction_timeout")
        for setting in timeouts:
            admin.execute(f"ALTER DATABASE {name} SET {setting} = '50ms'".encode())
    with connect(postgres_dsn, role=role) as session:
        for setting in timeouts:
            assert session.execute(f"SHOW {setting}".encode()).fetchone() == ("0",), setting


PKEY = ("entry_pkey",)
OTHERS = ("entry_stream_is_dense", "entry_once", "entry_by_kind", "entry_by_account")
READY = (
    "UPDATE pg_index SET indisready = %s WHERE indexrelid IN"
    " (SELECT ('ledger.' || name)::regclass FROM unnest(%s::text[]) AS name)"
)


def forge(dsn: str, honest_to: Sequence[str], forged_to: Sequence[str]) -> None:
    """Write a record's row anew so that only some indexes know it, beside a forged one."""
    disarm(dsn)
    with connect(dsn) as admin:
        rows = admin.cursor(row_factory=dict_row)
        honest = rows.execute("SELECT * FROM ledger.entry WHERE idem_key = 'note:last'").fetchone()
        assert honest is not None
        payload = canonical({"text": "forged"})
        header = json.loads(honest["header"]) | {"payload_sha256": sha256(payload).hexdigest()}
        line = canonical(header)
        forged = honest | {
            "payload": payload,
            "payload_digest": sha256(payload).digest(),
            "header": line,
            "leaf": sha256(b"\0" + line).digest(),
        }
        admin.execute("DELETE FROM ledger.entry WHERE seq = %s", (honest["seq"],))
        names = ", ".join(honest)
        marks = ", ".join(["%s"] * len(honest))
        for row, known in ((honest, honest_to), (forged, forged_to)):
            if not known:
                continue
            unknown = [name for name in (*PKEY, *OTHERS) if name not in known]
            admin.execute(READY, (False, unknown))
            admin.execute(
                f"INSERT INTO ledger.entry ({names}) VALUES ({marks})".encode(), [*row.values()]
            )
            admin.execute(READY, (True, unknown))


def test_a_row_that_only_some_indexes_know_is_found(postgres_dsn: str, tmp_path: Path) -> None:
    fill(postgres_dsn)
    forge(postgres_dsn, PKEY, OTHERS)
    for report in (
        *both(postgres_dsn, tmp_path),
        fsck_database(postgres_dsn, plan_of(tmp_path, KEY, payloads=False), silent, None),
    ):
        assert report.exit_code == TAMPERED
        assert any("rows, its index entry_pkey leads to" in line for line in report.lines)


def test_a_row_that_an_index_does_not_know_is_found(postgres_dsn: str, tmp_path: Path) -> None:
    fill(postgres_dsn)
    forge(postgres_dsn, (*PKEY, *OTHERS[:2]), ())
    reports = both(postgres_dsn, tmp_path)
    for report in reports:
        assert report.exit_code == TAMPERED
        assert "rows, its index entry_by_kind leads to" in report.reason


def test_a_key_written_twice_is_found(postgres_dsn: str, tmp_path: Path) -> None:
    """While the index was not unique, through the real writer, which had lost its memory."""
    with opened(postgres_dsn) as ledger:
        ledger.append(note("pay 1", key="k"), note("between"))
        disarm(postgres_dsn)
        with connect(postgres_dsn) as admin:
            admin.execute("UPDATE ledger.entry SET idem_key = 'hidden' WHERE idem_key = 'k'")
            ledger.append(note("pay 2", key="k"))
            admin.execute("UPDATE ledger.entry SET idem_key = 'k' WHERE idem_key = 'hidden'")
    for report in both(postgres_dsn, tmp_path):
        assert report.exit_code == TAMPERED
        assert any("twice" in line for line in report.lines), report.lines
