"""Replay of `forecast_taken`: the forecast that a decision or its renewal rests on.

The forecast is replayed first, from its own stream; it may be older than the decision, and of an
earlier run. Then it must be the one of the decision's own inputs: its instrument, what the policy
says of paths, the weights of its run, and the stops of its time.

Why there is none is the engine's word, or that of the attempt that failed.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import wish_of
from gateway.desk.intake.strategies import AGENT_WISH, OVERLAY, overlay, wish
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.compared import matches, same
from gateway.evidence.replay.forecasts.past import ForecastPast, refuse_unloaded
from gateway.evidence.replay.forecasts.planning import secure
from gateway.evidence.replay.past import Attempt, Past
from gateway.walk.journal import decision as journal
from gateway.walk.journal.forecast import ForecastListed
from gateway.walk.journal.run import MarkTaken
from gateway.walk.ports import Case, Forecasting, Tick
from gateway.walk.projections.stops import STOP_KINDS, Stops
from gateway.walk.sampled.planning import path_terms, template_permitted
from inference.errors import EngineBusyError
from inference.forecast.forecast import ForecastSource
from inference.snapshot import AssetClass, Bar, Frequency, Snapshot
from risk.state.state import Stop

STEP: Final = "forecast_taken"
UNASKED: Final = frozenset({"snapshot_refused", EngineBusyError.code})
"""Why nothing was asked for: the snapshot has no prompt, or somebody else's wish took too long."""
_UNKNOWN: Final = Snapshot(
    instrument="",
    asset_class=AssetClass.INDEX,
    frequency=Frequency.DAILY,
    as_of_us=0,
    bars=(Bar(close_time_us=0, open_ticks=1, high_ticks=1, low_ticks=1, close_ticks=1),),
)
"""What nothing was asked for has no snapshot on record; no later step reads this one."""


def forecast_taken(past: Past, record: Record) -> str:
    """Replay the forecast, find it the decision's own, and make the case for all later steps."""
    taken = journal.ForecastTaken.of(record)
    number, since = len(past.attempts), _asked_after(past, record)
    made = None
    if taken.forecast_id:
        again = past.forecasts.of(past.reader, past.table, taken.named.stream, past.text)
        made = again.past
        if all(one.made is not made for one in past.attempts):  # a renewal may name the same one
            past.remarks += again.remarks
        _refuse_other_inputs(past, record, made, since)
    named = _named(record, taken, made)
    past.case = _case(past, record, taken, number, None if made is None else made.own)
    past.attempts.append(Attempt(made=made, taken_seq=record.seq))
    policy = {} if number else past.policy_named
    matches(record, journal.forecast_taken(past.case, named, policy))
    return f"none: {named.missing}" if named.missing else f"{named.stream}, record {named.of_seq}"


def _asked_after(past: Past, record: Record) -> int:
    """Return the record after which the forecast was asked for.

    It is the agent's request, a person's yes, or the opening of the playback's session.
    """
    if past.attempts:
        return past.last(Kind.APPROVAL_GIVEN, before=record).seq
    return _opened_by(past, record).seq if past.received is None else past.received.seq


def _opened_by(past: Past, record: Record) -> Record:
    """Return the mark that opened the playback's session."""
    marks = past.reader.records(
        stream=f"market/{journal.ForecastTaken.of(record).instrument}",
        kinds=(Kind.MARK_TAKEN,),
        account=past.tags.account,
        before_seq=record.seq,
    )
    opened = [mark for mark in marks if MarkTaken.of(mark).kind == "open"]
    if not opened:
        raise ReplayDiffersError(step=STEP, detail="no session was opened before it")
    return opened[-1]


def _named(
    record: Record, taken: journal.ForecastTaken, made: ForecastPast | None
) -> journal.ForecastNamed:
    """Return the forecast, or why there is none, as its own records say it."""
    if made is None:
        if taken.missing not in UNASKED:
            raise ReplayDiffersError(step=STEP, detail="payload.missing")
        return journal.ForecastNamed(missing=taken.missing, detail=taken.detail)
    if made.sealed_seq not in range(record.seq):
        raise ReplayDiffersError(step=STEP, detail="its forecast was not sealed before it")
    if made.standing is not None:
        return made.standing.named
    failed = made.failed
    if failed is None:
        raise ReplayDiffersError(step=STEP, detail=f"its forecast is {made.outcome}")
    return journal.ForecastNamed(
        forecast_id=made.forecast_id,
        forecast_attempt=made.attempt,
        missing=failed.reason,
        detail=failed.detail,
    )


