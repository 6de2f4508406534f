"""A hold is answered once, in time, by another person, and only what he agreed to is sent."""

from pathlib import Path

import pytest

from audit.kinds import Kind
from gateway.api.models import ApprovalRequest
from gateway.errors import ApprovalRefusedError, UnknownDecisionError
from gateway.keyring import Caller
from gateway.orders import Stage
from gateway.roles import Role
from tests.doubles.memory_desk import APPROVER, MemoryDesk, memory_desk

SECOND_US = 1_000_000


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def ttl_us(desk: MemoryDesk) -> int:
    return int(desk.small.desk.own.section.policy.approval.ttl.value)


def test_a_hold_waits_reserves_and_sends_nothing(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    assert desk.standing(decision_id).stage is Stage.HELD
    assert desk.small.broker.orders == []
    lots = int(desk.verdict(decision_id).body["intent"]["qty_lots"])
    assert desk.reserved() == lots
    assert desk.kinds(decision_id)[-1] is Kind.APPROVAL_REQUESTED


def test_an_approved_hold_is_forecast_and_judged_anew_and_sent_once(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    held = desk.verdict(decision_id)
    assert desk.answer(decision_id) == "approved"
    kinds = desk.kinds(decision_id)
    after = kinds[kinds.index(Kind.APPROVAL_GIVEN) :]
    assert after.count(Kind.FORECAST_REQUESTED) == 1, "a new attempt"
    assert after[-3:] == [Kind.VERDICT_GIVEN, Kind.ORDER_SENDING, Kind.ORDER_SENT]
    renewed = desk.verdict(decision_id).body
    assert (renewed["renewal"], renewed["approval"]["approver"]) == (True, "approver")
    assert renewed["approval"]["intent_digest"] == held.body["intent_digest"]
    assert len(desk.small.broker.orders) == 1
    assert desk.reserved() == int(renewed["intent"]["qty_lots"]), "the hold's own is replaced"
    with pytest.raises(ApprovalRefusedError, match="nothing waits"):
        desk.answer(decision_id)
    assert len(desk.small.broker.orders) == 1


@pytest.mark.parametrize(("early_us", "may"), [(10 * SECOND_US, True), (0, False), (-1, False)])
def test_a_hold_can_be_approved_until_it_expires(
    desk: MemoryDesk, early_us: int, *, may: bool
) -> None:
    decision_id = desk.hold()
    desk.wall.ahead_us = ttl_us(desk) - early_us
    if may:
        assert desk.answer(decision_id) == "approved"
        return
    with pytest.raises(ApprovalRefusedError, match="expired"):
        desk.answer(decision_id)
    assert Kind.APPROVAL_GIVEN not in desk.kinds(decision_id)
    assert desk.small.broker.orders == []


def test_an_expired_hold_cannot_be_refused_either_and_ends_by_itself(desk: MemoryDesk) -> None:
    decision_id, left = desk.hold(), 5 * SECOND_US
    desk.wall.ahead_us = ttl_us(desk) - left
    assert desk.small.desk.expire_holds() == 0
    assert desk.reserved() > 0
    desk.wall.ahead_us = ttl_us(desk)
    assert desk.small.desk.expire_holds() == 1
    assert desk.kinds(decision_id)[-2:] == [Kind.RESERVATION_RELEASED, Kind.DECISION_SEALED]
    assert desk.outcome(decision_id) == "hold_expired"
    assert desk.reserved() == 0
    assert desk.small.desk.expire_holds() == 0
    with pytest.raises(ApprovalRefusedError):
        desk.answer(decision_id)


def test_sending_ends_when_the_agreement_ends(tmp_path: Path) -> None:
    """However long an order may wait to be sent, an agreement's order waits no longer than it."""
    day_us = 24 * 3_600 * SECOND_US
    desk = memory_desk(tmp_path, send_within_us=day_us)
    decision_id = desk.hold()
    assert desk.answer(decision_id) == "approved"
    body = desk.verdict(decision_id).body
    assert body["send_before_us"] == body["approval"]["expires_us"]
    (sending,) = desk.log.of_kind(Kind.ORDER_SENDING)
    assert sending.body["send_before_us"] == body["approval"]["expires_us"]


def test_sending_ends_soon_after_the_verdict_where_the_agreement_is_longer(
    desk: MemoryDesk,
) -> None:
    decision_id = desk.hold()
    before_us = desk.wall()
    assert desk.answer(decision_id) == "approved"
    body = desk.verdict(decision_id).body
    assert before_us + 10 * SECOND_US <= body["send_before_us"] <= desk.wall() + 10 * SECOND_US


def test_a_refused_hold_ends_with_the_persons_word(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    assert desk.answer(decision_id, approve=False, note="too much") == "refused"
    assert desk.kinds(decision_id)[-2:] == [Kind.APPROVAL_REFUSED, Kind.DECISION_SEALED]
    (refused,) = desk.log.of_kind(Kind.APPROVAL_REFUSED)
    assert "too much" in refused.body.values()
    assert desk.outcome(decision_id) == "hold_refused"
    assert desk.reserved() == 0
    assert desk.small.broker.orders == []


def test_nobody_approves_what_he_asked_for(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    author = Caller(name="agent", role=Role.APPROVER)
    with pytest.raises(ApprovalRefusedError, match="author"):
        desk.answer(decision_id, by=author)
    assert desk.standing(decision_id).stage is Stage.HELD
    assert desk.answer(decision_id) == "approved", "it still waits for another"


@pytest.mark.parametrize("approve", [True, False])
def test_an_answer_names_what_was_read(desk: MemoryDesk, *, approve: bool) -> None:
    decision_id = desk.hold()
    other = ApprovalRequest(approve=approve, intent_digest="0" * 64)
    with pytest.raises(ApprovalRefusedError, match="digest"):
        desk.small.desk.answer_hold(APPROVER, decision_id, other)
    assert desk.standing(decision_id).stage is Stage.HELD


def test_only_what_waits_can_be_answered(desk: MemoryDesk) -> None:
    answer = ApprovalRequest(approve=True, intent_digest="0" * 64)
    with pytest.raises(UnknownDecisionError):
        desk.small.desk.answer_hold(APPROVER, "nobody-knows-it", answer)
    sent = desk.rest()
    with pytest.raises(ApprovalRefusedError, match="nothing waits"):
        desk.answer(sent.decision_id)
    assert len(desk.small.broker.orders) == 1


def test_a_kill_while_a_person_reads_ends_the_hold(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    desk.small.desk.kill_switch.press(actor="ops", reason="now")
    assert desk.answer(decision_id) == "rejected"
    assert desk.small.broker.orders == []
    assert desk.outcome(decision_id) == "rejected"
    assert desk.reserved() == 0
