"""One decision as a canonical ZIP that an outsider checks with `verify.py` and a key.

It holds the decision's records, the forecasts that they name with every earlier attempt, what
these refer to (policy, run, model, basket, FIX, clock), the stream-head map that shows where the
decision ends, inclusion proofs, the checkpoint, the blobs, FIX messages as text, and a copy of
`verify.py` for reading. The checkpoint is the first that covers the decision. If witnesses cosigned
only a later one, that one is added with a consistency proof. Two builds of a decision have equal
bytes unless a cosignature came between them.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from audit.errors import LedgerError
from audit.records.kinds import Kind
from audit.records.record import Record, blob_digests
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.policy import QuorumPolicy
from audit.verifier import verify
from audit.witnesses.quorate import first_quorate
from audit.witnesses.witness import encode_request

KEY_KINDS = (Kind.KEY_ROTATED, Kind.KEY_REVOKED)
_HARMLESS = {
    *KEY_KINDS,
    Kind.CLOCK_OBSERVED,
    Kind.RUN_STARTED,
    Kind.POLICY_ACTIVATED,
    Kind.MODEL_LOADED,
    Kind.ENGINE_EVENT,
    Kind.WITNESS_EVENT,
    Kind.STREAM_HEADS,
    Kind.RUN_FINISHED,
}
"""Kinds of the control stream that reveal nothing about other decisions or readers."""
_MAPS_MOST = 64
"""Records of the control stream, at most, by which a bundle shows where an index ended."""


class NotYetSignedError(LedgerError):
    """No checkpoint covers the decision's last record yet."""

    code = "not_yet_signed"


def build_bundle(
    reader: LedgerReader, decision_id: str, policy: QuorumPolicy | None = None
) -> bytes:
    """Return the bundle of a decision under the first checkpoint that covers all of it.

    It has the disavowals of the decision's own records, too, and the annotations that this
    checkpoint covers; a later one is proven by itself, since later maps do not name the decision.

    A later checkpoint in it meets the policy; without a policy any cosignature counts.

    Raises:
        LedgerError: there is no such decision.
        NotYetSignedError: no checkpoint covers its last record yet.
    """
    stream = f"decision/{decision_id}"
    own = list(reader.records(stream=stream))
    if not own:
        raise LedgerError(f"no decision {decision_id}")
    disavowals = [
        record
        for record in reader.records(kinds=(Kind.RECORD_DISAVOWED,))
        if record.body["of_stream"] == stream
    ]
    checkpoint = covering(reader, max(record.seq for record in (*own, *disavowals)))
    own = list(reader.records(stream=stream, before_seq=checkpoint.size))  # with those since added
    maps = _own_map(reader, checkpoint)
    context = [*context_of(reader, own), *_inbound(reader, own)]
    context += reader.records(kinds=KEY_KINDS, before_seq=checkpoint.size)
    harmless = [*opened_sheets(reader, own), *baskets_of(reader, own)]
    sets = {record.seq: record for record in sets_of(reader, own)}
    attempts = [*attempts_of(reader, own, [*sets.values()])]
    context += [*harmless, *seeds_of(reader, attempts, checkpoint.size, harmless)]
    context += [*sets.values(), *indexes_of(reader, own, sets, checkpoint.size, harmless)]
    for attempt in attempts:
        context += [*attempt, *context_of(reader, attempt)]
    context += [*disavowals, *annotations_of(reader, decision_id)]
    records = {record.seq: record for record in (*own, *maps, *context)}
    chosen = [record for seq, record in sorted(records.items()) if seq < checkpoint.size]
    blobs: dict[str, bytes] = {}
    for record in chosen:
        for digest in blob_digests(record.body):
            data = reader.blob(digest)
            if data is None:
                raise LedgerError(f"record {record.seq}: blob {digest} is missing")
            blobs[digest] = data
    bundle = verify.Bundle(
        stream=stream,
        note=reader.cosigned_note(checkpoint),
        records={
            str(record.seq): (
                record.header,
                record.payload,
                reader.inclusion_proof(record.seq, checkpoint.size),
            )
            for record in chosen
        },
        blobs=blobs,
        verifier=Path(verify.__file__).read_bytes(),
        link=_link(reader, checkpoint, cosigned_covering(reader, own[-1].seq, policy)),
    )
    return bundle.to_zip()


