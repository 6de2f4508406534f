"""The gateway's own login has nothing to give back: no way leads from it to the ledger's owner."""

from collections.abc import Iterator

import psycopg
import pytest

from audit.errors import LedgerUnsafeError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.logins import LOGIN_ROLE, admit, login_of
from audit.store.reader import LedgerReader
from audit.store.tables import (
    ERASER_ROLE,
    READER_ROLE,
    TABLES_ROLE,
    WRITER_ROLE,
    connect,
    migrate,
)
from audit.upkeep.dump import verify_database
from gateway.installation.children.postgres import SUPERUSER, EmbeddedPostgres
from tests.conftest import dsn_of
from tests.doubles.audit_log import SIGNER, TIME_US, note

pytestmark = pytest.mark.postgres
ROLES = (WRITER_ROLE, READER_ROLE, ERASER_ROLE, TABLES_ROLE)
WAYS_BACK = (
    "RESET ROLE",
    "SET ROLE NONE",
    "RESET SESSION AUTHORIZATION",
    "SET SESSION AUTHORIZATION DEFAULT",
    f"SET SESSION AUTHORIZATION {LOGIN_ROLE}",
)
"""Allowed to everybody, and each leads to a role that may not do what follows."""
REFUSED = (
    f"SET SESSION AUTHORIZATION {SUPERUSER}",
    f"SET ROLE {SUPERUSER}",
    "SET ROLE countersign_owner",
    f"ALTER ROLE {LOGIN_ROLE} SUPERUSER",
    f"ALTER ROLE {LOGIN_ROLE} CREATEROLE",
    f"ALTER ROLE {SUPERUSER} PASSWORD 'mine'",
    f"GRANT countersign_owner TO {LOGIN_ROLE}",
    "CREATE ROLE another SUPERUSER",
    "UPDATE pg_authid SET rolsuper = true",
    "SELECT rolpassword FROM pg_authid",
    "ALTER TABLE ledger.entry DISABLE TRIGGER ALL",
    "ALTER TABLE ledger.entry DROP CONSTRAINT entry_leaf_is_hash",
    "ALTER TABLE ledger.entry OWNER TO CURRENT_USER",
    "ALTER TABLE ledger.entry ENABLE ROW LEVEL SECURITY",
    "DROP TRIGGER entry_no_change ON ledger.entry",
    "DROP FUNCTION ledger.refuse CASCADE",
    "ALTER FUNCTION ledger.refuse() RENAME TO allow",
    "CREATE OR REPLACE FUNCTION ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
    "CREATE RULE hidden AS ON INSERT TO ledger.entry DO INSTEAD NOTHING",
    "CREATE EVENT TRIGGER mine ON ddl_command_end EXECUTE FUNCTION ledger.refuse()",
    "SET session_replication_role = replica",
    "UPDATE ledger.entry SET actor = 'forged'",
    "DELETE FROM ledger.entry",
    "DELETE FROM ledger.head",
    "TRUNCATE ledger.entry",
    "DROP TABLE ledger.entry",
    "DROP SCHEMA ledger CASCADE",
    "DROP OWNED BY countersign_owner",
    "REASSIGN OWNED BY countersign_owner TO CURRENT_USER",
    "DO 'BEGIN LOCK TABLE ledger.entry IN ACCESS EXCLUSIVE MODE; END'",
    "DELETE FROM public.alembic_version",
    "COPY pg_class TO PROGRAM 'cat'",
    "CREATE TEMP TABLE said (x text); COPY said FROM PROGRAM 'id'",
    "COPY pg_class TO '/nowhere/said'",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT lo_import('/etc/hostname')",
    "ALTER SYSTEM SET fsync = off",
    "LOAD 'auto_explain'",
)
TOO_MUCH = (
    ("ALTER ROLE {} CREATEROLE", "ALTER ROLE {} NOCREATEROLE", "create roles"),
    ("ALTER ROLE {} REPLICATION", "ALTER ROLE {} NOREPLICATION", "replicate"),
    ("ALTER ROLE {} BYPASSRLS", "ALTER ROLE {} NOBYPASSRLS", "row-level"),
    ("ALTER ROLE {} SUPERUSER", "ALTER ROLE {} NOSUPERUSER", "is a superuser"),
    ("GRANT countersign_owner TO {}", "REVOKE countersign_owner FROM {}", "countersign_owner"),
    ("GRANT pg_monitor TO {}", "REVOKE pg_monitor FROM {}", "act as pg_monitor"),
    ("GRANT DELETE ON ledger.blob TO {}", "REVOKE DELETE ON ledger.blob FROM {}", "no role's"),
    ("GRANT DELETE ON ledger.blob TO PUBLIC", "REVOKE ALL ON ledger.blob FROM PUBLIC", "no ro"),
)
"""What a login must not have, how it is taken away again, and the words for it."""


