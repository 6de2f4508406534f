"""Whether a record's columns are what its leaf says, asked before something is done because of it.

A database answers with columns that anyone with enough rights may have changed for a moment; what
cannot be undone, as an erasure, rests on what was hashed instead. Whether the leaf is in the signed
tree is asked by `fsck`. Pure.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from audit.errors import CanonicalError, DisclosureError, ErasureRefusedError
from audit.records.personal import Field, fields_of
from audit.records.record import Record, parse_payload
from audit.tlog.merkle import leaf_hash


def checked(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records that are what was recorded.

    Raises:
        ErasureRefusedError: one of them is not.
    """
    for record in records:
        if not is_sound(record):
            raise ErasureRefusedError(
                f"record {record.seq} is not what its hash says: the ledger was altered;"
                " nothing is erased or lifted on its word, run `countersign fsck`"
            )
        yield record


def is_sound(record: Record) -> bool:
    """Say whether leaf, digest, header, payload and columns of a record are of one piece."""
    try:
        head = json.loads(record.header)
        hashed = leaf_hash(record.header) == record.leaf
        said = sha256(record.payload).digest() == record.payload_digest
        columns = {
            "actor": record.actor,
            "idem_key": record.idem_key,
            "kind": record.kind.value,
            "payload_sha256": record.payload_digest.hex(),
            "prev": record.prev.hex(),
            "recorded_at_us": record.recorded_at_us,
            "seq": record.seq,
            "stream": record.stream,
            "stream_seq": record.stream_seq,
            "version": record.version,
        }
        return hashed and said and {**head, **columns} == head
    except (TypeError, ValueError, AttributeError):
        return False  # no JSON, or a column that is null


def commitments_of(record: Record) -> int:
    """Return to how many values a sound record commits."""
    return len(json.loads(record.header)["commitments"])


def named_by(payload: bytes, committed: int) -> dict[int, Field]:
    """Return the personal fields that a payload names and commits to, by position."""
    try:
        fields = fields_of(parse_payload(payload))
    except (CanonicalError, DisclosureError):
        return {}  # a caller's own list, which no vault wrote
    return {one.index: one for one in fields if 0 <= one.index < committed}
