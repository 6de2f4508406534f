"""fsck of a database: readers, judge and state, from the first record or from where it stopped.

A resumed check reads head, snapshot, keys and policy again, and rebuilds the tree below the
position from the stored leaves. It must be the tree that was checked, and the checkpoints that the
state claims must be stored, signed, and of that tree. The check takes over that the other columns,
payloads and blobs below the position were right and still are. It takes over no verdict: after a
finding nothing is saved.

So somebody who can write the state's file can hide, below the position, a wrong column, payload,
blob or stream-head map from a resumed check, but no record that is signed, lost or added. Check
without `--resume` if others can write the file.
"""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from audit.errors import LedgerWriteError
from audit.store.tables import DatabaseError
from audit.tlog.merkle import Frontier, node_hash
from audit.upkeep.backup.judge import judge_values
from audit.upkeep.fsck.chunk import Chunk
from audit.upkeep.fsck.database import BLOB_RANGES, DatabaseSnapshot
from audit.upkeep.fsck.judge import ChunkVerifier
from audit.upkeep.fsck.plan import ChangedBelowError, FsckPlan, Progress, whole_or_again
from audit.upkeep.fsck.readers import Inline, Readers, TaskRunner
from audit.upkeep.fsck.state import FsckState
from audit.upkeep.fsck.tiles import TileFold, judge_tile
from audit.verifier.verify import TAMPERED, Bad, Report

