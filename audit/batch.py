"""One batch: requests become records in order, on top of a known position. No I/O.

Nothing here changes the position; a batch that did not commit leaves no trace. A request that is
refused (guard, idempotency) leaves the others of its batch alone.
"""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from audit.chain import NO_HEAD, StreamHead, head_of, heads_drafts
from audit.errors import AuditError, GuardMovedError, IdempotencyConflictError
from audit.kinds import KINDS
from audit.lanes import Append, Guard, MapHeads, Request, Resolve
from audit.merkle import Frontier
from audit.record import Prepared, Record, make_record, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record, the account that its payload names, and its commitments' bytes, joined."""

    record: Record
    account: str | None
    commitments: bytes


@dataclass(slots=True, kw_only=True)
class Position:
    """Where the log stands: everything that the next record depends on."""

    log: str
    frontier: Frontier
    heads: dict[str, StreamHead]
    changed: dict[str, StreamHead]
    sections: dict[str, int]
    firm_seq: int
    recorded_at_us: int

    @property
    def size(self) -> int:
        """The number of records."""
        return self.frontier.size


@dataclass(slots=True, kw_only=True)
class Batch:
    """Records to commit together, and what to tell whom afterwards."""

    rows: list[Row] = field(default_factory=list)
    appended: list[tuple[Append, tuple[Record, ...]]] = field(default_factory=list)
    refused: list[tuple[Request, AuditError]] = field(default_factory=list)
    resolved: list[tuple[Resolve, Record | None]] = field(default_factory=list)
    mapped: list[MapHeads] = field(default_factory=list)


class Builder:
    """Builds one batch on a position, in an overlay of its own."""

    def __init__(
        self,
        position: Position,
        existing: Mapping[tuple[str, str], Record],
        now_us: int,
    ) -> None:
        """Start an empty batch.

        Args:
            position: where the log stands; not changed.
            existing: committed records by (stream, idempotency key), for the keys asked about.
            now_us: the batch's time; a clock that went back does not reorder records.
        """
        self._position = position
        self._existing: ChainMap[tuple[str, str], Record] = ChainMap({}, dict(existing))
        self._heads = ChainMap[str, StreamHead]({}, position.heads)
        self._changed = dict(position.changed)
        self._sections = ChainMap[str, int]({}, position.sections)
        self._firm_seq = position.firm_seq
        self._frontier = position.frontier
        self._now_us = max(now_us, position.recorded_at_us)
        self.batch = Batch()

    def add(self, request: Request) -> None:
        """Add a request; a stream-head map is written by `finish`, after all others."""
        match request:
            case Append():
                try:
                    new = self._check_keys(request.prepared)
                    self._check_guard(request.guard if new else None)
                except (GuardMovedError, IdempotencyConflictError) as error:
                    self.batch.refused.append((request, error))
                else:
                    records = tuple(self._place(item) for item in request.prepared)
                    self.batch.appended.append((request, records))
            case Resolve():
                found = self._existing.get((request.stream, request.idem_key))
                self.batch.resolved.append((request, found))
            case MapHeads():
                self.batch.mapped.append(request)

    @property
    def frontier(self) -> Frontier:
        """The tree's right edge with the batch's records."""
        return self._frontier

    def finish(self) -> Batch:
        """Write the map if one was asked for, and return the batch to commit."""
        if self.batch.mapped:
            drafts = list(heads_drafts(self._frontier.size, self._changed))
            self._changed = {}
            for draft in drafts:
                self._place(prepare(draft))
        return self.batch

    def advance(self) -> Position:
        """Return the position after the committed batch; the old position is used up."""
        old = self._position
        old.heads.update(self._heads.maps[0])
        old.sections.update(self._sections.maps[0])
        return Position(
            log=old.log,
            frontier=self._frontier,
            heads=old.heads,
            changed=self._changed,
            sections=old.sections,
            firm_seq=self._firm_seq,
            recorded_at_us=self._now_us if self.batch.rows else old.recorded_at_us,
        )

    def _check_guard(self, guard: Guard | None) -> None:
        if guard is None:
            return
        moved = max(self._sections.get(guard.section, -1), self._firm_seq)
        if moved > guard.basis_seq:
            raise GuardMovedError(guard.section, guard.basis_seq, moved)

    def _check_keys(self, prepared: Sequence[Prepared]) -> bool:
        """Refuse keys that other content holds; say whether anything is not on record yet."""
        asked: dict[tuple[str, str], Prepared] = {}
        for item in prepared:
            key = (item.draft.stream, item.draft.idem_key)
            held = self._existing.get(key)
            if held is not None and not same(held, item):
                raise IdempotencyConflictError(*key, held.seq)
            if asked.setdefault(key, item) is not item:
                raise IdempotencyConflictError(*key, -1)
        return any(key not in self._existing for key in asked)

    def _place(self, item: Prepared) -> Record:
        key = (item.draft.stream, item.draft.idem_key)
        held = self._existing.get(key)
        if held is not None:
            return held
        head = self._heads.get(item.draft.stream, NO_HEAD)
        record = make_record(
            item,
            log=self._position.log,
            seq=self._frontier.size,
            stream_seq=head.stream_seq + 1,
            prev=head.leaf,
            recorded_at_us=self._now_us,
        )
        self._frontier = self._frontier.append(record.leaf)
        self._heads[record.stream] = self._changed[record.stream] = head_of(record)
        self._existing[key] = record
        spec = KINDS[record.kind]
        if spec.firm_wide:
            self._firm_seq = record.seq
        elif spec.section and item.account is not None:
            self._sections[item.account] = record.seq
        commitments = bytes.fromhex("".join(item.draft.commitments))
        self.batch.rows.append(Row(record=record, account=item.account, commitments=commitments))
        return record


def same(record: Record, item: Prepared) -> bool:
    """Say whether a draft says what a record says already."""
    return record.kind is item.draft.kind and record.payload_digest == item.payload_digest
