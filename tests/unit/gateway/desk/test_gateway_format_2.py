"""A desk under a policy of format 2: its inputs are on record, and a replay agrees."""

from pathlib import Path
from typing import cast

import pytest

from audit.store.reader import LedgerReader
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from risk.canonical import canonical_bytes
from risk.policy.policy import Policy, policy_document
from tests.doubles.full_policy import full_policy
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk

ALL = full_policy()


def desk_under(folder: Path, under: Policy, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    signed = folder / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(under)))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(folder)


def test_inputs_are_on_record_and_a_replay_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch)
    response = desk.ask()
    assert response.result == "approved"
    given = desk.verdict(response.decision_id)
    assert given.body["inputs"]["reference"]["listed"][0]["adv_lots"] == 1_000_000
    assert {one["rule_id"] for one in given.body["verdict"]["results"]} >= {"R15"}
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)


def test_a_share_above_the_policys_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_under(tmp_path, full_policy(families__liquidity__adv_share_max=0), monkeypatch)
    response = desk.ask()
    assert response.result == "held"
    assert {one.reason for one in response.rules if one.action == "HOLD"} == {
        "VOLUME_SHARE_ABOVE_MAXIMUM"
    }
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
