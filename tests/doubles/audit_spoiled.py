"""A log for checking the checkers: many streams, four checkpoints, and every way to spoil it."""
# ruff: noqa: S608 - table and column names are this file's own constants

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import psycopg

from audit.privacy.vault import Vault
from audit.records.personal import Personal
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import TupleConnection, connect
from audit.tlog.checkpoint import make_checkpoint
from audit.upkeep import dump as fsck
from audit.upkeep.fsck import run as fsck_run
from audit.upkeep.fsck.plan import FsckPlan
from audit.verifier.verify import Outside, Report
from tests.doubles.audit_log import (
    OTHER_SIGNER,
    SIGNER,
    TIME_US,
    cancelling,
    flipped,
    inbound,
    note,
    opening,
    sealed,
    started,
)

WIDTH = 4
PERSONS = ("Ada Lovelace", "Ben Bitdiddle")
Spoiled: TypeAlias = tuple[str, TupleConnection]
"""A disarmed log, and its superuser's connection; see the fixture `spoiled`."""


def fill(dsn: str, vault: Vault | None = None) -> None:
    """Write some thirty records in eight streams under four checkpoints.

    Two of them hold personal values, one and two, if there is a vault to keep them.
    """
    config = LedgerConfig(dsn=dsn, checkpoint_every_s=0)
    first, second = note('quoted "text" \\ ü'), inbound(1)
    if vault is not None:
        ada, ben = (vault.subject(name) for name in PERSONS)
        first = replace(first, personal=(_said(ada, "text"),))
        second = replace(second, personal=(_said(ada, "tag 1"), _said(ben, "tag 2")))
    with Ledger.open(config, SIGNER, lambda: TIME_US, vault=vault) as ledger:
        blob = ledger.put_blob(b"snapshot")
        ledger.append(started(), opening("d1", blob), first)
        ledger.append(cancelling("d1"), second, sealed("d1"))
        ledger.checkpoint_now()
        for number in range(2, 6):
            ledger.append(opening(f"d{number}", blob), cancelling(f"d{number}"), inbound(number))
        ledger.checkpoint_now()
        ledger.append(*(sealed(f"d{number}") for number in range(2, 6)))
        ledger.checkpoint_now()
        ledger.append(note("last"))
        ledger.checkpoint_now()


def _said(subject: str, path: str) -> Personal:
    return Personal(subject=subject, path=path, value=f"{path} of {subject}", retention="none")


_TABLES = "SELECT oid FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind = 'r'"
_DISARM = f"""
UPDATE pg_class SET relhastriggers = false, relchecks = 0 WHERE oid IN ({_TABLES});
UPDATE pg_attribute SET attnotnull = false WHERE attrelid IN ({_TABLES}) AND attnum > 0;
UPDATE pg_index SET indisunique = false WHERE indrelid IN ({_TABLES});
""".encode()
_ARM = f"""
UPDATE pg_class c SET relhastriggers = true, relchecks =
  (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c')
  WHERE oid IN ({_TABLES});
UPDATE pg_attribute SET attnotnull = true
  WHERE attrelid IN ({_TABLES}) AND attnum > 0 AND attname NOT IN ('account', 'mac');
UPDATE pg_index SET indisunique = true WHERE indrelid IN ({_TABLES})
  AND indexrelid IN (SELECT conindid FROM pg_constraint WHERE contype IN ('p', 'u'));
""".encode()
_DISARMED = b"SELECT FROM pg_class WHERE oid = 'ledger.entry'::regclass AND relchecks = 0"


def disarm(dsn: str) -> None:
    """Take away what the database defends itself with, as a superuser who means to hide it."""
    with connect(dsn) as admin:
        admin.execute(_DISARM)


def arm(dsn: str) -> None:
    """Make the catalogue say again what it said; the rows stay what they have become."""
    with connect(dsn) as admin:
        admin.execute(_ARM)


@contextlib.contextmanager
def armed(dsn: str) -> Iterator[None]:
    """Arm a disarmed database for as long as somebody looks."""
    with connect(dsn) as admin:
        if admin.execute(_DISARMED).fetchone() is None:
            yield
            return
        admin.execute(_ARM)
        try:
            yield
        finally:
            admin.execute(_DISARM)


def fsck_database(dsn: str, *args: Any, **given: Any) -> Report:  # noqa: ANN401 - the real one's
    """Check a disarmed database as one that is armed again."""
    with armed(dsn):
        return fsck_run.fsck_database(dsn, *args, **given)


def verify_database(dsn: str, *args: Any, **given: Any) -> Report:  # noqa: ANN401 - the real one's
    """Verify a disarmed database as one that is armed again."""
    with armed(dsn):
        return fsck.verify_database(dsn, *args, **given)


