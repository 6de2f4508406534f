"""The kill's page and every notice of the frame work while the database is down."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import OWN, PageDesk, hidden, without_database
from tests.doubles.page_person import sign_in


@pytest.fixture
def pages(tmp_path: Path) -> PageDesk:
    return without_database(tmp_path)


@pytest.fixture
def desk(pages: PageDesk) -> MemoryDesk:
    return pages.desk


@pytest.fixture
def browser(pages: PageDesk) -> TestClient:
    return pages.browser("operator")


def pressed(desk: MemoryDesk) -> list[tuple[str, str]]:
    """Return who pressed the kill, and why."""
    found = desk.log.of_kind(Kind.KILL_PRESSED)
    return [(str(one.body["actor_name"]), str(one.body["reason"])) for one in found]


def test_without_a_database_every_page_says_so_and_still_offers_the_kill(
    browser: TestClient,
) -> None:
    for path in ("/", "/positions", "/ledger", "/records/0", "/decisions/x"):
        answer = browser.get(path)
        assert answer.status_code == 503
        assert "The ledger does not answer" in answer.text
        assert 'action="/kill"' in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_kill_works_while_the_database_is_down(browser: TestClient, desk: MemoryDesk) -> None:
    assert "No kill is in force" in browser.get("/kill").text
    form = {**hidden(browser.get("/kill").text, "/kill"), "reason": "drill"}
    answer = browser.post("/kill", data=form, headers=OWN)
    assert answer.status_code == 200
    assert "No kill is in force" not in browser.get("/kill").text
    assert "Kill 1 is in force" in answer.text
    assert pressed(desk) == [("operator", "drill")]


def test_every_page_says_where_the_book_and_the_broker_differ(
    browser: TestClient, desk: MemoryDesk
) -> None:
    assert "reports differ" not in browser.get("/kill").text
    desk.settled(desk.report(desk.rest(), t31="999.00"))
    assert "reports differ: 1 unresolved" in browser.get("/kill").text
    browser.cookies.clear()
    assert "unresolved" not in browser.get("/sign-in").text


@pytest.mark.parametrize("token", ["x", "", "0" * 64])
def test_a_wrong_token_presses_nothing(browser: TestClient, desk: MemoryDesk, token: str) -> None:
    form = {"token": token, "reason": "drill"}
    assert browser.post("/kill", data=form, headers=OWN).status_code == 403
    assert pressed(desk) == []


def test_who_signed_out_or_never_in_presses_nothing(browser: TestClient, desk: MemoryDesk) -> None:
    form = {**hidden(browser.get("/kill").text, "/kill"), "reason": "drill"}
    browser.cookies.clear()
    answer = browser.post("/kill", data=form, headers=OWN)
    assert answer.status_code == 403
    assert 'href="/sign-in?next=/kill">Sign in</a>' in answer.text
    assert pressed(desk) == []


def test_an_auditor_has_no_kill_button_and_may_not_press(
    browser: TestClient, desk: MemoryDesk, pages: PageDesk
) -> None:
    sign_in(browser, pages.door.keyring.token("auditor"))
    assert 'action="/kill"' not in browser.get("/kill").text
    answer = pages.post(browser, "/kill", reason="drill")
    assert answer.status_code == 403
    assert "auditor may not kill" in answer.text
    assert pressed(desk) == []


def test_asking_for_the_kill_page_presses_nothing(
    browser: TestClient, desk: MemoryDesk, pages: PageDesk
) -> None:
    key = pages.door.keyring.token("operator")
    assert browser.get("/kill").status_code == 200
    assert browser.get(f"/kill?key={key}&reason=x").status_code == 200
    assert pressed(desk) == []
