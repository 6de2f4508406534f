"""Replay compares everything: no leaf of any record of a decision can be another and pass.

Three decisions are made for the module, the playback's, an agent's, and one that a person agreed
to; then every leaf of their records is forged, one at a time, in memory.
"""

from collections.abc import Iterator

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record, blob_digests
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.forecasts.forecast import FORECAST_STEPS
from gateway.evidence.replay.replay import STEPS, replay
from gateway.launch.app import App
from gateway.launch.paper.play import case_of
from gateway.walk.projections.forecasts import decision_records
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, agreement, ended, hold
from tests.doubles.remembered import Path, Remembered, forged, leaves
from tests.doubles.told_kinds import told_kinds

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]

READINGS = {
    # Each is one reading that nothing else on record repeats; replay takes it as it stands.
    # How long the engine was given: a setting, it decides nothing in the numbers that follow.
    (Kind.FORECAST_REQUESTED, ("deadline_ms",)),
    # Durations by the wall clock; replay only bounds the second one.
    (Kind.ROUNDS_CAPTURED, ("elapsed_us",)),
    (Kind.NEWS_TWIN_MADE, ("elapsed_us",)),
    (Kind.ORDER_SENT, ("decision_to_wire_us",)),
    # Market time of an event after the verdict: no rule of this decision saw it. Through the book
    # the next verdict of the account does, and its state digest binds it.
    (Kind.ORDER_SENDING, ("market_now_us",)),
    (Kind.ORDER_REPORTED, ("market_time_us",)),
    # What an agent says of its own reasons: recorded, read by no rule.
    (Kind.INTENT_RECEIVED, ("request", "reason")),
    # When the person answered, by the wall clock: all else in the band follows from it.
    (Kind.APPROVAL_GIVEN, ("band", "given_at_us")),
    # Until when he could answer, by the same clock: replay only bounds it.
    (Kind.APPROVAL_REQUESTED, ("expires_us",)),
    # What the person wrote beside the answer: recorded, read by no rule.
    (Kind.APPROVAL_GIVEN, ("reason",)),
}
EVERY = (*FORECAST_STEPS, *STEPS)
PEOPLE = (
    Kind.INTENT_RECEIVED,
    Kind.SNAPSHOT_TAKEN,
    Kind.FORECAST_TAKEN,
    Kind.INTENT_PROPOSED,
    Kind.APPROVAL_REQUESTED,
    Kind.APPROVAL_GIVEN,
)


@pytest.fixture(scope="module")
def decided(app: App) -> dict[str, str]:
    """One decision of each sort, all at their ends."""
    ours = app.desk.make(case_of(app, live_desk.sessions(1)[0])).decision_id
    with Agent(app) as agent, Agent(app, "approver") as approver:
        asked = agent.intent("asked", 900, limit_price="280.00", max_qty_lots=50, reason="why not")
        held = hold(agent, "held")
        answer = agreement(approver, app, held)
        assert approver.http.post(f"/v1/decisions/{held}/approval", json=answer).is_success
    decisions = {"ours": ours, "asked": str(asked.json()["decision_id"]), "held": held}
    for decision_id in decisions.values():
        ended(app, decision_id)
    return decisions


@pytest.fixture(scope="module")
def ledger(app: App, decided: dict[str, str]) -> Remembered:
    """The ledger after all of them."""
    assert decided
    return Remembered(app.reader)


@pytest.fixture(autouse=True)
def unforged(ledger: Remembered) -> Iterator[None]:
    """Leave the ledger as it was."""
    yield
    ledger.forged = ledger.dropped = None
    ledger.spoilt = {}


def records_of(ledger: Remembered, decision_id: str) -> list[Record]:
    """Return the records of a decision and its forecasts."""
    return list(decision_records(ledger, decision_id))


def differs(app: App, ledger: Remembered, decision_id: str) -> bool:
    """Whether replay says so; any other error is a failure of replay."""
    try:
        replay(ledger, app.desk.own.tools.table, decision_id)
    except ReplayDiffersError:
        return True
    return False


def passed(app: App, ledger: Remembered, decision_id: str, record: Record) -> list[Path]:
    """Return the leaves of a record that can be forged without a decision's replay noticing."""
    found: list[Path] = []
    for path in leaves(record.body):
        ledger.forged = forged(record, path)
        if not differs(app, ledger, decision_id):
            found.append(path)
    return found


@pytest.mark.parametrize("name", ["ours", "asked", "held"])
def test_every_sort_of_decision_replays(
    app: App, ledger: Remembered, decided: dict[str, str], name: str
) -> None:
    steps = replay(ledger, app.desk.own.tools.table, decided[name])
    assert [line.split()[0] for line in steps.lines] == told_kinds(ledger, decided[name])


@pytest.mark.parametrize(("name", "kinds"), [("ours", EVERY), ("held", PEOPLE)])
def test_no_leaf_of_a_record_can_be_forged(
    app: App, ledger: Remembered, decided: dict[str, str], name: str, kinds: tuple[Kind, ...]
) -> None:
    records = [r for r in records_of(ledger, decided[name]) if r.kind in kinds]
    assert {Kind.INTENT_PROPOSED, Kind.SNAPSHOT_TAKEN} <= {r.kind for r in records}
    free = {(r.kind, path) for r in records for path in passed(app, ledger, decided[name], r)}
    assert free <= READINGS


def test_an_agents_wish_cannot_be_forged(
    app: App, ledger: Remembered, decided: dict[str, str]
) -> None:
    (received,) = [
        r for r in records_of(ledger, decided["asked"]) if r.kind is Kind.INTENT_RECEIVED
    ]
    found = passed(app, ledger, decided["asked"], received)
    assert {(received.kind, path) for path in found} <= READINGS


def test_no_byte_of_a_blob_can_be_another(
    app: App, ledger: Remembered, decided: dict[str, str]
) -> None:
    blobs = {d for r in records_of(ledger, decided["ours"]) for d in blob_digests(r.body)}
    assert len(blobs) == 2, "the snapshot and the capture"
    for digest in blobs:
        data = ledger.blob(digest)
        assert data is not None
        ledger.spoilt = {digest: None}
        assert differs(app, ledger, decided["ours"])
        for at in range(0, len(data), len(data) // 50):
            changed = bytearray(data)
            changed[at] ^= 1
            ledger.spoilt = {digest: bytes(changed)}
            assert differs(app, ledger, decided["ours"]), at
        ledger.spoilt = {}
    assert not differs(app, ledger, decided["ours"])


@pytest.mark.parametrize("name", ["ours", "asked", "held"])
def test_no_record_before_the_last_can_be_missing(
    app: App, ledger: Remembered, decided: dict[str, str], name: str
) -> None:
    *before, last = records_of(ledger, decided[name])
    assert last.kind is Kind.DECISION_SEALED
    for record in before:
        ledger.dropped = record.seq
        assert differs(app, ledger, decided[name]), record.kind
