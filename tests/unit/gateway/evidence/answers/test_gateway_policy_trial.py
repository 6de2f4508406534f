"""A draft meets the cases on record: the same one changes nothing, a looser one frees a hold."""

from pathlib import Path

import pytest

from gateway.errors import ReplayDiffersError
from gateway.evidence.answers.policy_trial import Retried, result_digest, retried
from gateway.evidence.decisions import newest_decisions
from risk.policy.policy import Policy, policy_document, policy_from_document
from risk.verdict import Action
from tests.doubles.memory_desk import MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def draft(policy: Policy, human_minor: int) -> Policy:
    document = policy_document(policy)
    document["approval"]["human_notional"]["value"] = human_minor  # type: ignore[index, call-overload]
    return policy_from_document(document)


def tried(desk: MemoryDesk, policy: Policy) -> list[Retried]:
    small = desk.small
    return [
        one
        for decision_id in newest_decisions(small.reader)
        for one in retried(small.reader, small.table, decision_id, policy)
    ]


def test_a_draft_is_tried_on_the_cases_on_record(desk: MemoryDesk) -> None:
    policy = desk.small.desk.own.section.policy
    passed, held = desk.ask(20).decision_id, desk.hold()
    same = tried(desk, policy)
    assert {one.decision_id for one in same} == {held, passed}
    assert [one.recorded.action for one in same] == [Action.HOLD, Action.ALLOW]
    assert not any(one.differs for one in same)
    looser = tried(desk, draft(policy, 35_000_000))
    (freed,) = [one for one in looser if one.differs]
    assert (freed.decision_id, freed.recorded.action) == (held, Action.HOLD)
    assert freed.drafted.action is Action.ALLOW
    tighter = tried(desk, draft(policy, 1))
    assert [one.decision_id for one in tighter if one.differs] == [passed]
    assert result_digest(policy, same) != result_digest(draft(policy, 1), tighter)


def test_a_decision_that_does_not_replay_is_not_tried(desk: MemoryDesk) -> None:
    decision_id = desk.ask(20).decision_id
    small = desk.small
    stream = list(desk.log.records(stream=f"decision/{decision_id}"))

    class Cut:
        """A reader that lost a decision's first record."""

        def __getattr__(self, name: str) -> object:
            return getattr(desk.log, name)

        def records(self, **asked: object) -> object:
            whole = desk.log.records(**asked)  # type: ignore[arg-type]
            return (one for one in whole if one.seq != stream[0].seq)

    with pytest.raises(ReplayDiffersError, match="missing"):
        list(retried(Cut(), small.table, decision_id, small.desk.own.section.policy))  # type: ignore[arg-type]
