"""The schema's version, how a database gets it, and a record's columns.

Not here: the tables' definitions (`migrations/versions/`).
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from audit.errors import LedgerUnsafeError
from audit.records.kinds import Kind
from audit.records.record import Record

SCHEMA_REVISION = "0005"
WRITER_ROLE = "countersign_writer"
READER_ROLE = "countersign_reader"
ERASER_ROLE = "countersign_eraser"
TABLES_ROLE = "countersign_tables"
"""Keeps plain tables beside the ledger, in which it has no right."""
CONNECT_TIMEOUT_S = 3
TupleConnection = psycopg.Connection[TupleRow]
DatabaseError = psycopg.Error
"""The driver's errors, for callers that may not import the driver."""
Rows = Callable[[str, Mapping[str, object]], Sequence[Sequence[Any]]]
"""Runs one statement with its values and returns the rows."""
_OPTIONS = (
    "synchronous_commit=on",
    "search_path=pg_catalog",  # every function is PostgreSQL's own
    "row_security=off",  # a policy that would hide rows becomes an error
    "constraint_exclusion=off",  # a false CHECK leaves no rows out
    "transform_null_equals=off",
    "array_nulls=on",
    "standard_conforming_strings=on",
    "bytea_output=hex",
    "quote_all_identifiers=off",
    "client_encoding=UTF8",
    "default_transaction_isolation=read\\ committed",
    # A check holds one snapshot for as long as the ledger is large, as pg_dump does.
    "idle_in_transaction_session_timeout=0",
    "idle_session_timeout=0",
    "statement_timeout=0",
)
"""Settings that change what a statement means, or end it, and that any user may change.

Not `session_replication_role`: no user of the ledger may set it, so triggers always fire.
"""
_READING = """
SET search_path = pg_catalog, pg_temp; SET row_security = off; SET constraint_exclusion = off;
SET transform_null_equals = off; SET array_nulls = on; SET standard_conforming_strings = on;
SET bytea_output = hex; SET quote_all_identifiers = off; SET client_encoding = 'UTF8';
SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0;
SET statement_timeout = 0
"""
"""Set again for readers, because a superuser's login trigger runs after `_OPTIONS`.

`pg_temp` is named last; if it were not named, temporary tables would come first.
"""
_FROM_17 = "; SET transaction_timeout = 0"
"""Added to `_READING` where the server has this setting: earlier ones refuse its name."""
_HAS_TRANSACTION_TIMEOUT = 170_000
_MIGRATION_LOCK = 4_369_020
_POLL_S = 0.05
_MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"

RECORD_COLUMNS = (
    "seq",
    "stream",
    "stream_seq",
    "kind",
    "version",
    "recorded_at_us",
    "actor",
    "idem_key",
    "prev",
    "payload_digest",
    "header",
    "payload",
    "leaf",
)
"""The columns of `Record`, in the order of `record_from_row`."""

RECORD_SQL = ", ".join(RECORD_COLUMNS)


def record_from_row(row: Sequence[object]) -> Record:
    """Build a record from `RECORD_COLUMNS`; raise LedgerUnsafeError for a newer kind."""
    values = dict(zip(RECORD_COLUMNS, row, strict=True))
    try:
        values["kind"] = Kind(str(values["kind"]))
    except ValueError as error:
        raise LedgerUnsafeError(f"record {values['seq']}: {error}") from error
    return Record(**values)  # type: ignore[arg-type]  # the database fixes the columns' types


def connect(dsn: str, *, role: str | None = None, name: str = "countersign") -> TupleConnection:
    """Open an autocommit connection, as a role if one is given.

    Role and `_OPTIONS` are part of the start message: they cost no round trip, override what the
    database or the user sets, and `RESET` returns to them.
    """
    options = " ".join(f"-c {option}" for option in _OPTIONS)
    options += "" if role is None else f" -c role={role}"
    connection = psycopg.connect(
        dsn,
        autocommit=True,
        connect_timeout=CONNECT_TIMEOUT_S,
        application_name=name,
        options=options,
    )
    if role == READER_ROLE:
        try:
            newer = connection.info.server_version >= _HAS_TRANSACTION_TIMEOUT
            connection.execute((_READING + _FROM_17 * newer).encode())
        except BaseException:
            connection.close()
            raise
    return connection


