"""Evidence in one small file: a decision's receipt, one record, a range of one stream.

Each is a C2SP tlog-proof, so any C2SP tool can check its entry. The extra data has the records that
our own verifier checks in addition. It is one line of any length; transparency-dev's reader stops
at 64 KiB, which a long range exceeds.

- A record's proof has its payload.
- A receipt proves the decision's seal and has the header of every record of the decision. Headers
  are chained by `prev`, and a proven stream-head map states which one is the last, so the list is
  complete. A map of several parts comes whole (decision 018): version 2 of the format.
- A range has the records of a stream between two numbers in the same way.

Source: https://c2sp.org/tlog-proof
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from audit.errors import LedgerError
from audit.evidence.bundle import (
    KEY_KINDS,
    NotYetSignedError,
    cosigned_covering,
    covering,
    whole_map,
)
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.policy import QuorumPolicy
from audit.tlog.proof import TlogProof
from audit.verifier.verify import RANGE, RECEIPT, RECORD, WITH_PARTS

_MAPS_FIRST = 8
"""The stream is nearly always in one of so many maps; only otherwise all are read."""
RANGE_MAX = 10_000
"""Headers in a range; beyond that a dump is the better evidence."""


def prove_record(
    reader: LedgerReader, seq: int, policy: QuorumPolicy | None = None, size_min: int = 0
) -> bytes:
    """Return the proof that a record is in the log, under a checkpoint of at least `size_min`.

    The checkpoint meets the policy if one does.

    Raises:
        LedgerError: there is no such record, or no checkpoint covers it yet.
    """
    record = reader.record(seq)
    if record is None:
        raise LedgerError(f"there is no record {seq}")
    checkpoint = _best(reader, max(seq, size_min - 1), policy)
    extra = _object(
        format=canonical(RECORD),
        header=record.header,
        keys=_keys(reader, checkpoint),
        payload=record.payload,
    )
    return _proof(reader, record, checkpoint, extra)


def build_receipt(
    reader: LedgerReader, decision_id: str, policy: QuorumPolicy | None = None
) -> bytes:
    """Return a decision's receipt; its checkpoint meets the policy if one does.

    Raises:
        LedgerError: there is no such decision, it is not sealed, or no checkpoint covers it yet.
    """
    own = tuple(reader.records(stream=f"decision/{decision_id}"))
    if not own:
        raise LedgerError(f"no decision {decision_id}")
    seals = [record for record in own if record.kind is Kind.DECISION_SEALED]
    if not seals:
        raise LedgerError(f"decision {decision_id} is not sealed: it is still going on")
    stream, last = own[0].stream, own[-1].stream_seq
    parts = _map(reader, stream, own[-1])
    own += reader.stream_range(stream, last + 1, _ended(parts, stream))  # those since added
    checkpoint = _best(reader, parts[-1].seq, policy)
    extra = _object(
        format=canonical(_format(RECEIPT, parts)),
        headers=_array(record.header for record in own),
        keys=_keys(reader, checkpoint),
        map=_shown_map(reader, parts, checkpoint),
        payloads=_array([seals[-1].payload]),
    )
    return _proof(reader, seals[-1], checkpoint, extra)


def prove_range(
    reader: LedgerReader,
    stream: str,
    bounds: tuple[int, int],
    policy: QuorumPolicy | None = None,
) -> bytes:
    """Return the proof of all records of a stream between two `stream_seq`, both included.

    The checkpoint meets the policy if one does.

    Raises:
        LedgerError: the stream lacks one of them, they are too many, or no checkpoint covers them.
    """
    first, last = bounds
    wanted = reader.stream_range(stream, first, last)
    if not 0 <= first <= last or len(wanted) != last - first + 1:
        raise LedgerError(f"{stream} lacks some number from {first} to {last}")
    parts = _map(reader, stream, wanted[-1])
    checkpoint = _best(reader, parts[-1].seq, policy)
    ended = _ended(parts, stream)
    if ended - first >= RANGE_MAX:
        raise LedgerError(f"{ended - first + 1} records: at most {RANGE_MAX} in one file")
    listed = (*wanted, *reader.stream_range(stream, last + 1, ended))
    extra = _object(
        first=canonical(first),
        format=canonical(_format(RANGE, parts)),
        headers=_array(record.header for record in listed),
        keys=_keys(reader, checkpoint),
        last=canonical(last),
        map=_shown_map(reader, parts, checkpoint),
        payloads=_array(record.payload for record in wanted),
    )
    return _proof(reader, wanted[-1], checkpoint, extra)


def _best(reader: LedgerReader, seq: int, policy: QuorumPolicy | None) -> Checkpoint:
    """Return the first cosigned checkpoint that covers a record, or else the first at all."""
    first = covering(reader, seq)
    return cosigned_covering(reader, seq, policy) or first


def _map(reader: LedgerReader, stream: str, last: Record) -> tuple[Record, ...]:
    """Return all parts of the first stream-head map that covers a record of the stream."""
    for limit in (_MAPS_FIRST, None):
        maps = reader.records(kinds=(Kind.STREAM_HEADS,), after_seq=last.seq, limit=limit)
        for found in maps:
            if any(row[0] == stream and row[1] >= last.stream_seq for row in _rows(found)):
                return whole_map(reader, found)
    raise NotYetSignedError(f"no stream-head map names {stream} after record {last.seq} yet")


def _ended(parts: Sequence[Record], stream: str) -> int:
    return next(int(row[1]) for part in parts for row in _rows(part) if row[0] == stream)


def mapped_until(reader: LedgerReader, stream: str) -> int:
    """Return the last number of a stream that a stream-head map names.

    A map does not name itself, so the newest maps of the control stream come after that number.

    Raises:
        LedgerError: no map names the stream.
    """
    for limit in (_MAPS_FIRST, None):
        maps = reader.records(kinds=(Kind.STREAM_HEADS,), newest_first=True, limit=limit)
        for row in (row for found in maps for row in _rows(found)):
            if row[0] == stream:
                return int(row[1])
    raise LedgerError(f"no stream-head map names {stream}: there is no such stream, or not yet")


def _rows(found: Record) -> Sequence[Any]:
    rows = found.body["heads"]
    assert isinstance(rows, list)  # noqa: S101 - the ledger wrote it; narrows the type
    return rows


def _format(name: str, parts: Sequence[Record]) -> str:
    """Return the format's version: the first one has room for a map of one part only."""
    return name if len(parts) == 1 else WITH_PARTS[name]


