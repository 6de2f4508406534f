"""The kill and its release over real HTTP and from the page; only the model is scripted."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.clock import wall_us
from gateway.desk.controls.statements import release_statement
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.log_id import log_id
from gateway.launch.app import App
from tests.doubles.api_agent import Agent, ended, orders_at_broker
from tests.doubles.page_person import sign_in

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
KILL_WITHIN_US = 1_500_000
SLOW = 60


def signatures(app: App, epoch: int, *roles: str) -> dict[str, str]:
    """Sign a release."""
    log = log_id(app.reader, app.plan.origin)
    statement = release_statement(log, epoch, app.desk.own.word.newest_press().press_id)
    return {role: app.plan.keyring.signing_key(role).sign(statement).hex() for role in roles}


def release(app: App, operator: Agent, epoch: int, *roles: str) -> httpx.Response:
    """Ask for a release with these roles' signatures."""
    body = {
        "kill_epoch": epoch,
        "signatures": signatures(app, epoch, *roles),
        "reason": "tested",
    }
    return operator.http.post("/v1/kill/release", json=body)


def test_a_kill_over_http_stops_orders_until_two_keys_release_it(
    app: App, agent: Agent, operator: Agent
) -> None:
    epoch = operator.http.get("/v1/kill").json()["kill_epoch"]
    pressed = operator.http.post("/v1/kill", json={"reason": "a\u202e test"})
    assert pressed.status_code == 200
    receipt = pressed.json()
    assert receipt.pop("durable")
    assert receipt == {
        "kill_epoch": epoch + 1,
        "child_confirmed": True,
        "recorded": True,
        "killed": True,
    }
    pressed_record = list(app.reader.records(stream="control", kinds=(Kind.KILL_PRESSED,)))[-1]
    assert pressed_record.body["reason"] == "a<U+202E> test", "shown, and no reason to refuse"
    ready = httpx.get(f"{app.server.address}/readyz", trust_env=False)
    assert ready.status_code == 503
    assert ready.json()["parts"]["kill"] != "ready"
    sent = len(orders_at_broker(app))
    body = agent.intent("killed", 1_800).json()
    assert (body["result"], body["verdict"]) == ("rejected", "REJECT")
    assert any(r["rule"].startswith("R01") and r["action"] == "REJECT" for r in body["rules"])
    assert release(app, operator, epoch + 1, "risk").status_code == 403
    assert release(app, operator, epoch + 1, "compliance").status_code == 403
    assert release(app, operator, epoch + 2, *SIGNING_ROLES).status_code == 403
    stale = {**signatures(app, epoch, *SIGNING_ROLES)}
    other = {"kill_epoch": epoch + 1, "signatures": stale}
    assert operator.http.post("/v1/kill/release", json=other).status_code == 403
    assert operator.http.get("/v1/kill").json()["killed"]
    assert len(orders_at_broker(app)) == sent
    done = release(app, operator, epoch + 1, *SIGNING_ROLES)
    assert (done.status_code, done.json()["killed"]) == (200, False)
    assert_orders_flow(app, agent, "after-the-kill")


def assert_orders_flow(app: App, agent: Agent, key: str) -> None:
    """A flat-ward order goes through to a fill."""
    wait_for(lambda: app.desk.parts()["fix"] == "ready", 10.0, part="FIX session")
    body = agent.intent(key, 300, instrument="NDXN").json()
    assert body["result"] == "approved", json.dumps(body)[:2000]
    assert ended(app, body["decision_id"]).order_state == "FILLED"


def test_a_press_that_the_ledger_missed_can_be_released_and_orders_flow(
    app: App, agent: Agent, operator: Agent
) -> None:
    epoch = app.desk.own.word.press()  # as `countersign kill` does when nobody answers it
    assert agent.intent("missed", 700).json()["result"] == "rejected"
    assert release(app, operator, epoch, *SIGNING_ROLES).status_code == 200
    pressed = app.reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
    assert epoch in [r.body["kill_epoch"] for r in pressed], "the press is on record"
    body = agent.intent("after-missed", 1_300, instrument="NDXN").json()
    assert body["result"] == "approved", json.dumps(body)[:2000]