def _refuse_other_inputs(past: Past, record: Record, made: ForecastPast, since: int) -> None:
    """Refuse a forecast of other inputs than the decision has, and one that was passed over.

    The decision read the stops between `since` and this record.
    """
    if made.own is None:
        raise ReplayDiffersError(step=STEP, detail="its forecast has no inputs")
    inputs = made.own.inputs
    same(STEP, "terms", path_terms(past.policy), inputs["terms"])
    refuse_unloaded(past.reader, past.run_ids, str(inputs["model"]), STEP)
    table = made.standing is not None and made.standing.target.source is ForecastSource.TABLE
    if table and not template_permitted(past.policy):
        raise ReplayDiffersError(step=STEP, detail="the policy does not let the table answer alone")
    if secure(made.own) not in set(_secure_between(past, since, record.seq)):
        was = "was not" if secure(made.own) else "was"
        raise ReplayDiffersError(step=STEP, detail=f"secure reasoning {was} in force")
    taken = journal.ForecastTaken.of(record)
    same(STEP, "instrument", made.own.instrument.symbol, taken.instrument)
    stands = _stands(past, record)
    if stands is None or (stands.forecast_id, stands.attempt) != (made.forecast_id, made.attempt):
        named = "no forecast" if stands is None else f"forecast {stands.name}"
        if made.standing is not None:
            raise ReplayDiffersError(step=STEP, detail=f"{named} stood for its instrument")


def _secure_between(past: Past, since: int, before: int) -> Iterator[bool]:
    """Yield whether secure reasoning was in force, at a record and at each change until another."""
    stops = Stops(past.reader)
    stops.read(since)
    yield Stop.SECURE in stops.in_force()
    changes = past.reader.records(
        stream="control", kinds=STOP_KINDS, after_seq=since - 1, before_seq=before
    )
    for change in changes:
        stops.read(change.seq + 1)
        yield Stop.SECURE in stops.in_force()


def _stands(past: Past, record: Record) -> ForecastListed | None:
    """Return the line of the instrument's index that says which forecast stood, or None."""
    lines = past.reader.records(
        stream=f"instrument/{journal.ForecastTaken.of(record).instrument}",
        kinds=(Kind.FORECAST_LISTED,),
        before_seq=record.seq,
        newest_first=True,
    )
    return next((one for one in map(ForecastListed.of, lines) if one.stands), None)


def _case(
    past: Past,
    record: Record,
    taken: journal.ForecastTaken,
    number: int,
    asked: Forecasting | None,
) -> Case:
    """Return the case of the decision, or of its renewal by the forecast that stands then."""
    symbol = taken.instrument if asked is None else asked.instrument.symbol
    snapshot = _UNKNOWN if asked is None else asked.snapshot
    if number:
        first = past.opened(record)
        same(STEP, "instrument", first.instrument.symbol, symbol)
        return replace(
            first,
            attempt=number,
            snapshot=snapshot,
            narrative=taken.reach,
            taken_seq=record.seq,
        )
    instrument = past.instrument(symbol)
    if past.received is None:
        strategy, author, directional = OVERLAY, "playback", False
        propose, labels = overlay(past.policy, instrument), _labels(past, record)
    else:
        received = journal.IntentReceived.of(past.received)
        request = IntentRequest.model_validate(received.request)
        same(STEP, "instrument", request.instrument, symbol)
        strategy, author = AGENT_WISH, received.author
        directional, labels = request.directional, {}
        propose = wish(past.policy.sizing, instrument, wish_of(request, instrument))
    return Case(
        decision_id=past.decision_id,
        tags=past.tags,
        instrument=instrument,
        snapshot=snapshot,
        strategy=strategy,
        author=author,
        tick=_no_tick,
        propose=propose,
        directional=directional,
        taken_seq=record.seq,
        narrative=taken.reach,
        labels=labels,
    )


def _labels(past: Past, record: Record) -> dict[str, Any]:
    """Return the playback's labels: the session that was opened last."""
    opened = MarkTaken.of(_opened_by(past, record))
    return {"session_index": opened.session_index, "session_date": opened.session_date}


def _no_tick() -> Tick:
    raise AssertionError("a replay takes no quote")