def opened_sheets(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the reads that approvals name: that each approver opened what he agreed to."""
    for record in own:
        shown = record.body.get("shown")
        if record.kind is Kind.APPROVAL_GIVEN and isinstance(shown, Mapping):
            read = reader.record(int(str(shown["read_seq"])))
            if read is not None and read.kind is Kind.READ_RECORDED:
                yield read


def annotations_of(reader: LedgerReader, decision_id: str) -> Iterator[Record]:
    """Yield what persons remarked about a decision, oldest first."""
    for record in reader.records(stream="control", kinds=(Kind.DECISION_ANNOTATED,)):
        if record.body["annotated_id"] == decision_id:
            yield record


def overrides_of(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the grant of each exceptional override that a verdict used."""
    for record in own:
        state = record.body.get("state") if record.kind is Kind.VERDICT_GIVEN else None
        used = state.get("override") if isinstance(state, Mapping) else None
        if isinstance(used, Mapping):
            granted = reader.by_key("control", f"override:{used['override_id']}")
            if granted is not None:
                yield granted


def baskets_of(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield what was asked for and what became of the basket that a decision is a leg of."""
    for record in own:
        if record.kind is Kind.INTENT_RECEIVED and "basket_id" in record.body:
            for key in ("basket", "basket_decided"):
                found = reader.by_key("control", f"{key}:{record.body['basket_id']}")
                if found is not None:
                    yield found


def set_named_in(record: Record) -> int | None:
    """Return the number of the joint paths that a record names; None where it names none."""
    paths = record.body.get("paths")
    joint = paths.get("joint") if isinstance(paths, Mapping) else None
    return int(str(joint["of_seq"])) if isinstance(joint, Mapping) else None


def sets_of(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the joint paths that a decision and its twins rest on."""
    for record in own:
        seq = set_named_in(record)
        found = None if seq is None else reader.record(seq)
        if found is not None:
            yield found


def attempts_of(
    reader: LedgerReader, own: Sequence[Record], sets: Sequence[Record] = ()
) -> Iterator[tuple[Record, ...]]:
    """Yield the records of each attempt at a forecast that a decision names, and of those before.

    It names those that its joint paths, `sets`, are joined from, too. The attempts at one forecast
    are in their order.
    """
    named: dict[str, int] = {}
    for member in (one for record in sets for one in record.body["members"]):
        forecast_id, number = str(member["forecast_id"]), int(str(member["attempt"]))
        named[forecast_id] = max(number, named.get(forecast_id, 0))
    for record in own:
        if record.kind is Kind.FORECAST_TAKEN and record.body.get("forecast_id"):
            forecast_id = str(record.body["forecast_id"])
            number = int(str(record.body.get("forecast_attempt", 0)))
            named[forecast_id] = max(number, named.get(forecast_id, 0))
    for forecast_id, last in named.items():
        for number in range(last + 1):
            records = tuple(reader.records(stream=f"forecast/{forecast_id}.{number}"))
            if not records:
                raise LedgerError(f"no forecast {forecast_id}.{number}")
            yield records


def seeds_of(
    reader: LedgerReader,
    attempts: Iterable[Sequence[Record]],
    size: int,
    given: Sequence[Record] = (),
) -> Iterator[Record]:
    """Yield the records that show from which checkpoints the seeds came (decision 037).

    For each forecast: the map that ends its root's tree, and the control stream from there to the
    first record after the one that opened its first attempt. If a record between them reveals
    something about others, only the map is shown, and the verifier says that it cannot check the
    seed. `attempts` are as `attempts_of` yields them, `size` is that of the bundle's tree; `given`
    are in the bundle anyway.
    """
    harmless = frozenset(record.seq for record in given)
    opened: dict[str, int] = {}
    for records in attempts:
        first = opened.setdefault(records[0].stream.rpartition(".")[0], records[0].seq)
        for record in records:
            if record.kind is Kind.FORECAST_REQUESTED:
                last = reader.record(int(str(record.body["seed_size"])) - 1)
                if last is not None and last.kind is Kind.STREAM_HEADS:
                    yield from _line(reader, last, first, size, harmless)


def _line(
    reader: LedgerReader, last: Record, opened: int, size: int, harmless: frozenset[int]
) -> Iterator[Record]:
    """Yield a whole map, and the records of its stream up to the first after `opened`."""
    found = list(whole_map(reader, last))
    for record in reader.records(stream=last.stream, after_seq=last.seq, before_seq=size):
        if record.kind not in _HARMLESS and record.seq not in harmless:
            found = list(whole_map(reader, last))
            break
        found += whole_map(reader, record) if record.kind is Kind.STREAM_HEADS else (record,)
        if record.seq > opened:
            break
    yield from found


def indexes_of(
    reader: LedgerReader,
    own: Sequence[Record],
    sets: Mapping[int, Record],
    size: int,
    given: Sequence[Record] = (),
) -> Iterator[Record]:
    """Yield the records that show that no forecast was passed over.

    For each forecast that a decision names, and each member of its joint paths: its instrument's
    index from the line by which it stands to the first line after the decision named its own. If
    there is none in the bundle's tree, of `size`, the control stream from the last line on to the
    next map after the decision, which names no later line. If that reveals something about others,
    or is long, it is not shown, and the verifier says that it cannot check the end. `given` are in
    the bundle anyway.
    """
    harmless = frozenset(record.seq for record in given)
    for taken, instrument, named in stood_for(own, sets):
        index, lines = f"instrument/{instrument}", []
        for line in reader.records(stream=index, before_seq=taken.seq, newest_first=True):
            lines.append(line)
            stands = line.body["event"] in verify.STANDS
            if stands and (line.body["forecast_id"], line.body["attempt"]) == named:
                break
        after = reader.records(stream=index, after_seq=taken.seq, before_seq=size, limit=1)
        yield from lines
        ends = tuple(after) or (*_index_end(reader, lines[:1], taken, size, harmless),)
        yield from ends


def stood_for(
    own: Sequence[Record], sets: Mapping[int, Record]
) -> Iterator[tuple[Record, str, tuple[object, object]]]:
    """Yield each record by which a decision takes a forecast, and what stood then, once.

    What stood is an instrument with its forecast and attempt: the decision's own, and the members
    of the joint paths that it names until it takes another.
    """
    taken: Record | None = None
    seen: set[tuple[int, str]] = set()
    for record in own:
        joined = sets.get(set_named_in(record) or -1)
        named = [] if joined is None else [(one, "attempt") for one in joined.body["members"]]
        if record.kind is Kind.FORECAST_TAKEN:
            taken = None if record.body.get("of_seq") is None else record
            named = [(record.body, "forecast_attempt")]
        for one, number in named:
            instrument = str(one["instrument"])
            if taken is not None and (taken.seq, instrument) not in seen:
                seen.add((taken.seq, instrument))
                yield taken, instrument, (one["forecast_id"], one.get(number, 0))


def _index_end(
    reader: LedgerReader,
    last: Sequence[Record],
    taken: Record,
    size: int,
    harmless: frozenset[int],
) -> Iterator[Record]:
    """Yield the control stream from before an index's last line to the first map after `taken`."""
    found: list[Record] = []
    for line in last:
        found += reader.records(stream="control", before_seq=line.seq, limit=1, newest_first=True)
        found += reader.records(
            stream="control", after_seq=line.seq, before_seq=size, limit=_MAPS_MOST
        )
    shown: list[Record] = []
    for record in found:
        if record.kind not in _HARMLESS and record.seq not in harmless:
            return
        shown += whole_map(reader, record) if record.kind is Kind.STREAM_HEADS else (record,)
        if record.seq > taken.seq and record.kind is Kind.STREAM_HEADS:
            yield from shown
            return


def covering(reader: LedgerReader, seq: int) -> Checkpoint:
    """Return the smallest checkpoint that covers a record; raise NotYetSignedError without one."""
    found = reader.checkpoint_after(seq)
    if found is None:
        raise NotYetSignedError(f"record {seq} is not under a checkpoint yet")
    return found


def cosigned_covering(
    reader: LedgerReader, seq: int, policy: QuorumPolicy | None
) -> Checkpoint | None:
    """Return the smallest checkpoint that covers a record and meets a policy; None if none does.

    Without a policy any cosignature counts.
    """
    if policy is None:
        return reader.cosigned_after(seq)
    found = first_quorate(reader, policy, seq)
    return None if found is None else found[0]


def consistency(reader: LedgerReader, old_size: int, checkpoint: Checkpoint) -> bytes:
    """Return the proof that a checkpoint extends an older tree, as an add-checkpoint request.

    Raises:
        ProofError: the old tree is not smaller.

    Source: https://c2sp.org/tlog-witness
    """
    path = reader.consistency_proof(old_size, checkpoint.size)
    return encode_request(old_size, path, reader.cosigned_note(checkpoint))


def _link(reader: LedgerReader, first: Checkpoint, later: Checkpoint | None) -> bytes:
    """Return the proof to a later checkpoint; b"" if there is none or the keys changed between."""
    if later is None or later.size <= first.size:
        return b""
    changes = reader.records(
        kinds=KEY_KINDS, after_seq=first.size - 1, before_seq=later.size, limit=1
    )
    return b"" if any(changes) else consistency(reader, first.size, later)


def whole_map(reader: LedgerReader, part: Record) -> tuple[Record, ...]:
    """Return all parts of a record's map (decision 018); raise LedgerError if one is missing."""
    number, parts = int(str(part.body["part"])), int(str(part.body["parts"]))
    first = part.seq - number
    found = tuple(
        reader.records(kinds=(Kind.STREAM_HEADS,), after_seq=first - 1, before_seq=first + parts)
    )
    if len(found) != parts:
        raise LedgerError(f"the stream-head map of record {part.seq} is not whole")
    return found


def _own_map(reader: LedgerReader, checkpoint: Checkpoint) -> tuple[Record, ...]:
    """Return the map made for a checkpoint: it ends with the tree."""
    last = reader.record(checkpoint.size - 1)
    if last is None or last.kind is not Kind.STREAM_HEADS:
        raise LedgerError(f"the checkpoint of {checkpoint.size} has no stream-head map")
    return whole_map(reader, last)


def context_of(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the runs, policies, overrides, basket that a decision names, model, clock evidence."""
    for run_id in sorted({str(r.body["run_id"]) for r in own if "run_id" in r.body}):
        started = reader.by_key("control", f"run_started:{run_id}")
        if started is not None:
            yield started
    before = own[-1].seq
    yield from reader.records(
        kinds=(Kind.MODEL_LOADED,), before_seq=before, limit=1, newest_first=True
    )
    named = {r.body["policy_digest"] for r in own if "policy_digest" in r.body}
    for record in reader.records(kinds=(Kind.POLICY_ACTIVATED,), before_seq=before):
        if record.body["policy_digest"] in named:
            named.remove(record.body["policy_digest"])
            yield record
    yield from overrides_of(reader, own)
    yield from baskets_of(reader, own)
    yield from {found.seq: found for found in clocks_of(reader, own) if found}.values()


def clocks_of(reader: LedgerReader, own: Sequence[Record]) -> tuple[Record | None, ...]:
    """Return the last clock evidence before each record, in order."""
    first, last = own[0].seq, own[-1].seq
    kinds = (Kind.CLOCK_OBSERVED,)
    known = list(reader.records(kinds=kinds, before_seq=first, limit=1, newest_first=True))
    known += reader.records(kinds=kinds, after_seq=first, before_seq=last)
    seqs = [clock.seq for clock in known]
    places = [bisect(seqs, record.seq) for record in own]
    return tuple([known[place - 1] if place else None for place in places])


def _inbound(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the raw FIX messages that the decision's reports were read from."""
    for record in own:
        if record.kind in {Kind.ORDER_REPORTED, Kind.ORDER_ENDED}:
            body = record.body
            found = reader.by_key(
                f"session/{body.get('session')}", f"inbound:{body.get('inbox_offset')}"
            )
            if found is not None:
                yield found
