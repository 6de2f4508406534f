"""Replay of what a forecast asks: the checkpoint of its seeds, its mode, its number of paths.

The seeds' root comes from one checkpoint only (`SEED_RULE`): the largest not above a record is
looked up twice, among the stored checkpoints and in the log, where a stream-head map ends each. A
checkpoint that is removed from the database afterwards leaves its map.

The stop of secure reasoning is read while records are made, so a mode may say it of a stop that
began or ended meanwhile; one in force before and after must be in it.
"""

from dataclasses import replace

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.past import Past, matches, same
from gateway.walk.journal import forecast as journal
from gateway.walk.journal.forecast import SEED_RULE
from gateway.walk.journal.run import ModelLoaded
from gateway.walk.ports import SamplingPlan
from gateway.walk.projections.stops import Stops
from gateway.walk.sampled.planning import acceptance, mode_of, mode_table
from inference.forecast.modes import ForecastMode, Usual
from inference.speculation.rounds import DrafterKind
from risk.state.state import Stop

STEP = "forecast_requested"


def seed_root(past: Past, record: Record, opened: Record) -> bytes:
    """Return the root that a request's seeds must come from.

    Raises:
        ReplayDiffersError: when the request names another checkpoint, or one that does not exist.
    """
    asked = journal.ForecastRequested.of(record)
    root, size = bytes.fromhex(asked.seed_root), asked.seed_size
    named = past.reader.checkpoint_of(size)
    if named is None or named.root != root:
        raise ReplayDiffersError(step=STEP, detail="no checkpoint of that size and root")
    if asked.seed_rule != SEED_RULE:
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


def mode_chosen(past: Past, record: Record) -> str:
    """Choose the mode again."""
    case, _ = past.opened(record)
    said = journal.ModeChosen.of(record)
    table = mode_table(past.policy)
    if table is None:
        raise ReplayDiffersError(step="mode_chosen", detail="the policy has no modes")
    number = len(past.attempts)
    opened = past.last(Kind.APPROVAL_GIVEN, before=record) if number else past.records[0]
    secure = said.chosen == ForecastMode.SECURE
    if not secure and _stopped(past, opened) and _stopped(past, record):
        raise ReplayDiffersError(step="mode_chosen", detail="secure reasoning was in force")
    usual = Usual(
        paths=said.usual_paths,
        horizon=said.tokens,
        spec_k=said.most,
        accepted_pm=_accepted(past, said.accepted_pm),
    )
    case = replace(case, attempt=number, opened_seq=opened.seq)
    chosen = mode_of(case, table, usual, past.looked, secure=secure)
    matches(record, journal.mode_chosen(case, chosen, usual))
    past.chosen = said
    return f"{chosen.mode.value}: {chosen.cause.value}"


def plan_of(past: Past, record: Record) -> SamplingPlan:
    """Return how a request samples, which must be as its mode says.

    Raises:
        ReplayDiffersError: when it asks otherwise, or its mode is missing.
    """
    asked = journal.ForecastRequested.of(record)
    chosen, past.chosen = past.chosen, None
    if chosen is not None:
        usual = past.codec.tokens_for(chosen.tokens)
        same("forecast_requested", "n_tokens", asked.n_tokens, usual)
        same("forecast_requested", "seeds", len(asked.seeds), chosen.paths)
        same("forecast_requested", "spec_k", asked.spec_k, chosen.look_ahead)
    elif mode_table(past.policy) is not None and asked.drafter != DrafterKind.NONE:
        raise ReplayDiffersError(step="forecast_requested", detail="no mode_chosen before it")
    return SamplingPlan(
        paths=len(asked.seeds),
        horizon=past.codec.horizon_of(asked.n_tokens),
        spec_k=asked.spec_k,
        deadline_s=1.0,
    )


def _accepted(past: Past, said: int) -> int:
    """Return the acceptance that the run's self-test measured; as it stands where none is there."""
    records = past.reader.records(stream="control", kinds=(Kind.MODEL_LOADED,))
    loaded = [one for one in map(ModelLoaded.of, records) if one.run_id in past.run_ids]
    tested = [(one.self_test, one.engine) for one in loaded if one.self_test and one.engine]
    measured = {acceptance(test["mean_accepted"], engine["spec_k"]) for test, engine in tested}
    if measured and said not in measured:
        raise ReplayDiffersError(step="mode_chosen", detail="no self-test measured its acceptance")
    return said


def _stopped(past: Past, record: Record) -> bool:
    """Return whether secure reasoning was in force before a record."""
    stops = Stops(past.reader)
    stops.read(record.seq)
    return Stop.SECURE in stops.in_force()
