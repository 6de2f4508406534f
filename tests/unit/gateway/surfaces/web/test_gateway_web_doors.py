"""Who comes in to a page or a form, and what the answer tells a browser; without a ledger."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from gateway.installation.keys.keyring import digest_of
from gateway.installation.keys.roles import Role
from gateway.surfaces.web.doors import NEXT_CHARS_MAX
from tests.doubles.busy_threads import busy
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import (
    COOKIE,
    OWN,
    PageDesk,
    hidden,
    page_desk,
    session_in,
    without_database,
)
from tests.doubles.page_person import sign_in

APPROVAL = "/decisions/d-1/approval"
DONE = (Kind.KILL_PRESSED, Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED)


@pytest.fixture
def pages(tmp_path: Path) -> PageDesk:
    return without_database(tmp_path)


@pytest.fixture
def desk(pages: PageDesk) -> MemoryDesk:
    return pages.desk


@pytest.fixture
def browser(pages: PageDesk) -> TestClient:
    return pages.browser()


def done(desk: MemoryDesk) -> list[tuple[Kind, str, str]]:
    """Return what forms did: which record, by whom, and why."""
    return [
        (one.kind, str(one.body.get("actor_name") or one.body["approver"]), str(one.body["reason"]))
        for one in desk.log.records(kinds=DONE)
    ]


def test_a_session_of_a_role_without_pages_sees_none(browser: TestClient, pages: PageDesk) -> None:
    """An agent cannot sign in; should it have a session by a link, it is of no use."""
    browser.get(f"/sign-in?once={pages.door.sessions.link('agent')}")
    assert session_in(browser)
    answer = browser.get("/kill")
    assert answer.status_code == 403
    assert 'action="/kill"' not in answer.text
    assert ("agent", "may_not_watch") in pages.refused()


@pytest.mark.parametrize(
    ("name", "form", "status"),
    [
        ("operator", "kill", 200),
        ("approver", "kill", 200),
        ("auditor", "kill", 403),
        ("operator", "approve", 403),
        ("approver", "approve", 200),
        ("auditor", "approve", 403),
    ],
)
def test_a_form_is_done_for_its_roles_only(
    pages: PageDesk, desk: MemoryDesk, name: str, form: str, status: int
) -> None:
    path, fields = "/kill", {"reason": "test"}
    if form == "approve":
        path = f"/decisions/{(held := desk.hold())}/approval"
        digest = str(desk.verdict(held).body["intent_digest"])
        fields = {"answer": "refuse", "intent_digest": digest, "note": "test"}
    assert pages.post(pages.browser(name), path, **fields).status_code == status
    assert bool(done(desk)) is (status == 200)
    assert ((name, f"may_not_{form}") in pages.refused()) is (status == 403)


@pytest.mark.parametrize(
    ("answer", "kind"), [("approve", Kind.APPROVAL_GIVEN), ("refuse", Kind.APPROVAL_REFUSED)]
)
def test_the_answer_that_was_pressed_reaches_the_desk_with_its_note(
    tmp_path: Path, answer: str, kind: Kind
) -> None:
    pages = page_desk(tmp_path)
    held, browser = pages.desk.hold(), pages.browser("approver")
    address = f"/decisions/{held}/approval"
    fields = hidden(browser.get(f"/decisions/{held}").text, address)
    answered = browser.post(address, data={**fields, "answer": answer, "note": "seen"}, headers=OWN)
    assert answered.status_code == 200
    assert done(pages.desk) == [(kind, "approver", "seen")]


@pytest.mark.parametrize("answer", ["", "Approve", "approved", "no"])
def test_an_answer_that_is_neither_does_nothing(
    pages: PageDesk, desk: MemoryDesk, answer: str
) -> None:
    said = pages.post(pages.browser("approver"), APPROVAL, answer=answer)
    assert said.status_code == 400
    assert "Answer with approve or refuse" in said.text
    assert not done(desk)


def test_what_somebody_wrote_is_text_on_a_page_and_never_markup(
    tmp_path: Path,
) -> None:
    pages = page_desk(tmp_path)
    pages.desk.answer(pages.desk.hold(), approve=False, note="<script>alert(1)</script>")
    page = pages.read("/approvals")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_who_is_signed_out_comes_back_to_the_page_of_his_form(
    browser: TestClient, desk: MemoryDesk
) -> None:
    page = browser.post(APPROVAL, data={"token": "x"}, headers=OWN)
    assert page.status_code == 403
    assert 'href="/sign-in?next=/decisions/d-1"' in page.text
    assert not done(desk)


def test_a_page_whose_address_is_too_long_is_not_come_back_to(browser: TestClient) -> None:
    short = "/kill?a=" + "b" * (NEXT_CHARS_MAX - len("/kill?a="))
    assert "next=" in browser.get(short).headers["location"]
    sent = browser.get(f"{short}b").headers["location"]
    assert sent == "/sign-in"
    assert browser.get(sent).status_code == 200


def test_a_used_link_leads_whoever_is_in_to_this_site_only(
    browser: TestClient, pages: PageDesk
) -> None:
    link = str(pages.door.sessions.link("operator"))
    assert browser.get("/sign-in", params={"once": link}).status_code == 303
    again = {"once": link, "next": "//evil.example"}
    assert browser.get("/sign-in", params=again).headers["location"] == "/"


def test_the_form_carries_no_address_of_another_site(browser: TestClient) -> None:
    page = browser.get("/sign-in", params={"next": "https://evil.example/"}).text
    assert hidden(page, "/sign-in") == {"next": "/"}


def test_signing_out_takes_the_cookie_away(browser: TestClient, pages: PageDesk) -> None:
    sign_in(browser, pages.door.keyring.token("operator"))
    form = {"token": pages.door.guard.token(session_in(browser), "/sign-out")}
    answer = browser.post("/sign-out", data=form, headers=OWN)
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert not session_in(browser)


def test_a_key_is_read_as_it_is_copied_with_its_end_of_line(
    browser: TestClient, pages: PageDesk
) -> None:
    sign_in(browser, f" {pages.door.keyring.token('operator')}\n")
    assert browser.get("/kill").status_code == 200


def test_a_wrong_key_is_told_what_is_asked_for(browser: TestClient, pages: PageDesk) -> None:
    async def at_once(_: float) -> None:
        pass

    object.__setattr__(pages.door, "delay", at_once)
    answer = browser.post("/sign-in", data={"key": "cs_wrong"}, headers=OWN)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_no_cache_keeps_a_page_or_a_way_in(browser: TestClient, pages: PageDesk) -> None:
    sent = browser.get("/kill")
    link = browser.get(f"/sign-in?once={pages.door.sessions.link('operator')}")
    for answer in (sent, link, browser.get("/kill"), browser.get("/sign-in")):
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "script-src" not in answer.headers["content-security-policy"]


def test_a_key_shows_no_form_that_needs_a_session(browser: TestClient, pages: PageDesk) -> None:
    key = {"Authorization": f"Bearer {pages.door.keyring.token('operator')}"}
    page = browser.get("/kill", headers=key)
    assert page.status_code == 200
    assert "<form" not in page.text


def test_a_session_rests_on_the_role_that_its_key_has_now(
    browser: TestClient, pages: PageDesk, desk: MemoryDesk
) -> None:
    sign_in(browser, pages.door.keyring.token("operator"))
    file = pages.door.keyring.folder / "bearer.json"
    digest = digest_of(pages.door.keyring.token("operator"))
    file.write_text(f'{{"operator": {{"role": "{Role.AUDITOR}", "sha256": "{digest}"}}}}')
    assert pages.post(browser, "/kill", reason="test").status_code == 403
    assert not done(desk)


def test_the_pages_kill_goes_through_while_every_thread_is_taken(
    browser: TestClient, pages: PageDesk, desk: MemoryDesk
) -> None:
    sign_in(browser, pages.door.keyring.token("operator"))
    session = session_in(browser)
    form = {"token": pages.door.guard.token(session, "/kill"), "reason": "smoke"}
    assert isinstance(browser.app, FastAPI)
    with busy(browser.app) as hurried:
        hurried.cookies.set(COOKIE, session)
        assert hurried.post("/kill", data=form, headers=OWN).status_code == 200
    assert done(desk) == [(Kind.KILL_PRESSED, "operator", "smoke")]
