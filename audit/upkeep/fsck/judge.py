"""The outsider's verifier, given 2^14 records at a time.

`ChunkVerifier` is a `LogVerifier` that takes chunks: the same code judges keys, policies, maps,
signatures and the end, so both give one verdict. Its memory is constant: it drops checkpoints below
the position, and streams are on disk.
"""

import base64
import contextlib
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from typing_extensions import override

from audit.tlog.merkle import node_hash
from audit.upkeep.fsck.chunk import UNCHECKED, ZERO_HEX, Chunk, Mark, Segment, Special, broken_link
from audit.upkeep.fsck.columns import NO_TEXT
from audit.upkeep.fsck.state import FsckState
from audit.verifier.verify import (
    CHANGED,
    INCOMPLETE,
    INT_MAX,
    KNOWN_KINDS,
    TAMPERED,
    ZERO_HASH,
    Bad,
    Key,
    LogVerifier,
    Outside,
    Report,
    known,
    leaf_hash,
    read_record,
)

_PLAIN = (
    "_checked",
    "_witnessed",
    "_signed_at_us",
    "_witnessed_at_us",
    "_mapped",
    "_last",
    "_checkpoints",
)
_LISTS = ("_changed", "_expected", "_map_rows", "_map_next")


class ChunkVerifier(LogVerifier):
    """A whole log, chunk by chunk, in constant memory."""

    def __init__(self, outside: Outside, state: FsckState) -> None:
        """Keep streams and blobs in the state's file; raise Bad for a malformed key or policy."""
        super().__init__((), (), outside)
        self._streams.heads = self._disk = state.heads
        self._blobs, self._streams.keys = state.blobs, state.keys
        self._followed: list[str] = []
        self._newest_note = ""
        self._checkpoints = 0
        self._said, self._none_missing = 0, True
        self._latest: dict[frozenset[Key], int] = {}
        self._notes: dict[int, str] = {}

    @property
    def nodes(self) -> list[bytes]:
        """Return the roots of the tree's perfect subtrees, largest first."""
        return self._tree.nodes

    def kept_sizes(self) -> tuple[int, ...]:
        """Return the sizes of the checkpoints that are not compared yet."""
        return tuple(sorted(self._roots.keys() - self._compared))

    def fold(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        if not chunk.rows and not chunk.marks:
            return
        self._enter("entry")
        for mark in chunk.marks:
            if mark.note is not None:
                self._take_mark(mark.size, mark.note)
        self._link(chunk)
        size, nodes = self._tree.size, list(self._tree.nodes)
        self._replay(chunk, nodes)
        for special in chunk.statements:
            self._hear(special)
        for name, count in chunk.kinds.items():
            self._count(name, count)
        self._grow(chunk, size, nodes)

    def say(self, header: bytes | None, payload: bytes | None) -> None:
        """Judge the contents of the next record; what is no record was found in its chunk."""
        if header is None or payload is None:
            self._none_missing = False
            return
        try:
            head, body = read_record(header, payload)
        except Bad:
            self._none_missing = False
            return
        leaf = leaf_hash(header)
        self._none_missing = self._none_missing and head["seq"] == self._said
        self._said += 1
        if known(head):
            self.contents(head, body, leaf, whole=self._none_missing)
        self._windows.leaf(leaf)

    def _take_mark(self, size: int, note: str) -> None:
        """Take a checkpoint; a sound one is kept for the state."""
        newest, found = self._newest, self.report.findings
        self._take_note(size, base64.b64decode(note))
        if self.report.findings == found:
            self._notes[size] = note
        if self._newest is not newest:
            self._newest_note = note

    def _link(self, chunk: Chunk) -> None:
        """Compare each stream's first record with its last one before, and move the heads."""
        before = self._disk.many(chunk.starts)
        for stream, start in chunk.starts.items():
            if tuple(start) == UNCHECKED:
                continue
            number, leaf, seq = before.get(stream, (-1, ZERO_HASH, -1))
            for finding in broken_link(stream, (number, leaf.hex(), seq), start):
                self.report.find(*finding)
        for code, text, seq in chunk.findings:
            self.report.find(code, text, seq)
        ends, born = chunk.ends, chunk.born
        new = [
            (name, number, _leaf(leaf), seq)
            for name, (number, leaf, seq) in ends.items()
            if name in born
        ]
        if not self._disk.add(new):
            for stream, (number, leaf, seq) in self._disk.many(born).items():
                start = (0, ZERO_HEX, born[stream])
                for finding in broken_link(stream, (number, leaf.hex(), seq), start):
                    self.report.find(*finding)
            born = {}
        for stream, (number, leaf_hex, seq) in ends.items():
            if stream not in born:
                self._disk[stream] = (number, _leaf(leaf_hex), seq)

    def _replay(self, chunk: Chunk, nodes: list[bytes]) -> None:
        """Judge checkpoints, maps and missing numbers in their order."""
        jumps = self._jumps(chunk)
        if jumps and self._last + 1 != chunk.first:
            self._jump(jumps)
        marks = sorted({mark.size: mark for mark in chunk.marks}.values(), key=lambda m: -m.size)
        for segment in chunk.segments:
            self._changed.update(_changes(segment))
            self._hold(marks, jumps, segment, nodes)
        if chunk.maps is not None:
            for segment in chunk.differing:
                self._changed = _changes(segment)
                self._hold(marks, jumps, segment, nodes)
            self._changed = {name: [*link[:2]] for name, link in chunk.maps.changed.items()}
            self._expected, self._map_rows = chunk.maps.expected, chunk.maps.rows
            self._map_next = chunk.maps.awaited
        while marks:
            self._mark(marks.pop(), nodes)
        self._jump(jumps)

    def _hold(
        self,
        marks: list[Mark],
        jumps: list[tuple[int, int]],
        segment: Segment,
        nodes: list[bytes],
    ) -> None:
        """Judge the checkpoints and jumps before a segment's map, then the map."""
        if segment.then is None:
            return
        while marks and marks[-1].size <= segment.then.seq:
            self._mark(marks.pop(), nodes)
        if jumps and segment.then.seq >= jumps[0][0]:
            self._jump(jumps)
        self._disk.passing = {
            name: (number, _leaf(leaf), seq)
            for name, (number, leaf, seq) in segment.changed.items()
        }
        self._hear(segment.then)
        self._disk.passing = {}

    def _mark(self, mark: Mark, nodes: list[bytes]) -> None:
        root = self._roots.get(mark.size)
        if root is not None and self._whole and mark.folded:
            self._tree.size = mark.size
            self._tree.nodes = [*nodes, bytes.fromhex(mark.folded)]
            self._mapped = mark.size if mark.mapped else -1
            self._under(root, {"seq": mark.size - 1, "recorded_at_us": mark.recorded_at_us})

    def _jumps(self, chunk: Chunk) -> list[tuple[int, int]]:
        """Return the chunk's jumps, the first one from the last record of all."""
        jumps = [(seq, last) for seq, last in chunk.jumps]
        if chunk.rows and self._last + 1 != chunk.first:
            if jumps and jumps[0][1] == chunk.first - 1:
                jumps[0] = (jumps[0][0], self._last)
            else:
                jumps.insert(0, (chunk.first, self._last))
        return jumps

    def _jump(self, jumps: list[tuple[int, int]]) -> None:
        for seq, last in jumps:
            self._whole = False
            missing = seq > last
            text = (
                f"missing, as all up to record {seq}" if missing else f"out of order, after {last}"
            )
            self.report.find(INCOMPLETE if missing else TAMPERED, text, min(seq, last + 1))
        jumps.clear()

    def _hear(self, special: Special) -> None:
        """Judge a map or a change of keys."""
        if "statement" in special.body:
            self._followed.append(str(special.body["statement"]))
        head = {"kind": special.kind, "seq": special.seq, "log": self._origin or ""}
        try:
            self._interpret(head, special.body)
        except Bad as error:
            self.report.find(TAMPERED, str(error), special.seq)
        except (KeyError, TypeError, ValueError) as error:
            self.report.find(TAMPERED, f"says nothing that can be judged: {error!r}", special.seq)

    def _count(self, name: str, count: int) -> None:
        kind, _, version = name.rpartition(" ")
        if KNOWN_KINDS.get(kind) != int(version):
            self._unread[kind, int(version)] += count
            if kind == "stream_heads":
                self._unread["stream_heads", 0] += count

    def _grow(self, chunk: Chunk, size: int, nodes: list[bytes]) -> None:
        """Add the chunk's subtree to the tree, and drop the checkpoints that were compared."""
        if chunk.rows and not chunk.nodes:
            self._whole = False  # a leaf is malformed
        before = chunk.first if self._whole else size
        self._tree.size, self._tree.nodes = before + chunk.rows, nodes
        if self._whole:
            nodes += map(bytes.fromhex, chunk.nodes)
            bits = chunk.first // chunk.width
            while chunk.rows == chunk.width and bits & 1:
                right = nodes.pop()
                nodes.append(node_hash(nodes.pop(), right))
                bits >>= 1
        if chunk.ends:
            self._last = max(self._last, *(link[2] for link in chunk.ends.values()))
        self._forget()
        if not self._trust.keys:
            self._unsigned.clear()

    def _forget(self) -> None:
        """Drop the checkpoints that were compared; a sound log has no others up to here."""
        size, waiting = self._tree.size, {one for one, _ in self._unsigned}
        for old in [old for old in self._roots if old <= size]:
            if old in self._compared or not self._whole:
                self._checkpoints += 1
                self._public.discard(old)
                del self._roots[old]
                self._keep_latest(old, waiting)
        self._compared = {self._checked} if self._compared else set()

    def _keep_latest(self, size: int, waiting: AbstractSet[int] = frozenset()) -> None:
        """Keep the newest checkpoint of the same signers: if it counts, the others do too.

        One with a line of an unknown key stays, since the log may still introduce that key.
        """
        signers = self._signers[size]
        if size in waiting and self._trust.keys:
            return
        before = self._latest.get(signers, size)
        newest = max(size, before)  # those of a gap come last
        for old in {size, before} - {newest if signers else -1}:
            self._signers.pop(old, None)
            self._times.pop(old, None)
            self._notes.pop(old, None)
        self._latest[signers] = newest

    def late_notes(self, notes: Iterable[tuple[int, bytes]]) -> None:
        """Take the checkpoints of missing records, in order of their sizes.

        All changes of keys are known by now, so only the newest checkpoint, and the newest of each
        set of signers, is kept in memory.
        """
        with contextlib.suppress(Bad):  # `finish` reports it
            self._trust.settle(Report())
        waiting, self._unsigned = self._unsigned, []
        kept, last = set(self._roots), 0
        for size, note in notes:
            if size > INT_MAX:
                self.report.find(TAMPERED, f"checkpoint of {size}: no log has so many records")
                continue
            if size != last and last in self._roots and last not in kept:
                self._let_go(last)
            last = size
            self._take_note(size, note)
            for _, unsigned in self._unsigned if self._trust.keys else ():
                if not self._trust.open(unsigned).signers:
                    text = f"checkpoint of {size} is signed by no trusted key{CHANGED}"
                    self.report.find(TAMPERED, text)
            self._unsigned.clear()
        self._unsigned = waiting

    def _let_go(self, size: int) -> None:
        """Drop a late checkpoint, since there is a later one."""
        self._checkpoints += 1
        self._public.discard(size)
        del self._roots[size]
        if self._signers[size]:
            self._keep_latest(size)
        else:
            del self._signers[size], self._times[size]

    @override
    def finish(self, expected: int | None = None, now_us: int | None = None) -> Report:
        """Judge the end; the last line has the counts of the whole log, not of memory."""
        report = super().finish(expected, now_us)
        report.lines[-1] = (
            f"{self.size} records, {len(self._streams.heads)} streams,"
            f" {self._checkpoints + len(self._roots)} checkpoints; signed up to {self._checked}"
        )
        return report

    def blob_missing(self, digest: str, seq: int) -> None:
        """Report a missing blob that a record names."""
        self.report.find(INCOMPLETE, f"blob {digest} is missing", seq)

    @property
    def sound(self) -> bool:
        """Return whether nothing was found so far; only then may the state be saved."""
        return self._whole and self.report.findings == 0

    @property
    def claimed(self) -> dict[int, bool]:
        """Return the sizes that the state says are signed, and whether a quorum cosigned them."""
        return {size: size == self._witnessed for size in (self._checked, self._witnessed) if size}

    def vouched(self, size: int, root: bytes, notes: Iterable[bytes]) -> bool:
        """Return whether one of these checkpoints is of a tree, and signed as the state claims."""
        for note in notes:
            with contextlib.suppress(Bad):
                seen = self._trust.open(note)
                signed = bool(seen.signers) or not self._trust.keys
                met = not self.claimed[size] or self._trust.met([seen])
                if seen.head[1:] == (size, root) and signed and met:
                    return True
        return False

    def to_state(self) -> dict[str, Any]:
        """Return what a resumed check needs, as JSON values."""
        return {
            **{name: getattr(self, name) for name in (*_PLAIN, *_LISTS)},
            "size": self._tree.size,
            "nodes": [node.hex() for node in self._tree.nodes],
            "unread": [[*key, count] for key, count in self._unread.items()],
            "unsigned": [[size, base64.b64encode(n).decode()] for size, n in self._unsigned],
            "followed": self._followed,
            "newest": self._newest_note,
            "notes": [[n, self._notes.get(n, ""), self._times.get(n)] for n in self._signers],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `to_state` returned; call it after `head`."""
        self._from_start = False  # what earlier records said is not in the state
        for statement in state["followed"]:
            with contextlib.suppress(Bad):  # already among the findings
                self._trust.follow(statement, self._origin or "")
        for name in (*_PLAIN, *_LISTS):
            setattr(self, name, state[name])
        self._tree.size = state["size"]
        self._tree.nodes = [bytes.fromhex(node) for node in state["nodes"]]
        self._unsigned = [(size, base64.b64decode(note)) for size, note in state["unsigned"]]
        waiting = {size for size, _ in self._unsigned}
        for size, text, time_us in state["notes"]:
            if text:
                self._notes[size] = text
                self._signers[size] = self._trust.open(base64.b64decode(text)).signers
                if size not in waiting:
                    self._latest[self._signers[size]] = size
            if time_us is not None:
                self._times[size] = time_us
        for kind, version, count in state["unread"]:
            self._unread[kind, version] = count
        self._followed = state["followed"]
        self._newest_note = state["newest"]
        if self._newest_note:
            self._newest = self._trust.open(base64.b64decode(self._newest_note))
        self._compared = {size for size in self._roots if size <= self._tree.size}
        if self._checked:
            self._compared.add(self._checked)


def _changes(segment: Segment) -> dict[str, list[Any]]:
    return {name: [*link[:2]] for name, link in segment.changed.items()}


def _leaf(text: str) -> bytes:
    """Return a leaf from hex; b"" for NULL."""
    return b"" if text == NO_TEXT.decode() else bytes.fromhex(text)
