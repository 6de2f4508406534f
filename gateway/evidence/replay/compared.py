"""Every comparison of a replay: a record with what it recomputes to, and a blob with its digest."""

from hashlib import sha256
from typing import Any

from audit.records.canonical import canonical
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.walk.journal.control.own_keys import stands_for
from gateway.walk.journal.persons import as_recorded

_ABSENT = object()


def matches(record: Record, draft: Draft) -> None:
    """Compare a record, whole, with the draft that the recomputed values give.

    Raises:
        ReplayDiffersError: when they differ; names the first field.
    """
    step = record.kind.value
    draft = as_recorded(draft, record.body)
    same(step, "payload", dict(draft.payload), record.body)
    same(step, "stream", draft.stream, record.stream)
    same(step, "kind", draft.kind.value, record.kind.value)
    same(step, "actor", draft.actor, record.actor)
    if not stands_for(draft.idem_key, record.idem_key):
        same(step, "idem_key", draft.idem_key, record.idem_key)


def same(step: str, what: str, again: Any, recorded: Any) -> None:  # noqa: ANN401 - JSON values
    """Compare canonical bytes.

    Raises:
        ReplayDiffersError: when they differ; names the first field of an object.
    """
    if canonical(again) == canonical(recorded):
        return
    detail = what
    if isinstance(again, dict) and isinstance(recorded, dict):
        names = sorted({*again, *recorded})
        differing = [n for n in names if again.get(n, _ABSENT) != recorded.get(n, _ABSENT)]
        detail = f"{what}.{differing[0]}" if differing else what
    raise ReplayDiffersError(step=step, detail=detail)


def blob_of(reader: LedgerReader, record: Record, digest: str) -> bytes:
    """Return a blob that a record names.

    Raises:
        ReplayDiffersError: when it is missing, or is another.
    """
    data = reader.blob(digest)
    if data is None:
        raise ReplayDiffersError(step=record.kind.value, detail="its blob is missing")
    same(record.kind.value, "blob", digest_of(data), digest)
    return data


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return sha256(data).hexdigest()
