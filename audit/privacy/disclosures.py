"""Encrypted personal values in the database: read as the reader, deleted as the eraser.

Written by the sequencer, in the transaction of their records. Nothing here can open one.
What an erasure is judged by are the records themselves, as rows here can be taken away.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit.errors import LedgerError, LedgerWriteError
from audit.privacy.mentions import ODD, Wanted
from audit.records.kinds import Kind
from audit.records.personal import Field, Sealed
from audit.records.record import Record
from audit.records.row_key import RowKey
from audit.store.row_judge import RowJudge
from audit.store.tables import (
    ERASER_ROLE,
    READER_ROLE,
    RECORD_SQL,
    DatabaseError,
    TupleConnection,
    connect,
    record_from_row,
)

_KEPT_SQL = (
    b"SELECT d.position, d.subject, d.sealed, e.stream, e.idem_key"
    b" FROM ledger.disclosure d JOIN ledger.entry e USING (seq) WHERE d.seq = %s"
    b" ORDER BY d.position"
)
_TOLD = (Kind.HOLD_PLACED.value, Kind.HOLD_LIFTED.value, Kind.RUN_STARTED.value)
"""Kinds that erasures are judged by, whoever they are about: holds, and the years of each run."""
_SIZE_SQL = b"""
SELECT coalesce((SELECT size FROM ledger.head WHERE id = 1),
  (SELECT max(seq) + 1 FROM ledger.entry), 0)
"""
_NUMBERED = "seq >= %(first)s AND seq < %(stop)s"
_UNNUMBERED = "num_nulls(seq) > 0"  # IS NULL is false, by plan, of what is said to be NOT NULL
_RECORDS_SQL = f"""
SELECT {RECORD_SQL}, mac FROM ledger.entry
WHERE {{which}} AND (
  commitments <> '' OR position('"commitments":["'::bytea IN header) > 0
  OR kind = ANY(%(told)s) OR position('"kind":"hold_'::bytea IN header) > 0
  OR position('"kind":"run_started"'::bytea IN header) > 0
  OR seq IN (SELECT seq FROM ledger.disclosure WHERE subject = ANY(%(subjects)s)))
ORDER BY seq
"""  # noqa: S608 - column names are our own
_SAID_SQL = b"""
SELECT seq, header, payload
FROM (SELECT seq, header, payload,
  lower(encode(header, 'escape')) || lower(encode(payload, 'escape')) AS words
  FROM ledger.entry WHERE seq >= %s AND seq < %s) AS read
WHERE EXISTS (SELECT FROM unnest(%s::text[]) AS trace WHERE position(trace IN words) > 0)
  OR words ~ %s
ORDER BY seq
"""
_PAGE_ROWS = 500
_PAGE_RECORDS = 50_000
_PAGE_SEARCHED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One encrypted value, with the place of its record that it is bound to."""

    row: Sealed
    stream: str
    idem_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure did.

    Attributes:
        subjects: the pseudonyms that are forgotten; of a name, the one in use last.
        seqs: the records that say so, one for each.
        fields: how many fields of how many records they name.
        keys_destroyed: how many; those that are missing an earlier try had destroyed.
        rows: encrypted rows deleted just now.
        shown: who was shown values of them, and the record that says so; they may hold copies.
        in_words: records that hold a name in words, which stays; None where no name could be looked
            for: it is gone already, or too short.
    """

    subjects: tuple[str, ...]
    seqs: tuple[int, ...]
    fields: int
    records: int
    keys_destroyed: int
    rows: int
    shown: tuple[tuple[str, int], ...]
    in_words: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One personal value, opened; `value` is None when its key is gone."""

    field: Field
    value: str | None
    disclosure: str | None


