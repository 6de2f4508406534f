"""Encrypted personal values in the database: read as the reader, deleted as the eraser.

Written by the sequencer, in the transaction of their records. Nothing here can open one.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from audit.errors import LedgerError, LedgerWriteError
from audit.personal import Sealed
from audit.tables import ERASER_ROLE, READER_ROLE, DatabaseError, connect

_SQL = (
    "SELECT d.seq, d.position, d.subject, d.sealed, e.stream, e.idem_key, e.recorded_at_us,"
    " e.payload FROM ledger.disclosure d JOIN ledger.entry e USING (seq)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One encrypted value, with what its record says of it."""

    seq: int
    row: Sealed
    stream: str
    idem_key: str
    recorded_at_us: int
    payload: bytes


class Disclosures:
    """The table of encrypted values; a connection per call, these are rare."""

    def __init__(self, dsn: str) -> None:
        """Keep where to connect.

        Args:
            dsn: of a user who may `SET ROLE` to the reader and the eraser.
        """
        self._dsn = dsn

    def of_subject(self, subject: str) -> tuple[Kept, ...]:
        """Return what is kept of a person, oldest first.

        Raises:
            LedgerError: the database does not answer.
        """
        return self._read("d.subject = %s", subject)

    def of_record(self, seq: int) -> tuple[Kept, ...]:
        """Return what is kept of a record's fields.

        Raises:
            LedgerError: the database does not answer.
        """
        return self._read("d.seq = %s", seq)

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

    def _read(self, where: str, value: str | int) -> tuple[Kept, ...]:
        rows = self._rows(f"{_SQL} WHERE {where} ORDER BY d.seq, d.position".encode(), value)
        return tuple(
            Kept(
                seq=row[0],
                row=Sealed(position=row[1], subject=row[2], sealed=bytes(row[3])),
                stream=row[4],
                idem_key=row[5],
                recorded_at_us=row[6],
                payload=bytes(row[7]),
            )
            for row in rows
        )

    def _rows(self, query: bytes, value: str | int | list[str]) -> list[tuple[Any, ...]]:
        try:
            with connect(self._dsn, role=READER_ROLE, name="countersign-disclosures") as connection:
                return connection.execute(query, (value,)).fetchall()
        except DatabaseError as error:
            raise LedgerError(f"values not read: {type(error).__name__}") from error