def silent(*_: object) -> None:
    """Show no progress."""


def plan_of(folder: Path, *keys: str, **changes: Any) -> FsckPlan:  # noqa: ANN401 - FsckPlan's own
    """Return a plan with tiny chunks, so that a small log has many borders."""
    outside = changes.pop("outside", Outside(vkeys=keys))
    return FsckPlan(
        **{
            "outside": outside,
            "state": folder / "state",
            "readers": 0,
            "width": WIDTH,
            **changes,
        }
    )


def mutations(admin: psycopg.Connection[Any]) -> Iterator[tuple[str, list[bytes], list[Any]]]:
    """Yield every mutation: its name, and the statements with their values."""
    columns = [
        str(row[0])
        for row in admin.execute(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_schema = 'ledger' AND table_name = 'entry' AND column_name <> 'mac'"
        )
    ]
    assert len(columns) == 15
    for column, seq in itertools.product(columns, (1, 9)):
        row = admin.execute(f"SELECT {column} FROM ledger.entry WHERE seq = {seq}".encode())
        (value,) = row.fetchone() or (None,)
        for number, other in enumerate(itertools.islice(flipped(value), 2 if seq == 9 else 1)):
            change = f"UPDATE ledger.entry SET {column} = %s WHERE seq = {seq}".encode()
            yield f"{column} of {seq}, {number}", [change], [(other,)]
    swap = (
        "UPDATE ledger.entry SET seq = CASE seq WHEN {0} THEN {1} ELSE {0} END"
        " WHERE seq IN ({0}, {1})"
    )
    plain = {
        "first record gone": "DELETE FROM ledger.entry WHERE seq = 0",
        "a record gone": "DELETE FROM ledger.entry WHERE seq = 5",
        "a border's record gone": "DELETE FROM ledger.entry WHERE seq = 8",
        "a whole chunk gone": "DELETE FROM ledger.entry WHERE seq BETWEEN 8 AND 11",
        "three chunks gone": "DELETE FROM ledger.entry WHERE seq BETWEEN 6 AND 17",
        "a map gone": "DELETE FROM ledger.entry WHERE seq = 6",
        "the tail gone": "DELETE FROM ledger.entry WHERE seq > 20",
        "all gone": "DELETE FROM ledger.entry",
        "neighbours swapped": swap.format(4, 5),
        "chunks apart swapped": swap.format(2, 13),
        "a record twice": "INSERT INTO ledger.entry SELECT * FROM ledger.entry WHERE seq = 3",
        "a record below": "INSERT INTO ledger.entry (SELECT (jsonb_populate_record(e,"
        " '{\"seq\": -1}')).* FROM ledger.entry e WHERE seq = 3)",
        "a record far above": "UPDATE ledger.entry SET seq = 900000 WHERE seq = 9",
        "a null": "UPDATE ledger.entry SET actor = NULL WHERE seq = 9",
        "head too small": "UPDATE ledger.head SET size = size - 1",
        "head far too large": "UPDATE ledger.head SET size = 4000000000000000000",
        "head's root": "UPDATE ledger.head SET root = sha256(root)",
        "head's frontier": "UPDATE ledger.head SET frontier = sha256(frontier)",
        "head gone": "DELETE FROM ledger.head",
        "another origin": "UPDATE ledger.head SET origin = 'other'",
        "checkpoints gone": "DELETE FROM ledger.checkpoint",
        "newest checkpoint gone": "DELETE FROM ledger.checkpoint WHERE size = (SELECT size FROM"
        " ledger.head)",
        "a checkpoint moved": "UPDATE ledger.checkpoint SET size = size + 1 WHERE size = 7",
        "a checkpoint flipped": "UPDATE ledger.checkpoint SET note = set_byte(note, 90, 33)",
        "blobs gone": "DELETE FROM ledger.blob",
        "a blob flipped": "UPDATE ledger.blob SET data = set_byte(data, 0, 33)",
    }
    for name, statement in plain.items():
        yield name, [part.encode() for part in statement.split(";")], [None] * 9
    for name, size in (("a forged checkpoint", 7), ("a forged later checkpoint", 40)):
        forged = make_checkpoint(size, bytes(32), SIGNER).note
        change = b"INSERT INTO ledger.checkpoint VALUES (%s, %s)"
        yield (
            name,
            [b"DELETE FROM ledger.checkpoint WHERE size = 7", change],
            [None, (size, forged)],
        )
    foreign = make_checkpoint(7, bytes(32), OTHER_SIGNER).note
    change = b"UPDATE ledger.checkpoint SET note = %s WHERE size = 7"
    yield "a foreign checkpoint", [change], [(foreign,)]
