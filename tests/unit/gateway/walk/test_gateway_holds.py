"""A hold is answered once, in time, by another person, and only what he agreed to is sent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.session.link import HandResult
from gateway.clock import monotonic_us
from gateway.desk.bodies.requests import ApprovalRequest
from gateway.errors import ApprovalRefusedError, UnknownDecisionError
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.approval import is_over
from gateway.walk.deadlines import agreement_of, hold_of
from gateway.walk.journal.standing import Stage
from inference.engine.port import Engine, EngineDescription, SampleRequest, Samples
from inference.errors import EngineDeadError, EngineError
from tests.doubles.memory_desk import APPROVER, MemoryDesk, memory_desk

SECOND_US = 1_000_000


def ttl_us(desk: MemoryDesk) -> int:
    return int(desk.small.desk.own.section.policy.approval.ttl.value)


def test_a_hold_waits_reserves_and_sends_nothing(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    assert desk.standing(decision_id).stage is Stage.HELD
    assert desk.small.broker.orders == []
    lots = int(desk.verdict(decision_id).body["intent"]["qty_lots"])
    assert desk.reserved() == lots
    assert desk.kinds(decision_id)[-1] is Kind.APPROVAL_REQUESTED


def test_an_approved_hold_is_judged_anew_and_sent_once(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    held = desk.verdict(decision_id)
    assert desk.answer(decision_id) == "approved"
    kinds = desk.kinds(decision_id)
    after = kinds[kinds.index(Kind.APPROVAL_GIVEN) :]
    assert after.count(Kind.FORECAST_TAKEN) == 1
    assert len(desk.log.of_kind(Kind.FORECAST_REQUESTED)) == 1, "the same inputs"
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
    assert desk.small.desk.holds.expire() == 0
    assert desk.reserved() > 0
    desk.wall.ahead_us = ttl_us(desk)
    assert desk.small.desk.holds.expire() == 1
    assert desk.kinds(decision_id)[-2:] == [Kind.RESERVATION_RELEASED, Kind.DECISION_SEALED]
    assert desk.outcome(decision_id) == "hold_expired"
    assert desk.reserved() == 0
    assert desk.small.desk.holds.expire() == 0
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
    other = ApprovalRequest(approve=approve, intent_digest="0" * 64, note="read")
    with pytest.raises(ApprovalRefusedError, match="digest"):
        desk.small.desk.holds.answer(APPROVER, decision_id, other)
    assert desk.standing(decision_id).stage is Stage.HELD


def test_only_what_waits_can_be_answered(desk: MemoryDesk) -> None:
    answer = ApprovalRequest(approve=True, intent_digest="0" * 64, note="read")
    with pytest.raises(UnknownDecisionError):
        desk.small.desk.holds.answer(APPROVER, "nobody-knows-it", answer)
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


def large(desk: MemoryDesk, exposure_bp: int = 2_800) -> str:
    """Leave a hold that the exposure bounds, and no number of lots."""
    response = desk.ask(1_000_000, exposure_bp=exposure_bp)
    assert response.result == "held"
    return response.decision_id


def test_a_renewal_is_sized_as_if_its_own_reservation_were_free(desk: MemoryDesk) -> None:
    decision_id = large(desk)
    held = desk.verdict(decision_id).body
    assert held["renewal"] is False
    assert desk.answer(decision_id) == "approved"
    renewed = desk.verdict(decision_id).body
    assert renewed["renewal"] is True
    assert renewed["intent"]["qty_lots"] == held["intent"]["qty_lots"]


def buy(desk: MemoryDesk, lots: int) -> None:
    """Let another order buy so many lots, beside a hold of 2,800 basis points."""
    response = desk.ask(lots - desk.keys - 1, exposure_bp=5_600)
    assert response.result == "approved"
    order = desk.standing(response.decision_id)
    desk.settled(desk.report(order, t32=str(lots), t14=str(lots), t151="0", t39="2"))


def move_market(desk: MemoryDesk, by_bp: int) -> None:
    """Let the standing quote move."""
    market = desk.small.desk.own.market
    now = market.session("SPXN")
    market.open_session(
        replace(
            now,
            bid_ticks=now.bid_ticks + now.bid_ticks * by_bp // 10_000,
            ask_ticks=now.ask_ticks + now.ask_ticks * by_bp // 10_000,
        )
    )


@pytest.mark.parametrize(("by_bp", "sent"), [(0, True), (150, False)])
def test_a_renewal_that_needs_no_person_is_bound_to_what_he_agreed_to_all_the_same(
    desk: MemoryDesk, by_bp: int, *, sent: bool
) -> None:
    """Another order took most of the room: what is left would go by itself, at any price."""
    decision_id = large(desk)
    lots = int(desk.verdict(decision_id).body["intent"]["qty_lots"])
    buy(desk, lots - 200)
    move_market(desk, by_bp)
    orders = len(desk.small.broker.orders)
    assert desk.answer(decision_id) == ("approved" if sent else "rejected")
    body = desk.verdict(decision_id).body
    assert body["verdict"]["action"] in {"ALLOW", "WARN"}, "no rule asks for a person any more"
    assert len(desk.small.broker.orders) == orders + sent
    assert (desk.outcome(decision_id) == "rejected") is not sent


def test_a_renewal_that_finds_nothing_to_do_ends_the_hold(desk: MemoryDesk) -> None:
    """Others have bought what the agreement was about."""
    decision_id = large(desk)
    lots = int(desk.verdict(decision_id).body["intent"]["qty_lots"])
    buy(desk, lots - 200)
    buy(desk, lots - desk.lots())
    assert desk.lots() == lots
    assert desk.answer(decision_id) == "no_trade"
    assert desk.kinds(decision_id)[-2:] == [Kind.RESERVATION_RELEASED, Kind.DECISION_SEALED]
    assert (desk.outcome(decision_id), desk.reserved()) == ("no_trade", 0)


@dataclass(frozen=True)
class Dead:
    """An engine that has died."""

    lived: Engine

    def describe(self) -> EngineDescription:
        return self.lived.describe()

    def sample(self, request: SampleRequest) -> Samples:
        raise EngineDeadError(request.request_id)

    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        raise EngineDeadError(f"{request.request_id} beside {twin.request_id}")

    def close(self) -> None:
        """Nothing is left to close."""


def test_a_renewal_without_a_forecast_ends_the_hold(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    own = desk.small.desk.own
    tools = replace(own.tools, engine=Dead(own.tools.engine))
    desk.small.desk.own = replace(own, tools=tools)
    desk.other_inputs()
    assert desk.answer(decision_id) == "no_forecast"
    assert desk.kinds(decision_id)[-3:] == [
        Kind.FORECAST_TAKEN,
        Kind.RESERVATION_RELEASED,
        Kind.DECISION_SEALED,
    ]
    assert (desk.outcome(decision_id), desk.reserved()) == ("no_forecast", 0)
    assert desk.small.broker.orders == []


def test_a_hold_whose_market_is_gone_cannot_be_approved(desk: MemoryDesk) -> None:
    """A desk that began after the question has nothing to renew it with."""
    decision_id = desk.hold()
    desk.small.desk.holds.cases.clear()  # as after a restart
    with pytest.raises(ApprovalRefusedError, match="nothing waits"):
        desk.answer(decision_id)
    assert Kind.APPROVAL_GIVEN not in desk.kinds(decision_id)
    known = desk.small.desk.own.section.deadlines
    assert known.end(agreement_of(decision_id)) is None, "no agreement has begun to live"


def test_an_agreements_order_ends_with_it_on_the_monotonic_clock_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = memory_desk(tmp_path, send_within_us=24 * 3_600 * SECOND_US)
    decision_id = desk.hold()
    ends: list[int] = []
    hand = desk.small.broker.hand

    def handed_out(*given: Any) -> HandResult:  # noqa: ANN401 - as the broker takes it
        ends.append(given[4] - monotonic_us())
        return hand(*given)

    monkeypatch.setattr(desk.small.broker, "hand", handed_out)
    assert desk.answer(decision_id) == "approved"
    assert 0 < ends[0] <= ttl_us(desk)


def test_each_step_of_a_renewal_is_folded_before_the_next(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is acted on next has to know the person's word, then the new verdict."""
    decision_id = desk.hold()
    caught: list[Kind] = []
    orders = desk.small.desk.own.orders
    plain = orders.catch_up

    def catch_up(records: Sequence[Record]) -> None:
        caught.extend(one.kind for one in records)
        plain(records)

    monkeypatch.setattr(orders, "catch_up", catch_up)
    assert desk.answer(decision_id) == "approved"
    assert caught == [
        Kind.APPROVAL_GIVEN,
        Kind.VERDICT_GIVEN,
        Kind.ORDER_SENDING,
        Kind.ORDER_SENT,
    ]


def test_a_refusal_and_an_end_are_folded_too(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, expired = desk.hold(), large(desk, 5_600)
    caught: list[Kind] = []
    orders = desk.small.desk.own.orders
    monkeypatch.setattr(orders, "catch_up", lambda got: caught.extend(one.kind for one in got))
    desk.answer(refused, approve=False)
    assert caught == [Kind.APPROVAL_REFUSED, Kind.DECISION_SEALED]
    caught.clear()
    desk.wall.ahead_us = ttl_us(desk)
    desk.small.desk.holds.expire()
    assert caught == [Kind.RESERVATION_RELEASED, Kind.DECISION_SEALED]
    assert desk.outcome(expired) == "hold_expired"


def test_a_hold_ends_to_the_microsecond(desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    section, standing = desk.small.desk.own.section, desk.standing(decision_id)
    end = section.deadlines.end(hold_of(decision_id))
    assert end is not None
    assert not is_over(standing, section, end.wall_us - 1)
    assert is_over(standing, section, end.wall_us)
