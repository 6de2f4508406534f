"""Idempotency keys that a disavowed row holds, and the keys used in their place.

The database keeps a key unique, also for a row that two officers disavowed. A draft whose key such
a row holds goes on record under the next free key, the same at each try. Rows are disavowed while
the gateway is stopped, so the list is read once.
"""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from audit.records.record import Draft, Record
from audit.sequencer.ledger import NO_HOOKS, Guard, Hooks, Lane
from audit.store.reader import LedgerReader
from gateway.walk.ports import OrderedLedger

Key = tuple[str, str]


def keys_taken(reader: LedgerReader) -> frozenset[Key]:
    """Return (stream, idempotency key) of every disavowed row."""
    found = (reader.key_of(seq) for seq in reader.disavowals())
    return frozenset(key for key in found if key is not None)


def own_key(stream: str, idem_key: str, taken: AbstractSet[Key]) -> str:
    """Return the key that a draft is recorded under: its own, or the next free one."""
    key, number = idem_key, 0
    while (stream, key) in taken:
        number += 1
        key = f"{idem_key}#{number}"
    return key


def stands_for(idem_key: str, recorded: str) -> bool:
    """Return whether a record's key is a draft's own key or one used in its place."""
    begins, mark, number = recorded.rpartition("#")
    return recorded == idem_key or (begins == idem_key and bool(mark) and number.isdecimal())


class OwnKeys:
    """An `OrderedLedger` that appends around the keys of disavowed rows."""

    def __init__(self, ledger: OrderedLedger, reader: LedgerReader) -> None:
        """Read which keys are taken from a reader of the same log."""
        self._ledger = ledger
        self._reader = reader
        self._taken = keys_taken(reader)

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,
        hooks: Hooks = NO_HOOKS,
    ) -> tuple[Record, ...]:
        """Append as the ledger does, each draft under a free key."""
        if self._taken:
            drafts = tuple(
                replace(one, idem_key=own_key(one.stream, one.idem_key, self._taken))
                for one in drafts
            )
        return self._ledger.append(
            *drafts, lane=lane, guard=guard, timeout_s=timeout_s, hooks=hooks
        )

    def resolve(self, stream: str, idem_key: str, timeout_s: float = 5.0) -> Record | None:
        """Return the record under a draft's key, or None, once every append before is decided."""
        return self._ledger.resolve(stream, own_key(stream, idem_key, self._taken), timeout_s)

    def put_blob(self, data: bytes) -> str:
        """Store content-addressed bytes."""
        return self._ledger.put_blob(data)

    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the record under a draft's key, or None.

        Raises:
            AuditError: when it cannot be read, or an unknown row that is not disavowed has the key.
        """
        return self._reader.by_key(stream, own_key(stream, idem_key, self._taken))
