"""The signed deny list in the walk: what the target accepted is refused all the same."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from inference.forecast.verdicts import counted
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document, policy_from_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk

SAID = {"owner": "head of compliance", "why": "seen in the market", "review_by": "2027-05-21"}


def desk_denying(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **denied: list[dict[str, Any]]
) -> MemoryDesk:
    document: Any = json.loads(json.dumps(policy_document(gathered_policy())))
    entries = {name: [SAID | one for one in denied.get(name, [])] for name in ("shapes", "paths")}
    document["families"]["denied"] = entries
    signed = folder / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(policy_from_document(document))))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(folder)


def test_a_denied_shape_is_refused_though_the_target_accepted_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = [{"name": "two-levels", "levels": 1}]
    desk = desk_denying(tmp_path, monkeypatch, shapes=one)
    response = desk.ask()
    rounds = desk.log.of_kind(Kind.ROUNDS_CAPTURED)[-1]
    made = desk.log.of_kind(Kind.FORECAST_MADE)[-1]
    given = desk.verdict(response.decision_id)
    assert rounds.body["accepted"] > 0, "the target accepted drafts"
    assert made.body["forecast"]["n_paths"] > 0, "the forecast stands"
    worst = [one for one in given.body["verdict"]["results"] if one["action"] == "REJECT"]
    assert [(one["rule_id"], one["check"]) for one in worst] == [("R54", "two-levels")]
    assert response.result == "rejected"
    assert "two-levels" not in str(response), "a submitter is told one code"
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)


def test_a_denied_trajectory_is_dropped_with_its_reason_and_a_replay_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saw = [{"name": "saw", "reversals": 2, "move_1e8": 400_000}]
    desk = desk_denying(tmp_path, monkeypatch, paths=saw)
    response = desk.ask()
    made = desk.log.of_kind(Kind.FORECAST_MADE)[-1]
    counts = counted(json.loads(desk.log.blob(made.body["verdicts_blob"]) or b""))
    assert set(counts) == {"kept", "sawtooth"}
    assert counts["sawtooth"] == made.body["forecast"]["n_dropped"]
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
