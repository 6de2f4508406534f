"""Who the embedded server lets in: the gateway's user as the plain login, nobody by a password."""

import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.logins import LOGIN_ROLE, login_of
from audit.store.tables import connect, wait_until_admitted
from gateway.installation.children.postgres import SUPERUSER, EmbeddedPostgres
from gateway.installation.children.postgres_access import HBA, IDENT
from gateway.installation.database import enter
from gateway.installation.settings import LedgerSettings
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.other_user import STRANGER, opened_by_stranger, run_as_stranger
from tests.doubles.state_folder import state_folder

pytestmark = pytest.mark.postgres
SCRAM = "local all all scram-sha-256\n"
"""The one rule of the version before."""


@pytest.fixture
def state() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


def as_administrator(dsn: str) -> str:
    """Return the DSN of the administrator of a login's server."""
    return dsn.replace(f"//{LOGIN_ROLE}@", f"//{SUPERUSER}@")


def is_let_in(dsn: str) -> bool:
    """Say whether the server takes a session of the DSN's user."""
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


def test_the_gateways_user_is_the_login_and_no_administrator(state: Path) -> None:
    with ExitStack() as stack:
        dsn, unsafe = enter(LedgerSettings(), state, stack)
        assert unsafe == ""
        assert login_of(dsn).excess == ()
        assert not is_let_in(as_administrator(dsn))
        assert not is_let_in(dsn.replace(f"//{LOGIN_ROLE}@", "//countersign_owner@"))
        for database in ("postgres", "template1"):
            assert not is_let_in(as_administrator(dsn).replace("/countersign?", f"/{database}?"))


def test_no_password_is_kept_by_the_server_or_on_the_disk(state: Path) -> None:
    with ExitStack() as stack:
        enter(LedgerSettings(), state, stack)
        server = EmbeddedPostgres(state)
        server.start()
        stack.callback(server.stop)
        with server.administration() as admin_dsn, connect(admin_dsn) as admin:
            kept = admin.execute("SELECT count(*) FROM pg_authid WHERE rolpassword IS NOT NULL")
            assert kept.fetchone() == (0,)
    assert [path for path in (state / "pg").rglob("*") if "password" in path.name] == []


def test_the_administrator_is_let_in_while_something_is_done_and_not_after(state: Path) -> None:
    with ExitStack() as stack:
        dsn, _ = enter(LedgerSettings(), state, stack)
        server = EmbeddedPostgres(state)
        server.start()
        stack.callback(server.stop)
        with server.administration() as admin_dsn:
            assert is_let_in(admin_dsn)
        assert not is_let_in(as_administrator(dsn))
        with pytest.raises(ZeroDivisionError):
            fail_within(server)
        deadline = time.monotonic() + 30.0
        while is_let_in(as_administrator(dsn)):  # the server hears of it a moment later
            assert time.monotonic() < deadline
        assert is_let_in(dsn)


def fail_within(server: EmbeddedPostgres) -> None:
    """Let a migration fail."""
    with server.administration():
        raise ZeroDivisionError