def test_the_page_kill_button_needs_its_own_form_and_a_session(app: App, operator: Agent) -> None:
    page = httpx.Client(base_url=app.server.address, trust_env=False, timeout=30.0)
    sign_in(page, app.plan.keyring.token("operator"))
    found = re.search(r'name="token" value="([0-9a-f]{64})"', kill_form(page))
    assert found is not None
    token = found[1]
    own = {"Origin": app.server.address}
    before = operator.http.get("/v1/kill").json()
    bad: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, own),
        ({"token": "0" * 64}, own),
        ({"token": token}, {}),
        ({"token": token}, {"Origin": "http://evil.example"}),
        ({"token": token}, {**own, "Cookie": "countersign_1=x"}),
    ]
    for form, headers in bad:
        assert page.post("/kill", data=form, headers=headers).status_code == 403
    with httpx.Client(base_url=app.server.address, trust_env=False) as auditor:
        sign_in(auditor, app.plan.keyring.token("auditor"))
        assert auditor.post("/kill", data={"token": token}, headers=own).status_code == 403
    assert operator.http.get("/v1/kill").json() == before
    pressed = page.post("/kill", data={"token": token, "reason": "page"}, headers=own)
    assert pressed.status_code == 200
    state: dict[str, Any] = operator.http.get("/v1/kill").json()
    assert (state["kill_epoch"], state["killed"]) == (before["kill_epoch"] + 1, True)
    signed = release_statement(state["log_id"], state["kill_epoch"], state["press_id"])
    assert state["to_sign"] == signed.decode()
    assert release(app, operator, state["kill_epoch"], *SIGNING_ROLES).status_code == 200
    page.close()


def kill_form(page: httpx.Client) -> str:
    """Return the kill form's page from the form on."""
    return page.get("/kill").text.partition('action="/kill"')[2]


def test_a_release_is_for_those_who_may_press_and_nobody_else(
    app: App, agent: Agent, operator: Agent
) -> None:
    epoch = operator.http.post("/v1/kill", json={"reason": "who releases"}).json()["kill_epoch"]
    with Agent(app, "auditor") as auditor:
        for caller in (agent, auditor):
            answer = release(app, caller, epoch, *SIGNING_ROLES)
            assert answer.status_code == 403
            assert answer.json()["detail"]["code"] == "forbidden"
            assert operator.http.get("/v1/kill").json()["killed"]
    assert release(app, operator, epoch, *SIGNING_ROLES).status_code == 200


def under_way(app: App) -> int:
    """Return how many requests the server is answering now."""
    server = app.server._server  # noqa: SLF001 - asked from inside, so that nothing else waits
    return len(server.server_state.tasks) if server else 0


def test_a_kill_does_not_queue_behind_slow_requests(app: App, operator: Agent) -> None:
    body = {"approve": True, "intent_digest": "0" * 64, "note": "yes"}
    limits = httpx.Limits(max_connections=SLOW)
    with (
        Agent(app, "approver") as approver,
        # one client for all: to build one reads the whole certificate store, in this process
        httpx.Client(
            headers=approver.http.headers, limits=limits, timeout=90.0, trust_env=False
        ) as client,
        ThreadPoolExecutor(SLOW) as pool,
    ):
        path = f"{app.server.address}/v1/decisions/nothing/approval"
        with app.desk.answers:  # as long as a renewal's forecast may take
            waiting = [pool.submit(client.post, path, json=body) for _ in range(SLOW)]
            wait_for(lambda: under_way(app) >= SLOW, 60.0, part="slow requests")
            began_us = wall_us()
            pressed = operator.http.post("/v1/kill", json={"reason": "busy"})
            took_us = wall_us() - began_us
            assert not any(one.done() for one in waiting)
        assert pressed.status_code == 200
        assert took_us < KILL_WITHIN_US
        assert {one.result().status_code for one in waiting} == {404}
    epoch = pressed.json()["kill_epoch"]
    assert release(app, operator, epoch, *SIGNING_ROLES).status_code == 200
