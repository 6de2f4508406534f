"""Ledgers that are wrong on purpose, each in one way; the crash tests must catch every one.

`install` changes the process that it runs in, which is a writer's child process and no other.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from types import ModuleType
from typing import Any

import psycopg
from typing_extensions import override

import audit.records.record
import audit.sequencer.batch
import audit.sequencer.ledger
import audit.store.connection
from audit.records.canonical import canonical
from audit.records.record import ZERO_HASH, Prepared, Record
from audit.records.row import Row
from audit.sequencer.batch import Builder
from audit.sequencer.sequencer import Sequencer
from audit.store.connection import LogHead, Store


class Mutant(StrEnum):
    """What is wrong."""

    NONE = "none"
    ASYNC_COMMIT = "synchronous_commit=off"
    EARLY_ACK = "acknowledges before it commits"
    SKIPS_FIELD = "a header skips a field"
    BREAKS_CHAIN = "a record skips the one before it"
    NO_FENCE = "no lock, no fence, no compare-and-swap"
    FORGETS_KEYS = "forgets idempotency keys"
    NO_LOCK = "no lock, only fence and compare-and-swap"
    """Not a fault: the fence alone must do."""
    NO_FSYNC = "fsync=off"


UNLOCKED = frozenset({Mutant.NO_LOCK, Mutant.NO_FENCE})
LOOSE_TABLES: Mapping[Mutant, Sequence[str]] = {
    Mutant.NO_FENCE: ("entry_pkey", "entry_once", "entry_stream_is_dense"),
    Mutant.FORGETS_KEYS: ("entry_once",),
}
"""Which constraints would catch the mutant before the harness can; they are dropped for it."""


def loosen(dsn: str, mutant: Mutant) -> None:
    """Drop what protects a database from a mutant."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name in LOOSE_TABLES.get(mutant, ()):
            connection.execute(f"ALTER TABLE ledger.entry DROP CONSTRAINT {name}".encode())
        if mutant is Mutant.NO_FENCE:
            connection.execute("ALTER TABLE ledger.head DISABLE TRIGGER ALL")
            connection.execute("ALTER TABLE ledger.checkpoint DROP CONSTRAINT checkpoint_pkey")


class AsyncCommit(Store):
    """Says that a commit is durable before it is."""

    @override
    def _check(self, origin: str) -> None:
        super()._check(origin)
        self._connection.execute("SET synchronous_commit = off")


class UncheckedStore(Store):
    """Takes a server that does not flush its files."""

    @override
    def _check(self, origin: str) -> None:
        setattr(audit.store.connection, "_SETTINGS", {})  # noqa: B010 - in this process only
        super()._check(origin)


class EarlyAck(Sequencer):
    """Answers first and commits afterwards."""

    @override
    def _write(self, builder: Builder) -> None:
        for request, records in builder.batch.appended:
            request.done.set_result(records)
        time.sleep(0.02)
        super()._write(builder)


class NoLock(Store):
    """Does not ask whether another sequencer holds the log."""

    @override
    def _lock(self, wait_s: float) -> None:
        pass


class NoFence(NoLock):
    """Writes wherever it believes that the log ends."""

    @override
    def _fence(self, origin: str) -> LogHead:
        row = self._connection.execute(
            "SELECT origin, size, root, frontier, fence FROM ledger.head"
        ).fetchone()
        assert row is not None
        return LogHead(origin=row[0], size=row[1], root=row[2], frontier=row[3], fence=row[4])

    @override
    def send(self, rows: Sequence[Row], head: LogHead, deadline_s: float) -> None:
        row = self._connection.execute("SELECT size, root FROM ledger.head").fetchone()
        assert row is not None
        self.head = replace(self.head, size=row[0], root=row[1])
        super().send(rows, head, deadline_s)


class ForgetsKeys(Store):
    """Finds no record of an earlier attempt."""

    @override
    def existing(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Record]:
        return {}


_HEADER = audit.records.record.header_line
_RECORD = audit.records.record.make_record


def _without_actor(item: Prepared, **place: Any) -> bytes:  # noqa: ANN401
    """Encode a header that does not say who did it."""
    fields = json.loads(_HEADER(item, **place))
    return canonical({name: value for name, value in fields.items() if name != "actor"})


def _unchained(item: Prepared, *, seq: int, prev: bytes, **place: Any) -> Record:  # noqa: ANN401
    """Make a record; every seventh does not name the one before it."""
    return _RECORD(item, seq=seq, prev=prev if seq % 7 else ZERO_HASH, **place)


_PLACES: Mapping[Mutant, tuple[ModuleType, str, object]] = {
    Mutant.ASYNC_COMMIT: (audit.sequencer.ledger, "Store", AsyncCommit),
    Mutant.NO_FSYNC: (audit.sequencer.ledger, "Store", UncheckedStore),
    Mutant.EARLY_ACK: (audit.sequencer.ledger, "Sequencer", EarlyAck),
    Mutant.SKIPS_FIELD: (audit.records.record, "header_line", _without_actor),
    Mutant.BREAKS_CHAIN: (audit.sequencer.batch, "make_record", _unchained),
    Mutant.NO_FENCE: (audit.sequencer.ledger, "Store", NoFence),
    Mutant.NO_LOCK: (audit.sequencer.ledger, "Store", NoLock),
    Mutant.FORGETS_KEYS: (audit.sequencer.ledger, "Store", ForgetsKeys),
}


def install(mutant: Mutant) -> None:
    """Make this process's ledger wrong in one way.

    Raises:
        AttributeError: the ledger has no such part any more, so the mutant would be none.
    """
    if mutant is Mutant.NONE:
        return
    if mutant in LOOSE_TABLES:
        getattr(audit.store.connection, "changed_schema")  # noqa: B009 - as below
        setattr(audit.store.connection, "changed_schema", lambda _: [])  # noqa: B010 - in this process only
    module, name, part = _PLACES[mutant]
    getattr(module, name)
    setattr(module, name, part)
