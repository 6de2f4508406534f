"""Orders that need a person, over real HTTP: nothing is sent before, nothing but the agreed after.

Only the model is scripted.
"""

from collections.abc import Iterator

import httpx
import pytest

from audit.records.kinds import Kind
from fix.wire.identity import cl_ord_id
from gateway.clock import pause
from gateway.desk.holds.sheet import sheet_of
from gateway.installation.keys.roles import Role
from gateway.launch.app import App
from gateway.walk.journal.standing import Stage
from tests.doubles.api_agent import (
    Agent,
    agreement,
    digest_of,
    ended,
    hold,
    orders_at_broker,
    outcome,
    reserved,
    standing_of,
)

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]


def refuse(approver: Agent, app: App, decision_id: str) -> httpx.Response:
    """Say no to a hold."""
    body = {"approve": False, "intent_digest": digest_of(app, decision_id), "note": "no"}
    return approver.http.post(f"/v1/decisions/{decision_id}/approval", json=body)


@pytest.fixture(autouse=True)
def nothing_left(app: App, approver: Agent) -> Iterator[None]:
    """End what a test leaves waiting: holds reserve limits."""
    yield
    for left in app.orders.held():
        assert refuse(approver, app, left.decision_id).status_code == 200


def test_a_large_order_waits_and_nothing_is_sent(app: App, agent: Agent) -> None:
    sent = len(orders_at_broker(app))
    decision_id = hold(agent, "waits")
    pause(0.3)
    assert len(orders_at_broker(app)) == sent
    assert reserved(app, decision_id)
    assert standing_of(app, decision_id).stage is Stage.HELD
    wrong = {"approve": True, "intent_digest": "0" * 64, "note": "yes"}
    assert agent.http.post(f"/v1/decisions/{decision_id}/approval", json=wrong).status_code == 403


def test_an_approval_bound_to_another_digest_is_refused(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "wrong-digest")
    answer = approver.http.post(
        f"/v1/decisions/{decision_id}/approval",
        json={"approve": True, "intent_digest": "0" * 64, "note": "yes"},
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "approval_refused")
    assert standing_of(app, decision_id).stage is Stage.HELD


def test_an_approval_of_what_was_not_read_is_refused(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "unread")
    path = f"/v1/decisions/{decision_id}/approval"
    with Agent(app, "auditor") as auditor:
        seen_by_another = agreement(auditor, app, decision_id)
    for change in ({"sheet_digest": ""}, {"sheet_digest": "0" * 64}, {}):
        answer = approver.http.post(path, json=seen_by_another | change)
        assert (answer.status_code, answer.json()["code"]) == (409, "approval_refused"), change
        assert "sheet" in answer.json()["message"]
    unsaid = agreement(approver, app, decision_id) | {"note": ""}
    assert approver.http.post(path, json=unsaid).status_code == 422
    assert standing_of(app, decision_id).stage is Stage.HELD


def test_what_waits_is_listed_with_its_end_and_how_it_ended(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "listed")
    (line,) = approver.http.get("/v1/approvals").json()["waiting"]
    assert (line["decision_id"], line["state"]) == (decision_id, "waiting")
    assert line["expires_us"] > line["asked_us"]
    assert line["left_s"] > 0
    assert any(one.startswith("R31") for one in line["held_by"])
    assert agent.http.get("/v1/approvals").status_code == 403
    refuse(approver, app, decision_id)
    found = approver.http.get("/v1/approvals").json()
    assert found["waiting"] == []
    assert (found["ended"][0]["decision_id"], found["ended"][0]["note"]) == (decision_id, "no")


def test_an_author_cannot_approve_the_own_intent(app: App) -> None:
    app.plan.keyring.issue("two-hats", Role.AGENT)
    with Agent(app, "two-hats") as author:
        decision_id = hold(author, "own")
    app.plan.keyring.issue("two-hats", Role.APPROVER)
    with Agent(app, "two-hats") as hat:
        body = agreement(hat, app, decision_id)
        answer = hat.http.post(f"/v1/decisions/{decision_id}/approval", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "approval_refused")
    assert standing_of(app, decision_id).stage is Stage.HELD


def test_an_approved_hold_is_judged_anew_and_sent_once(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "agreed")
    path = f"/v1/decisions/{decision_id}/approval"
    body = agreement(approver, app, decision_id)
    answer = approver.http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"] == "approved"
    ended(app, decision_id)
    records = list(app.reader.records(stream=f"decision/{decision_id}"))
    attempts = [r.body["attempt"] for r in records if r.kind is Kind.FORECAST_TAKEN]
    assert attempts == [0, 1]
    verdicts = [r for r in records if r.kind is Kind.VERDICT_GIVEN]
    assert [v.body["result"] for v in verdicts] == ["held", "approved"]
    given = next(r for r in records if r.kind is Kind.APPROVAL_GIVEN)
    assert given.actor == "person:approver"
    sheet = sheet_of(app.reader, decision_id, records)
    assert sheet is not None
    assert given.body["shown"]["sheet_digest"] == sheet.digest == body["sheet_digest"]
    read = next(app.reader.records(after_seq=given.body["shown"]["read_seq"] - 1, limit=1))
    assert (read.body["reader"], read.body["object"]) == ("approver", f"sheet/{decision_id}")
    assert sheet.asked_seq < read.seq < given.seq
    assert verdicts[0].seq < given.seq < verdicts[1].seq
    name = cl_ord_id(verdicts[1].leaf)
    assert orders_at_broker(app).count(name) == 1
    assert outcome(app, decision_id) == "filled"
    assert not reserved(app, decision_id)
    again = approver.http.post(path, json=body)
    assert (again.status_code, again.json()["code"]) == (409, "approval_refused")
    assert orders_at_broker(app).count(name) == 1


def test_a_refused_hold_is_sealed_and_frees_its_limits(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "refused", "SPXN")
    assert reserved(app, decision_id)
    answer = refuse(approver, app, decision_id)
    assert (answer.status_code, answer.json()["result"]) == (200, "refused")
    assert outcome(app, decision_id) == "hold_refused"
    assert not reserved(app, decision_id)
    assert refuse(approver, app, decision_id).status_code == 409


def test_a_hold_that_nobody_answers_ends_and_frees_its_limits(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "expires", "SPXN")
    app.housekeeping.round()
    assert standing_of(app, decision_id).stage is Stage.HELD, "it ended too early"
    end_after(app, decision_id)
    assert outcome(app, decision_id) == "hold_expired"
    assert not reserved(app, decision_id)
    assert refuse(approver, app, decision_id).status_code == 409


def end_after(app: App, decision_id: str) -> None:
    """Let the desk's clock stand past the hold's end for one round of housekeeping."""
    verdict = standing_of(app, decision_id).verdict
    assert verdict is not None
    late_us = verdict.recorded_at_us + app.desk.own.section.policy.approval.ttl.value
    assert app.desk.holds.expire(late_us) >= 1


def test_an_approval_of_an_unknown_decision_gets_404(approver: Agent) -> None:
    body = {"approve": True, "intent_digest": "0" * 64, "note": "yes"}
    answer = approver.http.post("/v1/decisions/nothing/approval", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_decision")
