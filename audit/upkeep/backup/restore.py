"""A backup loaded into an empty ledger and verified meanwhile: completely, or not at all.

Everything happens in one transaction under the sequencer's lock: whatever stops it, a bad record
or SIGKILL, the database stays empty. Keys, a witness policy and checkpoints come from outside.

Rules:

- The log must be signed to its last record: anybody could have written what follows the newest
  checkpoint.
- A checkpoint from outside of at most the backup's size must be one of its tree, or the log forked.
- A larger one that the log signed shows that the backup is older than what was published. Going on
  from it signs different trees of sizes already seen, which a witness takes for a fork. So it
  requires `accept_older`, and the report says how many records are lost.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import sql

from audit.errors import BackupError, LedgerFencedError, LedgerUnsafeError, LedgerWriteError
from audit.privacy.vault import Vault
from audit.store.connection import SEQUENCER_LOCK
from audit.store.tables import (
    SCHEMA_REVISION,
    WRITER_ROLE,
    TupleConnection,
    connect,
    schema_revision,
)
from audit.upkeep.backup.backup import Progress
from audit.upkeep.backup.form import DONE, TABLES, read_backup
from audit.upkeep.backup.judge import Cosignatures, Later, judge_values
from audit.verifier.verify import INCOMPLETE, OK, Bad, LogVerifier, Outside, Report, Trust

_SHOWN_EVERY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of a restore: nothing was restored unless the report's exit code is 0.

    `size` and `root` are those of the backup, `known_size` the largest of checkpoints from outside.
    """

    report: Report
    size: int
    root: bytes
    known_size: int

    @property
    def lost(self) -> int:
        """Return how many published records the backup lacks."""
        return max(0, self.known_size - self.size)


def restore(
    dsn: str,
    path: Path,
    outside: Outside,
    progress: Progress,
    *,
    accept_older: bool,
    vault: Vault | None = None,
) -> Restored:
    """Load a backup into an empty, migrated database and return the result.

    The user in `dsn` must be able to `SET ROLE countersign_writer`. `accept_older` restores even if
    a checkpoint from outside is of a larger tree. With a `vault`, encrypted values must open.

    Raises:
        BackupError: the file is damaged, cut off or no backup.
        LedgerUnsafeError: the database has a ledger already, or another schema.
        LedgerFencedError: a gateway is running on it.
        LedgerWriteError: the database refused.
        Bad: a key, the policy or a checkpoint from outside is malformed.
    """
    try:
        with path.open("rb") as file, connect(dsn, role=WRITER_ROLE) as connection:
            _take_empty(connection)  # a crash here leaves an empty ledger: restore again
            loading = _Loading(connection, outside, progress, vault)
            with contextlib.suppress(_NotSoundError), connection.transaction():
                loading.run(file, accept_older=accept_older)
                # a crash here leaves an empty ledger: all of it is one transaction
            # a crash here leaves the whole ledger, verified; another restore is refused
            return loading.result()
    except psycopg.Error as error:
        raise LedgerWriteError(f"not restored: {error}") from error
    except OSError as error:
        raise BackupError(f"cannot read {path}: {error}") from error


def _take_empty(connection: TupleConnection) -> None:
    """Lock the ledger as the sequencer does, and require that it has no records."""
    if schema_revision(connection) != SCHEMA_REVISION:
        raise LedgerUnsafeError("the database's schema is not this program's: migrate")
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (SEQUENCER_LOCK,)).fetchone()
    if row is None or not row[0]:
        raise LedgerFencedError("a gateway is running on this ledger; stop it first")
    for table in TABLES:
        query = sql.SQL("SELECT 1 FROM ledger.{} {} LIMIT 1").format(
            sql.Identifier(table), sql.SQL("WHERE size > 0" if table == "head" else "")
        )
        if connection.execute(query).fetchone() is not None:
            raise LedgerUnsafeError("the ledger is not empty; restore into a new state folder")


class _NotSoundError(Exception):
    """The backup does not verify; the report says why."""


