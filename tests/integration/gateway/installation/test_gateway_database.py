"""How a start enters its database: as a plain login, made where it is missing, or not at all."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from audit.errors import LedgerUnsafeError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.logins import LOGIN_ROLE, login_of
from audit.store.tables import READER_ROLE, WRITER_ROLE, connect, has_schema, migrate
from gateway.cli.main import app, exit_code_of
from gateway.feeds.sessions import load_playback
from gateway.installation import settings
from gateway.installation.children.postgres import SUPERUSER
from gateway.installation.database import enter
from gateway.installation.place import attached
from gateway.installation.settings import LedgerSettings
from gateway.launch.parts import start_database
from gateway.launch.plan import Plan, development_plan
from tests.conftest import dsn_of
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.open_postgres import OpenPostgres
from tests.doubles.state_folder import state_folder

pytestmark = pytest.mark.postgres
DSN, ADMIN_DSN = "COUNTERSIGN_LEDGER__DSN", "COUNTERSIGN_LEDGER__ADMIN_DSN"
OWN = "test_gateway_login"


@pytest.fixture
def own_dsn(postgres_dsn: str) -> Iterator[str]:
    """A login to be, on a database of one's own; forgotten afterwards."""
    yield f"postgresql://{OWN}:own@{postgres_dsn.partition('@')[2]}"
    with connect(postgres_dsn) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {OWN}".encode())


def plan_on(dsn: str, state: Path, *, dev: bool) -> Plan:
    """Return the plan of a start on a given database, in development or outside of it."""
    base = settings.load(state=state)
    ledger = base.ledger.model_copy(update={"dsn": dsn})
    plan = development_plan(base.model_copy(update={"ledger": ledger}), load_playback())
    return replace(plan, tags=replace(plan.tags, dev=dev))


def entered_at_once(state: Path, stack: ExitStack) -> str:
    """Enter a state's database three times at once; return the one DSN that all have got."""
    found: list[tuple[str, str]] = []
    starts = [
        threading.Thread(target=lambda: found.append(enter(LedgerSettings(), state, stack)))
        for _ in range(3)
    ]
    for start in starts:
        start.start()
    for start in starts:
        start.join(60)
    assert len(found) == 3
    ((dsn, unsafe),) = set(found)
    assert unsafe == ""
    assert not list((state / "pg").glob("*password*"))
    return dsn


def test_a_state_made_before_there_was_a_login_gets_it_at_the_next_start() -> None:
    with state_folder() as state, ExitStack() as stack:
        server = OpenPostgres(state)
        admin_dsn = server.start()
        stack.callback(server.stop)
        migrate(admin_dsn)
        with Ledger.open(LedgerConfig(dsn=admin_dsn), SIGNER, lambda: TIME_US) as ledger:
            ledger.append(note("a"))
        dsn = entered_at_once(state, stack)
        assert dsn == server.login_dsn
        assert login_of(dsn).name == LOGIN_ROLE
        assert login_of(dsn).excess == ()
        for role in (None, READER_ROLE):
            with connect(dsn, role=role) as session:
                session.execute("SET ROLE NONE")
                assert session.execute("SHOW is_superuser").fetchone() == ("off",)
        with Ledger.open(LedgerConfig(dsn=dsn), SIGNER, lambda: TIME_US) as ledger:
            assert ledger.size == 2
        with attached(settings.load(state=state)) as place:
            assert place.reader.head().size == 2
            assert place.dsn == dsn


def test_a_verb_makes_no_tables_in_a_database_without_a_ledger(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dsn_of(postgres_dsn, "postgres")
    monkeypatch.setenv(DSN, other)
    result = CliRunner().invoke(app, ["verify", "--state", str(tmp_path)])
    assert result.exit_code == 3
    assert result.stdout.startswith(f"NOT CHECKABLE: no ledger in the database that {DSN} names")
    assert not has_schema(other)
    assert has_schema(postgres_dsn)
    assert not list(tmp_path.iterdir())


def test_a_superuser_is_warned_of_in_development_and_refused_outside(
    postgres_dsn: str, tmp_path: Path
) -> None:
    said: list[str] = []
    with ExitStack() as stack:
        plan = plan_on(postgres_dsn, tmp_path, dev=True)
        assert start_database(plan, stack, said.append) == postgres_dsn
        assert f"logs in as {SUPERUSER}, who is a superuser" in said[-1]
        assert "\n" not in said[-1]
        assert "@" not in said[-1]
        with pytest.raises(LedgerUnsafeError, match=r"is a superuser.*countersign migrate"):
            start_database(plan_on(postgres_dsn, tmp_path, dev=False), stack, said.append)


def test_migrate_makes_the_login_that_a_gateway_is_let_in_with(
    postgres_dsn: str, own_dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(DSN, own_dsn)
    monkeypatch.setenv(ADMIN_DSN, postgres_dsn)
    for _ in range(2):
        result = CliRunner().invoke(app, ["migrate"])
        assert result.exit_code == 0, result.output
        assert f"logs in as {OWN}" in result.stdout
    with ExitStack() as stack:
        said: list[str] = []
        assert start_database(plan_on(own_dsn, tmp_path, dev=False), stack, said.append) == own_dsn
        assert len(said) == 1
    with connect(postgres_dsn) as admin:
        admin.execute(f"REVOKE {WRITER_ROLE} FROM {OWN}".encode())
        with ExitStack() as stack, pytest.raises(LedgerUnsafeError, match=r"act as.*_writer: run"):
            enter(LedgerSettings(dsn=own_dsn), tmp_path, stack)


@pytest.mark.parametrize("given", [(), (DSN,), (ADMIN_DSN,), (DSN, ADMIN_DSN)])
def test_migrate_says_on_one_line_what_it_lacks(
    postgres_dsn: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: tuple[str, ...],
) -> None:
    for name in given:  # both alike: a superuser is no login
        monkeypatch.setenv(name, postgres_dsn)
    assert exit_code_of(lambda: app(["migrate"], standalone_mode=False)) == 2
    said = capsys.readouterr().err
    assert said.startswith("countersign: ")
    assert said.count("\n") == 1
    assert ("is a superuser" in said) == (len(given) == 2)


def test_who_may_not_migrate_is_told_who_may(postgres_dsn: str, own_dsn: str) -> None:
    with connect(postgres_dsn) as admin:
        admin.execute(f"CREATE ROLE {OWN} LOGIN PASSWORD 'own'".encode())
    with ExitStack() as stack:
        for dsn in (own_dsn, dsn_of(own_dsn, "postgres")):  # a ledger it is no user of, and none
            with pytest.raises(LedgerUnsafeError, match=r"may not migrate.*countersign migrate"):
                enter(LedgerSettings(dsn=dsn), Path(), stack)
        with pytest.raises(psycopg.OperationalError):
            enter(LedgerSettings(dsn=own_dsn.replace(":own@", ":other@")), Path(), stack)
