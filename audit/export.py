"""One decision as a canonical ZIP that an outsider checks with `verify.py` and a key.

In it: the decision's records, the records they refer to (policy, run, model, inbound FIX), the
stream-head map that shows where the decision ends, inclusion proofs, the checkpoint, the blobs,
FIX messages as text, and a copy of `verify.py` (to read; a verifier from the bundle proves
nothing). Two builds of the same decision under the same checkpoint are equal to the byte.
"""

from collections.abc import Iterator, Sequence

from audit import verify
from audit.checkpoint import Checkpoint
from audit.errors import LedgerError
from audit.kinds import Kind
from audit.queries import LedgerReader
from audit.record import Record, blob_digests


class NotYetSignedError(LedgerError):
    """No checkpoint covers the decision's last record yet; make one or wait for the cadence."""

    code = "not_yet_signed"


def build_bundle(reader: LedgerReader, decision_id: str) -> bytes:
    """Return the bundle of a decision under the first checkpoint that covers all of it.

    Raises:
        LedgerError: there is no such decision.
        NotYetSignedError: its last record is not under a checkpoint yet.
    """
    stream = f"decision/{decision_id}"
    own = list(reader.records(stream=stream))
    if not own:
        raise LedgerError(f"no decision {decision_id}")
    checkpoint = _covering(reader, own[-1].seq)
    maps = _maps(reader, stream, checkpoint)
    context = [*_context(reader, own), *_inbound(reader, own)]
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
        note=checkpoint.note,
        records={
            str(record.seq): (
                record.header,
                record.payload,
                reader.inclusion_proof(record.seq, checkpoint.size),
            )
            for record in chosen
        },
        blobs=blobs,
    )
    return bundle.to_zip()


def _covering(reader: LedgerReader, seq: int) -> Checkpoint:
    """Return the smallest stored checkpoint whose tree holds a record."""
    found = reader.checkpoint_after(seq)
    if found is None:
        raise NotYetSignedError(f"record {seq} is not under a checkpoint yet")
    return found


def _maps(reader: LedgerReader, stream: str, checkpoint: Checkpoint) -> Iterator[Record]:
    """Yield the parts of the checkpoint's own map that name the stream."""
    last = reader.record(checkpoint.size - 1)
    if last is None or last.kind is not Kind.STREAM_HEADS:
        raise LedgerError(f"the checkpoint of {checkpoint.size} has no stream-head map")
    parts = int(str(last.body["parts"]))
    for record in reader.records(
        kinds=(Kind.STREAM_HEADS,),
        after_seq=checkpoint.size - 1 - parts,
        before_seq=checkpoint.size,
    ):
        heads = record.body["heads"]
        if isinstance(heads, list) and any(row[0] == stream for row in heads):
            yield record


def _context(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the runs and policies that the decision names, and the model last loaded before."""
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


def _inbound(reader: LedgerReader, own: Sequence[Record]) -> Iterator[Record]:
    """Yield the raw FIX messages that the decision's reports were read from."""
    for record in own:
        if record.kind is Kind.ORDER_REPORTED:
            body = record.body
            found = reader.by_key(
                f"session/{body.get('session')}", f"inbound:{body.get('inbox_offset')}"
            )
            if found is not None:
                yield found