class _Loading:
    """One restore inside its transaction."""

    def __init__(
        self,
        connection: TupleConnection,
        outside: Outside,
        progress: Progress,
        vault: Vault | None,
    ) -> None:
        self._connection = connection
        self._vault = vault
        self._outside = outside
        self._progress = progress
        self._cosignatures = Cosignatures()
        self._later = Later(outside)
        self._known = self._signed = 0
        self._log = LogVerifier((), (), Outside())
        self._head: dict[str, Any] = {}
        self._kind = ""
        self._row: dict[str, Any] = {}

    def run(self, file: IO[bytes], *, accept_older: bool) -> None:
        """Load and verify every line; `_NotSoundError` rolls the transaction back."""
        lines = read_backup(file)
        self._kind, self._row = next(lines)
        self._next(lines)  # the head: `read_backup` lets no other line come second
        try:
            self._begin(accept_older=accept_older)
            self._next(lines)
            while self._kind != DONE:
                self._load(self._kind, lines)
            report = self._finish()
        except psycopg.Error as error:
            if self._log.report.exit_code == OK:
                raise
            raise _NotSoundError from error  # the database refuses what the verifier found
        except (Bad, TypeError, AttributeError, ArithmeticError, ValueError) as error:
            report = self._log.report
            report.caught(error)
        if report.exit_code != OK:
            raise _NotSoundError
        self._connection.execute(
            "UPDATE ledger.head SET size = %s, root = %s, frontier = %s WHERE id = 1",
            (self._head["size"], self._head["root"], self._head["frontier"]),
        )

    def _finish(self) -> Report:
        self._cosignatures.finish(self._log.report)
        report = self._log.finish(int(self._head["size"]))
        self._later.finish(report, self._head["origin"])
        if self._log.size > self._signed:
            after = self._log.size - self._signed
            text = f"{after} records after the last checkpoint are signed by nobody"
            report.find(INCOMPLETE, text, self._signed)
        if report.exit_code == OK:
            judge_values(self._connection, report, self._head["origin"], self._vault)
        return report

    def result(self) -> Restored:
        """Return what the caller of `restore` gets."""
        return Restored(
            report=self._log.report,
            size=self._head["size"],
            root=self._head["root"],
            known_size=self._known,
        )

    def _next(self, lines: Iterator[tuple[str, dict[str, Any]]]) -> None:
        self._kind, self._row = next(lines)

    def _begin(self, *, accept_older: bool) -> None:
        """Take the head; give checkpoints within its size to the verifier, others to `Later`."""
        self._head = head = self._row
        size, trust = head["size"], Trust(self._outside.vkeys, self._outside.policy)
        inside: list[bytes] = []
        for note in self._outside.notes:
            known = trust.open(note).head.size
            self._known = max(self._known, known)
            if known <= size:
                inside.append(note)
            else:
                self._later.add(note)
        rest = Outside(
            vkeys=self._outside.vkeys,
            policy=self._outside.policy,
            rotations=self._outside.rotations,
            notes=inside,
        )
        self._log = LogVerifier((), (), rest)
        self._log.head(head)
        if self._known > size:
            text = f"the log once had {self._known} records; the backup lacks the last"
            text = f"{text} {self._known - size}"
            if accept_older:
                self._log.report.say(text)
            else:
                self._log.report.find(INCOMPLETE, f"{text} (--accept-older)", size)
        origin = self._connection.execute(
            "INSERT INTO ledger.head VALUES (1, %s, 0, sha256(''), '', 0)"
            " ON CONFLICT (id) DO NOTHING",
            (head["origin"],),
        )
        found = self._connection.execute("SELECT origin FROM ledger.head").fetchone()
        if origin.rowcount == 0 and (found is None or found[0] != head["origin"]):
            raise LedgerUnsafeError("the database belongs to another log")

    def _load(self, table: str, lines: Iterator[tuple[str, dict[str, Any]]]) -> None:
        """Copy one table's lines; the verifier gets each line first."""
        copy_sql = sql.SQL("COPY ledger.{} ({}) FROM STDIN (FORMAT BINARY)").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, TABLES[table]))
        )
        with self._connection.cursor() as cursor, cursor.copy(copy_sql) as copy:
            copy.set_types([column.rstrip("?") for column in TABLES[table].values()])
            while self._kind == table:
                self._verify(table, self._row)
                copy.write_row([self._row[name] for name in TABLES[table]])
                self._next(lines)

    def _verify(self, table: str, row: dict[str, Any]) -> None:
        match table:
            case "cosignature":
                self._cosignatures.take(self._log.report, row)
            case "checkpoint":
                self._signed = max(self._signed, row["size"])
                note = row["note"] + self._cosignatures.of(row["size"])
                self._log.checkpoint(row["size"], note)
            case "blob":
                self._log.blob(row["digest"], row["data"])
            case "entry":
                self._log.entry(row)
                self._later.entry(row)
                if self._log.size % _SHOWN_EVERY == 0:
                    self._progress("records", self._log.size, self._head["size"])
            case _:
                pass  # encrypted values: compared with the records when all are there
