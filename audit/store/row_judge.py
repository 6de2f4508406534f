"""Rows checked against a row key as they are read: foreign, disavowed and missing ones.

Not here: what a MAC covers (`row_key`), and how rows are read (`reader`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.errors import CanonicalError, LedgerUnsafeError, RowRefusedError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.row_key import RowKey, disavowal, signed_by_all
from audit.records.sound import is_sound
from audit.store.tables import RECORD_COLUMNS, RECORD_SQL, Rows, record_from_row
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Disavowal:
    """A `record_disavowed` record: the disavowed row, its leaf, hex signatures by role."""

    seq: int
    leaf: bytes
    signatures: Mapping[str, str]


def disavowal_on(record: Record) -> Disavowal | None:
    """Return the disavowal that a record makes, None if it is malformed."""
    try:
        body = record.body
        seq, leaf = int(str(body["seq"])), bytes.fromhex(str(body["leaf"]))
        return Disavowal(seq=seq, leaf=leaf, signatures=body["signatures"])
    except (CanonicalError, KeyError, ValueError):
        return None


class RowJudge:
    """Judges rows for one reader."""

    def __init__(self, key: RowKey, rows: Rows, *, below: int | None = None) -> None:
        """Read nothing yet; with `below`, only disavowals of a smaller number count."""
        self._key = key
        self._rows = rows
        self._below = below
        self._leaves: bytes | None = None
        self._disavowed: Mapping[int, bytes] | None = None

    def counts(self, row: Row, mac: bytes | None) -> bool:
        """Return whether a row (`RECORD_COLUMNS`) counts; False if officers have disavowed it.

        Raises:
            RowRefusedError: it is neither the gateway's nor disavowed.
            LedgerUnsafeError: the rows from before there was a key are not the accepted ones.
        """
        return self.stands(row[_SEQ], str(row[_STREAM]), bytes(row[_LEAF]), mac)

    def stands(self, seq: int, stream: str, leaf: bytes, mac: bytes | None) -> bool:
        """Return the same for a row's parts; raises as `counts`.

        A disavowal outweighs acceptance: a backup has no MACs, so its restore accepts every row,
        also those that officers had disavowed.
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
            RowRefusedError: its columns do not match its leaf.
        """
        record = record_from_row(row)
        if not is_sound(record):
            problem = "has columns that are not what its leaf says"
            raise RowRefusedError(record.seq, record.stream, problem, disavowable=False)
        return record

    def _read_disavowed(self) -> dict[int, bytes]:
        """Return the leaves of disavowed rows, by number; only the gateway's disavowals count."""
        found: dict[int, bytes] = {}
        for *row, mac in self._rows(_DISAVOWED_SQL, {"kind": Kind.RECORD_DISAVOWED.value}):
            if self._problem(row, mac):
                continue
            if self._below is not None and row[_SEQ] >= self._below:
                continue
            said = disavowal_on(self.sound(row))
            if said is None:
                continue  # a foreign row, disavowed, that a restore has accepted
            statement = disavowal(self._key.log, said.seq, said.leaf)
            if signed_by_all(statement, said.signatures, self._key.officers):
                found[said.seq] = said.leaf
        return found

    def _problem(self, row: Row, mac: bytes | None) -> str:
        return self._key.problem(row[_SEQ], bytes(row[_LEAF]), mac, self._accepted)

    def _accepted(self) -> bytes:
        """Return the joined leaves of the accepted rows, after one check of their root."""
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
                    f"the first {accepted.size} rows, accepted without a MAC, do not have root"
                    f" {accepted.root.hex()}: {_ADVICE}"
                )
            self._leaves = b"".join(leaves)
        return self._leaves


def refuse_gaps(rows: Sequence[Row], after_seq: int) -> None:
    """Refuse a page of all records if one is missing.

    Raises:
        LedgerUnsafeError: a record is missing.
    """
    for expected, row in enumerate(rows, after_seq + 1):
        if row[0] != expected:
            raise LedgerUnsafeError(f"record {expected} is gone: {_ADVICE}")
