"""Replay of a seed's root: the one checkpoint that it must come from (`SEED_RULE`).

The largest checkpoint not above a record is looked up twice: among the stored checkpoints, and in
the log, where a stream-head map ends each. A checkpoint that is removed from the database
afterwards leaves its map.
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
        ReplayDiffersError: when the request names another checkpoint, or one that does not exist.
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
    """Return the size at which the last whole map before a record ends, or 0."""
    maps = past.reader.records(
        stream="control",
        kinds=(Kind.STREAM_HEADS,),
        before_seq=opened.seq,
        limit=1,
        newest_first=True,
    )
    return max((one.seq + 1 for one in maps), default=0)
