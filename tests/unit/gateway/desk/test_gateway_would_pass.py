"""A refused intent's answer has its minimal edit, which then passes; a replay finds the same."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import WouldPass
from gateway.desk.intake.passing import would_pass
from gateway.evidence.replay.intent import case_of_verdict
from gateway.evidence.replay.replay import replayed
from gateway.installation.policies import policy as signed
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import Policy, policy_document
from tests.doubles.full_policy import (
    INPUTS,
    full_policy,
    full_state,
    gathered_policy,
    inputs_with,
)
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.risk_cases import INTENT, policy_with


def desk_under(folder: Path, under: Policy, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    shipped = folder / "policy.json"
    shipped.write_bytes(canonical_bytes(policy_document(under)))
    monkeypatch.setattr(signed, "SHIPPED", shipped)
    return memory_desk(folder, live=True)


def again(desk: MemoryDesk, decision_id: str) -> WouldPass | None:
    """The minimal edit from a replay, as the verb prints it."""
    (found,) = (
        would_pass(past.policy, *case_of_verdict(past, record), openly=True)
        for past, record, _ in replayed(cast("LedgerReader", desk.log), TABLE, decision_id)
        if record.kind is Kind.VERDICT_GIVEN
    )
    return found


def test_the_edit_of_a_refused_intent_passes_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_under(tmp_path, policy_with(instruments__0__order_qty_max=30), monkeypatch)
    refused = desk.ask(50)
    assert refused.result == "rejected"
    edit = refused.would_pass
    assert edit is not None
    assert (edit.qty_lots, edit.room_used_by) == (30, ())
    assert edit.stopped_by == ("R03 maximum: QUANTITY_ABOVE_MAXIMUM",)
    assert again(desk, refused.decision_id) == edit
    asked = desk.ask(edit.qty_lots - desk.keys - 1)  # the desk adds its count of keys
    assert asked.result == "approved"
    assert asked.would_pass is None


def filled_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[MemoryDesk, str]:
    policy: Policy = policy_with(instruments__0__position_max=80)
    desk = desk_under(tmp_path, policy, monkeypatch)
    return desk, desk.rest(50).decision_id


def test_the_answer_names_the_order_that_uses_up_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, first = filled_room(tmp_path, monkeypatch)
    refused = desk.ask(50)
    assert refused.result == "rejected"
    assert refused.would_pass is not None
    assert refused.would_pass.room_used_by == (first,)
    assert refused.would_pass.qty_lots == 80 - 51
    assert again(desk, refused.decision_id) == refused.would_pass


def test_the_same_key_again_gets_the_same_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, _ = filled_room(tmp_path, monkeypatch)
    desk.keys = 0
    first = desk.ask(60, key="one")
    desk.keys = 0
    assert desk.ask(60, key="one").would_pass == first.would_pass is not None


def test_where_conduct_stands_in_the_way_the_submitter_gets_no_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = gathered_policy(families__conduct__ladder_max=0)
    desk = desk_under(tmp_path, policy, monkeypatch)
    refused = desk.ask()
    assert (refused.result, refused.would_pass) == ("rejected", None)
    openly = again(desk, refused.decision_id)
    assert openly is not None
    assert (openly.qty_lots, openly.stopped_by) == (0, ("conduct: OWN_LEVELS_STACKED",))
    assert desk.small.desk.refused.would_pass(refused.decision_id, openly=True) == openly


@pytest.mark.parametrize(
    ("own_max", "traded", "told"),
    [(100, 1_000_000, True), (100, 1_000, False), (1_600, 1_000, False)],
    ids=["a limit alone", "conduct beside a nearer limit", "conduct alone"],
)
def test_no_edit_is_told_where_conduct_refused_the_size_that_was_asked_for(
    own_max: int, traded: int, *, told: bool
) -> None:
    """The share of the close breaks at 700 lots and not at 101, where the own limit stops it."""
    policy = full_policy(instruments__0__order_qty_max=own_max)
    assert INPUTS.session is not None
    session = replace(INPUTS.session, market_lots=traded)
    state = full_state(policy, inputs=inputs_with(session=session))
    openly = would_pass(policy, state, INTENT, openly=True)
    assert openly is not None
    assert openly.qty_lots < INTENT.qty_lots
    assert would_pass(policy, state, INTENT, openly=False) == (openly if told else None)
