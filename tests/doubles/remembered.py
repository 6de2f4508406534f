"""A ledger's reader from memory, with which a test forges one record and looks again."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import msgspec
from typing_extensions import override

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint

Path: TypeAlias = tuple[str | int, ...]
Leaf: TypeAlias = int | str | None


class Remembered(LedgerReader):
    """Everything that a reader had to say, with at most one record forged."""

    def __init__(self, reader: LedgerReader) -> None:
        """Read the whole ledger once."""
        self._reader = reader
        self._records = list(reader.records())
        self._checkpoints = reader.checkpoints()
        self._blobs: dict[str, bytes | None] = {}
        self._accounts = {r.seq: r.body.get("account") for r in self._records}
        self.spoilt: dict[str, bytes | None] = {}
        self.forged: Record | None = None
        self.dropped: int | None = None

    @override
    def records(
        self,
        *,
        stream: str | None = None,
        kinds: Iterable[Kind] | None = None,
        account: str | None = None,
        after_seq: int = -1,
        before_seq: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[Record]:
        """Yield records as the reader did; columns stay, only the payload is forged."""
        found = self._wanted(stream, kinds, account, after_seq, before_seq)
        yield from islice(reversed(list(found)) if newest_first else found, limit)

    def _wanted(
        self,
        stream: str | None,
        kinds: Iterable[Kind] | None,
        account: str | None,
        after_seq: int,
        before_seq: int | None,
    ) -> Iterator[Record]:
        wanted = None if kinds is None else set(kinds)
        for record in self._records:
            if (
                record.seq > after_seq
                and record.seq != self.dropped
                and (before_seq is None or record.seq < before_seq)
                and (stream is None or record.stream == stream)
                and (wanted is None or record.kind in wanted)
                and (account is None or self._accounts[record.seq] == account)
            ):
                forged = self.forged
                yield forged if forged is not None and forged.seq == record.seq else record

    @override
    def blob(self, digest: str) -> bytes | None:
        """Return a blob, or what was put in its place."""
        if digest in self.spoilt:
            return self.spoilt[digest]
        if digest not in self._blobs:
            self._blobs[digest] = self._reader.blob(digest)
        return self._blobs[digest]

    @override
    def checkpoints(
        self, *, limit: int | None = None, newest_first: bool = False
    ) -> tuple[Checkpoint, ...]:
        """Return the checkpoints."""
        assert limit is None
        assert not newest_first
        return self._checkpoints

    @override
    def checkpoint_not_above(self, seq: int) -> Checkpoint | None:
        """Return the largest checkpoint whose tree ends before a record."""
        below = [one for one in self._checkpoints if one.size <= seq]
        return max(below, key=lambda one: one.size, default=None)

    @override
    def checkpoint_of(self, size: int) -> Checkpoint | None:
        """Return the checkpoint of a size."""
        return next((one for one in self._checkpoints if one.size == size), None)

    @override
    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the record of an idempotency key."""
        found = self.records(stream=stream)
        return next((record for record in found if record.idem_key == idem_key), None)


def leaves(value: object, path: Path = (), *, most: int = 2) -> Iterator[Path]:
    """Yield every leaf's path; of a long list the first `most` entries and the last."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name), most=most)
    elif isinstance(value, list):
        for place in sorted({*range(min(most, len(value))), len(value) - 1} - {-1}):
            yield from leaves(value[place], (*path, place), most=most)
    else:
        yield path


def forged(record: Record, path: Path) -> Record:
    """Return the record with one leaf changed to another value of its type."""
    body: Any = record.body
    at = body
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = _other(at[path[-1]])
    return msgspec.structs.replace(record, payload=canonical(body))


def _other(value: object) -> Leaf:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case None:
            return 1
        case str() if value.lstrip("-").isdigit():
            return str(int(value) + 1)
        case str():
            return value[:-1] + ("0" if value[-1:] != "0" else "1")
        case _:
            raise AssertionError("a leaf is no number, text, flag or null")