def test_a_start_shuts_the_door_that_a_crash_left_open(state: Path) -> None:
    with ExitStack() as stack:
        enter(LedgerSettings(), state, stack)
    code = (
        "import os, pathlib, signal, sys\n"
        "from gateway.installation.children.postgres import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(pathlib.Path(sys.argv[1])); server.start()\n"
        "with server.administration(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(state)], check=False)
    assert done.returncode == -signal.SIGKILL
    with ExitStack() as stack:
        dsn, _ = enter(LedgerSettings(), state, stack)
        assert is_let_in(dsn)
        assert not is_let_in(as_administrator(dsn))


@pytest.mark.parametrize("lives", [True, False])
def test_rules_that_ask_for_passwords_are_put_back(state: Path, *, lives: bool) -> None:
    with ExitStack() as stack:
        dsn, _ = enter(LedgerSettings(), state, stack)
        with Ledger.open(LedgerConfig(dsn=dsn), SIGNER, lambda: TIME_US) as ledger:
            ledger.append(note("a"))
        server = EmbeddedPostgres(state)
        server.start()
        if lives:
            stack.callback(server.stop)
        ask_for_passwords(server, state)
        if not lives:
            server.stop()
            stack.close()
        if lives:
            wait_until_admitted(by_password(as_administrator(dsn)), 30.0)
        with ExitStack() as next_start:
            again, unsafe = enter(LedgerSettings(), state, next_start)
            assert (again, unsafe) == (dsn, "")
            assert not is_let_in(by_password(as_administrator(dsn)))
            with Ledger.open(LedgerConfig(dsn=again), SIGNER, lambda: TIME_US) as ledger:
                assert ledger.size == 2
    assert SCRAM not in (state / "pg" / "data" / HBA).read_text()


def ask_for_passwords(server: EmbeddedPostgres, state: Path) -> None:
    """Give both users a password, and let the server ask for them."""
    home = state / "pg"
    with server.administration() as admin_dsn, connect(admin_dsn) as admin:
        for user in (SUPERUSER, LOGIN_ROLE):
            admin.execute(f"ALTER ROLE {user} PASSWORD 'word'".encode())
        (home / "data" / HBA).write_text(SCRAM)
        admin.execute("SELECT pg_reload_conf()")
    (home / "data" / HBA).write_text(SCRAM)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGHUP)


def by_password(dsn: str) -> str:
    """Return a DSN with the password."""
    return dsn.replace("@/", ":word@/")


def test_another_user_of_the_machine_reaches_no_server(state: Path) -> None:
    with ExitStack() as stack:
        dsn, _ = enter(LedgerSettings(), state, stack)
        home = state / "pg"
        private = [home, home / "data", home / "data" / IDENT, home / "socket/.s.PGSQL.5432"]
        assert opened_by_stranger([*private, Path("/etc/passwd")]) == [Path("/etc/passwd")]
        for user in (LOGIN_ROLE, SUPERUSER):
            assert not stranger_is_let_in(user, dsn, home)


def stranger_is_let_in(user: str, dsn: str, home: Path) -> bool:
    """Say whether another user is let in who was led to the server's socket by mistake.

    Only root can become another user; elsewhere the map is made another's instead.
    """
    socket, stranger = home / "socket", pwd.getpwnam(STRANGER)
    if os.geteuid() != 0:
        (home / "data" / IDENT).write_text(f'gateway "{stranger.pw_name}" {user}\n')
        os.kill(int((home / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
        wait_until_admitted(dsn, 30.0, admitted=False)
        return is_let_in(as_administrator(dsn))
    for path, mode in ((home, 0o711), (socket, 0o711), (socket / ".s.PGSQL.5432", 0o666)):
        path.chmod(mode)
    asked = (_ASKS_FOR_A_SESSION, str(socket / ".s.PGSQL.5432"))
    ours = [sys.executable, "-c", *asked, LOGIN_ROLE]
    done = subprocess.run(ours, capture_output=True, text=True, check=True)
    assert done.stdout == "R\n", "we ourselves are let in"
    said = run_as_stranger(*asked, user)
    assert said in {"R\n", "E\n"}
    return said == "R\n"


_ASKS_FOR_A_SESSION = """
import socket, struct, sys
words = b"".join(w.encode() + bytes(1) for w in ("user", sys.argv[2], "database", "countersign"))
asked = struct.pack("!i", 196608) + words + bytes(1)
with socket.socket(socket.AF_UNIX) as one:
    one.connect(sys.argv[1])
    one.sendall(struct.pack("!i", len(asked) + 4) + asked)
    print(one.recv(1).decode())
"""
"""The start of PostgreSQL's protocol: R is the authentication's answer, E its refusal."""
