"""Rows held against a row key as they are read: who wrote them, what was disavowed, what is gone.

Not here: what a MAC covers (`row_key`), and how rows are read (`reader`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from audit.errors import LedgerUnsafeError, RowRefusedError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.row_key import RowKey, disavowal, signed_by_all
from audit.records.sound import is_sound
from audit.store.tables import RECORD_COLUMNS, RECORD_SQL, record_from_row
from audit.tlog.merkle import Frontier, push

_LEAVES_AT_ONCE = 8_192
_SEQ, _STREAM, _LEAF = map(RECORD_COLUMNS.index, ("seq", "stream", "leaf"))
_LEAVES_SQL = "SELECT leaf FROM ledger.entry WHERE seq >= %(first)s AND seq < %(stop)s ORDER BY seq"
_ADVICE = "somebody changed the ledger's tables; run `countersign fsck`, and restore a backup"

_DISAVOWED_SQL = (
    f"SELECT {RECORD_SQL}, mac FROM ledger.entry"  # noqa: S608 - constants
    " WHERE stream = 'control' AND kind = %(kind)s AND seq >= 0"
    " AND seq < (SELECT size FROM ledger.head WHERE id = 1) ORDER BY seq"
)

Row = Sequence[Any]
Rows = Callable[[str, Mapping[str, object]], Sequence[Row]]


class RowJudge:
    """Judges rows for one reader."""

    def __init__(self, key: RowKey, rows: Rows, *, below: int | None = None) -> None:
        """Start with nothing read.

        Args:
            key: what rows are held against.
            rows: asks the database.
            below: disavowals count only if their own number is smaller; None for all.
        """
        self._key = key
        self._rows = rows
        self._below = below
        self._leaves: bytes | None = None
        self._disavowed: Mapping[int, bytes] | None = None

    def counts(self, row: Row, mac: bytes | None) -> bool:
        """Say whether a row is the gateway's; False of one that officers have disavowed.

        Args:
            row: of `RECORD_COLUMNS`.
            mac: as it is stored beside.

        Raises:
            RowRefusedError: it is neither.
            LedgerUnsafeError: the rows from before there was a key are not those accepted.
        """
        return self.stands(row[_SEQ], str(row[_STREAM]), bytes(row[_LEAF]), mac)

    def stands(self, seq: int, stream: str, leaf: bytes, mac: bytes | None) -> bool:
        """Say the same of a row by what of it is judged.

        Disavowals come before acceptance: a backup has no MACs, so after its restore every row
        counts that was in it, those too that officers had disavowed before.

        Raises:
            RowRefusedError: see `counts`.
            LedgerUnsafeError: see `counts`.
        """
        if self._key.made(leaf, mac):
            return True
        problem = self._key.problem(seq, leaf, mac, self._accepted)
        if self._disavowed is None or (problem and seq not in self._disavowed):
            self._disavowed = self._read_disavowed()
        if self._disavowed.get(seq) == leaf:
            return False
        if problem:
            raise RowRefusedError(seq, stream, problem, disavowable=True)
        return True

    def sound(self, row: Row) -> Record:
        """Return the record of a row that counts.

        Raises:
            RowRefusedError: its columns are not what its leaf says.
        """
        record = record_from_row(row)
        if not is_sound(record):
            problem = "has columns that are not what its leaf says"
            raise RowRefusedError(record.seq, record.stream, problem, disavowable=False)
        return record

    def _read_disavowed(self) -> dict[int, bytes]:
        """Return the leaves of the rows that officers have disavowed, by their numbers.

        A disavowal that the gateway did not write disavows nothing, and may itself be disavowed.
        """
        found: dict[int, bytes] = {}
        for *row, mac in self._rows(_DISAVOWED_SQL, {"kind": Kind.RECORD_DISAVOWED.value}):
            if self._problem(row, mac):
                continue
            if self._below is not None and row[_SEQ] >= self._below:
                continue
            record = self.sound(row)
            try:
                body = record.body
                seq, leaf = int(str(body["seq"])), bytes.fromhex(str(body["leaf"]))
                signatures = body["signatures"]
            except (KeyError, TypeError, ValueError):
                continue  # a stranger's, disavowed, that a restore made count: it says nothing
            if signed_by_all(disavowal(self._key.log, seq, leaf), signatures, self._key.officers):
                found[seq] = leaf
        return found

    def _problem(self, row: Row, mac: bytes | None) -> str:
        return self._key.problem(row[_SEQ], bytes(row[_LEAF]), mac, self._accepted)

    def _accepted(self) -> bytes:
        """Return the leaves of rows from before there was a key, held against their root once.

        Raises:
            LedgerUnsafeError: they are not those that were accepted.
        """
        if self._leaves is None:
            accepted = self._key.accepted
            leaves: list[bytes] = []
            nodes: list[bytes] = []
            for first in range(0, accepted.size, _LEAVES_AT_ONCE):
                stop = min(first + _LEAVES_AT_ONCE, accepted.size)
                for (leaf,) in self._rows(_LEAVES_SQL, {"first": first, "stop": stop}):
                    push(nodes, len(leaves), bytes(leaf))
                    leaves.append(bytes(leaf))
            root = Frontier(size=len(leaves), nodes=tuple(nodes)).root()
            if (len(leaves), root) != (accepted.size, accepted.root):
                raise LedgerUnsafeError(
                    f"the {accepted.size} rows from before there was a key are not those of root"
                    f" {accepted.root.hex()}, which were accepted: {_ADVICE}"
                )
            self._leaves = b"".join(leaves)
        return self._leaves


def refuse_gaps(rows: Sequence[Row], after_seq: int) -> None:
    """Refuse a page of all records in which one is missing.

    Raises:
        LedgerUnsafeError: one is.
    """
    for expected, row in enumerate(rows, after_seq + 1):
        if row[0] != expected:
            raise LedgerUnsafeError(f"record {expected} is gone: {_ADVICE}")
