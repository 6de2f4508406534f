"""Checkpoints that meet a witness policy, however many that do not lie in between.

Rules it keeps:

- The database finds where cosignatures of a quorum are stored; only those checkpoints are read and
  judged, one at a time.
- A row is no proof: a checkpoint is returned after its witnesses' lines were verified.
- Who signed as the log is not judged here: its key may have been another one then.
"""

from collections.abc import Iterable

from audit.errors import NoteError, TrustPolicyError
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.note import parse_note
from audit.tlog.policy import NONE, QuorumPolicy
from audit.tlog.treehead import SIZE_MAX


def newest_quorate(reader: LedgerReader, policy: QuorumPolicy) -> tuple[Checkpoint, bytes] | None:
    """Return the newest checkpoint that meets a policy, with its cosigned note.

    Raises:
        LedgerError: the database does not answer.
    """
    if policy.quorum == NONE:
        newest = next(iter(reader.checkpoints(limit=1)), None)
        return None if newest is None else (newest, reader.cosigned_note(newest))
    return _first(reader, policy, reader.quorum_sizes(policy, SIZE_MAX, newest_first=True))


def first_quorate(
    reader: LedgerReader, policy: QuorumPolicy, seq: int
) -> tuple[Checkpoint, bytes] | None:
    """Return the smallest checkpoint over a record that meets a policy, with its cosigned note.

    Raises:
        LedgerError: the database does not answer.
    """
    if policy.quorum == NONE:
        found = reader.checkpoint_after(seq)
        return None if found is None else (found, reader.cosigned_note(found))
    return _first(reader, policy, reader.quorum_sizes(policy, seq + 1, newest_first=False))


def _first(
    reader: LedgerReader, policy: QuorumPolicy, sizes: Iterable[int]
) -> tuple[Checkpoint, bytes] | None:
    """Return the first checkpoint of some sizes whose witnesses' lines verify."""
    for checkpoint in filter(None, map(reader.checkpoint_of, sizes)):
        try:
            note = reader.cosigned_note(checkpoint)
            policy.witnessed(parse_note(note))
        except (NoteError, TrustPolicyError):
            continue
        return checkpoint, note
    return None