_HIGHEST = 2**63 - 1
_JUDGED = (Bad, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
"""The errors that altered tables may cause; each is a finding."""
SHOWN_EVERY = 1_000
SMALL = 5_000
"""Records below which starting processes costs more than it saves."""


def fsck_database(dsn: str, plan: FsckPlan, progress: Progress, now_us: int | None) -> Report:
    """Return the report on a ledger's database; an interruption leaves the state for `resume`.

    The user in `dsn` must be able to `SET ROLE countersign_reader`. For `now_us` see
    `LogVerifier.finish`.

    Raises:
        LedgerWriteError: the database cannot be read.
        FsckStateError: the state file cannot be used.
        Bad: a key or the policy is malformed.
    """
    snapshot = DatabaseSnapshot(dsn)
    try:
        report = Report()
        for text in snapshot.strange():
            report.find(TAMPERED, text)
        if report.findings:
            return report
        head = snapshot.head()
        source = f"database {'without a head' if head is None else head['origin']}"

        def check(runner: TaskRunner) -> Report:
            return whole_or_again(
                plan,
                source,
                lambda state: _DatabaseCheck(plan, snapshot, runner, state, progress).run(
                    head, now_us
                ),
            )

        if plan.readers == 0 or (head is not None and (head["size"] or 0) < SMALL):
            return check(Inline(snapshot))
        with Readers(plan.readers, dsn, snapshot.export()) as readers:
            return check(readers)
    except DatabaseError as error:
        raise LedgerWriteError(f"cannot read the ledger: {error}") from error
    finally:
        snapshot.close()


class _DatabaseCheck:
    def __init__(
        self,
        plan: FsckPlan,
        snapshot: DatabaseSnapshot,
        readers: TaskRunner,
        state: FsckState,
        progress: Progress,
    ) -> None:
        self._plan = plan
        self._snapshot = snapshot
        self._readers = readers
        self._state = state
        self._progress = progress
        self._log = ChunkVerifier(plan.outside, state)
        self._position = 0
        self._blob_range = 0
        self._blobs = 0
        self._noted = 0
        self._late: list[list[int]] = []
        self._tiles = TileFold(plan.width)

    def run(self, head: dict[str, Any] | None, now_us: int | None) -> Report:
        """Return the report."""
        log = self._log
        try:
            total = 0
            if wrong := self._snapshot.headless():
                log.report.find(TAMPERED, wrong)
            if head is not None:
                log.head(head)
                total = int(head["size"])
            if self._state.saved is not None:
                try:
                    self._go_on(self._state.saved)
                except _JUDGED as error:  # a forged state
                    raise ChangedBelowError from error
            if self._plan.payloads:
                self._check_blobs()
            self._check_records(
                self._snapshot.log_name() if head is None else head["origin"], total
            )
            for level, n in self._snapshot.tiles_beyond(total):
                log.report.find(TAMPERED, f"tile {level}/{n} is of records that are not there")
            self._check_late_notes()
            for text in self._snapshot.miscounted(keys=self._plan.payloads):
                log.report.find(TAMPERED, text)
            report = log.finish(now_us=now_us)
            if self._plan.payloads and report.exit_code != TAMPERED:
                origin = "" if head is None else head["origin"]
                judge_values(self._snapshot.connection, report, origin, None)
        except _JUDGED as error:
            report = log.report
            report.caught(error)
        return report

    def _go_on(self, saved: dict[str, Any]) -> None:
        """Take over what was checked; the stored leaves below must still make its tree."""
        log = self._log
        self._position, self._blob_range = saved["position"], saved["blob_range"]
        self._blobs, self._late = saved["blobs"], saved["late"]
        log.restore(saved["log"])
        nodes: list[bytes] = []
        claimed: dict[int, bytes] = {}
        width = self._plan.width
        tasks = (
            {"do": "nodes", "first": first, "stop": first + width}
            for first in range(0, self._position, width)
        )
        for task, answer in self._readers.ask(tasks):
            for size in log.claimed:
                if task["first"] < size <= task["stop"]:
                    part = self._snapshot.nodes(task["first"], size)
                    edge = (*nodes, *map(bytes.fromhex, part))
                    claimed[size] = Frontier(size=size, nodes=edge).root()
            roots = [*map(bytes.fromhex, json.loads(answer))]
            nodes += roots
            deque(self._tiles.add(task["first"], roots[0] if len(roots) == 1 else None), maxlen=0)
            bits = task["first"] // width
            while bits & 1 and len(nodes) > 1:
                right = nodes.pop()
                nodes.append(node_hash(nodes.pop(), right))
                bits >>= 1
            self._progress("leaves below", task["stop"], self._position)
        if log.size != self._position or nodes != log.nodes or claimed.keys() != log.claimed.keys():
            raise ChangedBelowError
        for size, root in claimed.items():
            if not log.vouched(size, root, (note for _, note in self._snapshot.notes(size, size))):
                raise ChangedBelowError
        log.report.say(
            f"resumed at record {self._position}: the leaves below match the earlier check;"
            " their other columns and the blobs are not checked again"
            if self._position
            else "resumed at record 0: the blobs checked before are not checked again"
        )

    def _check_blobs(self) -> None:
        """Hash every blob, a range of digests at a time."""
        tasks = ({"do": "blobs", "first": first} for first in range(self._blob_range, BLOB_RANGES))
        for task, answer in self._readers.ask(tasks):
            count, bad = json.loads(answer)
            self._blobs += count
            for digest in bad:
                self._log.report.find(TAMPERED, f"blob {digest} has other content")
            self._blob_range = task["first"] + 1
            if count or self._blob_range == BLOB_RANGES:
                self._save()
            self._progress("blobs", self._blob_range, BLOB_RANGES)

    def _check_records(self, origin: str, total: int) -> None:
        """Judge chunk after chunk; after a short one, go on at the next record."""
        at: int | None = self._position
        width = self._plan.width
        while at is not None:
            for task, answer in self._readers.ask(self._chunks(at, origin, total)):
                chunk = Chunk.from_json(answer)
                self._log.fold(chunk)
                self._check_tiles(chunk)
                for digest, seq in sorted(chunk.blobs.items()):
                    self._log.blob_missing(digest, seq)
                at = self._noted = task["first"] + width
                self._progress("records", min(self._log.size, total), total)
                if chunk.rows != width:
                    break
                self._position = at
                self._save()
            found = self._snapshot.next_seq(at)
            at = None if found is None else found // width * width
            if at is not None and at > self._noted:
                self._late.append([self._noted + 1, at])
                self._noted = at
        if self._plan.payloads:
            self._check_contents(total)

    def _check_contents(self, total: int) -> None:
        """Hold each record against those before it, from the first on."""
        for count, (header, payload) in enumerate(self._snapshot.contents(), 1):
            self._log.say(header, payload)
            if count % SHOWN_EVERY == 0 or count == total:
                self._progress("statements", min(count, total), total)

    def _check_late_notes(self) -> None:
        late = [*self._late, [self._noted + 1, _HIGHEST]]

        def shown() -> Iterator[tuple[int, bytes]]:
            for count, row in enumerate(self._snapshot.late_notes(late), 1):
                yield row
                self._progress("late checkpoints", count, 0)

        self._log.late_notes(shown())

    def _check_tiles(self, chunk: Chunk) -> None:
        """Compare the stored tiles above the chunks with those that the chunks make."""
        root = bytes.fromhex(chunk.nodes[0]) if chunk.rows == chunk.width and chunk.nodes else None
        for level, n, made in self._tiles.add(chunk.first, root):
            for finding in judge_tile(level, n, made, self._snapshot.tile(level, n)):
                self._log.report.find(*finding)

    def _chunks(self, first: int, origin: str, total: int) -> Iterator[dict[str, Any]]:
        """Yield the tasks of the chunks up to the log's end by its head."""
        width = self._plan.width
        last = max(first, (min(total, 2**62) - 1) // width * width)
        for start in range(first, last + 1, width):
            yield {
                "do": "chunk",
                "first": start,
                "width": width,
                "log": origin,
                "payloads": self._plan.payloads,
                "sizes": [size for size in self._log.kept_sizes() if start < size <= start + width],
            }

    def _save(self) -> None:
        """Save the progress, unless there is a finding, which a resumed check must find again."""
        if not self._log.sound:
            return
        self._state.save(
            {
                "position": self._position,
                "blob_range": self._blob_range,
                "blobs": self._blobs,
                "late": self._late,
                "log": self._log.to_state(),
            }
        )
