"""Agents' intents over real HTTP, from the wish to the fill; only the model is scripted."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from audit.records.kinds import Kind
from fix.wire.identity import cl_ord_id
from gateway.installation.keys.roles import Role
from gateway.launch.app import App
from tests.doubles.api_agent import Agent, decided, ended, orders_at_broker, outcome, reserved

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]


def test_a_small_exposure_is_approved_sent_and_filled(app: App, agent: Agent) -> None:
    answer = agent.intent("small", 500)
    assert answer.status_code == 200
    body = answer.json()
    assert body["result"] == "approved", body
    assert body["cl_ord_id"] == cl_ord_id(bytes.fromhex(body["record_leaf"]))
    assert body["receipt"] == f"countersign receipt {body['decision_id']}"
    assert {rule["action"] for rule in body["rules"]} <= {"ALLOW", "WARN", "NOT_APPLICABLE"}
    assert orders_at_broker(app).count(body["cl_ord_id"]) == 1
    assert ended(app, body["decision_id"]).order_state == "FILLED"
    assert outcome(app, body["decision_id"]) == "filled"


def test_the_same_client_key_gets_the_same_decision_and_no_second_order(
    app: App, agent: Agent
) -> None:
    first = agent.intent("twice", 1_130).json()
    assert first["result"] == "approved"
    ended(app, first["decision_id"])
    sent = len(orders_at_broker(app))
    for _ in range(3):
        assert decided(agent.intent("twice", 1_130).json()) == decided(first)
    assert len(orders_at_broker(app)) == sent


def test_many_retries_at_once_make_one_decision(app: App, agent: Agent) -> None:
    with ThreadPoolExecutor(12) as pool:
        answers = [
            a.result() for a in [pool.submit(agent.intent, "race", 1_910) for _ in range(12)]
        ]
    assert {a.status_code for a in answers} <= {200, 503}
    done = [a.json() for a in answers if a.status_code == 200]
    assert done
    last = agent.intent("race", 1_910).json()
    assert all(d["decision_id"] == last["decision_id"] for d in done)
    assert {d["result"] for d in done} == {last["result"]}, "a retry was told another verdict"
    stream = f"decision/{last['decision_id']}"
    assert len(list(app.reader.records(stream=stream, kinds=(Kind.VERDICT_GIVEN,)))) == 1
    assert len(list(app.reader.records(stream=stream, kinds=(Kind.ORDER_SENDING,)))) <= 1


def test_the_same_client_key_with_another_body_gets_400(agent: Agent) -> None:
    assert agent.intent("reused", 800).status_code == 200
    answer = agent.intent("reused", 900)
    assert answer.status_code == 400
    assert "another request" in answer.json()["message"]


def test_another_agents_client_key_is_another_decision(app: App, agent: Agent) -> None:
    app.plan.keyring.issue("second-agent", Role.AGENT)
    with Agent(app, "second-agent") as other:
        first = agent.intent("shared-key", 1_200).json()
        second = other.intent("shared-key", 1_200).json()
    assert first["decision_id"] != second["decision_id"]


def test_an_exposure_over_the_limits_is_rejected_with_its_margins(app: App, agent: Agent) -> None:
    sent = len(orders_at_broker(app))
    body = agent.intent("over", 30_000).json()
    assert (body["result"], body["cl_ord_id"]) == ("rejected", None)
    broken = [rule for rule in body["rules"] if rule["action"] == "REJECT"]
    assert broken
    for rule in broken:
        assert int(rule["margin"]) == int(rule["limit"]) - int(rule["observed"])
        assert int(rule["margin"]) < 0
    assert len(orders_at_broker(app)) == sent
    assert outcome(app, body["decision_id"]) == "rejected"
    assert not reserved(app, body["decision_id"])


def test_a_claimed_direction_is_judged_by_the_models_confidence(agent: Agent) -> None:
    plain = agent.intent("plain", 1_500, instrument="NDXN").json()
    actions = {r["action"] for r in plain["rules"] if r["rule"].startswith("R26")}
    assert actions <= {"NOT_APPLICABLE", "ALLOW"}
    claimed = agent.intent("claimed", 2_000, instrument="NDXN", directional=True).json()
    judged = [r for r in claimed["rules"] if r["rule"].startswith("R26")]
    assert any(r["observed"] is not None for r in judged), judged


def test_agents_at_once_never_exceed_the_limits(app: App) -> None:
    agents = [Agent(app) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(one.intent, f"crowd-{place}", 2_300 + place * 7)
            for place, one in enumerate(agents)
        ]
        answers = [a.result() for a in asked]
    for one in agents:
        one.http.close()
    assert {a.status_code for a in answers} <= {200, 503}
    for body in (a.json() for a in answers if a.status_code == 200):
        if body["result"] == "approved":
            ended(app, body["decision_id"])
    book = app.desk.own.section.book(f"{app.plan.tags.account}.agent")
    limits = next(i for i in app.plan.policy.policy.instruments if i.symbol == "SPXN")
    held = book.position("SPXN")
    assert held is not None
    assert 0 < held.lots <= limits.position_max.value
    verdicts = [
        r
        for r in app.reader.records(kinds=(Kind.VERDICT_GIVEN,))
        if r.body["account"] == book.account
    ]
    assert all(r.body["basis_seq"] < r.seq for r in verdicts)
