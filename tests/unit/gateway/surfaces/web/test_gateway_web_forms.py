import itertools
from typing import Annotated

import pytest
from fastapi import FastAPI, Form, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.testclient import TestClient

from gateway.surfaces.web.forms import (
    COOKIE,
    FormGuard,
    from_loopback,
    keep_session,
    own_path,
    session_of,
)

HOME = "http://127.0.0.1:8700"
_numbers = itertools.count()


def site(secret: bytes = b"s" * 32) -> FastAPI:
    app = FastAPI()
    guard = FormGuard(secret)

    @app.get("/form")
    def form(request: Request) -> Response:
        session = session_of(request) or f"session-{next(_numbers)}"
        response = PlainTextResponse(guard.token(session, "/act"))
        keep_session(request, response, session, 60)
        return response

    @app.post("/act")
    def act(request: Request, token: Annotated[str, Form()] = "") -> Response:
        return PlainTextResponse(guard.refusal(request, session_of(request), token) or "done")

    @app.get("/local")
    def local(request: Request) -> Response:
        return PlainTextResponse(str(from_loopback(request)))

    return app


@pytest.fixture
def browser() -> TestClient:
    return TestClient(site(), base_url=HOME, client=("127.0.0.1", 40000))


def test_a_form_of_this_session_sent_from_this_page_passes(browser: TestClient) -> None:
    token = browser.get("/form").text
    answer = browser.post("/act", data={"token": token}, headers={"Origin": HOME})
    assert answer.text == "done"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:8700", "null", ""]
)
def test_another_origin_is_refused_even_with_cookie_and_token(
    browser: TestClient, origin: str
) -> None:
    token = browser.get("/form").text
    answer = browser.post("/act", data={"token": token}, headers={"Origin": origin})
    assert "not sent from this page" in answer.text


def test_no_origin_needs_the_browsers_own_word(browser: TestClient) -> None:
    token = browser.get("/form").text
    assert "not sent" in browser.post("/act", data={"token": token}).text
    for site_of in ("cross-site", "same-site", "none"):
        other = {"Sec-Fetch-Site": site_of}
        assert "not sent" in browser.post("/act", data={"token": token}, headers=other).text
    same = {"Sec-Fetch-Site": "same-origin"}
    assert browser.post("/act", data={"token": token}, headers=same).text == "done"


def test_another_sessions_token_is_refused(browser: TestClient) -> None:
    stolen = TestClient(site(), base_url=HOME).get("/form").text
    browser.get("/form")
    answer = browser.post("/act", data={"token": stolen}, headers={"Origin": HOME})
    assert "another session" in answer.text


@pytest.mark.parametrize("token", ["", "0" * 64, "ünicode", "a" * 100])
def test_a_made_up_token_is_refused_and_never_crashes(browser: TestClient, token: str) -> None:
    browser.get("/form")
    answer = browser.post("/act", data={"token": token}, headers={"Origin": HOME})
    assert answer.status_code == 200
    assert answer.text != "done"


def test_a_token_without_its_cookie_is_refused(browser: TestClient) -> None:
    token = browser.get("/form").text
    browser.cookies.clear()
    answer = browser.post("/act", data={"token": token}, headers={"Origin": HOME})
    assert "another session" in answer.text


def test_a_restarted_process_honours_no_old_form() -> None:
    before = TestClient(site(b"a" * 32), base_url=HOME)
    after = TestClient(site(b"b" * 32), base_url=HOME, cookies=before.cookies)
    token = before.get("/form").text
    after.cookies.update(before.cookies)
    answer = after.post("/act", data={"token": token}, headers={"Origin": HOME})
    assert "another session" in answer.text


def test_a_token_serves_one_address_only() -> None:
    guard = FormGuard(b"s")
    assert guard.token("session", "/kill") != guard.token("session", "/decisions/7/approval")


def test_the_session_cookie_is_closed_to_scripts_and_other_sites(browser: TestClient) -> None:
    header = browser.get("/form").headers["set-cookie"].lower()
    assert header.startswith(f"{COOKIE}_8700=session-")
    assert {"httponly", "samesite=strict", "path=/", "max-age=60"} <= set(header.split("; "))
    assert "secure" not in header
    under_tls = TestClient(site(), base_url="https://127.0.0.1:8700").get("/form")
    assert "secure" in under_tls.headers["set-cookie"].lower().split("; ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "evil.example",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example/",
        "http:evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        " //evil.example",
        "/.//evil.example\r\nSet-Cookie: a=b",
        "/ü",
        "/sign-in?next=/sign-in",
        "/sign-out",
    ],
)
def test_nobody_is_sent_on_to_another_site(text: str) -> None:
    assert own_path(text) == "/"


@pytest.mark.parametrize(
    "text", ["/", "/positions?account=agent", "/decisions/run-1-0001", "/?run=a&before=3", "/kill"]
)
def test_a_path_of_this_site_is_kept(text: str) -> None:
    assert own_path(text) == text


@pytest.mark.parametrize(
    ("peer", "host", "local"),
    [
        ("127.0.0.1", "127.0.0.1:8700", "True"),
        ("127.0.0.1", "localhost:8700", "True"),
        ("::1", "[::1]:8700", "True"),
        ("127.0.0.1", "rebound.example", "False"),
        ("10.0.0.5", "127.0.0.1:8700", "False"),
        ("testclient", "127.0.0.1", "False"),
    ],
)
def test_only_this_machine_under_its_own_name_is_local(peer: str, host: str, local: str) -> None:
    client = TestClient(site(), base_url="http://127.0.0.1", client=(peer, 1))
    assert client.get("/local", headers={"Host": host}).text == local
