"""Whether a record's columns match its leaf. Pure.

Anyone with enough rights in the database can change a column for a moment. Effects that cannot be
undone, such as an erasure, therefore rest on what was hashed. `fsck` checks that the leaf is in the
signed tree.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from audit.errors import CanonicalError, DisclosureError, ErasureRefusedError
from audit.records.personal import Field, fields_of
from audit.records.record import Record, parse_payload
from audit.tlog.merkle import leaf_hash


def checked(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records; raise ErasureRefusedError if columns of one do not match its leaf."""
    for record in records:
        if not is_sound(record):
            raise ErasureRefusedError(
                f"record {record.seq} is not what its hash says: the ledger was altered;"
                " nothing is erased or lifted on its word, run `countersign fsck`"
            )
        yield record


def is_sound(record: Record) -> bool:
    """Return whether leaf, digest, header, payload and columns of a record agree."""
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
        return False  # not JSON, or a column is null


def commitments_of(record: Record) -> int:
    """Return how many values a sound record commits to."""
    return len(json.loads(record.header)["commitments"])


def named_by(payload: bytes, committed: int) -> dict[int, Field]:
    """Return the personal fields that a payload names, by position below `committed`."""
    try:
        fields = fields_of(parse_payload(payload))
    except (CanonicalError, DisclosureError):
        return {}  # a caller wrote this list, not a vault
    return {one.index: one for one in fields if 0 <= one.index < committed}
