"""The login: a user who may be writer, reader, eraser or keeper of tables, and nothing else.

`SET ROLE` alone protects nothing: `SET ROLE NONE` returns to the login's own rights, and a
superuser can switch triggers off. So the login must have no rights of its own.

Rules:

- A login inherits nothing: without `SET ROLE` it sees no table of the ledger.
- These functions change only a login that they made, and refuse one with more rights.
- Passwords reach the server as SCRAM verifiers, so that no statement log holds them.
"""

from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from audit.errors import LedgerUnsafeError
from audit.store.tables import (
    ERASER_ROLE,
    READER_ROLE,
    TABLES_ROLE,
    WRITER_ROLE,
    connect,
    refusal,
)

LOGIN_ROLE = "countersign_app"
"""The default login, and that of the embedded server."""
ROLES = (WRITER_ROLE, READER_ROLE, ERASER_ROLE, TABLES_ROLE)
_LOGIN_LOCK = 4_369_023

_RIGHTS_SQL = """
SELECT
  CASE WHEN rolsuper THEN ARRAY['is a superuser'] ELSE
    array_remove(ARRAY[
      CASE WHEN rolcreaterole THEN 'may create roles' END,
      CASE WHEN rolbypassrls THEN 'may pass over row-level security' END,
      CASE WHEN rolreplication THEN 'may replicate' END,
      CASE WHEN EXISTS (SELECT FROM pg_database
        WHERE datname = current_database() AND datdba = r.oid) THEN 'owns the database' END,
      CASE WHEN EXISTS (SELECT FROM pg_class
        WHERE relnamespace = to_regnamespace('ledger') AND relowner = r.oid)
        THEN 'owns tables of the ledger' END,
      CASE WHEN EXISTS (SELECT FROM pg_class, aclexplode(relacl)
        WHERE relnamespace = to_regnamespace('ledger') AND grantee IN (r.oid, 0))
        THEN 'has rights in the ledger that are no role''s' END
    ], NULL) || ARRAY(SELECT 'may act as ' || m.rolname FROM pg_roles m
      WHERE m.oid <> r.oid AND m.rolname <> ALL(%(roles)s) AND pg_has_role(r.oid, m.oid, 'MEMBER')
      ORDER BY m.rolname)
  END,
  ARRAY(SELECT name FROM unnest(%(roles)s) AS name LEFT JOIN pg_roles m ON m.rolname = name
    WHERE m.oid IS NULL OR NOT pg_has_role(r.oid, m.oid, 'MEMBER'))
FROM pg_roles r WHERE rolname = %(login)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login's rights in excess of the four roles, in words, and the roles it may not take."""

    name: str
    excess: tuple[str, ...]
    lacking: tuple[str, ...]


def login_of(dsn: str) -> Login:
    """Return what the user of a DSN may do.

    Raises:
        psycopg.Error: the database does not answer, or refuses the user.
    """
    with connect(dsn, name="countersign-login") as connection:
        (user,) = connection.execute("SELECT session_user").fetchone() or ("",)
        found = _rights(connection, str(user))
    assert found is not None  # noqa: S101 - every session's user has a row
    return found


def admit(admin_dsn: str, dsn: str, roles: tuple[str, ...] = ROLES) -> None:
    """Make the user of `dsn` a login with these roles, or leave a correct one as it is.

    All in one transaction: a crash leaves nothing. `admin_dsn`'s user may create roles.

    Raises:
        LedgerUnsafeError: the DSN names no user, or a user with other rights or another password.
        psycopg.Error: the database does not answer, or the administrator may not.
    """
    given = conninfo_to_dict(dsn)
    name, password = str(given.get("user") or ""), given.get("password")
    if not name:
        raise LedgerUnsafeError("the DSN (COUNTERSIGN_LEDGER__DSN) names no user to make")
    with connect(admin_dsn, name="countersign-admit") as admin, admin.transaction():
        admin.execute("SET LOCAL lock_timeout = '15s'")  # any user can hold this lock
        admin.execute("SELECT pg_advisory_xact_lock(%s)", (_LOGIN_LOCK,))
        found = _rights(admin, name, roles)
        user = sql.Identifier(name)
        secret: sql.Composable = sql.SQL("")
        if password is not None:
            verifier = admin.pgconn.encrypt_password(
                str(password).encode(), name.encode(), b"scram-sha-256"
            )
            secret = sql.SQL("PASSWORD {}").format(sql.Literal(verifier.decode()))
        if found is None:
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN NOINHERIT {}").format(user, secret))
        elif found.excess:
            raise LedgerUnsafeError(f"the user {name} {', '.join(found.excess)}: choose another")
        elif refusal(dsn) is not None:
            if found.lacking == roles:
                raise LedgerUnsafeError(f"there is a user {name} with another password already")
            admin.execute(sql.SQL("ALTER ROLE {} LOGIN {}").format(user, secret))
        for role in roles if found is None else found.lacking:
            admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), user))


def _rights(
    connection: psycopg.Connection, name: str, roles: tuple[str, ...] = ROLES
) -> Login | None:
    asked = {"roles": list(roles), "login": name}
    row = connection.execute(_RIGHTS_SQL, asked).fetchone()
    if row is None:
        return None
    return Login(name=name, excess=tuple(row[0]), lacking=tuple(row[1]))
