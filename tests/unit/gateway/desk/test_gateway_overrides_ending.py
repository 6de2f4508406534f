"""An override that ends after the verdict and before the order leaves keeps the order here."""

from collections.abc import Callable
from pathlib import Path

import pytest

from audit.errors import LedgerError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from gateway.desk.bodies.governing import OverrideRequest, OverrideTerms
from gateway.desk.bodies.requests import IntentResponse
from gateway.desk.officers.governing.overrides import (
    end_overrides,
    grant_override,
    override_statement,
    withdraw_override,
)
from gateway.installation.keys.log_id import log_id
from gateway.walk.projections.asked import order_going
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk

ID = "0f" * 16
LIFE_US = 3_000_000


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    """A desk with no room left for another order, and an override for one."""
    made = memory_desk(tmp_path)
    for _ in range(2):
        assert ask(made).result == "approved"
    own = made.small.desk.own
    now_us = own.dispatching.wall_us()
    terms = OverrideTerms(
        override_id=ID,
        account=AGENT_ACCOUNT,
        instrument="SPXN",
        side="BUY",
        rule="R06",
        check="position",
        qty_max_lots=4_000,
        notional_max_minor=10**12,
        policy_digest=own.section.status().policy_digest,
        not_before_us=now_us - 1_000_000,
        expires_us=now_us + LIFE_US,
        reason="the index is rebalanced tonight",
    )
    statement = override_statement(log_id(own.reader, own.origin), terms)
    signed = {
        role: own.keyring.signing_key(role).sign(statement).hex() for role in ("risk", "compliance")
    }
    request = OverrideRequest.model_validate({**terms.model_dump(), "signatures": signed})
    grant_override(own, "operator", request)
    return made


def ask(desk: MemoryDesk) -> IntentResponse:
    return desk.ask(850, exposure_bp=9_900)


def withdraw(desk: MemoryDesk) -> None:
    withdraw_override(desk.small.desk.own, "ada", ID, "called off")


def pass_its_end(desk: MemoryDesk) -> None:
    desk.wall.ahead_us += LIFE_US


def end_it(desk: MemoryDesk) -> None:
    pass_its_end(desk)
    assert end_overrides(desk.small.desk.own) == 1
    desk.wall.ahead_us -= LIFE_US


def once(desk: MemoryDesk, kind: Kind, then: Callable[[MemoryDesk], None]) -> None:
    """Do something when the first record of a kind is committed."""
    done: list[Kind] = []

    def after(records: tuple[Record, ...]) -> None:
        if not done and any(one.kind is kind for one in records):
            done.append(kind)
            then(desk)

    desk.log.subscribe(after)


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (withdraw, "override_withdrawn"),
        (pass_its_end, "override_expired"),
        (end_it, "override_expired"),
    ],
)
def test_an_order_whose_override_ended_after_the_verdict_is_withdrawn(
    desk: MemoryDesk, end: Callable[[MemoryDesk], None], why: str
) -> None:
    once(desk, Kind.VERDICT_GIVEN, end)
    answer = ask(desk)
    assert (answer.result, answer.reason) == ("not_sent", why)
    assert desk.verdict(answer.decision_id).body["state"]["override"]["override_id"] == ID
    assert desk.withdrawn(answer.decision_id) == why
    assert desk.outcome(answer.decision_id) == "withdrawn"
    assert len(desk.small.broker.orders) == 2
    assert ask(desk).result == "rejected", "it is used all the same"


def test_one_withdrawn_at_the_announcement_is_not_handed_out(desk: MemoryDesk) -> None:
    """The order is announced while the end is being recorded, or a moment before."""

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.ORDER_SENDING:
            desk.log.before = lambda _: None
            withdraw(desk)

    desk.log.before = before
    answer = ask(desk)
    assert (answer.result, answer.reason) == ("not_sent", "override_withdrawn")
    assert len(desk.small.broker.orders) == 2


def held_back(desk: MemoryDesk, order: str) -> str:
    going = order_going(desk.standing(order))
    assert going is not None
    return desk.small.desk.own.dispatching.held_back(going)


def test_the_order_is_held_back_while_the_end_is_being_recorded(desk: MemoryDesk) -> None:
    order = held = ""

    def before(drafts: tuple[Draft, ...]) -> None:
        nonlocal held
        if drafts[0].kind is Kind.OVERRIDE_ENDED:
            held = held_back(desk, order)
            raise LedgerError("the ledger took it not")

    order = ask(desk).decision_id
    assert held_back(desk, order) == ""
    desk.log.before = before
    with pytest.raises(LedgerError):
        withdraw(desk)
    assert held == "override_withdrawn"
    assert held_back(desk, order) == "", "no end is on record"


def test_an_order_that_needed_no_override_leaves(desk: MemoryDesk) -> None:
    once(desk, Kind.VERDICT_GIVEN, withdraw)
    assert desk.ask(50, exposure_bp=9_900).result == "approved"
