"""The database defends itself: what each role may not do, and what even a superuser trips over."""
# ruff: noqa: S608 - table and column names are this file's own constants

import time

import psycopg
import pytest

from audit.errors import LedgerFencedError, LedgerUnsafeError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import ERASER_ROLE, READER_ROLE, WRITER_ROLE, connect, migrate
from tests.doubles.audit_log import ORIGIN, OTHER_SIGNER, SIGNER, TIME_US, note, refused
from tests.doubles.audit_spoiled import arm, disarm

pytestmark = pytest.mark.postgres
TABLES = ("entry", "blob", "checkpoint", "head", "tile", "cosignature", "disclosure")
COLUMN = {
    "entry": "actor",
    "blob": "data",
    "checkpoint": "note",
    "head": "origin",
    "tile": "hashes",
    "cosignature": "line",
    "disclosure": "sealed",
}
DELETES = {table: "DELETE FROM ledger." + table for table in TABLES}
TRIPPED = (
    *(change for table, change in DELETES.items() if table != "disclosure"),
    *(f"TRUNCATE ledger.{table}" for table in TABLES),
    *(f"UPDATE ledger.{table} SET {column} = 'forged'" for table, column in COLUMN.items()),
)
"""What not even a superuser does without switching triggers off, which only he can."""
CHANGES = (
    *TRIPPED,
    *(f"DROP TABLE ledger.{table}" for table in TABLES),
    *(f"ALTER TABLE ledger.{table} DISABLE TRIGGER ALL" for table in TABLES),
    *(f"SELECT FROM ledger.{table} FOR UPDATE" for table in TABLES if table != "head"),
    *(
        f"INSERT INTO ledger.{table} SELECT * FROM ledger.{table}"
        f" ON CONFLICT {key} DO UPDATE SET {COLUMN[table]} = 'forged'"
        for table, key in (("entry", "(seq)"), ("blob", "(digest)"), ("checkpoint", "(size)"))
    ),
    "SET session_replication_role = replica",
    "SET ROLE countersign_owner",
    "CREATE TABLE ledger.mine (x int)",
    "CREATE FUNCTION ledger.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
)
FILL = """
INSERT INTO ledger.tile VALUES (0, 0, decode(repeat('00', 8192), 'hex'));
INSERT INTO ledger.cosignature VALUES (1, 'w', '\\x00000000', 'line', 1);
INSERT INTO ledger.disclosure VALUES (0, 0, 'ada', 'sealed'), (1, 0, 'bob', 'sealed');
"""


@pytest.fixture
def filled(postgres_dsn: str) -> str:
    with Ledger.open(LedgerConfig(dsn=postgres_dsn), SIGNER, lambda: TIME_US) as ledger:
        ledger.put_blob(b"blob")
        ledger.append(note("a"), refused("d1"))
    with connect(postgres_dsn, role=WRITER_ROLE) as writer:
        writer.execute(FILL)
    return postgres_dsn


def as_member_of(dsn: str, role: str) -> psycopg.Connection[tuple[object, ...]]:
    """Connect as a login user who has a role and nothing else (a superuser could reset it)."""
    with connect(dsn) as admin:
        admin.execute(f"DROP ROLE IF EXISTS test_{role}".encode())
        admin.execute(f"CREATE ROLE test_{role} LOGIN PASSWORD 'x' IN ROLE {role}".encode())
    at = dsn.index("@")
    connection = psycopg.connect(f"postgresql://test_{role}:x{dsn[at:]}", autocommit=True)
    connection.execute(f"SET ROLE {role}".encode())
    return connection


@pytest.mark.parametrize("role", [WRITER_ROLE, READER_ROLE])
def test_no_role_can_change_or_remove_what_is_written(filled: str, role: str) -> None:
    with as_member_of(filled, role) as connection:
        for change in (*CHANGES, DELETES["disclosure"]):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(change.encode())


def test_the_reader_writes_nothing(filled: str) -> None:
    with as_member_of(filled, READER_ROLE) as connection:
        for table in TABLES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"INSERT INTO ledger.{table} DEFAULT VALUES".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE ledger.head SET size = size")


def test_the_eraser_removes_sealed_values_and_does_nothing_else(filled: str) -> None:
    with as_member_of(filled, ERASER_ROLE) as connection:
        for change in CHANGES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(change.encode())
        for table in TABLES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"INSERT INTO ledger.{table} DEFAULT VALUES".encode())
            if table != "disclosure":
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT FROM ledger.{table}".encode())
        gone = connection.execute("DELETE FROM ledger.disclosure WHERE subject = 'ada'")
        assert gone.rowcount == 1
        left = connection.execute("SELECT subject FROM ledger.disclosure").fetchall()
        assert left == [("bob",)]


def test_an_insert_that_does_nothing_says_so_by_its_count(filled: str) -> None:
    """ON CONFLICT DO NOTHING is allowed and succeeds; only the number of rows tells."""
    with as_member_of(filled, WRITER_ROLE) as connection:
        for table in TABLES:
            again = (
                f"INSERT INTO ledger.{table} SELECT * FROM ledger.{table} ON CONFLICT DO NOTHING"
            )
            assert connection.execute(again.encode()).rowcount == 0


