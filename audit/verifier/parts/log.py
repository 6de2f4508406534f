"""A whole log, record by record."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from audit.verifier.parts.canonical import SIZE_MAX, unhex
from audit.verifier.parts.contents.approvals import Approvals
from audit.verifier.parts.contents.baskets import Baskets
from audit.verifier.parts.contents.fairness.windows import Windows
from audit.verifier.parts.contents.fills import Fills
from audit.verifier.parts.contents.policies import PolicySuccessions
from audit.verifier.parts.contents.seeds import Seeds
from audit.verifier.parts.contents.signed import OfficersWord
from audit.verifier.parts.contents.statements.judging import Statements
from audit.verifier.parts.records import (
    COLUMNS,
    MAP_BROKEN,
    Disclosed,
    Streams,
    blobs_of,
    known,
    next_part,
    read_record,
    say_unread,
)
from audit.verifier.parts.report import INCOMPLETE, NOT_CHECKABLE, TAMPERED, Bad, Report
from audit.verifier.parts.tree import Tree, leaf_hash
from audit.verifier.parts.trust.checkpoint import Outside, judge_quorum
from audit.verifier.parts.trust.keys import CHANGED, NO_TIME, SeenCheckpoint, Trust
from audit.verifier.parts.trust.note import Key

TAIL_S = 5
"""Seconds that a live log may take until a checkpoint covers its newest records."""
ORDER = ("head", "checkpoint", "blob", "entry", "end")


class LogVerifier:
    """The verification of a whole log.

    Memory grows with streams, blobs, checkpoints, and a digest of each record's key. Call
    `head` once, then `checkpoint`, `blob` and `entry` in this order, then `finish`: a checkpoint
    after its records would never be compared with them.
    """

    def __init__(
        self, vkeys: Sequence[str], notes: Sequence[bytes] = (), outside: Outside | None = None
    ) -> None:
        """Take trusted keys, policy and kept checkpoints; raise Bad if one is malformed."""
        self.report = Report()
        outside = outside or Outside()
        self._trust = Trust([*vkeys, *outside.vkeys], outside.policy)
        self._rotations = outside.rotations
        self._disclosed = Disclosed(outside.disclosures)
        self._stage = ""
        self._tree = Tree()
        self._head: Mapping[str, Any] = {}
        self._origin: str | None = None
        self._roots: dict[int, bytes] = {}
        self._signers: dict[int, frozenset[Key]] = {}
        self._unsigned: list[tuple[int, bytes]] = []
        self._times: dict[int, int] = {}
        self._public: set[int] = set()
        self._newest: SeenCheckpoint | None = None
        self._compared: set[int] = set()
        self._checked = self._witnessed = 0
        self._signed_at_us = self._witnessed_at_us = 0
        self._blobs: set[str] = set()
        self._streams = Streams()
        self._changed: dict[str, list[Any]] = {}
        self._expected: list[list[Any]] = []
        self._map_rows: list[list[Any]] = []
        self._map_next: list[int] = []
        self._mapped = 0
        self._unread: Counter[tuple[str, int]] = Counter()
        self._last = -1
        self._whole = True
        self._disordered = False
        self._seeds = Seeds()
        self._approvals = Approvals()
        self._statements = Statements()
        self._from_start = True
        self._fills = Fills(outside.fills)
        self._signed = OfficersWord(outside.officers)
        self._successions = PolicySuccessions()
        self._baskets = Baskets()
        self._windows = Windows()
        for note in (*notes, *outside.notes):
            self._take_note(None, note)

    @property
    def size(self) -> int:
        """Return how many records were taken."""
        return self._tree.size

    def _enter(self, stage: str) -> None:
        """Require exactly one head, first, then the stages in `ORDER`."""
        before, self._stage = self._stage, stage
        if before == "":
            right = stage == ORDER[0]
        else:
            right = stage != ORDER[0] and ORDER.index(stage) >= ORDER.index(before)
        if not right and not self._disordered:
            self._disordered = True
            self.report.find(TAMPERED, f"a {stage} out of order, after {before or 'nothing'}")

    def head(self, row: Mapping[str, Any]) -> None:
        """Take the stored head: origin, size, root, frontier."""
        self._enter("head")
        if self._origin not in {None, row["origin"]}:
            self.report.find(TAMPERED, f"the trusted checkpoint is not of the log {row['origin']}")
        self._head, self._origin = row, row["origin"]
        self._trust.give(self.report, self._rotations, row["origin"])

    def checkpoint(self, size: int, note: bytes) -> None:
        """Take a checkpoint stored under a size, with its cosignatures if there are any."""
        self._enter("checkpoint")
        self._take_note(size, note)

    def _take_note(self, size: int | None, note: bytes) -> None:
        try:
            seen = self._trust.open(note)
        except Bad as error:
            self.report.find(TAMPERED, f"checkpoint of {size}: {error}")
            return
        origin, stated, root = seen.head
        self._origin = self._origin or origin
        if size not in {None, stated} or origin != self._origin:
            self.report.find(TAMPERED, f"checkpoint of {size} states {origin} and {stated}")
            return
        if self._roots.setdefault(stated, root) != root:
            self.report.find(TAMPERED, f"two checkpoints of {stated} differ")
        elif stated == 0 and not self._compare(root):
            self.report.find(TAMPERED, "the checkpoint of 0 is not that of an empty log")
        if seen.strangers or not seen.signers:
            self._unsigned.append((stated, note))  # a key to come may have signed it
        self._signers[stated] = self._signers.get(stated, frozenset()) | seen.signers
        made_us = self._trust.made_us([seen])
        self._times[stated] = min(made_us, self._times.get(stated, made_us))
        if self._newest is None or stated >= self._newest.head.size:
            self._newest = seen
        if self._trust.policy is not None and self._trust.met([seen]):
            self._public.add(stated)

    def _compare(self, root: bytes) -> bool:
        self._compared.add(self._tree.size)
        return root == self._tree.root()

    def blob(self, digest: bytes, data: bytes) -> None:
        """Take a blob and check its digest."""
        self._enter("blob")
        if hashlib.sha256(data).digest() != digest:
            self.report.find(TAMPERED, f"blob {digest.hex()} has other content")
        self._blobs.add(digest.hex())

    def entry(self, row: Mapping[str, Any]) -> None:
        """Take the next record with all its columns."""
        self._enter("entry")
        seq, leaf = row["seq"], bytes(row["leaf"])
        if seq != self._last + 1:
            self._whole = False
            code, text = TAMPERED, f"out of order, after record {self._last}"
            if seq > self._last:
                code, text = INCOMPLETE, f"missing, as all up to record {seq}"
            self.report.find(code, text, min(seq, self._last + 1))
        self._last = max(seq, self._last)
        try:
            self._entry(row, leaf)
        except Bad as error:
            self.report.find(TAMPERED, str(error), seq)
            self._streams.heads[row["stream"]] = (row["stream_seq"], leaf, seq)
        self._tree.append(leaf)
        self._windows.leaf(leaf)
        root = self._roots.get(self._tree.size)
        if root is not None and self._whole:
            self._under(root, row)

    def _under(self, root: bytes, row: Mapping[str, Any]) -> None:
        size, report = self._tree.size, self.report
        if not self._compare(root):
            where = None if report.first_bad_seq is not None else self._checked
            text = f"the tree of {size} is not the one signed, that of {self._checked} is"
            report.find(TAMPERED, text, where)
            self._whole = False
        elif self._mapped != size and ("stream_heads", 0) not in self._unread:
            report.find(TAMPERED, "signed without a stream-head map before it", row["seq"])
        self._checked, self._signed_at_us = size, row["recorded_at_us"]
        if size in self._public:
            self._witnessed, self._witnessed_at_us = size, row["recorded_at_us"]

    def _entry(self, row: Mapping[str, Any], leaf: bytes) -> None:
        """Compare every column with the hashed bytes, and the record with its stream."""
        if leaf_hash(row["header"]) != leaf:
            raise Bad("the leaf is not the header's hash")
        head, body = read_record(row["header"], row["payload"])
        stated = {name: row[name] for name in COLUMNS}
        stated["prev"] = bytes(row["prev"]).hex()
        stated["payload_sha256"] = bytes(row["payload_digest"]).hex()
        stated["log"] = self._head.get("origin", head["log"])
        differing = [name for name, value in stated.items() if head[name] != value]
        if row["account"] != body.get("account"):
            differing.append("account")
        joined = b"".join(map(unhex, head["commitments"]))
        if bytes(row.get("commitments", joined)) != joined:
            differing.append("commitments")
        if differing:
            raise Bad(f"{', '.join(differing)} differs from the hashed bytes")
        self._streams.follow(self.report, head, leaf)
        self._disclosed.see(self.report, head)
        if known(head):
            self._interpret(head, body)
            self.contents(head, body, leaf, whole=self._whole and self._from_start)
            if self._whole:
                self._seeds.see(self.report, head, body, self._mapped, self._roots)
        else:
            self._unread[head["kind"], head["version"]] += 1
            self._statements.skip(head)
            if head["kind"] == "stream_heads":
                self._unread["stream_heads", 0] += 1
        self._changed[head["stream"]] = [head["stream_seq"], leaf.hex()]

    def contents(
        self, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes, *, whole: bool
    ) -> None:
        """Hold what a known record says against the records before it.

        `whole` says whether these were all given, from the first on.
        """
        self._approvals.see(self.report, head, body, leaf)
        self._fills.see(self.report, head, body, leaf)
        self._statements.seen.whole = whole
        self._statements.see(self.report, head, body, leaf)
        self._signed.see(head, body, leaf)
        self._successions.see(head, body)
        self._baskets.see(head, body)
        self._windows.see(head, body)

    def _interpret(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        for digest in sorted(set(blobs_of(body)) - self._blobs):
            self.report.find(INCOMPLETE, f"blob {digest} is missing", head["seq"])
        if head["kind"] == "stream_heads":
            self._map(body, head["seq"])
        elif head["kind"] in {"key_rotated", "key_revoked"}:
            self._trust.follow(body.get("statement"), head["log"])

    def _map(self, body: Mapping[str, Any], seq: int) -> None:
        """Compare a map, part by part, with the streams that changed since the last one."""
        joins, self._map_next = next_part(self._map_next, body, seq)
        if self._whole and not joins:
            self.report.find(TAMPERED, MAP_BROKEN, seq)
        if body["part"] == 0:
            self._expected = [[name, *head] for name, head in sorted(self._changed.items())]
            self._changed, self._map_rows = {}, []
        self._map_rows += body["heads"]
        if body["part"] + 1 != body["parts"]:
            return
        self._mapped = seq + 1
        if self._map_rows == self._expected:
            return
        stated = {row[0]: row[1:] for row in self._map_rows}
        for name, number, leaf in self._expected:
            if name in stated and stated[name][0] == number and stated[name][1] != leaf:
                text = f"is not the one that the stream-head map of record {seq} names"
                self.report.find(TAMPERED, text, self._streams.heads[name][2])
        if self._whole:
            raise Bad("the stream-head map is not that of the streams")
        for name, (number, _) in stated.items():
            have = self._streams.heads.get(name, (-1,))[0]
            if number > have:
                text = f"{name} ends at {have} here, at {number} in the map of record {seq}"
                self.report.find(INCOMPLETE, text)

    def finish(self, expected: int | None = None, now_us: int | None = None) -> Report:
        """Judge what only the end shows: the announced number of records, head, keys, witnesses.

        `now_us` is the time of reading a live log: its tail may be unsigned if the newest signed
        record is at most `TAIL_S` older.
        """
        size, report = self._tree.size, self.report
        if expected is not None and expected != size:
            report.find(INCOMPLETE, f"{expected} records announced, {size} found", size)
        beyond = max(self._roots, default=0)
        if beyond > size:
            report.find(INCOMPLETE, f"a checkpoint of {beyond} is signed, {size} found", size)
        if not self._head:
            report.find(INCOMPLETE, "there is no head")
        elif self._whole:
            self._judge_stored_head()
        self._judge_keys()
        if self._whole:
            self._judge_signatures(now_us)
            self._judge_witnesses(now_us)
        if not self._trust.keys:
            report.find(NOT_CHECKABLE, "no trusted key given: nothing says who wrote this")
        self._disclosed.finish(report)
        self._fills.finish(report)
        spans = self._signed.finish(report, self._fills.relied_on)
        self._statements.finish(report, spans)
        self._successions.finish(report, whole=self._whole)
        self._baskets.finish(report, whole=self._whole)
        self._windows.finish(report, whole=self._whole)
        say_unread(report, self._unread)
        report.say(
            f"{size} records, {len(self._streams.heads)} streams, {len(self._blobs)} blobs,"
            f" {len(self._roots)} checkpoints; signed up to {self._checked}"
        )
        return report

    def _judge_stored_head(self) -> None:
        """Compare the stored head with the tree; a sound, larger one shows a lost tail."""
        stated, frontier = self._head["size"], bytes(self._head["frontier"])
        larger = Tree()
        larger.nodes = [frontier[i : i + 32] for i in range(0, len(frontier), 32)]
        sound = len(frontier) == 32 * stated.bit_count() and larger.root() == self._head["root"]
        if sound and stated > self._tree.size:
            text = f"the stored head is that of {stated} records, {self._tree.size} found"
            self.report.find(INCOMPLETE, text, self._tree.size)
        elif not sound or (stated, larger.nodes) != (self._tree.size, self._tree.nodes):
            text = f"the stored head is not that of {self._tree.size} records"
            self.report.find(TAMPERED, text)

    def _judge_keys(self) -> None:
        """Judge who signed each checkpoint; all changes of keys in the log are known only now."""
        trust, report = self._trust, self.report
        try:
            trust.settle(report)
        except Bad as error:
            report.find(TAMPERED, f"a change of keys: {error}")
        for size, note in self._unsigned if trust.keys else ():
            try:
                seen = trust.open(note)
            except Bad as error:
                report.find(TAMPERED, f"checkpoint of {size}: {error}")
                continue
            if size in self._signers:
                self._signers[size] |= seen.signers
            if not seen.signers:
                report.find(TAMPERED, f"checkpoint of {size} is signed by no trusted key{CHANGED}")
        made_us, covered = SIZE_MAX, False
        for size, signers in sorted(self._signers.items(), reverse=True):
            made_us = min(made_us, self._times.get(size, SIZE_MAX))
            why = trust.counts(signers & trust.keys, size, made_us)
            text = f"checkpoint of {size} is signed only by a key that had been {why}"
            if signers and why == "replaced":
                report.find(TAMPERED, text)
            elif signers and why and not covered:
                report.find(NOT_CHECKABLE, f"{text}: {NO_TIME}")
            covered = covered or (bool(signers) and not why)

    def _judge_signatures(self, now_us: int | None) -> None:
        """Require that every checkpoint was compared, and that they cover all records."""
        size, report = self._tree.size, self.report
        for missed in sorted(self._roots.keys() - self._compared):
            if missed <= size:
                report.find(TAMPERED, f"the checkpoint of {missed} was not compared")
        if not self._compared:
            report.find(INCOMPLETE, "no checkpoint covers these records")
        elif self._checked < size:
            text = f"records from {self._checked} on are not signed yet"
            self._judge_lag(text, self._checked, self._signed_at_us, now_us)

    def _judge_witnesses(self, now_us: int | None) -> None:
        policy = self._trust.policy
        if policy is None or not policy.asks:
            self.report.say("no witness policy given: that others saw this log is not shown")
        elif self._witnessed:
            self.report.say(f"the policy's quorum cosigned the tree of {self._witnessed}")
            if self._witnessed < self._checked:
                text = f"records from {self._witnessed} on are not cosigned by the quorum yet"
                self._judge_lag(text, self._witnessed, self._witnessed_at_us, now_us)
        elif self._newest is not None:
            judge_quorum(self.report, self._trust, [self._newest])

    def _judge_lag(self, text: str, since: int, at_us: int, now_us: int | None) -> None:
        """Report an unsigned or uncosigned tail; a short one of a live log is no finding."""
        before = self.report.unsigned_from
        self.report.unsigned_from = since if before is None else min(since, before)
        if now_us is not None and abs(now_us - at_us) <= TAIL_S * 1_000_000:
            self.report.say(f"{text}: a running log does it within {TAIL_S} s")
        else:
            self.report.find(INCOMPLETE, text)
