"""A migration killed at any statement never happened; the next start makes it whole.

An event trigger ends the migrating back end by itself at its n-th statement that changes the
schema: n = 1, 2, .. until the migration comes through. The count is a sequence's, which no
rollback takes back.
"""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import SCHEMA_REVISION, connect, migrate, schema_revision
from audit.upkeep.dump import verify_database
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.conftest import dsn_of
from tests.doubles.audit_log import SIGNER, TIME_US, note

pytestmark = pytest.mark.postgres
BOMB = """
CREATE SCHEMA bomb;
CREATE SEQUENCE bomb.count;
CREATE TABLE bomb.fuse (n bigint);
INSERT INTO bomb.fuse VALUES (0);
CREATE FUNCTION bomb.tick() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('bomb.count') = (SELECT n FROM bomb.fuse) THEN
    PERFORM pg_terminate_backend(pg_backend_pid());
    PERFORM pg_sleep(60);
  END IF;
END $$;
CREATE EVENT TRIGGER bomb ON ddl_command_end EXECUTE FUNCTION bomb.tick();
"""
TABLES_SQL = "SELECT count(*) FROM pg_tables WHERE schemaname = 'ledger'"


@pytest.fixture
def empty_dsn(postgres: EmbeddedPostgres) -> Iterator[str]:
    admin = postgres.start()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("CREATE DATABASE unmigrated")
    yield dsn_of(admin, "unmigrated")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP DATABASE unmigrated WITH (FORCE)")


def migrated_until(dsn: str, statement: int) -> bool:
    """Migrate with the back end killed at a statement; say whether the migration came through."""
    with connect(dsn) as admin:
        admin.execute("UPDATE bomb.fuse SET n = %s", (statement,))
        admin.execute("SELECT setval('bomb.count', 1, false)")
    try:
        migrate(dsn)
    except (DBAPIError, psycopg.OperationalError):
        return False
    return True


@pytest.mark.parametrize(
    ("before", "tables", "statements"), [(None, 0, 60), ("0001", 4, 20)], ids=["new", "from 0001"]
)
def test_a_migration_killed_at_any_statement_is_whole_or_never_was(
    empty_dsn: str, before: str | None, tables: int, statements: int
) -> None:
    if before is not None:
        migrate(empty_dsn, before)
    with connect(empty_dsn) as admin:
        admin.execute(BOMB)
        killed = 0
        while not migrated_until(empty_dsn, killed + 1):
            killed += 1
            assert schema_revision(admin) == before
            assert admin.execute(TABLES_SQL).fetchone() == (tables,)
        assert killed > statements
        assert schema_revision(admin) == SCHEMA_REVISION
        admin.execute("DROP EVENT TRIGGER bomb; DROP SCHEMA bomb CASCADE")
    with Ledger.open(LedgerConfig(dsn=empty_dsn), SIGNER, lambda: TIME_US) as ledger:
        ledger.append(note("a"))
    assert verify_database(empty_dsn, [str(SIGNER.vkey)]).findings == 0
