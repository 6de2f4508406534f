"""One batch: requests become records in order, on top of a known position. No I/O.

Building does not change the position, so a batch that does not commit leaves no trace. A refused
request (guard, idempotency) does not affect the others of its batch.
"""

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from audit.errors import AuditError, GuardMovedError, IdempotencyConflictError, VaultError
from audit.records.chain import NO_HEAD, StreamHead, head_of, heads_drafts
from audit.records.record import Draft, Prepared, Record, make_record, prepare
from audit.records.row import Row
from audit.sequencer.lanes import Append, Guard, MapHeads, Request, Resolve
from audit.tlog.merkle import Frontier, push


@dataclass(slots=True, kw_only=True)
class LogPosition:
    """Everything that the next record depends on."""

    log: str
    frontier: Frontier
    heads: dict[str, StreamHead]
    changed: dict[str, StreamHead]
    sections: dict[str, int]
    firm_seq: int
    recorded_at_us: int
    mac: Callable[[bytes], bytes] | None = None

    @property
    def size(self) -> int:
        """The number of records."""
        return self.frontier.size


@dataclass(slots=True, kw_only=True)
class Batch:
    """Records to commit together, and the answers to give afterwards."""

    rows: list[Row] = field(default_factory=list)
    appended: list[tuple[Append, tuple[Record, ...]]] = field(default_factory=list)
    refused: list[tuple[Request, AuditError]] = field(default_factory=list)
    resolved: list[tuple[Resolve, Record | None]] = field(default_factory=list)
    mapped: list[MapHeads] = field(default_factory=list)

    def requests(self) -> Iterator[Request]:
        """Yield every request that waits for an answer."""
        for answered in (self.refused, self.appended, self.resolved):
            for request, _ in answered:
                yield request
        yield from self.mapped

    def answer(self, edge: Frontier) -> None:
        """Hold every answer ready; `edge` is the tree's right edge with the records."""
        for request, error in self.refused:
            request.done.refuse(error)
        for append, records in self.appended:
            append.done.keep(records)
        for resolve, record in self.resolved:
            resolve.done.keep(record)
        for mapped in self.mapped:
            mapped.done.keep((edge.size, edge.root()))


