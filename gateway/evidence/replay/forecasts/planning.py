"""Replay of what a forecast asks: the checkpoint of its seeds, its mode, its number of paths.

The seeds' root comes from one checkpoint only (`SEED_RULE`): the largest not above the record that
opened the first attempt. It is looked up twice, among the stored checkpoints and in the log, where
a stream-head map ends each. A checkpoint that is removed from the database afterwards leaves its
map.

Whether secure reasoning was in force is among a forecast's inputs: a decision that names it is
compared with the stops of its own time (`replay.taken`).
"""

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches, same
from gateway.evidence.replay.forecasts.past import ForecastPast, loaded_in
from gateway.walk.journal import forecast as journal
from gateway.walk.journal.forecast import SEED_RULE
from gateway.walk.ports import Forecasting, SamplingPlan
from gateway.walk.sampled.planning import acceptance, mode_table, occasion_of
from inference.forecast.forecast import ForecastSource
from inference.forecast.modes import Sampler, Usual, choose_mode
from inference.speculation.rounds import DrafterKind

STEP = "forecast_requested"


def first_opening(past: ForecastPast, record: Record) -> int:
    """Return the number of the record that opened the first attempt.

    Raises:
        ReplayDiffersError: when an earlier attempt had not failed before the next one was opened.
    """
    first, over = record.seq, -1
    for number in range(past.attempt):
        stream = f"forecast/{past.forecast_id}.{number}"
        earlier = tuple(past.reader.records(stream=stream, before_seq=record.seq))
        why = _redrawn(earlier)
        if why or earlier[0].seq < over:
            detail = f"attempt {number} before it {why or 'was opened too early'}"
            raise ReplayDiffersError(step=record.kind.value, detail=detail)
        first, over = min(first, earlier[0].seq), earlier[-1].seq
    return first


def _redrawn(records: tuple[Record, ...]) -> str:
    """Return why no other attempt may follow these records of one, or the empty text."""
    found = {one.kind: one for one in records}
    if not records or records[0].kind is not Kind.SNAPSHOT_TAKEN:
        return "is not on record"
    if records[-1].kind is not Kind.FORECAST_SEALED:
        return "has no seal"
    outcome = journal.ForecastSealed.of(records[-1]).outcome
    made = found.get(Kind.FORECAST_MADE)
    if made is not None and journal.ForecastMade.of(made).source != ForecastSource.TABLE:
        return "made the forecast"
    failed = made is not None or Kind.FORECAST_FAILED in found
    return "" if outcome == journal.ABANDONED or failed else "has no failure"


def seed_root(past: ForecastPast, record: Record, opened_seq: int) -> bytes:
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
    if size > opened_seq:
        raise ReplayDiffersError(step=STEP, detail="its seed comes from a later root")
    found = past.reader.checkpoint_not_above(opened_seq)
    last = max(0 if found is None else found.size, _mapped(past, opened_seq))
    if size != last:
        raise ReplayDiffersError(
            step=STEP,
            detail=f"its seed comes from the root at size {size}; the last checkpoint before "
            f"record {opened_seq} is of {last}",
        )
    return root


def _mapped(past: ForecastPast, opened_seq: int) -> int:
    """Return the size at which the last whole map before a record ends, or 0."""
    maps = past.reader.records(
        stream="control",
        kinds=(Kind.STREAM_HEADS,),
        before_seq=opened_seq,
        limit=1,
        newest_first=True,
    )
    return max((one.seq + 1 for one in maps), default=0)


def mode_chosen(past: ForecastPast, record: Record) -> str:
    """Choose the mode again."""
    own, prompt = past.opened(record)
    said = journal.ModeChosen.of(record)
    table = mode_table(past.policy)
    if table is None:
        raise ReplayDiffersError(step="mode_chosen", detail="the policy has no modes")
    usual = Usual(
        paths=said.usual_paths,
        horizon=said.tokens,
        spec_k=said.most,
        accepted_pm=_accepted(past, said.accepted_pm),
    )
    blank = past.codec.encode_without_news(own.snapshot)
    occasion = occasion_of(own, prompt, blank, past.looked, first=_first(past, own))
    chosen = choose_mode(own.snapshot, table, usual, occasion)
    matches(record, journal.mode_chosen(own, chosen, usual, occasion))
    past.chosen = said
    return f"{chosen.mode.value}: {chosen.cause.value}, by {_BY[chosen.sampler]}"


_BY = {Sampler.ENGINE: "the engine", Sampler.DIRECT: "the rows of its states"}


def _first(past: ForecastPast, own: Forecasting) -> bool:
    """Return whether no forecast of the instrument stood before the first attempt was opened."""
    lines = past.reader.records(
        stream=f"instrument/{own.instrument.symbol}", before_seq=own.opened_seq
    )
    return not any(journal.ForecastListed.of(one).stands for one in lines)


def secure(own: Forecasting) -> bool:
    """Return whether nothing may be drafted, as a forecast's inputs say."""
    return bool(own.inputs["secure"])


def plan_of(past: ForecastPast, record: Record) -> SamplingPlan:
    """Return how a request samples, which must be as its mode says.

    Raises:
        ReplayDiffersError: when it asks otherwise, or its mode is missing.
    """
    own, _ = past.opened(record)
    asked = journal.ForecastRequested.of(record)
    chosen, past.chosen = past.chosen, None
    if chosen is not None:
        usual = past.codec.tokens_for(chosen.tokens)
        same(STEP, "n_tokens", asked.n_tokens, usual)
        same(STEP, "sampler", asked.sampler, chosen.sampler)
        same(STEP, "paths", asked.paths, chosen.paths)
        same(STEP, "spec_k", asked.spec_k, chosen.look_ahead)
    elif asked.sampler != Sampler.ENGINE or (
        mode_table(past.policy) is not None and asked.drafter != DrafterKind.NONE
    ):
        raise ReplayDiffersError(step=STEP, detail="no mode_chosen before it")
    elif asked.spec_k and secure(own):
        raise ReplayDiffersError(step=STEP, detail="secure reasoning drafts nothing")
    return SamplingPlan(
        paths=asked.paths,
        horizon=past.codec.horizon_of(asked.n_tokens),
        spec_k=asked.spec_k,
        deadline_s=1.0,
    )


def _accepted(past: ForecastPast, said: int) -> int:
    """Return the acceptance that the run's self-test measured; as it stands where none is there."""
    loaded = loaded_in(past.reader, {past.run.run_id})
    tested = [(one.self_test, one.engine) for one in loaded if one.self_test and one.engine]
    measured = {acceptance(test["mean_accepted"], engine["spec_k"]) for test, engine in tested}
    if measured and said not in measured:
        raise ReplayDiffersError(step="mode_chosen", detail="no self-test measured its acceptance")
    return said