def test_the_head_only_moves_forward(filled: str) -> None:
    with as_member_of(filled, WRITER_ROLE) as connection:
        for change in (b"SET size = size - 1", b"SET fence = fence - 1"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(b"UPDATE ledger.head " + change)


@pytest.mark.parametrize("replica", [False, True])
def test_a_superuser_trips_over_the_triggers_too(filled: str, *, replica: bool) -> None:
    with connect(filled) as admin:
        if replica:
            admin.execute("SET session_replication_role = replica")
        for change in TRIPPED:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                admin.execute(change.encode())


@pytest.mark.parametrize(
    ("column", "value"),
    [("leaf", "sha256('x')"), ("header", "'{}'"), ("payload", "'{}'"), ("payload_digest", "''")],
)
def test_the_database_refuses_a_row_whose_hashes_do_not_fit(
    filled: str, column: str, value: str
) -> None:
    columns = ["stream", "kind", "version", "recorded_at_us", "actor", "prev"]
    columns += ["leaf", "header", "payload", "payload_digest"]
    forged = ", ".join(value if name == column else name for name in columns)
    insert = f"INSERT INTO ledger.entry (seq, stream_seq, idem_key, {', '.join(columns)}) "
    select = f"SELECT 99, 99, 'k', {forged} FROM ledger.entry WHERE seq = 0"
    with (
        as_member_of(filled, WRITER_ROLE) as connection,
        pytest.raises(psycopg.errors.CheckViolation),
    ):
        connection.execute((insert + select).encode())


def test_a_blob_under_another_name_is_refused(filled: str) -> None:
    with (
        as_member_of(filled, WRITER_ROLE) as connection,
        pytest.raises(psycopg.errors.CheckViolation),
    ):
        connection.execute("INSERT INTO ledger.blob VALUES (sha256('a'), 'b')")


def test_migrating_again_changes_nothing(filled: str) -> None:
    migrate(filled)
    with Ledger.open(LedgerConfig(dsn=filled), SIGNER, lambda: TIME_US) as ledger:
        assert ledger.size == 3


@pytest.mark.parametrize(
    ("name", "hint"), [("fsync", "configuration"), ("data_checksums", "pg_checksums --enable")]
)
def test_a_ledger_is_not_opened_on_a_server_with_other_settings(
    filled: str, monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    with connect(filled) as admin:
        assert admin.execute(f"SHOW {name}".encode()).fetchone() == ("on",)
    monkeypatch.setattr("audit.store.connection._SETTINGS", {name: frozenset({"something else"})})
    with pytest.raises(LedgerUnsafeError, match=f"{name} is on.*{hint}"):
        Ledger.open(LedgerConfig(dsn=filled), SIGNER, lambda: TIME_US)


def test_a_default_of_asynchronous_commit_does_not_reach_our_sessions(filled: str) -> None:
    with connect(filled) as admin:
        row = admin.execute("SELECT current_database()").fetchone()
        assert row is not None
        admin.execute(f"ALTER DATABASE {row[0]} SET synchronous_commit = off".encode())
    with connect(filled, role=WRITER_ROLE) as session:
        assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
    with Ledger.open(LedgerConfig(dsn=filled), SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("safe"))


@pytest.mark.parametrize(
    "cheat",
    [
        "UPDATE ledger.head SET size = size + 1",
        "UPDATE ledger.head SET root = sha256('x')",
        "UPDATE ledger.entry SET leaf = sha256('x') WHERE seq = 0",
        "DELETE FROM ledger.entry WHERE seq = 2",
        "UPDATE ledger.checkpoint SET note = 'x'",
        "UPDATE public.alembic_version SET version_num = '9999'",
    ],
)
def test_a_ledger_is_not_opened_on_a_log_that_does_not_add_up(filled: str, cheat: str) -> None:
    disarm(filled)
    with connect(filled) as admin:
        admin.execute(cheat.encode())
    arm(filled)
    with pytest.raises(LedgerUnsafeError):
        Ledger.open(LedgerConfig(dsn=filled), SIGNER, lambda: TIME_US)


def test_a_ledger_is_not_opened_with_another_key(filled: str) -> None:
    with pytest.raises(LedgerUnsafeError, match="checkpoint"):
        Ledger.open(LedgerConfig(dsn=filled), OTHER_SIGNER, lambda: TIME_US)
    assert OTHER_SIGNER.vkey.name == ORIGIN


def test_a_second_ledger_on_the_same_log_is_refused(filled: str) -> None:
    config = LedgerConfig(dsn=filled, lock_wait_s=0.3)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        before = time.monotonic()
        with pytest.raises(LedgerFencedError):
            Ledger.open(config, SIGNER, lambda: TIME_US)
        assert time.monotonic() - before < 5
        ledger.append(note("still the writer"))
