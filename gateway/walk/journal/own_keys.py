"""Idempotency keys that a disavowed row holds, and what is appended in their place.

The database keeps a key unique, whoever wrote the row. A row that two officers disavowed counts for
nothing, but its key is gone: what the gateway means to put on record under it would be refused, or
answered with that row. So it goes on record under the next free key, the same one at each try.
Rows are disavowed while the gateway is stopped: the list is read once, at the start.
"""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from audit.records.record import Draft, Record
from audit.sequencer.ledger import Guard, Lane
from audit.store.reader import LedgerReader
from gateway.walk.ports import LedgerPort

Key = tuple[str, str]


def keys_taken(reader: LedgerReader) -> frozenset[Key]:
    """Return (stream, idempotency key) of every disavowed row."""
    found = (reader.key_of(seq) for seq in reader.disavowals())
    return frozenset(key for key in found if key is not None)


def own_key(stream: str, idem_key: str, taken: AbstractSet[Key]) -> str:
    """Return the key under which a draft goes on record: its own, or the next free one."""
    key, number = idem_key, 0
    while (stream, key) in taken:
        number += 1
        key = f"{idem_key}#{number}"
    return key


def stands_for(idem_key: str, recorded: str) -> bool:
    """Say whether a record's key is a draft's own, or one that it may have got in its place."""
    begins, mark, number = recorded.rpartition("#")
    return recorded == idem_key or (begins == idem_key and bool(mark) and number.isdecimal())


class OwnKeys:
    """A ledger on which no key is held by a disavowed row; a `LedgerPort` that can be asked."""

    def __init__(self, ledger: LedgerPort, reader: LedgerReader) -> None:
        """Read which keys are taken.

        Args:
            ledger: where to append.
            reader: of the same log; it refuses rows that the gateway did not write.
        """
        self._ledger = ledger
        self._reader = reader
        self._taken = keys_taken(reader)

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
    ) -> tuple[Record, ...]:
        """Append as the ledger does, each draft under a key of its own."""
        if self._taken:
            drafts = tuple(
                replace(one, idem_key=own_key(one.stream, one.idem_key, self._taken))
                for one in drafts
            )
        return self._ledger.append(*drafts, lane=lane, guard=guard, timeout_s=timeout_s)

    def put_blob(self, data: bytes) -> str:
        """Store content-addressed bytes."""
        return self._ledger.put_blob(data)

    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the record that counts under a draft's key, or None.

        Raises:
            AuditError: it cannot be read, or a row that nobody vouches for holds the key.
        """
        return self._reader.by_key(stream, own_key(stream, idem_key, self._taken))
