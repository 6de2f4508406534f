"""Backups taken apart, changed and put together again, as somebody who forges one would."""
# ruff: noqa: S608 - table and column names are this file's own constants

import gzip
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from audit.privacy.vault import Vault
from audit.store.tables import READER_ROLE, connect
from audit.upkeep.backup.form import ABOUT, DONE, FORMAT, TABLES, encoded, read_backup
from audit.upkeep.backup.restore import Restored, restore
from audit.verifier.verify import Outside
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.conftest import dsn_of
from tests.doubles.audit_log import SIGNER
from tests.doubles.audit_spoiled import silent

Line = tuple[str, dict[str, Any]]
KEY = str(SIGNER.vkey)
KEYED = Outside(vkeys=[KEY])


def head_of(size: int = 0) -> dict[str, Any]:
    """Return the head's row of a log that nobody wrote."""
    return {"origin": "x", "size": size, "root": bytes(32), "frontier": b""}


def about_of(size: int = 0) -> dict[str, Any]:
    """Return the first line's fields of a backup of it."""
    return {"format": FORMAT, "origin": "x", "size": size, "taken_at_us": 2}


def opening(size: int = 0) -> list[Line]:
    """Return the two lines with which every backup begins."""
    return [(ABOUT, about_of(size)), ("head", head_of(size))]


def lines_of(path: Path) -> list[Line]:
    """Return what a backup holds, but for its last line."""
    with path.open("rb") as file:
        return list(read_backup(file))[:-1]


def packed(lines: Sequence[Line]) -> bytes:
    """Return a backup that holds these lines, with a last one that says so."""
    return gzip.compress(ended(b"".join(encoded({"type": kind, **row}) for kind, row in lines)))


def ended(text: bytes) -> bytes:
    """Return the lines with a last one that fits them."""
    digest, count = hashlib.sha256(text).hexdigest(), text.count(b"\n")
    return text + encoded({"type": DONE, "lines": count, "sha256": digest})


def content(dsn: str) -> dict[str, list[tuple[object, ...]]]:
    """Return every table of a ledger, but for the fence and the tiles."""
    with connect(dsn, role=READER_ROLE) as reader:
        return {
            table: reader.execute(
                f"SELECT {', '.join(columns)} FROM ledger.{table} ORDER BY 1, 2".encode()
            ).fetchall()
            for table, columns in TABLES.items()
        }


def untouched(dsn: str) -> bool:
    """Say whether a ledger is as empty as a new one."""
    return not any(content(dsn).values())


def back(
    dsn: str,
    path: Path,
    outside: Outside = KEYED,
    *,
    accept_older: bool = False,
    vault: Vault | None = None,
) -> Restored:
    """Restore, trusting the log's key."""
    return restore(dsn, path, outside, silent, accept_older=accept_older, vault=vault)


@contextmanager
def empty_ledger(postgres: EmbeddedPostgres) -> Iterator[str]:
    """Yield the DSN of one more empty ledger on the tests' server."""
    admin, name = postgres.start(), f"restored_{os.getpid()}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE migrated".encode())
    yield dsn_of(admin, name)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
