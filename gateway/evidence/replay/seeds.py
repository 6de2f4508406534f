"""Replay of where a seed's root comes from: which checkpoint it must be, and no other.

The rule stands in `journal.SEED_RULE`. Which checkpoint is the largest not above a record is asked
twice: of the stored checkpoints, and of the log itself, where each ends with a stream-head map. A
checkpoint that was taken out of the database afterwards leaves its map behind.
"""

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.past import SEEDS_BOUND, Past
from gateway.walk.journal.forecast import SEED_RULE, ForecastRequested

STEP = "forecast_requested"


def seed_root(past: Past, record: Record, opened: Record) -> bytes:
    """Return the root that a request's seeds must come from.

    Raises:
        ReplayDiffersError: it names another checkpoint, or none that there is.
    """
    asked = ForecastRequested.of(record)
    root, size = bytes.fromhex(asked.seed_root), asked.seed_size
    named = past.reader.checkpoint_of(size)
    if named is None or named.root != root:
        raise ReplayDiffersError(step=STEP, detail="no checkpoint of that size and root")
    rule = asked.seed_rule
    if rule is None and past.rules < SEEDS_BOUND:
        if size > record.seq:
            raise ReplayDiffersError(step=STEP, detail="its seed comes from a later root")
        return root
    if rule != SEED_RULE:
        raise ReplayDiffersError(step=STEP, detail="payload.seed_rule")
    if size > opened.seq:
        raise ReplayDiffersError(step=STEP, detail="its seed comes from a later root")
    found = past.reader.checkpoint_not_above(opened.seq)
    last = max(0 if found is None else found.size, _mapped(past, opened))
    if size != last:
        raise ReplayDiffersError(
            step=STEP,
            detail=f"its seed comes from the root at size {size}; the last checkpoint before "
            f"record {opened.seq} is of {last}",
        )
    return root


def _mapped(past: Past, opened: Record) -> int:
    """Return the size of the tree that ends with the last whole map before a record, or 0."""
    maps = past.reader.records(
        stream="control",
        kinds=(Kind.STREAM_HEADS,),
        before_seq=opened.seq,
        limit=1,
        newest_first=True,
    )
    return max((one.seq + 1 for one in maps), default=0)
