"""A draft meets the cases on record: the same one changes nothing, a looser one frees a hold."""

from pathlib import Path
from typing import Any

import pytest

from gateway.desk.bodies.requests import IntentRequest
from gateway.errors import ReplayDiffersError
from gateway.evidence.answers.policy_trial import (
    Trial,
    differing,
    newest_verdicts,
    retried,
    trial_of,
    trial_text,
)
from gateway.evidence.decisions import newest_decisions
from gateway.evidence.replay.pairs import Pairs
from gateway.installation.policies import policy as policy_files
from gateway.walk.journal.control.oversight.trials import PolicyTried, policy_tried
from risk.forms.canonical import JSON, canonical_bytes
from risk.policy.policy import Policy, policy_digest, policy_document, policy_from_document
from risk.policy.trial import Retried, trial_bytes, trial_said
from risk.verdict import Action
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, MemoryDesk, memory_desk

PAIR = Path(__file__).parents[5] / "inference/models/pair_v1"


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


def test_a_draft_with_a_lexicon_reads_the_words_of_recorded_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document: Any = policy_document(gathered_policy())
    signed = tmp_path / "policy.json"
    signed.write_bytes(canonical_bytes(document))
    monkeypatch.setattr(policy_files, "SHIPPED", signed)
    desk = memory_desk(tmp_path)
    silent = desk.ask(20).decision_id
    request = IntentRequest(
        client_key="said",
        instrument="SPXN",
        target_exposure_bp=2_500,
        max_qty_lots=30,
        reason="exports of Turkey",
    )
    loud = desk.small.desk.submit(AGENT, request).decision_id
    word = {"name": "turkey", "attribute": "region", "sort": "region", "owner": "compliance"}
    word |= {"why": "criteria", "review_by": "2027-05-21"}
    document["families"]["fairness"] = {"words": [word]}
    found = {one.decision_id: one for one in tried(desk, policy_from_document(document))}
    assert not found[silent].differs
    asked = [one for one in found[loud].drafted.worst if one.rule_id.value == "R48"]
    assert [one.check for one in asked] == ["unjustified"]


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


def whole_trial(desk: MemoryDesk, policy: Policy, last: int = 100) -> Trial:
    reader, pairs = desk.small.reader, Pairs(PAIR)
    return trial_of(reader, pairs, "memory.test", policy, newest_verdicts(reader, last))


def test_two_people_who_try_the_same_draft_have_the_same_digest(desk: MemoryDesk) -> None:
    policy = desk.small.desk.own.section.policy
    desk.ask(20)
    held = desk.hold()
    first, second = (whole_trial(desk, draft(policy, 35_000_000)) for _ in range(2))
    assert first.digest == second.digest
    said = trial_said(first.document)
    assert (len(said.verdicts), said.flips, said.untried) == (2, 1, ())
    assert said.follows == policy_digest(policy)
    assert f"{held} record" in trial_text(first)
    assert first.digest in trial_text(first)
    (flip,) = trial_said_flips(first)
    rows = {tuple(row[:2]): row[2:] for row in flip["checks"]}
    assert rows["R31", "notional"][0] < 0 < rows["R31", "notional"][1]
    assert whole_trial(desk, draft(policy, 1)).digest != first.digest


def trial_said_flips(trial: Trial) -> list[Any]:
    flips = trial.document["flips"]
    assert isinstance(flips, list)
    return flips


def test_a_trial_has_every_verdict_since_its_first(desk: MemoryDesk) -> None:
    policy = desk.small.desk.own.section.policy
    waits = desk.hold()
    last = desk.ask(20).decision_id
    desk.answer(waits)
    (newest,) = {one.decision_id for one in whole_trial(desk, policy, 1).found} - {waits}
    assert newest == last
    both = whole_trial(desk, policy, 1)
    assert {one.decision_id for one in both.found} == {last, waits}, "the renewal came after it"


def test_a_recorded_trial_is_made_again_from_the_log(desk: MemoryDesk) -> None:
    policy = desk.small.desk.own.section.policy
    looser = draft(policy, 35_000_000)
    desk.hold()
    made = whole_trial(desk, looser)
    log, reader, pairs = desk.log, desk.small.reader, Pairs(PAIR)
    log.put_blob(trial_bytes(made.document))
    (record,) = log.append(policy_tried(looser, made.document, "operator"))
    desk.ask(20)
    said = PolicyTried.of(record)
    assert said.flips == 1
    assert differing(reader, pairs, "memory.test", said) == ()
    same: list[JSON] = [[seq, action, action] for seq, action, _ in rows_of(made)]
    none: list[JSON] = []
    false = {**made.document, "verdicts": same, "flips": none}
    log.put_blob(trial_bytes(false))
    (record,) = log.append(policy_tried(looser, false, "operator"))
    assert differing(reader, pairs, "memory.test", PolicyTried.of(record)) == ("verdicts", "flips")


def rows_of(trial: Trial) -> tuple[tuple[int, str, str], ...]:
    return trial_said(trial.document).verdicts