@pytest.fixture
def login_dsn(postgres: EmbeddedPostgres, postgres_dsn: str) -> Iterator[str]:
    """The same database as `postgres_dsn`, entered as the gateway does; written to once."""
    dsn = dsn_of(postgres.login_dsn, postgres_dsn.partition("?")[0].rpartition("/")[2])
    admit(postgres_dsn, dsn)
    with Ledger.open(LedgerConfig(dsn=dsn), SIGNER, lambda: TIME_US) as ledger:
        ledger.put_blob(b"blob")
        ledger.append(note("a"))
        ledger.checkpoint_now()
    yield dsn
    with connect(postgres_dsn) as admin:  # roles are the whole server's: the next test has its own
        for role in ROLES:
            admin.execute(f"REVOKE {role} FROM {LOGIN_ROLE}".encode())
        admin.execute(f"DROP ROLE {LOGIN_ROLE}".encode())


def refuse(session: psycopg.Connection[tuple[object, ...]], statement: str) -> None:
    """Run a statement, which the server must refuse for want of a right."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(statement.encode())


@pytest.mark.parametrize("role", ROLES)
def test_no_way_leads_from_our_connections_to_the_owner(login_dsn: str, role: str) -> None:
    with connect(login_dsn, role=role) as session:
        for back in (None, *WAYS_BACK):
            if back is not None:
                session.execute(back.encode())
            assert session.execute("SHOW is_superuser").fetchone() == ("off",)
            for statement in REFUSED:
                refuse(session, statement)
    with connect(login_dsn, role=READER_ROLE) as reader:
        assert reader.execute("SELECT count(*) FROM ledger.entry").fetchone() == (2,)


def test_the_login_itself_sees_nothing(login_dsn: str) -> None:
    with connect(login_dsn) as session:
        for statement in ("SELECT FROM ledger.entry", "INSERT INTO ledger.blob VALUES ('', '')"):
            refuse(session, statement)
    assert login_of(login_dsn).excess == login_of(login_dsn).lacking == ()


def test_a_log_is_written_read_and_checked_through_the_login(login_dsn: str) -> None:
    migrate(login_dsn)  # nothing is missing: no administrator is needed
    with Ledger.open(LedgerConfig(dsn=login_dsn), SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("b"))
        ledger.checkpoint_now()
        size = ledger.size
    reader = LedgerReader(login_dsn)
    assert reader.head().size == size
    reader.close()
    assert verify_database(login_dsn, [str(SIGNER.vkey)]).exit_code == 0


def test_a_login_is_made_once_and_mended(postgres_dsn: str, login_dsn: str) -> None:
    with connect(postgres_dsn) as admin:
        admin.execute(f"REVOKE {ERASER_ROLE} FROM {LOGIN_ROLE}".encode())
        admin.execute(f"ALTER ROLE {LOGIN_ROLE} NOLOGIN PASSWORD 'lost'".encode())
    for _ in range(2):
        admit(postgres_dsn, login_dsn)
        assert login_of(login_dsn).lacking == ()


def test_a_login_that_may_more_is_named_and_left_alone(postgres_dsn: str, login_dsn: str) -> None:
    with connect(postgres_dsn) as admin:
        for change, undo, words in TOO_MUCH:
            admin.execute(change.format(LOGIN_ROLE).encode())
            assert words in ", ".join(login_of(login_dsn).excess), change
            with pytest.raises(LedgerUnsafeError, match=words):
                admit(postgres_dsn, login_dsn)
            admin.execute(undo.format(LOGIN_ROLE).encode())
            assert login_of(login_dsn).excess == (), undo


def test_somebody_elses_user_is_not_taken_over(postgres_dsn: str) -> None:
    at = postgres_dsn.index("@")
    with connect(postgres_dsn) as admin:
        admin.execute("CREATE ROLE stranger LOGIN PASSWORD 'theirs'")
        try:
            with pytest.raises(LedgerUnsafeError, match="another password"):
                admit(postgres_dsn, f"postgresql://stranger:mine{postgres_dsn[at:]}")
            theirs = f"postgresql://stranger:theirs{postgres_dsn[at:]}"
            with pytest.raises(LedgerUnsafeError, match="may not migrate"):
                migrate(dsn_of(theirs, "postgres"))
        finally:
            admin.execute("DROP ROLE stranger")
    with pytest.raises(LedgerUnsafeError, match="names no user"):
        admit(postgres_dsn, "postgresql:///nowhere")
