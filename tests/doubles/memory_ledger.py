"""A ledger in memory: the product's own records, numbers, guards and idempotency, and no database.

Batches are built by `audit.sequencer.batch.Builder`, as the sequencer builds them, one append each;
so a guard refuses and a key is found again by the same code. What is not here: durability, crashes,
checkpoints, threads of its own. Subscribers are told before `append` returns, in order.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from audit.errors import AuditError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record, prepare
from audit.sequencer.batch import Builder, LogPosition
from audit.sequencer.lanes import NO_HOOKS, Append, Guard, Hooks, Lane
from audit.store.connection import LogHead
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.merkle import Frontier, root_of
from audit.tlog.tiles import HashReader
from gateway.clock import wall_us


class MemoryLedger:
    """Both sides of a log, `Ledger`'s and `LedgerReader`'s, as far as the walk uses them.

    Attributes:
        lanes: the lane of each append, in order.
        refuses: the error that every append meets while it is set.
        forged: a record that is read in place of the one of its number.
        disavowed: numbers of records that hold their keys and count for nothing.
        before: called with the drafts before each append; what it appends comes first.
    """

    def __init__(self, wall: Callable[[], int] = wall_us) -> None:
        """Start empty."""
        self._wall = wall
        self._lock = threading.RLock()
        self._records: list[Record] = []
        self._accounts: list[str | None] = []
        self._by_key: dict[tuple[str, str], Record] = {}
        self._blobs: dict[str, bytes] = {}
        self._callbacks: list[Callable[[tuple[Record, ...]], None]] = []
        self.lanes: list[Lane] = []
        self.refuses: AuditError | None = None
        self.forged: Record | None = None
        self.disavowed: set[int] = set()
        self.before: Callable[[tuple[Draft, ...]], object] = lambda _: None
        self._position = LogPosition(
            log="memory.test",
            frontier=Frontier(),
            heads={},
            changed={},
            sections={},
            firm_seq=-1,
            recorded_at_us=0,
        )

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self._records)

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,
        guard: Guard | None = None,
        timeout_s: float = 5.0,  # noqa: ARG002 - nothing takes time here
        hooks: Hooks = NO_HOOKS,
    ) -> tuple[Record, ...]:
        """Write drafts in one batch, or raise what the ledger would."""
        hooks.meanwhile(())
        with self._lock:
            self.before(drafts)
            if self.refuses is not None:
                raise self.refuses
            builder = Builder(self._position, self._by_key, self._wall())
            builder.add(Append(prepared=tuple(prepare(one) for one in drafts), guard=guard))
            batch = builder.batch
            for _, error in batch.refused:
                raise error
            self._position = builder.advance()
            fresh = tuple(row.record for row in batch.rows)
            self._records += fresh
            self._accounts += [row.account for row in batch.rows]
            self._by_key |= {(one.stream, one.idem_key): one for one in fresh}
            self.lanes.append(lane)
            for callback in self._callbacks if fresh else ():
                callback(fresh)
            return batch.appended[0][1]

    def resolve(self, stream: str, idem_key: str, timeout_s: float = 5.0) -> Record | None:  # noqa: ARG002 - nothing takes time here
        """Return the record of a key, or None."""
        return self._by_key.get((stream, idem_key))

    def checkpoint_of(self, size: int) -> Checkpoint | None:
        """Return the checkpoint of a size."""
        last = self.checkpoint_not_above(size)
        return last if last.size == size else None

    def put_blob(self, data: bytes) -> str:
        """Keep bytes under their digest."""
        digest = sha256(data).hexdigest()
        self._blobs[digest] = data
        return digest

    def checkpoint_now(self, timeout_s: float = 5.0) -> Checkpoint | None:  # noqa: ARG002
        """Make none."""
        return None

    def checkpoint_not_above(self, seq: int, timeout_s: float = 5.0) -> Checkpoint:  # noqa: ARG002
        """Return what is none: a size and a root."""
        root = sha256(b"root").digest()
        return Checkpoint(origin=self._position.log, size=min(seq, 1), root=root, note=b"")

    def subscribe(self, callback: Callable[[tuple[Record, ...]], None]) -> None:
        """Tell of each batch."""
        self._callbacks.append(callback)

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
        """Yield records as `LedgerReader.records` does."""
        wanted = None if kinds is None else frozenset(kinds)
        with self._lock:
            found = [
                one
                for one, named in zip(self._records, self._accounts, strict=True)
                if one.seq > after_seq
                and one.seq not in self.disavowed
                and (before_seq is None or one.seq < before_seq)
                and (stream is None or one.stream == stream)
                and (wanted is None or one.kind in wanted)
                and (account is None or named == account)
            ]
        forged = self.forged
        for one in (found[::-1] if newest_first else found)[:limit]:
            yield forged if forged is not None and forged.seq == one.seq else one

    def record(self, seq: int) -> Record | None:
        """Return the record of a number."""
        return self._records[seq] if 0 <= seq < self.size else None

    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the record of an idempotency key."""
        found = self._by_key.get((stream, idem_key))
        return None if found is None or found.seq in self.disavowed else found

    def key_of(self, seq: int) -> tuple[str, str] | None:
        """Return the stream and the key that a row holds."""
        return self._records[seq].stream, self._records[seq].idem_key

    def blob(self, digest: str) -> bytes | None:
        """Return a blob."""
        return self._blobs.get(digest)

    def log_size(self) -> int:
        """Return the number of records."""
        return self.head().size

    def head(self) -> LogHead:
        """Return where the log ends."""
        with self._lock:
            edge = self._position.frontier
            return LogHead(self._position.log, edge.size, edge.root(), edge.to_bytes(), 1)

    @property
    def tiles(self) -> "_MemoryTiles":
        """Return the hashes of the tree."""
        return _MemoryTiles([one.leaf for one in self._records])

    def of_kind(self, *kinds: Kind) -> list[Record]:
        """Return every record of some kinds, in order."""
        return list(self.records(kinds=kinds))

    def checkpoints(self, *, limit: int | None = None) -> Iterator[Checkpoint]:  # noqa: ARG002
        """Yield none: nothing is signed here."""
        return iter(())

    def cosigned_checkpoints(self, *, limit: int | None = None) -> Iterator[Checkpoint]:  # noqa: ARG002
        """Yield none: nothing is signed here."""
        return iter(())

    def kind_counts(self) -> Counter[Kind]:
        """Return how many records there are of each kind."""
        return Counter(one.kind for one in self._records)

    def size_bytes(self) -> int:
        """Return the size of all payloads."""
        return sum(len(one.payload) for one in self._records)

    def disavowals(self) -> dict[int, int]:
        """Return what a test has disavowed, each as if by a record behind the last."""
        return dict.fromkeys(self.disavowed, self.size)


class _MemoryTiles:
    """Hashes of perfect subtrees, computed from the leaves."""

    def __init__(self, leaves: list[bytes]) -> None:
        self._leaves = leaves

    def reader(self, size: int) -> HashReader:
        """Return the hashes of the tree of `size` leaves."""

        def hashed(level: int, index: int, /) -> bytes:
            return root_of(self._leaves[:size][index << level : (index + 1) << level])

        return hashed
