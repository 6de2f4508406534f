"""The stored checkpoints that meet a witness policy.

Rules:

- The database finds the sizes with a quorum of cosignature rows; only those are read, one by one.
- A row is no proof: a checkpoint is returned after its witnesses' lines were verified.
- The log's own signature is not judged here: the log may have had another key then.
- If the database does not answer, `LedgerError` is raised.
"""

from collections.abc import Iterable

from audit.errors import NoteError, TrustPolicyError
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.note import parse_note
from audit.tlog.policy import NONE, QuorumPolicy
from audit.tlog.treehead import SIZE_MAX


def newest_quorate(reader: LedgerReader, policy: QuorumPolicy) -> tuple[Checkpoint, bytes] | None:
    """Return the newest checkpoint that meets a policy, with its cosigned note, or None."""
    if policy.quorum == NONE:
        newest = next(iter(reader.checkpoints(limit=1)), None)
        return None if newest is None else (newest, reader.cosigned_note(newest))
    return _first(reader, policy, reader.quorum_sizes(policy, SIZE_MAX, newest_first=True))


def first_quorate(
    reader: LedgerReader, policy: QuorumPolicy, seq: int
) -> tuple[Checkpoint, bytes] | None:
    """Return the smallest such checkpoint that covers a record, with its cosigned note, or None."""
    if policy.quorum == NONE:
        found = reader.checkpoint_after(seq)
        return None if found is None else (found, reader.cosigned_note(found))
    return _first(reader, policy, reader.quorum_sizes(policy, seq + 1, newest_first=False))


def _first(
    reader: LedgerReader, policy: QuorumPolicy, sizes: Iterable[int]
) -> tuple[Checkpoint, bytes] | None:
    """Return the first checkpoint of these sizes whose cosignatures verify and meet the policy."""
    for checkpoint in filter(None, map(reader.checkpoint_of, sizes)):
        try:
            note = reader.cosigned_note(checkpoint)
            policy.witnessed(parse_note(note))
        except (NoteError, TrustPolicyError):
            continue
        return checkpoint, note
    return None
