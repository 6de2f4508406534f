"""An order of an approved basket that does not leave keeps back the rest."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from audit.errors import LedgerError, LedgerTimeoutError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from fix.session.link import HandResult
from gateway.desk.agents.baskets import basket_id_of, submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest, BasketResponse
from gateway.desk.bodies.requests import IntentRequest
from gateway.installation.policies import policy
from gateway.surfaces.web.views.oversight.baskets import basket_view
from gateway.walk.journal.standing import Stage
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document, policy_from_document
from tests.doubles.memory_desk import AGENT, MemoryDesk, memory_desk

BASKET = basket_id_of(AGENT.name, "whole")
REST = f"basket {BASKET} stopped"
LOTS = {"SPXN": 40, "NDXN": 10, "THIRD": 5}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    """A desk with a third instrument, which has the market of the first."""
    document = json.loads(policy.SHIPPED.read_bytes())
    document["instruments"].append({**document["instruments"][0], "symbol": "THIRD"})
    signed = tmp_path / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(policy_from_document(document))))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    made = memory_desk(tmp_path)
    own = made.small.desk.own
    third = replace(own.instruments["SPXN"], symbol="THIRD")
    monkeypatch.setitem(own.instruments, "THIRD", third)
    market = own.market.session("SPXN")
    snapshot = replace(market.snapshot, instrument="THIRD")
    own.market.open_session(replace(market, instrument="THIRD", snapshot=snapshot))
    return made


def submitted(desk: MemoryDesk, legs: int = 2) -> BasketResponse:
    wanted = [
        IntentRequest(
            client_key=f"leg-{symbol}",
            instrument=symbol,
            target_exposure_bp=2_000,
            max_qty_lots=LOTS[symbol],
        )
        for symbol in list(LOTS)[:legs]
    ]
    return submit_basket(desk.small.desk, AGENT, BasketRequest(client_key="whole", legs=wanted))


def hand(desk: MemoryDesk, number: int, result: HandResult) -> None:
    """Let the FIX child answer the order of this number so; it takes the others."""
    broker, asked = desk.small.broker, []
    taken = broker.go

    def go(*order: Any) -> Callable[[], HandResult]:  # noqa: ANN401 - as the broker's
        asked.append(order)
        return (lambda: result) if len(asked) == number else taken(*order)

    broker.go = go  # type: ignore[method-assign]


def whys(answer: BasketResponse) -> list[str | None]:
    return [None if one.answer is None else one.answer.reason for one in answer.legs]


def decided(desk: MemoryDesk, then: Callable[[], None]) -> None:
    """Do something once the approved outcome is on record, before the first order is announced."""

    def after(records: tuple[Record, ...]) -> None:
        if any(one.kind is Kind.BASKET_DECIDED for one in records):
            then()

    desk.log.subscribe(after)


def nothing_left(desk: MemoryDesk, answer: BasketResponse, why: str) -> None:
    assert (answer.result, answer.reason) == ("stopped", why)
    assert [one.result for one in answer.legs] == ["not_sent"] * len(answer.legs)
    (outcome,) = desk.log.of_kind(Kind.BASKET_DECIDED)
    assert outcome.body["outcome"] == "approved", "it happened after the outcome"
    assert not desk.small.broker.orders
    assert desk.reserved() == 0
    assert not list(desk.small.desk.own.orders.unsealed())
    assert kept_back(desk, answer) == len(answer.legs)


def kept_back(desk: MemoryDesk, answer: BasketResponse) -> int:
    """How many orders did not leave, as the basket's page says."""
    shown = basket_view(cast("LedgerReader", desk.log), answer.basket_id)
    assert shown is not None
    return shown.kept_back


REFUSED = HandResult(outcome="refused", reason="throttled")


@pytest.mark.parametrize("legs", [2, 3])
def test_nothing_leaves_when_the_child_refuses_the_first_order(desk: MemoryDesk, legs: int) -> None:
    hand(desk, 1, REFUSED)
    answer = submitted(desk, legs)
    nothing_left(desk, answer, "leg 1 did not leave: throttled")
    assert whys(answer) == ["throttled", *[REST] * (legs - 1)]
    assert len(desk.log.of_kind(Kind.ORDER_SENDING)) == 1


