"""The embedded or given database: migration and login.

The administrator migrates and makes the login; everything else connects as that plain login. For a
given database (`COUNTERSIGN_LEDGER__DSN`) the administrator runs the verb `migrate`, so that the
gateway never holds the administrator's password.
"""

import sys
from contextlib import ExitStack
from pathlib import Path

from audit.errors import LedgerUnsafeError
from audit.store.logins import Login, admit, login_of
from audit.store.tables import SCHEMA_REVISION, TABLES_ROLE, is_current, migrate
from gateway.errors import SettingsError
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.settings import LedgerSettings

_DSN, _ADMIN_DSN = "COUNTERSIGN_LEDGER__DSN", "COUNTERSIGN_LEDGER__ADMIN_DSN"


def enter(settings: LedgerSettings, root: Path, stack: ExitStack) -> tuple[str, str]:
    """Return the DSN for every further connection, and a warning for the operator, or "".

    A given database is migrated only if its user may. Without one, the server of the state folder
    `root` is started or adopted; `stack` gets a callback that stops using it.

    Raises:
        LedgerUnsafeError: the database is not migrated, or the login lacks a right.
        PostgresError: the embedded server cannot be started.
    """
    dsn = settings.dsn
    if dsn is None:
        server = EmbeddedPostgres(root)
        dsn = server.start()
        stack.callback(server.stop)
        _administer(server, dsn)
    else:
        migrate(dsn)
    return dsn, _judged(login_of(dsn))


def _administer(server: EmbeddedPostgres, dsn: str) -> None:
    """Migrate and make the login, if either is missing; otherwise admit no administrator."""
    if is_current(dsn):
        login = login_of(dsn)
        if not (login.lacking or login.excess):
            return
    with server.administration() as admin_dsn:
        migrate(admin_dsn)
        admit(admin_dsn, dsn)


def migrate_given(settings: LedgerSettings, feeds_dsn: str | None = None) -> int:
    """Migrate a given database to this program's schema and make its logins, as administrator.

    `feeds_dsn` names a login of its own for the table of bars.

    Raises:
        SettingsError: a DSN is missing.
        LedgerUnsafeError: the schema is newer than this program, or the login has too many rights.
    """
    if settings.dsn is None:
        raise SettingsError(
            name=_DSN, problem="names no database; the embedded one is migrated at every start"
        )
    if settings.admin_dsn is None:
        raise SettingsError(
            name=_ADMIN_DSN,
            problem="is not set: a DSN of the same database whose user may create roles",
        )
    migrate(settings.admin_dsn)
    admit(settings.admin_dsn, settings.dsn)
    if feeds_dsn is not None:
        admit(settings.admin_dsn, feeds_dsn, (TABLES_ROLE,))
    login = login_of(settings.dsn)
    if words := _judged(login):
        raise LedgerUnsafeError(words)
    sys.stdout.write(
        f"schema {SCHEMA_REVISION}; the gateway logs in as {login.name}, who may append, read and"
        " erase\n"
    )
    return 0


def _judged(login: Login) -> str:
    """Return a warning if a login has more rights than it should, or ""; raise if it lacks one."""
    if login.lacking:
        raise LedgerUnsafeError(
            f"the user {login.name} may not act as {', '.join(login.lacking)}: run"
            " `countersign migrate` as the database's administrator"
        )
    if not login.excess:
        return ""
    return (
        f"the gateway logs in as {login.name}, who {', '.join(login.excess)}: the database cannot"
        f" defend the ledger against its own gateway; give that DSN as {_ADMIN_DSN}, a plain user's"
        f" as {_DSN}, and run `countersign migrate`"
    )
