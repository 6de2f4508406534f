"""A page keeps itself fresh for who asks; without that no page has a script."""

from typing import cast

import pytest
from fastapi.testclient import TestClient

from audit.store.reader import LedgerReader
from gateway.surfaces.following import Following
from gateway.surfaces.web.live import LIVE_PAGES
from gateway.surfaces.web.sessions import IDLE_S, Sessions
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import PageDesk
from tests.doubles.set_clock import SetClock

CLOCK = SetClock()


@pytest.fixture
def browser(pages: PageDesk) -> TestClient:
    reader = cast("LedgerReader", pages.desk.log)
    pages.app.state.following = Following(lambda: reader)
    sessions = Sessions(pages.door.keyring, CLOCK.monotonic_us)
    object.__setattr__(pages.door, "sessions", sessions)
    return pages.browser("auditor")


@pytest.mark.parametrize("page", sorted(LIVE_PAGES))
def test_a_page_has_its_script_only_when_it_is_asked_to_be_live(
    browser: TestClient, page: str
) -> None:
    plain, live = browser.get(page), browser.get(page, params={"live": "1"})
    assert (plain.status_code, live.status_code) == (200, 200)
    assert "<script" not in plain.text
    assert "script-src" not in plain.headers["content-security-policy"]
    assert 'href="?live=1"' in plain.text
    assert live.text.count("<script") == 1
    assert '<script type="module" src="/static/live.mjs">' in live.text
    policy = live.headers["content-security-policy"]
    assert policy.endswith("; script-src 'self'; connect-src 'self'")


def test_the_switch_keeps_the_rest_of_the_query(browser: TestClient) -> None:
    page = browser.get("/", params={"outcome": "held", "live": "1"})
    assert 'href="?outcome=held"' in page.text
    assert 'href="?outcome=held&amp;live=1"' in browser.get("/", params={"outcome": "held"}).text


def test_another_page_is_never_live(browser: TestClient) -> None:
    for page in ("/records/0", "/kill"):
        answer = browser.get(page, params={"live": "1"})
        assert "<script" not in answer.text
        assert "live.mjs" not in answer.text


def test_the_stream_says_that_something_happened_and_nothing_of_it(
    browser: TestClient, desk: MemoryDesk
) -> None:
    answer = browser.get("/live", params={"wait_s": 0})
    assert (answer.status_code, answer.text) == (200, "")
    assert answer.headers["content-type"].startswith("text/event-stream")
    order = desk.rest()
    told = browser.get("/live", params={"wait_s": 0}).text
    assert order.decision_id not in told


def test_a_live_page_does_not_keep_a_session_open(browser: TestClient) -> None:
    CLOCK.passes((IDLE_S - 10) * 1_000_000)
    assert browser.get("/", params={"live": "1"}).status_code == 200
    assert browser.get("/live", params={"wait_s": 0}).status_code == 200
    CLOCK.passes(20 * 1_000_000)
    assert browser.get("/", params={"live": "1"}).status_code == 303


def test_who_is_not_signed_in_follows_nothing(browser: TestClient) -> None:
    browser.cookies.clear()
    assert browser.get("/live", params={"wait_s": 0}).status_code == 303
