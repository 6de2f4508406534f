"""The gate over real HTTP: server, rules, ledger, FIX and broker; only the model is scripted.

One gateway serves the whole module, so each test asks for exposures of its own; the kill comes
last.
"""

import json
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import kill
from pathlib import Path
from typing import Any

import httpx
import pytest

from audit.kinds import Kind
from fix.identity import cl_ord_id
from fix.messages import parse
from gateway.app import App
from gateway.clock import pause
from gateway.keyring import SIGNING_ROLES, Role, release_statement
from gateway.orders import Stage, Standing
from gateway.runner import open_session
from gateway.simulator import wait_for
from tests.doubles import live_desk

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
CL_ORD_ID = 11
HELD_BP = 2_700
"""270,000 USD: above the 250,000 that need a person, below the 400,000 that nobody may."""


class Agent:
    """A caller with a key; each intent gets a client key of its own unless one is given."""

    def __init__(self, app: App, name: str = "agent") -> None:
        """Hold the name's key."""
        self.app = app
        token = app.plan.keyring.token(name)
        self.http = httpx.Client(
            base_url=app.server.address,
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=30.0,
        )

    def intent(self, key: str, exposure_bp: int, **more: object) -> httpx.Response:
        """Post an intent."""
        body = {"client_key": key, "instrument": "SPXN", "target_exposure_bp": exposure_bp, **more}
        return self.http.post("/v1/intents", json=body)


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    """One running gateway with an open market."""
    folder = Path(tempfile.mkdtemp(prefix="countersign-api-"))
    folder.chmod(0o711)
    try:
        with live_desk.desk(folder) as running:
            for session in live_desk.sessions(2):
                open_session(running, session)
            yield running
    finally:
        with suppress(OSError, ValueError, IndexError):
            kill(int((folder / "ems" / "pid").read_text().split()[0]), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def agent(app: App) -> Iterator[Agent]:
    """The agent."""
    one = Agent(app)
    yield one
    one.http.close()


@pytest.fixture
def approver(app: App) -> Iterator[Agent]:
    """The approver."""
    one = Agent(app, "approver")
    yield one
    one.http.close()


@pytest.fixture
def operator(app: App) -> Iterator[Agent]:
    """The operator."""
    one = Agent(app, "operator")
    yield one
    one.http.close()


def standing_of(app: App, decision_id: str) -> Standing:
    """Return a decision's standing."""
    found = app.orders.get(decision_id)
    assert found is not None
    return found


def ended(app: App, decision_id: str) -> Standing:
    """Wait until a decision is sealed."""
    wait_for(lambda: standing_of(app, decision_id).stage is Stage.SEALED, 10.0, part="seal")
    return standing_of(app, decision_id)


def outcome(app: App, decision_id: str) -> str:
    """Return the outcome on the sealing record."""
    sealed = list(
        app.reader.records(stream=f"decision/{decision_id}", kinds=(Kind.DECISION_SEALED,))
    )
    assert len(sealed) == 1
    return str(sealed[0].body["outcome"])


def orders_at_broker(app: App) -> list[str]:
    """Return the ClOrdID of every new order that the broker received."""
    return [
        dict(parse(raw))[CL_ORD_ID] for raw in live_desk.received(live_desk.capture_of(app), "D")
    ]


def digest_of(app: App, decision_id: str) -> str:
    """Return the held intent's digest, as a person reads it."""
    verdict = standing_of(app, decision_id).verdict
    assert verdict is not None
    return str(verdict.body["intent_digest"])


def hold(agent: Agent, key: str, **more: object) -> str:
    """Leave an intent waiting for a person and return its decision id."""
    answer = agent.intent(key, HELD_BP, **more).json()
    assert (answer["result"], answer["verdict"]) == ("held", "HOLD"), answer
    return str(answer["decision_id"])


def reserved(app: App, decision_id: str) -> bool:
    """Whether the agents' book still reserves for a decision."""
    book = app.desk.own.section.book(f"{app.plan.tags.account}.agent")
    return book.reservation(decision_id) is not None


# who may come in


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/intents"),
        ("GET", "/v1/decisions/x"),
        ("POST", "/v1/decisions/x/approval"),
        ("GET", "/v1/kill"),
        ("POST", "/v1/kill"),
        ("POST", "/v1/kill/release"),
    ],
)
def test_no_key_and_a_wrong_key_get_401(app: App, method: str, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic YTpi"}):
        answer = httpx.request(
            method, app.server.address + path, headers=headers, trust_env=False, json={}
        )
        assert answer.status_code == 401, headers
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_role_may_do_only_its_own(app: App, agent: Agent, approver: Agent) -> None:
    assert agent.http.post("/v1/kill", json={"reason": "no"}).status_code == 403
    body = {"approve": True, "intent_digest": "0" * 64}
    assert agent.http.post("/v1/decisions/x/approval", json=body).status_code == 403
    assert approver.intent("an-approver-submits", 500).status_code == 403
    app.plan.keyring.issue("reads-only", Role.AUDITOR)
    auditor = Agent(app, "reads-only")
    assert auditor.intent("an-auditor-submits", 500).status_code == 403
    assert auditor.http.post("/v1/kill", json={"reason": "no"}).status_code == 403
    assert auditor.http.get("/v1/kill").status_code == 200
    auditor.http.close()


# what may come in

FAIR = '"client_key": "bad", "instrument": "SPXN"'
MARK = "abracadabra"


@pytest.mark.parametrize(
    "body",
    [
        b"{not json",
        b"",
        b"[]",
        b"null",
        f'{{{FAIR}, "target_exposure_bp": NaN, "reason": "{MARK}"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": Infinity}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 1.5}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": "500", "reason": "{MARK}"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": true}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 100001}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "{MARK * 1000}": 1}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "\\ud800": 1}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "reason": "\\ud800"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "reason": "{MARK * 100}"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "limit_price": "-1"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "limit_price": 270.5}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "max_qty_lots": 0}}'.encode(),
        f'{{"client_key": "{MARK} ", "instrument": "SPXN", "target_exposure_bp": 5}}'.encode(),
        b'{"client_key": "a", "instrument": "SPXN\\u0000", "target_exposure_bp": 5}',
    ],
)
def test_a_malformed_intent_gets_422_and_nothing_comes_back(
    app: App, agent: Agent, body: bytes
) -> None:
    before = app.ledger.size
    answer = agent.http.post(
        "/v1/intents", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422, answer.text[:300]
    assert answer.json()["code"] == "malformed"
    assert MARK * 20 not in answer.text
    assert "NaN" not in answer.text
    assert len(answer.content) < 4_000
    decided = [r for r in app.reader.records(after_seq=before - 1) if "decision/" in r.stream]
    assert decided == []


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"client_key": ' + b"9" * 10_000 + b"}", b"\xff\xfe{}"]
)
def test_bytes_that_break_a_parser_are_refused_in_words(agent: Agent, body: bytes) -> None:
    answer = agent.http.post(
        "/v1/intents", content=body, headers={"Content-Type": "application/json"}
    )
    assert 400 <= answer.status_code < 500, answer.text[:300]


def test_a_huge_body_is_refused_before_it_is_read(app: App, agent: Agent) -> None:
    body = b'{"client_key": "' + b"x" * (8 << 20) + b'"}'
    headers = {"Content-Type": "application/json"}
    assert agent.http.post("/v1/intents", content=body, headers=headers).status_code == 413
    chunked = (body[i : i + 65_536] for i in range(0, len(body), 65_536))
    with suppress(httpx.WriteError, httpx.ReadError):  # it may hang up while we still talk
        assert agent.http.post("/v1/intents", content=chunked, headers=headers).status_code == 413
    assert httpx.get(f"{app.server.address}/healthz", trust_env=False).status_code == 200


def test_an_unknown_instrument_gets_400_and_leaves_no_decision(app: App, agent: Agent) -> None:
    before = len(app.reader.streams("decision/"))
    answer = agent.intent("unknown", 500, instrument="NOPE")
    assert answer.status_code == 400
    assert answer.json()["code"] == "request"
    assert len(app.reader.streams("decision/")) == before


@pytest.mark.parametrize("price", ["0", "0.00", "269.585", "269.5850"])
def test_a_limit_price_off_the_grid_is_refused_not_rounded(agent: Agent, price: str) -> None:
    answer = agent.intent(f"price-{price}", 500, limit_price=price)
    assert answer.status_code == 400, answer.text
    assert "limit_price" in answer.json()["message"]


# a decision


def test_a_small_exposure_is_approved_sent_and_filled(app: App, agent: Agent) -> None:
    answer = agent.intent("small", 500)
    assert answer.status_code == 200
    body = answer.json()
    assert body["result"] == "approved", body
    assert body["cl_ord_id"] == cl_ord_id(bytes.fromhex(body["record_leaf"]))
    assert {rule["action"] for rule in body["rules"]} <= {"ALLOW", "WARN", "NOT_APPLICABLE"}
    assert orders_at_broker(app).count(body["cl_ord_id"]) == 1
    assert ended(app, body["decision_id"]).order_state == "FILLED"
    assert outcome(app, body["decision_id"]) == "filled"


def test_the_same_client_key_gets_the_same_decision_and_no_second_order(
    app: App, agent: Agent
) -> None:
    first = agent.intent("twice", 1_000).json()
    assert first["result"] == "approved"
    ended(app, first["decision_id"])
    sent = len(orders_at_broker(app))
    for _ in range(3):
        assert agent.intent("twice", 1_000).json() == first
    assert len(orders_at_broker(app)) == sent


def test_many_retries_at_once_make_one_decision(app: App, agent: Agent) -> None:
    with ThreadPoolExecutor(12) as pool:
        answers = [a.result() for a in [pool.submit(agent.intent, "race", 500) for _ in range(12)]]
    assert {a.status_code for a in answers} <= {200, 503}
    done = [a.json() for a in answers if a.status_code == 200]
    assert done
    last = agent.intent("race", 500).json()
    assert all(d["decision_id"] == last["decision_id"] for d in done)
    assert all(d["result"] == last["result"] for d in done), "a retry was told another verdict"
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
    other = Agent(app, "second-agent")
    first = agent.intent("shared-key", 1_200).json()
    second = other.intent("shared-key", 1_200).json()
    assert first["decision_id"] != second["decision_id"]
    other.http.close()


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
    def lines(key: str, *, directional: bool) -> set[str]:
        body = agent.intent(key, 1_500, instrument="NDXN", directional=directional).json()
        return {r["action"] for r in body["rules"] if r["rule"].startswith("R26")}

    assert lines("plain", directional=False) <= {"NOT_APPLICABLE", "ALLOW"}
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
    assert 0 < held.qty_lots <= limits.position_max.value
    verdicts = [
        r
        for r in app.reader.records(kinds=(Kind.VERDICT_GIVEN,))
        if r.body["account"] == book.account
    ]
    assert all(r.body["basis_seq"] < r.seq for r in verdicts)


# a person's answer


def test_a_large_order_waits_and_nothing_is_sent(app: App, agent: Agent) -> None:
    sent = len(orders_at_broker(app))
    decision_id = hold(agent, "waits", instrument="NDXN")
    pause(0.3)
    assert len(orders_at_broker(app)) == sent
    assert reserved(app, decision_id)
    assert standing_of(app, decision_id).stage is Stage.HELD
    app.desk.answer_hold  # noqa: B018 - nothing answered it
    wrong = {"approve": True, "intent_digest": "0" * 64}
    assert agent.http.post(f"/v1/decisions/{decision_id}/approval", json=wrong).status_code == 403


def test_an_approval_bound_to_another_digest_is_refused(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "wrong-digest", instrument="NDXN", reason="one")
    answer = approver.http.post(
        f"/v1/decisions/{decision_id}/approval",
        json={"approve": True, "intent_digest": "0" * 64},
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "approval_refused")
    assert standing_of(app, decision_id).stage is Stage.HELD


def test_an_author_cannot_approve_the_own_intent(app: App) -> None:
    app.plan.keyring.issue("two-hats", Role.AGENT)
    author = Agent(app, "two-hats")
    decision_id = hold(author, "own", instrument="NDXN")
    author.http.close()
    app.plan.keyring.issue("two-hats", Role.APPROVER)
    hat = Agent(app, "two-hats")
    body = {"approve": True, "intent_digest": digest_of(app, decision_id)}
    answer = hat.http.post(f"/v1/decisions/{decision_id}/approval", json=body)
    hat.http.close()
    assert (answer.status_code, answer.json()["code"]) == (409, "approval_refused")
    assert standing_of(app, decision_id).stage is Stage.HELD


def test_an_approved_hold_is_forecast_anew_judged_anew_and_sent_once(
    app: App, agent: Agent, approver: Agent
) -> None:
    for left in app.orders.held():  # room under the gross limit
        refuse(approver, app, left.decision_id)
    decision_id = hold(agent, "agreed", instrument="NDXN")
    path = f"/v1/decisions/{decision_id}/approval"
    body = {"approve": True, "intent_digest": digest_of(app, decision_id)}
    answer = approver.http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"] == "approved"
    ended(app, decision_id)
    records = list(app.reader.records(stream=f"decision/{decision_id}"))
    attempts = [r.body["attempt"] for r in records if r.kind is Kind.FORECAST_REQUESTED]
    assert attempts == [0, 1]
    verdicts = [r for r in records if r.kind is Kind.VERDICT_GIVEN]
    assert [v.body["result"] for v in verdicts] == ["held", "approved"]
    given = next(r for r in records if r.kind is Kind.APPROVAL_GIVEN)
    assert given.actor == "person:approver"
    assert verdicts[0].seq < given.seq < verdicts[1].seq
    name = cl_ord_id(verdicts[1].leaf)
    assert orders_at_broker(app).count(name) == 1
    assert outcome(app, decision_id) == "filled"
    assert not reserved(app, decision_id)
    again = approver.http.post(path, json=body)
    assert (again.status_code, again.json()["code"]) == (409, "approval_refused")
    assert orders_at_broker(app).count(name) == 1


def refuse(approver: Agent, app: App, decision_id: str) -> httpx.Response:
    """Say no to a hold."""
    body = {"approve": False, "intent_digest": digest_of(app, decision_id), "note": "no"}
    return approver.http.post(f"/v1/decisions/{decision_id}/approval", json=body)


def test_a_refused_hold_is_sealed_and_frees_its_limits(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "refused")
    assert reserved(app, decision_id)
    answer = refuse(approver, app, decision_id)
    assert (answer.status_code, answer.json()["result"]) == (200, "refused")
    assert outcome(app, decision_id) == "hold_refused"
    assert not reserved(app, decision_id)
    assert refuse(approver, app, decision_id).status_code == 409


def test_a_hold_that_nobody_answers_ends_and_frees_its_limits(
    app: App, agent: Agent, approver: Agent
) -> None:
    decision_id = hold(agent, "expires")
    app.housekeep()
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
    assert app.desk.expire_holds(late_us) >= 1


def test_an_approval_of_an_unknown_decision_gets_404(approver: Agent) -> None:
    body = {"approve": True, "intent_digest": "0" * 64}
    answer = approver.http.post("/v1/decisions/nothing/approval", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_decision")


# reading


def test_a_decision_reads_back_as_recorded_and_the_reading_is_recorded(
    app: App, agent: Agent
) -> None:
    decision_id = str(agent.intent("to-read", 30_000).json()["decision_id"])
    before = app.ledger.size
    body = agent.http.get(f"/v1/decisions/{decision_id}").json()
    agent.http.get(f"/v1/decisions/{decision_id}")
    stored = list(app.reader.records(stream=f"decision/{decision_id}"))
    assert [r["leaf"] for r in body["records"]] == [r.leaf.hex() for r in stored]
    assert [r["payload"] for r in body["records"]] == [r.body for r in stored]
    notes = [
        r
        for r in app.reader.records(kinds=(Kind.OPERATOR_NOTE,), after_seq=before - 1)
        if decision_id in r.body["text"]
    ]
    assert len(notes) == 2, "each reading is on record"
    assert all("agent" in n.body["text"] for n in notes)


@pytest.mark.parametrize(
    "name", ["nothing", "a%00b", "%F0%9F%92%A9", "x" * 300, "..%2f..", "a%0Ab"]
)
def test_an_unknown_decision_gets_404(agent: Agent, name: str) -> None:
    answer = agent.http.get(f"/v1/decisions/{name}")
    assert answer.status_code == 404, answer.text[:200]


def test_health_and_readiness_need_no_key(app: App) -> None:
    health = httpx.get(f"{app.server.address}/healthz", trust_env=False)
    ready = httpx.get(f"{app.server.address}/readyz", trust_env=False)
    assert (health.status_code, ready.status_code) == (200, 200), ready.text
    parts = ready.json()["parts"]
    assert set(parts) == {"ledger", "engine", "fix", "policy", "kill"}
    assert set(parts.values()) == {"ready"}


def test_every_route_is_documented(app: App) -> None:
    document = httpx.get(f"{app.server.address}/openapi.json", trust_env=False).json()
    routes = {(m.upper(), path) for path, verbs in document["paths"].items() for m in verbs}
    assert routes == {
        ("POST", "/v1/intents"),
        ("GET", "/v1/decisions/{decision_id}"),
        ("POST", "/v1/decisions/{decision_id}/approval"),
        ("GET", "/v1/kill"),
        ("POST", "/v1/kill"),
        ("POST", "/v1/kill/release"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            assert operation["summary"], (path, verb)
            assert operation["description"], (path, verb)


@pytest.mark.parametrize("page", ["/", "/positions", "/positions?account=agent", "/ledger"])
def test_a_page_of_a_running_desk_answers(app: App, page: str) -> None:
    answer = httpx.get(app.server.address + page, trust_env=False)
    assert answer.status_code == 200
    assert "Content-Security-Policy" in answer.headers


def test_the_pages_of_every_decision_answer(app: App) -> None:
    for stream in app.reader.streams("decision/"):
        page = f"{app.server.address}/decisions/{stream.removeprefix('decision/')}"
        answer = httpx.get(page, trust_env=False)
        assert answer.status_code == 200, page
    assert httpx.get(f"{app.server.address}/records/0", trust_env=False).status_code == 200
    assert httpx.get(f"{app.server.address}/decisions/none", trust_env=False).status_code == 404


# the kill


def signatures(app: App, epoch: int, *roles: str) -> dict[str, str]:
    """Sign a release."""
    statement = release_statement(epoch, app.plan.origin)
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
    pressed = operator.http.post("/v1/kill", json={"reason": "a test"})
    assert pressed.status_code == 200
    receipt = pressed.json()
    assert receipt == {"kill_epoch": epoch + 1, "child_confirmed": True, "recorded": True}
    ready = httpx.get(f"{app.server.address}/readyz", trust_env=False)
    assert ready.status_code == 503
    assert ready.json()["parts"]["kill"] != "ready"
    sent = len(orders_at_broker(app))
    body = agent.intent("killed", 1_800).json()
    assert (body["result"], body["verdict"]) == ("rejected", "KILL"), body["result"]
    assert any(r["rule"].startswith("R01") and r["action"] == "KILL" for r in body["rules"])
    assert release(app, operator, epoch + 1, "risk").status_code == 403
    assert release(app, operator, epoch + 1, "compliance").status_code == 403
    assert release(app, operator, epoch, *SIGNING_ROLES).status_code == 403
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


def test_the_page_kill_button_needs_its_own_form_and_a_key(app: App, operator: Agent) -> None:
    page = httpx.Client(base_url=app.server.address, trust_env=False, timeout=30.0)
    text = page.get("/").text
    found = re.search(r'name="token" value="([0-9a-f]{64})"', text)
    assert found is not None
    token, key = found[1], app.plan.keyring.token("operator")
    own = {"Origin": app.server.address}
    before = operator.http.get("/v1/kill").json()
    bad: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"key": key}, own),
        ({"key": key, "token": "0" * 64}, own),
        ({"key": key, "token": token}, {}),
        ({"key": key, "token": token}, {"Origin": "http://evil.example"}),
        ({"key": "nobody", "token": token}, own),
        ({"key": app.plan.keyring.token("agent"), "token": token}, own),
    ]
    for form, headers in bad:
        assert page.post("/kill", data=form, headers=headers).status_code == 403
    assert operator.http.get("/v1/kill").json() == before
    pressed = page.post("/kill", data={"key": key, "token": token, "reason": "page"}, headers=own)
    assert pressed.status_code == 200
    state: dict[str, Any] = operator.http.get("/v1/kill").json()
    assert state == {"kill_epoch": before["kill_epoch"] + 1, "killed": True}
    assert release(app, operator, state["kill_epoch"], *SIGNING_ROLES).status_code == 200
    page.close()
