"""An agent is told what became of its order: "approved" only where one left for the broker.

Ledger, section, dispatch and answers are the product's; the child's answers are made here.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from audit.records.kinds import Kind
from fix.session.link import HandResult
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.answers import intent_response
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from tests.doubles.answering_broker import AnswersAtOnce
from tests.doubles.small_desk import SmallDesk

pytestmark = pytest.mark.postgres

TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"
AGENT = Caller(name="agent", role=Role.AGENT)
ASKED = IntentRequest(
    client_key="away-1", instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=51
)


class Answering(AnswersAtOnce):
    """A child that gives one answer to every order."""

    def __init__(self, answer: HandResult) -> None:
        super().__init__()
        self._answer = answer

    @override
    def hand(self, *order: Any) -> HandResult:
        """Take an order, and give that answer."""
        super().hand(*order)
        return self._answer


def with_session(desk: SmallDesk, away: Callable[[], str]) -> None:
    own = desk.desk.own
    desk.desk.own = replace(own, dispatching=replace(own.dispatching, away=away))


def with_child(desk: SmallDesk, answer: HandResult) -> Answering:
    own, child = desk.desk.own, Answering(answer)
    desk.desk.own = replace(own, dispatching=replace(own.dispatching, broker=child))
    return child


def kinds(desk: SmallDesk, decision_id: str) -> list[Kind]:
    return [r.kind for r in desk.reader.records(stream=f"decision/{decision_id}")]


def test_an_intent_while_the_session_is_down_is_told_not_sent(desk: SmallDesk) -> None:
    with_session(desk, lambda: "connecting")
    before = len(desk.broker.orders)
    told = desk.desk.submit(AGENT, ASKED)
    assert (told.result, told.reason) == ("not_sent", "fix_session_connecting")
    assert len(desk.broker.orders) == before
    found = kinds(desk, told.decision_id)
    assert Kind.ORDER_SENDING not in found
    assert found[-2:] == [Kind.ORDER_WITHDRAWN, Kind.DECISION_SEALED]
    assert told.verdict == "ALLOW"  # the rules let it through: the line did not


def test_what_a_down_session_withdrew_reserves_nothing(desk: SmallDesk) -> None:
    with_session(desk, lambda: "down")
    first = desk.desk.submit(AGENT, ASKED)
    with_session(desk, lambda: "")
    other = {"client_key": "away-2", "max_qty_lots": 52}  # the same order again is a duplicate
    second = desk.desk.submit(AGENT, ASKED.model_copy(update=other))
    assert (first.result, second.result) == ("not_sent", "approved"), second
    (verdict,) = desk.reader.records(
        stream=f"decision/{second.decision_id}", kinds=(Kind.VERDICT_GIVEN,)
    )
    (released,) = desk.reader.records(
        stream=f"decision/{first.decision_id}", kinds=(Kind.ORDER_WITHDRAWN,)
    )
    book = desk.desk.own.section.book(f"{desk.tags.account}.agent")
    assert [order.decision_id for order in book.reservations] == [second.decision_id]
    assert int(str(verdict.body["basis_seq"])) >= released.seq


def test_an_order_that_the_child_refuses_is_told_not_sent(desk: SmallDesk) -> None:
    child = with_child(desk, HandResult(outcome="refused", reason="NOT_LOGGED_ON"))
    told = desk.desk.submit(AGENT, ASKED)
    assert (told.result, told.reason) == ("not_sent", "NOT_LOGGED_ON")
    assert len(child.orders) == 1


def test_an_order_without_an_answer_is_told_unknown_as_such(desk: SmallDesk) -> None:
    with_child(desk, HandResult(outcome="unknown", reason="no answer in 3 s"))
    told = desk.desk.submit(AGENT, ASKED)
    assert (told.result, told.reason) == ("unknown", "no answer in 3 s")


def test_the_same_key_again_is_told_the_same_and_sends_nothing(desk: SmallDesk) -> None:
    with_session(desk, lambda: "connecting")
    first = desk.desk.submit(AGENT, ASKED)
    with_session(desk, lambda: "")
    assert desk.desk.submit(AGENT, ASKED) == first
    assert intent_response(desk.reader, first.decision_id).result == "not_sent"


def test_a_sent_order_is_told_approved(desk: SmallDesk) -> None:
    told = desk.desk.submit(AGENT, ASKED)
    assert (told.result, told.reason) == ("approved", None)
    desk.answer()
    assert intent_response(desk.reader, told.decision_id).result == "approved"
