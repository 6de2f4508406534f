"""The judge of the crash tests: plain SQL, hashlib and what the writers saw; no code under test.

It holds of a log, whatever happened to it:

- every acknowledged operation is on record once, with the acknowledged numbers and leaves;
- an operation that was never acknowledged is on record once as a whole, or not at all;
- an operation that started after another was acknowledged has the larger numbers;
- numbers are dense, in the log and in each stream; every record names the leaf before it in its
  stream; every header says exactly what the columns say; every leaf and digest is the hash;
- the stored head is the fold of the leaves, and every checkpoint anybody ever saw is the fold of
  a prefix of them;
- recorded times never go back; every acknowledged blob is there.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

import psycopg

from tests.crash.ledger_history import History, Operation

ZERO = bytes(32)
_ROWS = (
    "SELECT seq, stream, stream_seq, kind, version, recorded_at_us, actor, idem_key, prev,"
    " payload_digest, leaf, header, payload, commitments"
    " FROM ledger.entry WHERE seq >= %s ORDER BY seq, leaf"
)


class Flaw(StrEnum):
    """What a finding says is wrong."""

    LOST = "lost"
    REORDERED = "reordered"
    DUPLICATED = "duplicated"
    FORKED = "forked"
    UNSOUND = "unsound"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must never be."""

    flaw: Flaw
    text: str


class Tree:
    """The root of RFC 6962 over a growing list of leaves."""

    def __init__(self) -> None:
        """Start empty."""
        self._peaks: list[tuple[int, bytes]] = []
        self.size = 0

    def add(self, leaf: bytes) -> None:
        """Append a leaf hash; equal perfect subtrees merge."""
        height, node = 0, leaf
        while self._peaks and self._peaks[-1][0] == height:
            node = sha256(b"\x01" + self._peaks.pop()[1] + node).digest()
            height += 1
        self._peaks.append((height, node))
        self.size += 1

    def root(self) -> bytes:
        """Return the root of what was added so far."""
        if not self._peaks:
            return sha256(b"").digest()
        node = self._peaks[-1][1]
        for _, left in reversed(self._peaks[:-1]):
            node = sha256(b"\x01" + left + node).digest()
        return node


