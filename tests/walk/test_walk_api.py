"""The gate's door over real HTTP: who may come in, what may come in, what can be read.

Server, rules, ledger, FIX and broker are the product's; only the model is scripted.
"""

import re
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.installation.keys.roles import Role
from gateway.launch.app import App
from gateway.walk.projections.forecasts import decision_records
from tests.doubles.api_agent import Agent
from tests.doubles.page_person import sign_in

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]


# who may come in


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/intents"),
        ("GET", "/v1/decisions/x"),
        ("POST", "/v1/decisions/x/approval"),
        ("GET", "/v1/decisions/x/allocation"),
        ("POST", "/v1/decisions/x/allocation"),
        ("GET", "/v1/events"),
        ("GET", "/v1/orders"),
        ("GET", "/v1/orders/foreign"),
        ("GET", "/v1/orders/{name}"),
        ("POST", "/v1/orders/{name}/cancel"),
        ("POST", "/v1/market/events"),
        ("GET", "/v1/stops"),
        ("POST", "/v1/stops/pause"),
        ("POST", "/v1/stops/reduce-only"),
        ("POST", "/v1/stops/cancel-all"),
        ("POST", "/v1/stops/resume"),
        ("GET", "/v1/fairness"),
        ("GET", "/v1/flow"),
        ("GET", "/v1/engine-adds"),
        ("GET", "/v1/cases"),
        ("GET", "/v1/cases/{case_id}"),
        ("POST", "/v1/cases/{case_id}/notes"),
        ("POST", "/v1/cases/{case_id}/state"),
        ("POST", "/v1/fairness"),
        ("GET", "/v1/adjustments"),
        ("POST", "/v1/adjustments"),
        ("POST", "/v1/kill/drill"),
        ("GET", "/v1/kill"),
        ("POST", "/v1/kill"),
        ("POST", "/v1/kill/release"),
        ("POST", "/v1/privacy/disclose"),
        ("POST", "/v1/privacy/erase"),
        ("POST", "/v1/privacy/hold"),
        ("POST", "/v1/privacy/release-hold"),
        ("GET", "/log/checkpoint"),
        ("GET", "/log/{path}"),
        ("GET", "/v1/differences"),
        ("POST", "/v1/differences/1/resolve"),
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
    body = {"approve": True, "intent_digest": "0" * 64, "note": "yes"}
    assert agent.http.post("/v1/decisions/x/approval", json=body).status_code == 403
    assert approver.intent("an-approver-submits", 500).status_code == 403
    app.plan.keyring.issue("reads-only", Role.AUDITOR)
    with Agent(app, "reads-only") as auditor:
        assert auditor.intent("an-auditor-submits", 500).status_code == 403
        assert auditor.http.post("/v1/kill", json={"reason": "no"}).status_code == 403
        assert auditor.http.get("/v1/kill").status_code == 200


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
        f'{{{FAIR}, "target_exposure_bp": 500, "limit_price": "\u0662\u0666\u0669.5"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "target_exposure_bp": 900}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "reason": "up\u202eown"}}'.encode(),
        f'{{{FAIR}, "target_exposure_bp": 500, "reason": "a\\u0000b"}}'.encode(),
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


def test_a_refused_text_or_key_is_named_to_the_caller(agent: Agent) -> None:
    hidden = agent.intent("hidden", 500, reason="up\u202eown").json()["faults"]
    assert [f["field"] for f in hidden] == ["body.reason"]
    assert "invisible character U+202E at 2" in hidden[0]["message"]
    twice = agent.http.post(
        "/v1/intents",
        content=b'{"client_key": "a", "client_key": "b"}',
        headers={"Content-Type": "application/json"},
    )
    assert "a key occurs twice" in twice.json()["faults"][0]["message"]


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


# reading


def test_a_decision_reads_back_as_recorded_and_the_reading_is_recorded(
    app: App, agent: Agent
) -> None:
    decision_id = str(agent.intent("to-read", 30_000).json()["decision_id"])
    before = app.ledger.size
    body = agent.http.get(f"/v1/decisions/{decision_id}").json()
    agent.http.get(f"/v1/decisions/{decision_id}")
    stored = decision_records(app.reader, decision_id)
    assert [r["leaf"] for r in body["records"]] == [r.leaf.hex() for r in stored]
    assert [r["payload"] for r in body["records"]] == [r.body for r in stored]
    reads = [
        (r.body["reader"], r.body["role"], r.body["object"])
        for r in app.reader.records(kinds=(Kind.READ_RECORDED,), after_seq=before - 1)
    ]
    assert set(reads) == {("agent", "agent", f"decision/{decision_id}")}
    assert len(reads) <= 2, "once a minute, and the minute may have changed"


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
    known = {"ledger", "database", "housekeeping", "engine", "fix", "settler", "orders", "book"}
    assert set(parts) == known | {"desk", "policy", "kill", "tiles", "stops", "conduct"}
    assert set(parts.values()) == {"ready"}


def test_every_route_is_documented(app: App) -> None:
    document = httpx.get(f"{app.server.address}/openapi.json", trust_env=False).json()
    routes = {(m.upper(), path) for path, verbs in document["paths"].items() for m in verbs}
    page = (Path(__file__).parents[2] / "docs" / "access.md").read_text()
    told = {
        (method, path.replace(":path}", "}"))
        for method, path in re.findall(r"^\| (GET|POST) \| `([^`]+)`", page, re.MULTILINE)
        if path.startswith(("/v1/", "/log/", "/metrics", "/healthz", "/readyz"))
    }
    assert routes == told
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            assert operation["summary"], (path, verb)
            assert operation["description"], (path, verb)


@pytest.mark.parametrize("page", ["/", "/positions", "/positions?account=agent", "/ledger"])
def test_a_page_of_a_running_desk_answers_who_is_signed_in(app: App, page: str) -> None:
    with httpx.Client(base_url=app.server.address, trust_env=False) as browser:
        assert browser.get(page).status_code == 303
        sign_in(browser, app.plan.keyring.token("auditor"))
        answer = browser.get(page)
    assert answer.status_code == 200
    assert "Content-Security-Policy" in answer.headers


def test_the_pages_of_every_decision_answer(app: App) -> None:
    with httpx.Client(base_url=app.server.address, trust_env=False, timeout=30.0) as browser:
        sign_in(browser, app.plan.keyring.token("auditor"))
        for stream in app.reader.streams("decision/"):
            page = f"/decisions/{stream.removeprefix('decision/')}"
            assert browser.get(page).status_code == 200, page
        assert browser.get("/records/0").status_code == 200
        assert browser.get("/decisions/none").status_code == 404


def test_the_address_that_run_prints_signs_in_once(app: App) -> None:
    address = app.page_address()
    with httpx.Client(trust_env=False) as browser:
        came = browser.get(address)
        assert (came.status_code, came.headers["location"]) == (303, "/")
        assert browser.get(f"{app.server.address}/").status_code == 200
    with httpx.Client(trust_env=False) as stranger:
        assert stranger.get(address).status_code == 403
        assert stranger.get(f"{app.server.address}/").status_code == 303
