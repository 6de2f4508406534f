"""An agent's decision made again as a case, from its records: to take over its hold, or a replace.

A hold is taken over only if nothing that its renewal rests on changed meanwhile: the policy, and
of the run its account, mode, equity, instruments and the form of its orders. Otherwise the start
ends it.
"""

import json
from collections.abc import Callable, Mapping

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import wish_of
from gateway.desk.intake.strategies import AGENT_WISH, wish
from gateway.walk.journal.decision import ForecastTaken, IntentReceived
from gateway.walk.journal.forecast import SnapshotTaken
from gateway.walk.journal.run import RunStarted
from gateway.walk.journal.standing import Standing
from gateway.walk.journal.verdict import ApprovalRequested, VerdictGiven
from gateway.walk.ports import Case, Tags, Tick
from inference.snapshot import snapshot_from_document
from risk.policy.policy import Policy, policy_digest
from risk.state.instrument import Instrument

WAITING = (Kind.APPROVAL_REQUESTED, Kind.APPROVAL_RESUMED)
"""The last record of a hold that no person has answered yet."""


def waiting_until_us(records: tuple[Record, ...]) -> int:
    """Return the wall time at which an unanswered hold ends, microseconds; 0 if none waits."""
    if not records or records[-1].kind not in WAITING:
        return 0
    asked = [r for r in records if r.kind is Kind.APPROVAL_REQUESTED]
    return (ApprovalRequested.of(asked[-1]).expires_us or 0) if asked else 0


def case_of(
    standing: Standing,
    records: tuple[Record, ...],
    reader: LedgerReader,
    policy: Policy,
    instruments: Mapping[str, Instrument],
    tick: Callable[[str], Tick],
) -> Case | None:
    """Make an agent's held case again from its records; None if this run may not renew it."""
    held = standing.verdict
    first = {record.kind: record for record in reversed(records)}
    received, taken = first.get(Kind.INTENT_RECEIVED), first.get(Kind.FORECAST_TAKEN)
    if held is None or received is None or taken is None:
        return None
    began = same_terms(reader, before_seq=records[0].seq)
    said = ForecastTaken.of(taken)
    instrument = instruments.get(said.instrument)
    inputs = _inputs(reader, said)
    given = VerdictGiven.of(held)
    same_policy = given.policy_digest == policy_digest(policy)
    if began is None or instrument is None or inputs is None or not same_policy:
        return None
    asked = IntentReceived.of(received)
    if asked.basket_id:  # a leg never waits: its basket was stopped, or nobody knows
        return None
    request = IntentRequest.model_validate(asked.request)
    return Case(
        decision_id=standing.decision_id,
        tags=Tags(account=given.account, run_id=began.run_id, mode=began.mode, dev=began.dev),
        instrument=instrument,
        snapshot=snapshot_from_document(json.loads(inputs)),
        narrative=said.reach,
        strategy=AGENT_WISH,
        author=asked.author,
        tick=lambda: tick(instrument.symbol),
        propose=wish(policy.sizing, instrument, wish_of(request, instrument)),
        directional=request.directional,
    )


def _inputs(reader: LedgerReader, taken: ForecastTaken) -> bytes | None:
    """Return the snapshot that a decision's forecast was made of, or None."""
    for record in reader.records(stream=taken.named.stream, kinds=(Kind.SNAPSHOT_TAKEN,)):
        return reader.blob(SnapshotTaken.of(record).snapshot_blob)
    return None


def same_terms(reader: LedgerReader, *, before_seq: int) -> RunStarted | None:
    """Return the run that was in force before a record, if the newest run has the same terms."""
    runs = list(reader.records(stream="control", kinds=(Kind.RUN_STARTED,)))
    earlier = [RunStarted.of(one) for one in runs if one.seq < before_seq]
    if not earlier:
        return None
    newest = RunStarted.of(runs[-1])
    return earlier[-1] if earlier[-1].terms == newest.terms else None