class Disclosures:
    """The table of encrypted values; a connection per call, these are rare."""

    def __init__(
        self,
        dsn: str,
        on_read: Callable[[int, int], None] = lambda *_: None,
        on_search: Callable[[int, int], None] = lambda *_: None,
        *,
        row_key: RowKey | None = None,
    ) -> None:
        """Keep where to connect.

        Args:
            dsn: of a user who may `SET ROLE` to the reader and the eraser.
            on_read: called while the log is read: how many records of how many.
            on_search: called likewise while its words are searched.
            row_key: what the records are held against by which an erasure is judged.
        """
        self._dsn = dsn
        self._on_read = on_read
        self._on_search = on_search
        self._judge = None if row_key is None else RowJudge(row_key, self._named)

    def size(self) -> int:
        """Return how many records the log has; where it does not say, those that are there.

        Raises:
            LedgerError: the database does not answer.
        """
        return int(self._rows(_SIZE_SQL)[0][0])

    def records(self, subjects: Collection[str], among: range) -> Iterator[Record]:
        """Yield every record that the erasure of persons is judged by, in order of `seq`.

        Those with commitments, those that a value of these persons is stored for, holds and runs.
        Reads all of them: what a record is, its columns or its header may say, so that one of
        them changed hides none. No index of these could be believed. A row beyond the log's end
        is no record; one without a number is given, for it was one.

        Args:
            subjects: their pseudonyms.
            among: the numbers to read.

        Raises:
            LedgerError: the database does not answer, or has a record of a newer program.
            RowRefusedError: with a row key: a record is not the gateway's.
        """
        values = {"told": list(_TOLD), "subjects": list(subjects)}
        try:
            with (
                connect(self._dsn, role=READER_ROLE, name="countersign-erasable") as connection,
                connection.transaction(),
            ):
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                yield from _page(connection, _UNNUMBERED, values, None)
                for first in range(among.start, among.stop, _PAGE_RECORDS):
                    stop = min(first + _PAGE_RECORDS, among.stop)
                    yield from _page(
                        connection,
                        _NUMBERED,
                        {**values, "first": first, "stop": stop},
                        self._judge,
                    )
                    self._on_read(stop - among.start, len(among))
        except DatabaseError as error:
            raise LedgerError(f"records not read: {type(error).__name__}") from error

    def said_of(self, wanted: Wanted) -> tuple[int, ...]:
        """Return the numbers of the records that hold a name in words, in header or payload.

        Raises:
            LedgerError: the database does not answer.
        """
        found: list[int] = []
        size = self.size() if wanted.names else 0
        for first in range(0, size, _PAGE_SEARCHED):
            stop = min(first + _PAGE_SEARCHED, size)
            rows = self._rows(_SAID_SQL, first, stop, list(wanted.traces), ODD)
            found += [int(row[0]) for row in rows if wanted.is_in(bytes(row[1]), bytes(row[2]))]
            self._on_search(stop, size)
        return tuple(found)

    def places_of(self, subjects: Collection[str]) -> frozenset[tuple[str, int, int]]:
        """Return (subject, seq, position) of all that is kept of persons.

        Raises:
            LedgerError: the database does not answer.
        """
        query = b"SELECT subject, seq, position FROM ledger.disclosure WHERE subject = ANY(%s)"
        return frozenset((row[0], row[1], row[2]) for row in self._rows(query, list(subjects)))

    def of_record(self, seq: int) -> tuple[Kept, ...]:
        """Return what is kept of a record's fields.

        Raises:
            LedgerError: the database does not answer.
        """
        return tuple(
            Kept(
                row=Sealed(position=row[0], subject=row[1], sealed=bytes(row[2])),
                stream=row[3],
                idem_key=row[4],
            )
            for row in self._rows(_KEPT_SQL, seq)
        )

    def left_of(self, subjects: Collection[str]) -> frozenset[str]:
        """Return those of whom something is kept.

        Raises:
            LedgerError: the database does not answer.
        """
        query = b"SELECT DISTINCT subject FROM ledger.disclosure WHERE subject = ANY(%s)"
        return frozenset(row[0] for row in self._rows(query, list(subjects)))

    def delete(self, subject: str) -> int:
        """Delete a person's rows; return how many there were.

        Raises:
            LedgerWriteError: the database refused or does not answer; safe to try again.
        """
        try:
            with connect(self._dsn, role=ERASER_ROLE, name="countersign-eraser") as connection:
                done = connection.execute(
                    "DELETE FROM ledger.disclosure WHERE subject = %s", (subject,)
                )
                return done.rowcount
        except DatabaseError as error:
            raise LedgerWriteError(f"values not deleted: {type(error).__name__}") from error

    def _named(self, query: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with connect(self._dsn, role=READER_ROLE, name="countersign-disclosures") as connection:
            return connection.execute(query.encode(), values).fetchall()

    def _rows(self, query: bytes, *values: int | str | list[str]) -> list[tuple[Any, ...]]:
        try:
            with connect(self._dsn, role=READER_ROLE, name="countersign-disclosures") as connection:
                return connection.execute(query, values).fetchall()
        except DatabaseError as error:
            raise LedgerError(f"values not read: {type(error).__name__}") from error


def _page(
    connection: TupleConnection,
    which: str,
    values: Mapping[str, object],
    judge: RowJudge | None,
) -> Iterator[Record]:
    query = _RECORDS_SQL.format(which=which).encode()
    with connection.cursor(name="erasable") as cursor:
        cursor.itersize = _PAGE_ROWS
        for *row, mac in cursor.execute(query, values):
            if judge is None or judge.counts(row, mac):
                yield record_from_row(row)
