"""The table of bars: what was kept comes back, and its role reaches no table of the ledger."""

from collections.abc import Iterator

import psycopg
import pytest

from audit.store.logins import LOGIN_ROLE, admit
from audit.store.tables import TABLES_ROLE, connect, migrate
from gateway.errors import NotReadyError
from gateway.feeds.live.items import BarItem
from gateway.feeds.live.kept import KeptTables
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.conftest import dsn_of

pytestmark = pytest.mark.postgres


def bar(number: int, source: str = "alpha", instrument: str = "SPXN") -> BarItem:
    return BarItem(
        source=source,
        instrument=instrument,
        sequence=number,
        event_us=number * 86_400_000_000,
        open_ticks=100,
        high_ticks=110,
        low_ticks=90,
        close_ticks=100 + number,
    )


@pytest.fixture
def table(postgres_dsn: str) -> Iterator[KeptTables]:
    migrate(postgres_dsn)
    opened = KeptTables(postgres_dsn)
    yield opened
    opened.close()


def test_what_was_kept_comes_back_in_order_and_once(table: KeptTables) -> None:
    table.keep([bar(2), bar(1), bar(3, "beta"), bar(9, instrument="NDXN")])
    table.keep([bar(2), bar(3)])
    assert table.newest(["SPXN"], 10) == (bar(1), bar(2), bar(3), bar(3, "beta"))
    assert table.newest(["SPXN"], 1) == (bar(3), bar(3, "beta"))
    assert table.newest(["OTHER"], 10) == ()


def test_bars_that_wait_come_back_as_they_were_kept_last(table: KeptTables) -> None:
    assert table.waiting() == ()
    table.keep_position("bars waiting", {"line": 1})
    table.keep_waiting("alpha", [bar(5)])
    table.keep_waiting("alpha", [bar(6), bar(9, instrument="NDXN")])
    table.keep_waiting("beta", [bar(6, "beta")])
    assert set(table.waiting()) == {bar(6), bar(9, instrument="NDXN"), bar(6, "beta")}
    table.keep_waiting("alpha", [])
    assert table.waiting() == (bar(6, "beta"),)


def test_nothing_of_a_request_is_kept_when_one_bar_is_refused(table: KeptTables) -> None:
    with pytest.raises(NotReadyError, match="table of the feeds is away"):
        table.keep([bar(1), bar(0)])
    assert table.newest(["SPXN"], 10) == ()


def test_a_database_that_is_away_is_said_so() -> None:
    away = KeptTables("host=127.0.0.1 port=1 dbname=none")
    with pytest.raises(NotReadyError):
        away.newest(["SPXN"], 1)
    away.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM ledger.entry",
        "INSERT INTO ledger.blob VALUES ('', '')",
        "DELETE FROM ledger.disclosure",
        "UPDATE market.bar SET close_ticks = 1",
        "DELETE FROM market.bar",
        "TRUNCATE market.bar",
        "DROP TABLE market.bar",
        "CREATE TABLE market.more (a int)",
    ],
)
def test_the_tables_role_adds_and_reads_bars_and_nothing_else(
    postgres_dsn: str, statement: str
) -> None:
    migrate(postgres_dsn)
    with connect(postgres_dsn, role=TABLES_ROLE) as connection:
        assert connection.execute("SELECT count(*) FROM market.bar").fetchone() is not None
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


def test_the_administrator_can_make_a_login_for_the_table_alone(
    postgres: EmbeddedPostgres, postgres_dsn: str
) -> None:
    migrate(postgres_dsn)
    database = postgres_dsn.partition("?")[0].rpartition("/")[2]
    dsn = dsn_of(postgres.login_dsn, database).replace(LOGIN_ROLE, "countersign_bars")
    admit(postgres_dsn, dsn, (TABLES_ROLE,))
    try:
        with connect(postgres_dsn) as admin:
            held = admin.execute(
                "SELECT array_agg(m.rolname) FROM pg_auth_members a JOIN pg_roles m ON m.oid ="
                " a.roleid JOIN pg_roles r ON r.oid = a.member WHERE r.rolname = %s",
                ("countersign_bars",),
            ).fetchone()
        assert held == ([TABLES_ROLE],)
    finally:
        with connect(postgres_dsn) as admin:
            admin.execute("DROP ROLE countersign_bars")
