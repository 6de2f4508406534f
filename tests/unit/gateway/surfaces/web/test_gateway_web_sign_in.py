"""Signing in and out, without a ledger: what a browser gets, and what is counted."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from gateway.installation.keys.roles import Role
from gateway.installation.settings import ApiSettings
from gateway.surfaces.server import Server
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.sign_in import DELAY_S, DELAYED_MAX
from tests.doubles.page_desk import HOME, OWN, PageDesk, hidden, without_database
from tests.doubles.page_person import sign_in


@pytest.fixture
def pages(tmp_path: Path) -> PageDesk:
    return without_database(tmp_path)


@pytest.fixture
def browser(pages: PageDesk) -> TestClient:
    return pages.browser()


def refused(pages: PageDesk) -> list[tuple[str, str, int]]:
    """Return the counts on record, of all minutes: one may have ended meanwhile."""
    pages.door.refusals.flush()
    counts: Counter[tuple[str, str]] = Counter()
    for draft in pages.refusals.drafts:
        who, reason = str(draft.payload["who"]), str(draft.payload["reason"])
        counts[who, reason] += int(str(draft.payload["count"]))
    return [(who, reason, count) for (who, reason), count in counts.items()]


def test_a_browser_without_a_session_is_sent_to_sign_in_and_comes_back(
    browser: TestClient, door: Entrance
) -> None:
    sent = browser.get("/kill?a=1&b=2")
    assert sent.status_code == 303
    form = browser.get(sent.headers["location"]).text
    found = re.search(r'name="next" value="([^"]*)"', form)
    assert found is not None
    following = found.group(1).replace("&amp;", "&")
    assert following == "/kill?a=1&b=2"
    entered = browser.post(
        "/sign-in",
        data={"key": door.keyring.token("operator"), "next": following},
        headers=OWN,
    )
    assert (entered.status_code, entered.headers["location"]) == (303, following)
    assert browser.get(following).status_code == 200


def test_the_key_is_in_no_page_cookie_or_address(browser: TestClient, door: Entrance) -> None:
    key = door.keyring.token("operator")
    answer = browser.post("/sign-in", data={"key": key}, headers=OWN)
    assert key not in str(answer.headers)
    page = browser.get("/kill")
    assert key not in page.text + str(page.headers)
    wrong = browser.post("/sign-in", data={"key": "cs_mistyped"}, headers=OWN)
    assert "cs_mistyped" not in wrong.text


@pytest.mark.parametrize("following", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_nobody_is_sent_to_another_site(
    browser: TestClient, door: Entrance, following: str
) -> None:
    form = {"key": door.keyring.token("operator"), "next": following}
    assert browser.post("/sign-in", data=form, headers=OWN).headers["location"] == "/"
    link = door.sessions.link("operator")
    came = browser.get("/sign-in", params={"once": str(link), "next": following})
    assert came.headers["location"] == "/"


def test_a_link_enters_once_and_is_gone_from_the_address(pages: PageDesk, door: Entrance) -> None:
    link = door.sessions.link("operator")
    first = pages.browser()
    came = first.get(f"/sign-in?once={link}")
    assert (came.status_code, came.headers["location"]) == (303, "/")
    assert first.get("/kill").status_code == 200
    assert first.get(f"/sign-in?once={link}").status_code == 303, "he is in already"
    second = pages.browser()
    again = second.get(f"/sign-in?once={link}")
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert str(link) not in again.text
    assert second.get("/kill").status_code == 303
    on_record = refused(pages)
    assert ("none", "link_not_valid", 1) in on_record
    assert str(link) not in str(on_record)


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(
    pages: PageDesk, browser: TestClient, door: Entrance
) -> None:
    sign_in(browser, door.keyring.token("operator"))
    copied = pages.browser()
    copied.cookies.update(dict(browser.cookies.items()))
    assert copied.get("/kill").status_code == 200
    form = hidden(browser.get("/kill").text, "/sign-out")
    for bad in ({"token": "0" * 64}, {}):
        assert browser.post("/sign-out", data=bad, headers=OWN).status_code == 403
    foreign = {"Origin": "http://evil.example"}
    assert browser.post("/sign-out", data=form, headers=foreign).status_code == 403
    assert browser.get("/kill").status_code == 200
    out = browser.post("/sign-out", data=form, headers=OWN)
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert copied.get("/kill").status_code == 303
    assert browser.get("/kill").status_code == 303


def test_signing_in_anew_ends_the_session_before(
    pages: PageDesk, browser: TestClient, door: Entrance
) -> None:
    sign_in(browser, door.keyring.token("operator"))
    before = pages.browser()
    before.cookies.update(dict(browser.cookies.items()))
    sign_in(browser, door.keyring.token("approver"))
    assert before.get("/kill").status_code == 303


def test_a_form_of_another_site_signs_nobody_in(
    pages: PageDesk, browser: TestClient, door: Entrance
) -> None:
    form = {"key": door.keyring.token("operator")}
    for headers in ({"Origin": "http://evil.example"}, {}):
        answer = browser.post("/sign-in", data=form, headers=headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert refused(pages) == [("none", "foreign_form", 2)]


def test_refusals_of_pages_are_counted_by_name_and_reason(
    pages: PageDesk, browser: TestClient, door: Entrance
) -> None:
    browser.get("/ledger")
    browser.get("/ledger", headers={"Authorization": "Bearer cs_nobody"})
    browser.get("/ledger", headers={"Authorization": f"Bearer {door.keyring.token('agent')}"})
    browser.post("/kill", data={"token": "x"}, headers=OWN)
    browser.post("/sign-in", data={"key": "cs_nobody"}, headers=OWN)
    browser.post("/sign-in", data={"key": door.keyring.token("agent")}, headers=OWN)
    sign_in(browser, door.keyring.token("auditor"))
    browser.post("/kill", data={"token": "x"}, headers=OWN)
    elsewhere = TestClient(pages.app, base_url=HOME, client=("10.0.0.5", 1))
    assert elsewhere.get("/sign-in").status_code == 403
    stranger = door.refusals.pseudonym("cs_nobody")
    assert set(refused(pages)) == {
        ("none", "not_signed_in", 2),
        (stranger, "unknown_key", 1),
        ("agent", "may_not_watch", 2),
        (stranger, "sign_in_failed", 1),
        ("auditor", "foreign_form", 1),
        ("none", "not_local", 1),
    }


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    server = Server(ApiSettings(port=0))
    server.start(app)
    try:
        yield server.address
    finally:
        server.stop()


def test_wrong_keys_are_answered_late_and_never_hold_up_a_right_one(
    pages: PageDesk, door: Entrance
) -> None:
    delays: list[float] = []
    over = threading.Event()
    held = threading.Semaphore(0)

    async def delay(seconds: float) -> None:
        delays.append(seconds)
        held.release()
        await asyncio.to_thread(over.wait, 60.0)

    def guess(address: str) -> int:
        return httpx.post(
            f"{address}/sign-in",
            data={"key": "cs_guess"},
            headers={"Origin": address},
            trust_env=False,
            timeout=60.0,
        ).status_code

    object.__setattr__(door, "delay", delay)
    with served(pages.app) as address, ThreadPoolExecutor(32) as pool:
        late = [pool.submit(guess, address) for _ in range(DELAYED_MAX)]
        assert all(held.acquire(timeout=30.0) for _ in late)
        assert not any(one.done() for one in late)
        assert guess(address) == 429, "one more is told at once"
        with httpx.Client(base_url=address, trust_env=False, timeout=30.0) as person:
            sign_in(person, door.keyring.token("operator"))
            assert person.get("/kill").status_code == 200
        over.set()
        assert {one.result(60.0) for one in late} == {401}
        assert guess(address) == 401, "there is room again"
    assert delays == [DELAY_S] * (DELAYED_MAX + 1)


def test_a_role_sees_its_own_buttons(browser: TestClient, door: Entrance) -> None:
    for role in (Role.OPERATOR, Role.APPROVER, Role.AUDITOR):
        sign_in(browser, door.keyring.token(role.value))
        page = browser.get("/kill").text
        assert ('action="/kill"' in page) == (role is not Role.AUDITOR)
        assert 'action="/sign-out"' in page
        assert role.value in page