class Builder:
    """Builds one batch in an overlay over a position."""

    def __init__(
        self,
        position: LogPosition,
        existing: Mapping[tuple[str, str], Record] | None,
        now_us: int,
        after: "Builder | None" = None,
    ) -> None:
        """Start an empty batch at `now_us`; a clock that went back does not reorder records.

        `existing` has the committed records by (stream, idempotency key), for all keys of the
        batch. None: the keys were not looked up; the database then refuses a key that is on record,
        and `unsure` tells that an answer depends on the lookup. `after` is a batch that is being
        committed on the same position; this one builds on it and is worthless if it fails.
        """
        self._position = position
        self._after = after
        self._looked = existing is not None
        self._existing = existing or {}
        self.placed: dict[tuple[str, str], Record] = {}
        self.heads: dict[str, StreamHead] = {}
        self._changed: dict[str, StreamHead] = {}
        self.sections: dict[str, int] = {}
        self._mapped = False
        edge = position.frontier if after is None else after.frontier
        self._size, self._nodes = edge.size, list(edge.nodes)
        self.firm_seq: int = position.firm_seq if after is None else after.firm_seq
        self._last_us = position.recorded_at_us if after is None else after.recorded_at_us
        self._now_us = max(now_us, self._last_us)
        self.batch = Batch()
        self.unsure = False
        self.attested = False

    def add(self, request: Request) -> None:
        """Add a request; `finish` writes a stream-head map after all others."""
        match request:
            case Append():
                try:
                    new = self._check_keys(request.prepared)
                    if new and request.guard is not None:
                        self._check_guard(request.guard)
                    if new and request.check is not None:
                        request.check()
                except (GuardMovedError, IdempotencyConflictError, VaultError) as error:
                    self.unsure = self.unsure or not self._looked
                    self.batch.refused.append((request, error))
                else:
                    records = tuple([self._place(item) for item in request.prepared])
                    self.batch.appended.append((request, records))
            case Resolve():
                found = self._held((request.stream, request.idem_key))
                if found is None and not self._looked:
                    self.unsure = True  # a replaced sequencer does not know all streams
                self.batch.resolved.append((request, found))
            case MapHeads():
                self.batch.mapped.append(request)

    def attest(self, draft: Draft) -> None:
        """Write a record of the ledger's own before the requests' records."""
        self.attested = True
        self._place(prepare(draft))

    @property
    def frontier(self) -> Frontier:
        """The tree's right edge with the batch's records."""
        return Frontier(size=self._size, nodes=tuple(self._nodes))

    @property
    def recorded_at_us(self) -> int:
        """The log's last time with the batch's records."""
        return self._now_us if self.batch.rows else self._last_us

    @property
    def whole(self) -> bool:
        """Whether the map is written, so that nothing may be added."""
        return self._mapped

    def finish(self) -> Batch:
        """Write the map if one was requested, and return the batch to commit."""
        if self.batch.mapped and not self._mapped:
            drafts = list(heads_drafts(self._size, self.all_changed()))
            self._changed = {}
            self._mapped = True
            for draft in drafts:
                self._place(prepare(draft))
        return self.batch

    def rebase(self, position: LogPosition) -> None:
        """Build on this position, which the batch before has reached by its commit."""
        self._position = position
        self._after = None

    def advance(self) -> LogPosition:
        """Return the position after the committed batch, which takes over the old one's dicts."""
        old = self._position
        old.heads.update(self.heads)
        old.sections.update(self.sections)
        if self._mapped:
            changed = self._changed
        else:
            changed = old.changed
            changed.update(self._changed)
        return LogPosition(
            log=old.log,
            frontier=self.frontier,
            heads=old.heads,
            changed=changed,
            sections=old.sections,
            firm_seq=self.firm_seq,
            recorded_at_us=self.recorded_at_us,
            mac=old.mac,
        )

    def all_changed(self) -> dict[str, StreamHead]:
        """Return the streams that changed since the last map, this batch included."""
        if self._mapped:
            return self._changed
        before = self._position.changed if self._after is None else self._after.all_changed()
        return {**before, **self._changed}

    def _head(self, stream: str) -> StreamHead:
        head = self.heads.get(stream)
        if head is None and self._after is not None:
            head = self._after.heads.get(stream)
        return head or self._position.heads.get(stream, NO_HEAD)

    def _held(self, key: tuple[str, str]) -> Record | None:
        held = self.placed.get(key)
        if held is None and self._after is not None:
            held = self._after.placed.get(key)
        return held or self._existing.get(key)

    def _check_guard(self, guard: Guard) -> None:
        moved = self.firm_seq
        for sections in (
            self.sections,
            {} if self._after is None else self._after.sections,
            self._position.sections,
        ):
            moved = max(moved, sections.get(guard.section, -1))
        if moved > guard.basis_seq:
            raise GuardMovedError(guard.section, guard.basis_seq, moved)

    def _check_keys(self, prepared: Sequence[Prepared]) -> bool:
        """Refuse keys that hold other content; return whether anything is not on record yet."""
        asked: dict[tuple[str, str], Prepared] = {}
        new = False
        for item in prepared:
            key = (item.draft.stream, item.draft.idem_key)
            held = self._held(key)
            if held is None:
                new = True
            elif not same(held, item):
                raise IdempotencyConflictError(*key, held.seq)
            if asked.setdefault(key, item) is not item:
                raise IdempotencyConflictError(*key, -1)
        return new

    def _place(self, item: Prepared) -> Record:
        draft = item.draft
        stream = draft.stream
        key = (stream, draft.idem_key)
        held = self._held(key)
        if held is not None:
            return held
        head = self._head(stream)
        seq = self._size
        record = make_record(
            item,
            log=self._position.log,
            seq=seq,
            stream_seq=head.stream_seq + 1,
            prev=head.leaf,
            recorded_at_us=self._now_us,
        )
        self._size = push(self._nodes, seq, record.leaf)
        self.heads[stream] = self._changed[stream] = head_of(record)
        self.placed[key] = record
        spec = item.spec
        if spec.firm_wide:
            self.firm_seq = seq
        elif spec.section and item.account is not None:
            self.sections[item.account] = seq
        mac = self._position.mac
        commitments = bytes.fromhex("".join(draft.commitments)) if draft.commitments else b""
        self.batch.rows.append(
            Row(
                record=record,
                account=item.account,
                commitments=commitments,
                disclosures=item.disclosures,
                mac=None if mac is None else mac(record.leaf),
            )
        )
        return record


def same(record: Record, item: Prepared) -> bool:
    """Return whether a draft repeats a record."""
    if record.kind is not item.draft.kind or record.payload_digest != item.payload_digest:
        return False
    if not item.disclosures:
        return True
    return bool(list(item.draft.commitments) == json.loads(record.header)["commitments"])


def fill(builder: Builder, requests: Sequence[Request]) -> None:
    """Add requests, and write the map that they ask for now, while another batch commits."""
    for request in requests:
        builder.add(request)
    if builder.batch.mapped:
        builder.finish()


def keys_of(requests: Sequence[Request], known: Container[str]) -> list[tuple[str, str]]:
    """Return the (stream, idempotency key) pairs of requests that are in `known` streams.

    A `Resolve` asks even for unknown streams: a sequencer that has been replaced does not know
    the newest ones, and finds out this way.
    """
    return [
        key
        for request in requests
        for key in _keys(request)
        if key[0] in known or isinstance(request, Resolve)
    ]


def _keys(request: Request) -> Sequence[tuple[str, str]]:
    match request:
        case Append():
            return [(item.draft.stream, item.draft.idem_key) for item in request.prepared]
        case Resolve():
            return [(request.stream, request.idem_key)]
        case _:
            return ()