def _shown_map(reader: LedgerReader, parts: Sequence[Record], checkpoint: Checkpoint) -> bytes:
    shown = [
        _object(
            header=part.header,
            path=canonical(
                [node.hex() for node in reader.inclusion_proof(part.seq, checkpoint.size)]
            ),
            payload=part.payload,
        )
        for part in parts
    ]
    return shown[0] if len(shown) == 1 else _array(shown)


def _keys(reader: LedgerReader, checkpoint: Checkpoint) -> bytes:
    records = reader.records(kinds=KEY_KINDS, before_seq=checkpoint.size)
    return canonical([record.body["statement"] for record in records])


def _proof(reader: LedgerReader, record: Record, checkpoint: Checkpoint, extra: bytes) -> bytes:
    return TlogProof(
        index=record.seq,
        path=reader.inclusion_proof(record.seq, checkpoint.size),
        checkpoint_note=reader.cosigned_note(checkpoint),
        extra=extra,
    ).to_bytes()


def _object(**parts: bytes) -> bytes:
    """Return canonical parts as one canonical object, without changing their hashed bytes."""
    ordered: Mapping[str, bytes] = dict(sorted(parts.items()))
    return b"{" + b",".join(canonical(k) + b":" + part for k, part in ordered.items()) + b"}"


def _array(parts: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"
