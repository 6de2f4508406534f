"""A basket is judged as a whole: either every order may leave, or none does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import LedgerError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from gateway.desk.agents.basket_requests import BasketRequest, BasketResponse
from gateway.desk.agents.baskets import basket_id_of, submit_basket, told_of
from gateway.desk.requests import IntentRequest
from gateway.errors import NotReadyError, RequestError, UnknownDecisionError
from gateway.walk.dispatch import dispatch
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.reconciliation.recovery import close_abandoned, stop_baskets
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk, memory_desk

BASKET = basket_id_of(AGENT.name, "whole")


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def leg(instrument: str, lots: int = 40, exposure_bp: int = 2_000, **more: Any) -> IntentRequest:  # noqa: ANN401 - any field
    return IntentRequest(
        client_key=f"leg-{instrument}",
        instrument=instrument,
        target_exposure_bp=exposure_bp,
        max_qty_lots=lots,
        **more,
    )


SMALL = (leg("SPXN"), leg("NDXN", lots=10))
HELD = leg("NDXN", lots=1_000, exposure_bp=2_800)
REFUSED = leg("NDXN", lots=1_000_000, exposure_bp=90_000)
NOTHING = leg("NDXN", exposure_bp=0)


def submitted(desk: MemoryDesk, *legs: IntentRequest, key: str = "whole") -> BasketResponse:
    return submit_basket(desk.small.desk, AGENT, BasketRequest(client_key=key, legs=[*legs]))


def outcome(desk: MemoryDesk) -> Record:
    (decided,) = desk.log.of_kind(Kind.BASKET_DECIDED)
    return decided


def test_a_basket_that_passes_leaves_as_a_whole(desk: MemoryDesk) -> None:
    answer = submitted(desk, *SMALL)
    assert (answer.result, answer.reason) == ("approved", None), answer
    assert [one.result for one in answer.legs] == ["approved", "approved"]
    assert len(desk.small.broker.orders) == 2
    (received,) = desk.log.of_kind(Kind.BASKET_RECEIVED)
    decided = outcome(desk)
    verdicts = desk.log.of_kind(Kind.VERDICT_GIVEN)
    sending = desk.log.of_kind(Kind.ORDER_SENDING)
    seqs = [received.seq, *(v.seq for v in verdicts), decided.seq, *(s.seq for s in sending)]
    assert seqs == sorted(seqs), "each record is before the effect that it announces"
    assert [one["verdict_seq"] for one in decided.body["legs"]] == [v.seq for v in verdicts]
    assert [one["decision_id"] for one in decided.body["legs"]] == received.body["legs"]


@pytest.mark.parametrize(
    ("last", "result", "why"),
    [
        (REFUSED, "rejected", "leg 2 is rejected"),
        (HELD, "not_sent", "leg 2 is held"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_one_leg_that_may_not_leave_keeps_all_of_them(
    desk: MemoryDesk, last: IntentRequest, result: str, why: str, *, turned: bool
) -> None:
    legs = (last, SMALL[0]) if turned else (SMALL[0], last)
    answer = submitted(desk, *legs)
    assert (answer.result, answer.reason) == ("stopped", why.replace("2", "1") if turned else why)
    results = {one.answer.decision_id: one for one in answer.legs if one.answer}
    assert len(results) == 2
    passed, stopped = (answer.legs[1], answer.legs[0]) if turned else answer.legs
    assert (passed.result, stopped.result) == ("not_sent", result)
    assert passed.answer is not None
    assert passed.answer.reason == f"basket {BASKET} stopped"
    assert desk.outcome(passed.decision_id) == "withdrawn"
    assert not desk.small.broker.orders
    assert not desk.log.of_kind(Kind.ORDER_SENDING)
    assert desk.reserved() == 0, "nothing stays reserved for it"
    assert not list(desk.small.desk.own.orders.unsealed())