def test_what_follows_a_refused_order_is_kept_back(desk: MemoryDesk) -> None:
    hand(desk, 2, REFUSED)
    answer = submitted(desk, 3)
    assert (answer.result, answer.reason) == ("partly_sent", "leg 2 did not leave: throttled")
    assert [one.result for one in answer.legs] == ["approved", "not_sent", "not_sent"]
    assert whys(answer)[1:] == ["throttled", REST]
    assert kept_back(desk, answer) == 2
    assert len(desk.small.broker.orders) == 1


def test_an_order_of_unknown_fate_keeps_back_what_follows(desk: MemoryDesk) -> None:
    hand(desk, 1, HandResult(outcome="unknown", reason="the child is gone"))
    answer = submitted(desk)
    assert (answer.result, whys(answer)[1]) == ("unknown", REST)
    assert (answer.reason or "").startswith("leg 1 may have left: ")
    assert not desk.small.broker.orders


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_leaves_when_one_order_may_not_leave_before_the_first(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The instrument of either leg differs from the broker's after the outcome."""
    symbol = list(LOTS)[number - 1]
    differences = desk.small.desk.own.section.differences

    def differs() -> None:
        monkeypatch.setattr(differences, "blocks", lambda one: one == symbol)

    decided(desk, differs)
    answer = submitted(desk)
    why = whys(answer)[number - 1] or ""
    assert why != REST
    nothing_left(desk, answer, f"leg {number} did not leave: {why}")


def test_nothing_leaves_once_the_earliest_approval_is_too_old(desk: MemoryDesk) -> None:
    """The first is given 3 s before the second; 8 s after the outcome only it is over."""
    given: list[int] = []

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.VERDICT_GIVEN:
            given.append(int(str(drafts[0].payload["send_before_us"])))
            desk.wall.ahead_us += 3_000_000 if len(given) == 1 else 0

    def late() -> None:
        desk.wall.ahead_us += 8_000_000

    desk.log.before = before
    decided(desk, late)
    answer = submitted(desk)
    assert given[0] < desk.wall() < given[1]
    nothing_left(desk, answer, "leg 1 did not leave: send_before_passed")


def test_a_kill_between_two_orders_keeps_back_the_rest(desk: MemoryDesk) -> None:
    taken = desk.small.broker.go

    def go(*order: Any) -> Callable[[], HandResult]:  # noqa: ANN401 - as the broker's
        answer = taken(*order)
        desk.small.desk.own.word.press()
        return answer

    desk.small.broker.go = go  # type: ignore[method-assign]
    answer = submitted(desk, 3)
    assert answer.result == "partly_sent"
    assert "kill epoch changed" in (answer.reason or "")
    assert whys(answer)[2] == REST
    assert len(desk.small.broker.orders) == 1


def test_an_announcement_that_is_refused_keeps_back_the_rest(desk: MemoryDesk) -> None:
    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.ORDER_SENDING:
            raise LedgerError("the ledger took it not")

    desk.log.before = before
    with pytest.raises(LedgerError):
        submitted(desk)
    assert not desk.small.broker.orders
    assert not desk.small.desk.own.orders.unsent()


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_leg_whose_verdict_is_still_on_its_way_is_not_ended_before_it(
    desk: MemoryDesk, late: int
) -> None:
    """The ledger does not answer in time and commits the verdict after the basket was stopped."""
    kept: list[tuple[Draft, ...]] = []
    given = 0

    def before(drafts: tuple[Draft, ...]) -> None:
        nonlocal given
        if drafts[0].kind is Kind.VERDICT_GIVEN and not kept:
            given += 1
            if given == late + 1:
                kept.append(drafts)
                raise LedgerTimeoutError("no answer", written=None)

    desk.log.before = before
    with pytest.raises(LedgerTimeoutError):
        submitted(desk, 3)
    desk.log.before = lambda _: None
    (received,) = desk.log.of_kind(Kind.BASKET_RECEIVED)
    legs = [desk.standing(one) for one in received.body["legs"]]
    assert [one.sealed for one in legs] == [number != late for number in range(3)]
    desk.log.append(*kept[0])
    waits = desk.standing(legs[late].decision_id)
    assert waits.stage is Stage.APPROVED
    assert desk.dispatch(waits) is None
    assert desk.withdrawn(waits.decision_id) == "basket_not_approved"
    assert [desk.standing(one.decision_id).seals for one in legs] == [1, 1, 1]
    assert not desk.small.broker.orders
