"""A desk under a policy of format 2: its inputs are on record, and a replay agrees."""

from pathlib import Path
from typing import cast

import pytest

from audit.store.reader import LedgerReader
from gateway.evidence.replay.replay import replay
from gateway.installation.policies import policy
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from risk.canonical import canonical_bytes
from risk.policy.policy import Policy, policy_document
from tests.doubles.full_policy import full_policy
from tests.doubles.memory_desk import AGENT_ACCOUNT, TABLE, MemoryDesk, memory_desk

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


@pytest.mark.parametrize("others", [False, True])
def test_a_difference_elsewhere_stops_its_account_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, others: bool
) -> None:
    desk = desk_under(tmp_path, ALL, monkeypatch)
    apart = Found(
        cause=DifferenceCause.ACCOUNT_LOTS,
        account="another" if others else AGENT_ACCOUNT,
        instrument="NDXN",
        cl_ord_id="",
        book_lots=0,
        broker_lots=1,
    )
    desk.log.append(book_difference(apart, session="EMSSIM", source="report", number=1))
    again = desk.ask(lots=49)
    stopped = {one.reason for one in again.rules if one.action == "HALT"}
    assert stopped == (set() if others else {"ACCOUNT_DIFFERS"})
    assert (again.result == "rejected") != others
    replay(cast("LedgerReader", desk.log), TABLE, again.decision_id)