class Judge:
    """Reads one log, from where it last stopped, and holds it against a history."""

    def __init__(self, origin: str) -> None:
        """Start with nothing read."""
        self._origin = origin
        self._tree = Tree()
        self._leaves: list[bytes] = []
        self._found: dict[Finding, None] = {}
        self._places: dict[str, list[tuple[int, bytes]]] = {}
        self._streams: dict[str, tuple[int, bytes]] = {}
        self._time_us = 0
        self._roots: dict[int, bytes] = {0: sha256(b"").digest()}

    @property
    def size(self) -> int:
        """How many records were read."""
        return self._tree.size

    def judge(self, dsn: str, history: History) -> tuple[Finding, ...]:
        """Read what is new on record and return everything that was ever found."""
        with psycopg.connect(dsn) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for (note,) in connection.execute("SELECT note FROM ledger.checkpoint"):
                history.notes.setdefault(bytes(note))
            wanted = {_size_of(note) for note in history.notes}
            head = connection.execute("SELECT size, root, origin FROM ledger.head").fetchone()
            assert head is not None
            wanted.add(head[0])
            with connection.cursor("rows") as cursor:
                cursor.itersize = 2000
                # The last record read before is read again: it must still be the same.
                self._read(cursor.execute(_ROWS, (max(0, self.size - 1),)), wanted)
            blobs = {row[0] for row in connection.execute("SELECT digest FROM ledger.blob")}
        self._heads((head[0], head[1], head[2]), history)
        for key, operation in history.operations.items():
            self._operation(key, operation)
        for text in reordered(history.operations.values()):
            self._find(Flaw.REORDERED, text)
        for digest in history.blobs - blobs:
            self._find(Flaw.LOST, f"blob {digest.hex()}")
        for text in history.broken:
            self._find(Flaw.UNSOUND, text)
        return tuple(self._found)

    def _find(self, flaw: Flaw, text: str) -> None:
        self._found.setdefault(Finding(flaw, text))

    def _read(self, rows: Iterable[Sequence[object]], wanted: set[int]) -> None:
        again = self.size > 0
        for row in rows:
            leaf = bytes(row[10])  # type: ignore[call-overload]  # a bytea column
            if again:
                again = False
                if row[0] != self.size - 1 or leaf != self._leaves[-1]:
                    self._find(Flaw.FORKED, f"record {self.size - 1} changed after it was read")
                    return
                continue
            self._row(row, leaf)
            if self.size in wanted:
                self._roots[self.size] = self._tree.root()
        if again:
            self._find(Flaw.LOST, f"record {self.size - 1} is gone after it was read")

    def _row(self, row: Sequence[object], leaf: bytes) -> None:
        seq, stream, stream_seq, kind, version, at_us, actor, key, prev = row[:9]
        digest, header, payload, commitments = (bytes(row[i]) for i in (9, 11, 12, 13))  # type: ignore[call-overload]
        assert isinstance(seq, int)
        assert isinstance(at_us, int)
        if seq != self.size:
            flaw = Flaw.FORKED if seq < self.size else Flaw.LOST
            self._find(flaw, f"number {seq} stands where {self.size} belongs")
        last, before = self._streams.get(str(stream), (-1, ZERO))
        if stream_seq != last + 1 or prev != before:
            self._find(Flaw.UNSOUND, f"record {seq} does not follow the last one of {stream}")
        said = {
            "actor": actor,
            "commitments": [commitments[i : i + 32].hex() for i in range(0, len(commitments), 32)],
            "idem_key": key,
            "kind": kind,
            "log": self._origin,
            "payload_sha256": digest.hex(),
            "prev": bytes(prev).hex(),  # type: ignore[call-overload]
            "recorded_at_us": at_us,
            "seq": seq,
            "stream": stream,
            "stream_seq": stream_seq,
            "version": version,
        }
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if header != text.encode():
            self._find(Flaw.UNSOUND, f"the header of {seq} is not its columns")
        if leaf != sha256(b"\x00" + header).digest() or digest != sha256(payload).digest():
            self._find(Flaw.UNSOUND, f"leaf or digest of {seq} is not the hash")
        if at_us < self._time_us:
            self._find(Flaw.UNSOUND, f"record {seq} is older than the one before it")
        self._time_us = at_us
        self._streams[str(stream)] = (last + 1, leaf)
        self._places.setdefault(str(key), []).append((seq, leaf))
        self._tree.add(leaf)
        self._leaves.append(leaf)

    def _heads(self, head: tuple[int, bytes, str], history: History) -> None:
        size, root, origin = head
        if origin != self._origin or size != self.size or root != self._root_at(size):
            self._find(Flaw.FORKED, f"the head of {size} is not the fold of {self.size} leaves")
        for note in history.notes:
            lines = note.decode().split("\n")
            if self._root_at(int(lines[1])) != base64.b64decode(lines[2]):
                self._find(Flaw.FORKED, f"a checkpoint of {lines[1]} is not a prefix of the log")

    def _root_at(self, size: int) -> bytes | None:
        if size not in self._roots and size <= self.size:
            tree = Tree()
            for leaf in self._leaves[:size]:
                tree.add(leaf)
            self._roots[size] = tree.root()
        return self._roots.get(size)

    def _operation(self, key: str, operation: Operation) -> None:
        """Hold one operation against the records that carry its key."""
        stored = [self._places.get(f"{key}.{place}", []) for place in range(operation.parts)]
        if any(len(places) > 1 for places in stored):
            self._find(Flaw.DUPLICATED, f"{key} is on record more than once: {stored}")
        missing = [place for place, places in enumerate(stored) if not places]
        if operation.acked_ns is None:
            if 0 < len(missing) < operation.parts:
                self._find(Flaw.LOST, f"{key} is on record in part, without {missing}")
            return
        if missing:
            self._find(Flaw.LOST, f"{key}, acknowledged as {operation.numbers}, lacks {missing}")
        for place, places in zip(operation.places, stored, strict=True):
            if places and place not in places:
                self._find(Flaw.FORKED, f"{key}, acknowledged as {operation.numbers}, is {places}")
        first = operation.numbers[0]
        if operation.numbers != list(range(first, first + operation.parts)):
            self._find(Flaw.UNSOUND, f"{key} was torn apart: {operation.numbers}")


def reordered(operations: Iterable[Operation]) -> list[str]:
    """Return the operations that stand before one that was acknowledged before they started.

    The log's order is the only candidate, so linearizability needs no search: going down from the
    end, no start may be later than the earliest acknowledgement above it. O(n log n).
    """
    done = sorted(
        (one.numbers[0], one.started_ns, one.acked_ns)
        for one in operations
        if one.acked_ns is not None
    )
    found = []
    earliest_ns, above = 2**63, -1
    for seq, started_ns, acked_ns in reversed(done):
        if started_ns > earliest_ns:
            found.append(f"{seq} started after {above} was acknowledged")
        if acked_ns < earliest_ns:
            earliest_ns, above = acked_ns, seq
    return found


def _size_of(note: bytes) -> int:
    return int(note.split(b"\n")[1])
