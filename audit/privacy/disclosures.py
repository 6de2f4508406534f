"""Encrypted personal values in the database: read as the reader, deleted as the eraser.

The sequencer writes them in the transaction of their records. Nothing here can decrypt one.
An erasure is judged by the records, because rows of this table can be removed.
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
"""Kinds that every erasure is judged by: holds, and each run's retention periods."""
_SIZE_SQL = b"""
SELECT coalesce((SELECT size FROM ledger.head WHERE id = 1),
  (SELECT max(seq) + 1 FROM ledger.entry), 0)
"""
_NUMBERED = "seq >= %(first)s AND seq < %(stop)s"
_UNNUMBERED = "num_nulls(seq) > 0"  # the planner takes IS NULL to be false for a NOT NULL column
_RECORDS_SQL = f"""
SELECT {RECORD_SQL}, mac FROM ledger.entry
WHERE {{which}} AND (
  commitments <> '' OR position('"commitments":["'::bytea IN header) > 0
  OR kind = ANY(%(told)s) OR position('"kind":"hold_'::bytea IN header) > 0
  OR position('"kind":"run_started"'::bytea IN header) > 0
  OR seq IN (SELECT seq FROM ledger.disclosure WHERE subject = ANY(%(subjects)s)))
ORDER BY seq
"""  # noqa: S608 - column names are our own
_NAMING_SQL = b"""
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
    """One encrypted value, with its record's place, to which it is bound."""

    row: Sealed
    stream: str
    idem_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure did.

    Attributes:
        subjects: the forgotten pseudonyms; of a name, the one in use comes last.
        seqs: the `subject_erased` records, one for each.
        fields: the number of fields, in `records` records, that they name.
        keys_destroyed: less those that an earlier attempt had destroyed.
        rows: encrypted rows deleted just now.
        shown: readers of their values, who may hold copies, and the record of each reading.
        in_words: records that hold a name in free text, which stays; None if no name could be
            searched for, because it is gone already or too short.
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
    """One decrypted personal value; `value` is None if its key is gone."""

    field: Field
    value: str | None
    disclosure: str | None


class Disclosures:
    """The table of encrypted values; opens a connection for each of the rare calls.

    Every read raises `LedgerError` if the database does not answer.
    """

    def __init__(
        self,
        dsn: str,
        on_read: Callable[[int, int], None] = lambda *_: None,
        on_search: Callable[[int, int], None] = lambda *_: None,
        *,
        row_key: RowKey | None = None,
    ) -> None:
        """Connect to nothing yet; the user may `SET ROLE` to the reader and the eraser.

        `on_read` and `on_search` are called with (done, total) records while the log is read or
        searched. `row_key` checks the records that an erasure is judged by.
        """
        self._dsn = dsn
        self._on_read = on_read
        self._on_search = on_search
        self._judge = None if row_key is None else RowJudge(row_key, self._named)

    def size(self) -> int:
        """Return the log's size; without a head, the largest number plus one."""
        return int(self._rows(_SIZE_SQL)[0][0])

    def records(self, subjects: Collection[str], among: range) -> Iterator[Record]:
        """Yield every record that an erasure is judged by, in order of `seq`.

        These are records with commitments or stored values of these persons, holds and runs. The
        whole table is read, not an index, and a record is selected by its columns or by its header,
        so that changing one of them hides none. A row with a NULL number is yielded too.

        Raises:
            LedgerError: also for a record of a newer program.
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

    def records_naming(self, wanted: Wanted) -> tuple[int, ...]:
        """Return the numbers of the records that hold a name as text, in header or payload."""
        found: list[int] = []
        size = self.size() if wanted.names else 0
        for first in range(0, size, _PAGE_SEARCHED):
            stop = min(first + _PAGE_SEARCHED, size)
            rows = self._rows(_NAMING_SQL, first, stop, list(wanted.traces), ODD)
            found += [int(row[0]) for row in rows if wanted.is_in(bytes(row[1]), bytes(row[2]))]
            self._on_search(stop, size)
        return tuple(found)

    def places_of(self, subjects: Collection[str]) -> frozenset[tuple[str, int, int]]:
        """Return (subject, seq, position) of every stored value of persons."""
        query = b"SELECT subject, seq, position FROM ledger.disclosure WHERE subject = ANY(%s)"
        return frozenset((row[0], row[1], row[2]) for row in self._rows(query, list(subjects)))

    def of_record(self, seq: int) -> tuple[Kept, ...]:
        """Return the stored values of a record."""
        return tuple(
            Kept(
                row=Sealed(position=row[0], subject=row[1], sealed=bytes(row[2])),
                stream=row[3],
                idem_key=row[4],
            )
            for row in self._rows(_KEPT_SQL, seq)
        )

    def left_of(self, subjects: Collection[str]) -> frozenset[str]:
        """Return the subjects with stored values."""
        query = b"SELECT DISTINCT subject FROM ledger.disclosure WHERE subject = ANY(%s)"
        return frozenset(row[0] for row in self._rows(query, list(subjects)))

    def delete(self, subject: str) -> int:
        """Delete a subject's rows; return their number.

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
