"""Every scene of the walk replays, and no leaf of what it left can be another and pass."""

from pathlib import Path
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError, UnknownDecisionError
from gateway.evidence.replay.replay import replay
from gateway.walk.projections.forecasts import decision_records
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.remembered import Path as Leaf
from tests.doubles.remembered import forged, leaves
from tests.doubles.told_kinds import told_kinds
from tests.doubles.walk_scenes import DAYS, SCENES

BY_HAND = ("approved", "sending", "unsent-1", "unsent-2")
"""Decisions that a double made without the desk: nobody has asked for them."""
FREE = {
    (Kind.FORECAST_REQUESTED, ("deadline_ms",)),
    (Kind.ROUNDS_CAPTURED, ("elapsed_us",)),
    (Kind.NEWS_TWIN_MADE, ("elapsed_us",)),
    (Kind.ORDER_SENT, ("decision_to_wire_us",)),
    (Kind.ORDER_SENDING, ("market_now_us",)),
    (Kind.ORDER_REPORTED, ("market_time_us",)),
    (Kind.INTENT_RECEIVED, ("request", "reason")),
    (Kind.APPROVAL_GIVEN, ("band", "given_at_us")),
    (Kind.APPROVAL_GIVEN, ("note",)),
}
"""Readings that nothing else on record states: replay takes them as they stand."""
FORGED_LEAVES = 12


def decisions(desk: MemoryDesk) -> list[str]:
    streams = {one.stream for one in desk.log.records()}
    names = {one.removeprefix("decision/") for one in streams if one.startswith("decision/")}
    return sorted(names - set(BY_HAND))


def differs(desk: MemoryDesk, decision_id: str) -> bool:
    try:
        replay(cast("LedgerReader", desk.log), TABLE, decision_id)
    except ReplayDiffersError:
        return True
    return False


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> MemoryDesk:
    """A desk that has played the scene of the parameter."""
    name = str(request.param)
    made = memory_desk(tmp_path, live=name != DAYS)
    SCENES[name](made)
    return made


@pytest.mark.parametrize("desk", SCENES, indirect=True)
def test_a_scene_replays_step_by_step(desk: MemoryDesk) -> None:
    for decision_id in decisions(desk):
        steps = replay(cast("LedgerReader", desk.log), TABLE, decision_id)
        kinds = [line.split()[0] for line in steps.lines]
        assert kinds == told_kinds(desk.log, decision_id)


@pytest.mark.parametrize(
    "desk", ["filled", "selling", "held_and_approved", "taken_back_and_corrected"], indirect=True
)
def test_no_leaf_can_be_forged(desk: MemoryDesk) -> None:
    """A sample of the leaves, spread over all records; the walk's own test takes each of them."""
    decision_id = decisions(desk)[-1]
    found = [
        (record, path)
        for record in decision_records(desk.log, decision_id)
        for path in leaves(record.body, most=1)
    ]
    free: set[tuple[Kind, Leaf]] = set()
    for record, path in found[:: max(1, len(found) // FORGED_LEAVES)]:
        desk.log.forged = forged(record, path)
        if not differs(desk, decision_id):
            free.add((record.kind, path))
    desk.log.forged = None
    assert free <= FREE
    assert not differs(desk, decision_id)


def test_a_decision_that_nobody_made_is_not_known(tmp_path: Path) -> None:
    made = memory_desk(tmp_path)
    with pytest.raises(UnknownDecisionError):
        replay(cast("LedgerReader", made.log), TABLE, "nobody")