def migrate(dsn: str, revision: str = "head") -> None:
    """Bring a database to this program's schema, in one transaction; safe to call at every start.

    A change needs a user who may create roles and schemas; without one, any user of the ledger may
    call this. `revision` is an older one only in tests.

    Raises:
        LedgerUnsafeError: the schema is newer than this program or not ours, or the user may not
            change it.
    """
    if revision == "head" and _revision_of(dsn) == SCHEMA_REVISION:
        return
    # Half a second of imports, which the reader processes of a check do not need.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415
    from sqlalchemy import create_engine  # noqa: PLC0415
    from sqlalchemy.exc import ProgrammingError  # noqa: PLC0415
    from sqlalchemy.pool import NullPool  # noqa: PLC0415

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    )
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with psycopg.connect(dsn, autocommit=True) as guard, engine.connect() as connection:
        guard.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise LedgerUnsafeError(f"cannot migrate: {error}") from error
        except ProgrammingError as error:
            if not isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                raise
            raise LedgerUnsafeError(
                f"the database does not have schema {SCHEMA_REVISION} and this user may not migrate"
                " it: run `countersign migrate` as its administrator"
            ) from error
        connection.commit()


def is_current(dsn: str) -> bool:
    """Return whether the user of a DSN can log in and finds this program's schema."""
    try:
        return _revision_of(dsn) == SCHEMA_REVISION
    except psycopg.OperationalError:
        return False


def _revision_of(dsn: str) -> str | None:
    """Return a database's revision, as the reader role if the user may take it."""
    with psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        with contextlib.suppress(
            psycopg.errors.InvalidParameterValue, psycopg.errors.InsufficientPrivilege
        ):
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(READER_ROLE)))
        return schema_revision(connection)


def has_schema(dsn: str) -> bool:
    """Return whether a database was ever migrated; any user may ask."""
    with psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        row = connection.execute("SELECT to_regnamespace('ledger') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])


def schema_revision(connection: TupleConnection) -> str | None:
    """Return the database's schema revision, None if it has none."""
    try:
        row = connection.execute("SELECT version_num FROM public.alembic_version").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
        return None
    return None if row is None else str(row[0])


def wait_until_ready(dsn: str, timeout_s: float, check: Callable[[], None]) -> None:
    """Wait until the server accepts connections of any user; `check` may raise to stop.

    Raises:
        LedgerUnsafeError: the server does not answer in time.
    """
    deadline = time.monotonic() + timeout_s
    asked = psycopg.conninfo.make_conninfo(dsn, connect_timeout=CONNECT_TIMEOUT_S).encode()
    while True:
        check()
        if psycopg.pq.PGconn.ping(asked) == psycopg.pq.Ping.OK:
            return
        if time.monotonic() > deadline:
            raise LedgerUnsafeError("PostgreSQL does not answer")
        time.sleep(_POLL_S)


def wait_until_admitted(dsn: str, timeout_s: float, *, admitted: bool = True) -> None:
    """Wait until a DSN's user can log in, or no longer can; raise LedgerUnsafeError when late."""
    deadline = time.monotonic() + timeout_s
    while ((error := refusal(dsn)) is None) is not admitted:
        if time.monotonic() > deadline:
            still = "still lets its administrator in" if error is None else f"refuses: {error}"
            raise LedgerUnsafeError(f"PostgreSQL {still}")
        time.sleep(_POLL_S)


def refusal(dsn: str) -> psycopg.OperationalError | None:
    """Return why the user of a DSN cannot log in, or None."""
    try:
        psycopg.connect(dsn, connect_timeout=CONNECT_TIMEOUT_S).close()
    except psycopg.OperationalError as error:
        return error
    return None


def ensure_database(dsn: str, name: str) -> None:
    """Create a database if it is missing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if row is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def out_of_reach(error: DatabaseError) -> str:
    """Return one line that says why the database does not answer; never a DSN's text."""
    if error.sqlstate is None and isinstance(error, psycopg.ProgrammingError):
        return "the DSN (COUNTERSIGN_LEDGER__DSN) is not a connection string"
    return f"cannot use the database: {' '.join(str(error).split())}"
