"""What a person agreed to binds what is sent; and nothing is sent while reports do not settle."""

import struct
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.clock import pause, wall_us
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from gateway.launch.paper.play import case_of, open_session
from gateway.walk.decision import Result, decide
from gateway.walk.dispatch import LATE_US
from gateway.walk.journal.standing import Stage
from tests.doubles import live_desk
from tests.doubles.api_agent import (
    Agent,
    agreement,
    ended,
    hold,
    orders_at_broker,
    outcome,
    reserved,
    standing_of,
)

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]


@pytest.fixture
def desk(walk_state: Path) -> Iterator[App]:
    """A gateway of its own with an open market: these tests trade, or break it."""
    with live_desk.desk(walk_state) as app:
        for session in live_desk.sessions(2):
            open_session(app, session)
        yield app


def bought(app: App, agent: Agent, key: str, exposure_bp: int) -> None:
    """Let an agent buy up to an exposure and wait for the fill."""
    answer = agent.intent(key, exposure_bp).json()
    assert answer["result"] == "approved", answer
    ended(app, answer["decision_id"])
    pause(1.1)  # the same order twice within a second is refused as a double click


def test_an_agreement_to_buy_never_sends_a_sale(desk: App) -> None:
    with Agent(desk) as agent, Agent(desk, "approver") as approver:
        decision_id = hold(agent, "held", "SPXN")
        held = standing_of(desk, decision_id).verdict
        assert held is not None
        assert held.body["intent"]["side"] == "BUY"
        # meanwhile the position grows past what the held intent wanted (its reservation counts)
        for key, exposure_bp in (("more", 4_900), ("and-more", 6_000)):
            bought(desk, agent, key, exposure_bp)
        sent = len(orders_at_broker(desk))
        answer = approver.http.post(
            f"/v1/decisions/{decision_id}/approval",
            json=agreement(approver, desk, decision_id),
        )
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"] == "rejected"
    stream = f"decision/{decision_id}"
    verdicts = list(desk.reader.records(stream=stream, kinds=(Kind.VERDICT_GIVEN,)))
    renewed = verdicts[-1].body
    assert renewed["intent"]["side"] == "SELL", "the test has no teeth"
    assert renewed["verdict"]["action"] in {"ALLOW", "WARN"}, "the rules alone would let it go"
    assert renewed["result"] == "rejected"
    assert len(orders_at_broker(desk)) == sent
    assert outcome(desk, decision_id) == "rejected"
    assert not reserved(desk, decision_id)


def test_while_reports_do_not_settle_the_desk_is_not_ready_and_sends_nothing(desk: App) -> None:
    inbox = desk.plan.state.root / "fix" / "inbox"
    body = b"not what was written"
    with inbox.open("ab") as damaged:  # a whole frame with a wrong checksum, and one behind it
        damaged.write(2 * (struct.pack("<II", len(body), 0) + body))
    wait_for(lambda: not desk.settler.ready, 5.0, part="settler to notice")
    ready = httpx.get(f"{desk.server.address}/readyz", trust_env=False)
    assert ready.status_code == 503
    assert ready.json()["parts"]["settler"].startswith("stuck at ")
    sent = len(orders_at_broker(desk))
    with Agent(desk) as agent:
        decision_id = agent.intent("while-stuck", 1_000).json()["decision_id"]
    (withdrawn,) = desk.reader.records(
        stream=f"decision/{decision_id}", kinds=(Kind.ORDER_WITHDRAWN,)
    )
    assert withdrawn.body["reason"] == "reports_not_settled"
    assert outcome(desk, decision_id) == "withdrawn"
    assert len(orders_at_broker(desk)) == sent


def test_housekeeping_withdraws_an_approval_that_its_thread_gave_up(desk: App) -> None:
    case = case_of(desk, live_desk.sessions(1)[0])
    decision = decide(case, desk.desk.own.tools, desk.desk.own.section)  # and nobody sends it
    assert decision.result is Result.APPROVED
    assert decision.judged is not None
    desk.orders.catch_up((decision.judged.record,))
    late_us = decision.judged.record.body["send_before_us"] + LATE_US
    desk.housekeeping.round()
    assert standing_of(desk, decision.decision_id).stage is Stage.APPROVED, "it came too early"
    pause(max(0, late_us - wall_us()) / 1e6)
    desk.housekeeping.round()
    assert outcome(desk, decision.decision_id) == "withdrawn"
    book = desk.desk.own.section.book(desk.plan.tags.account)
    assert book.reservation(decision.decision_id) is None
    assert orders_at_broker(desk) == []
