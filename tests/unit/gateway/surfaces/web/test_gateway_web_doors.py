"""Who comes in to a page or a form, and what the answer tells a browser; without a ledger."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.store.reader import LedgerReader
from gateway.desk.bodies.order_requests import OrderLine
from gateway.desk.bodies.requests import WouldPass
from gateway.desk.holds.waiting import HoldList
from gateway.desk.intake.foreign import ForeignLine
from gateway.desk.officers.oversight.case_files import CaseLook
from gateway.desk.officers.oversight.reviews import ReviewItem, ReviewLook
from gateway.errors import ApprovalRefusedError
from gateway.evidence.answers.days import FlowReport
from gateway.evidence.answers.engine_adds import EngineAdds
from gateway.evidence.answers.outcomes import Scores
from gateway.installation.keys.keyring import Caller, digest_of
from gateway.installation.keys.roles import Role
from gateway.surfaces.web.doors import NEXT_CHARS_MAX, Entrance
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.busy_threads import busy
from tests.doubles.page_person import KeptDrafts, entrance, sign_in

HOME = "http://127.0.0.1:8700"
OWN = {"Origin": HOME}
NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"
APPROVAL = "/decisions/d-1/approval"


class NotedDesk:
    """The pages' actions; keeps who did what."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []

    def note_read(self, reader: Caller, what: str) -> None:
        raise NotImplementedError((reader, what))

    def session(self) -> None:
        """No session."""

    def feeds(self) -> None:
        pass

    def cases(self) -> tuple[CaseLook, ...]:
        raise NotImplementedError

    def case(self, case_id: str) -> tuple[CaseLook, str]:
        raise NotImplementedError(case_id)

    def scores(self) -> Scores:
        raise NotImplementedError

    def engine_adds(self, account: str) -> EngineAdds:
        raise NotImplementedError

    def own_acts(self) -> NoReturn:
        raise NotImplementedError

    def reviews(self) -> tuple[ReviewLook, ...]:
        raise NotImplementedError

    def review(self, caller: Caller, seq: int) -> tuple[ReviewLook, tuple[ReviewItem, ...]]:
        raise NotImplementedError(caller, seq)

    def answer_review(
        self, caller: Caller, seq: int, decision_id: str, answer: str, note: str
    ) -> str:
        raise NotImplementedError(caller, seq, decision_id, answer, note)

    def flow(self, first: str, last: str) -> FlowReport:
        raise NotImplementedError(first, last)

    def orders(self, caller: Caller, *, live: bool, limit: int) -> Sequence[OrderLine]:
        raise NotImplementedError(caller, live, limit)

    def foreign(self, caller: Caller, *, live: bool, limit: int) -> Sequence[ForeignLine]:
        raise NotImplementedError(caller, live, limit)

    def cancel(self, caller: Caller, name: str, client_key: str, reason: str) -> str:
        raise NotImplementedError(caller, name, client_key, reason)

    def replace(self, caller: Caller, name: str, request: Mapping[str, str | int | None]) -> str:
        raise NotImplementedError(caller, name, request)

    def tick_of(self, instrument: str) -> int:
        return 1 if instrument else 0

    def price_unit_of(self, instrument: str) -> tuple[int, str]:
        return self.tick_of(instrument), "USD"

    def book_state(self) -> str:
        """No difference."""
        return "ready"

    def kill_state(self) -> tuple[int, bool]:
        return 0, False

    def kill(self, caller: Caller, reason: str) -> str:
        self.done.append(("kill", caller.name, reason))
        return "Kill 1 is in force."

    def holds(self) -> HoldList:
        return HoldList(waiting=(), ended=())

    def would_pass(self, decision_id: str) -> WouldPass | None:
        raise AssertionError(f"not asked here: {decision_id}")

    def sheet_digest(self, caller: Caller, decision_id: str) -> str:
        raise NotImplementedError(caller, decision_id)

    def answer_hold(
        self,
        caller: Caller,
        decision_id: str,
        *,
        approve: bool,
        digests: tuple[str, str],
        note: str,
    ) -> str:
        self.done.append((caller.name, decision_id, approve, digests, note))
        raise ApprovalRefusedError(problem=f"not with {note}")


@pytest.fixture
def ledger() -> KeptDrafts:
    return KeptDrafts()


@pytest.fixture
def door(tmp_path: Path, ledger: KeptDrafts) -> Entrance:
    return entrance(tmp_path, ledger)


@pytest.fixture
def desk() -> NotedDesk:
    return NotedDesk()


@pytest.fixture
def browser(door: Entrance, desk: NotedDesk) -> TestClient:
    app = FastAPI()
    register(app, Views(LedgerReader(NO_DATABASE, timeout_s=2.0)), desk, door)
    return TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False)


def session_in(browser: TestClient) -> str:
    return dict(browser.cookies.items()).get("countersign_8700", "")


def post(browser: TestClient, door: Entrance, path: str, **fields: str) -> int:
    """Post a form with the token that its page has for this session."""
    token = door.guard.token(session_in(browser), path)
    return browser.post(path, data={"token": token, **fields}, headers=OWN).status_code


def refused(door: Entrance, ledger: KeptDrafts) -> set[tuple[str, str]]:
    door.refusals.flush()
    return {(str(d.payload["who"]), str(d.payload["reason"])) for d in ledger.drafts}


def test_a_session_of_a_role_without_pages_sees_none(
    browser: TestClient, door: Entrance, ledger: KeptDrafts
) -> None:
    """An agent cannot sign in; should it have a session by a link, it is of no use."""
    browser.get(f"/sign-in?once={door.sessions.link('agent')}")
    assert session_in(browser)
    answer = browser.get("/kill")
    assert answer.status_code == 403
    assert 'action="/kill"' not in answer.text
    assert ("agent", "may_not_watch") in refused(door, ledger)


@pytest.mark.parametrize(
    ("name", "path", "status", "does"),
    [
        ("operator", "/kill", 200, True),
        ("approver", "/kill", 200, True),
        ("auditor", "/kill", 403, False),
        ("operator", APPROVAL, 403, False),
        ("approver", APPROVAL, 409, True),
        ("auditor", APPROVAL, 403, False),
    ],
)
def test_a_form_is_done_for_its_roles_only(  # noqa: PLR0913, PLR0917 - one row of the table
    browser: TestClient,
    door: Entrance,
    desk: NotedDesk,
    ledger: KeptDrafts,
    name: str,
    path: str,
    status: int,
    does: bool,  # noqa: FBT001 - one row of the table
) -> None:
    sign_in(browser, door.keyring.token(name))
    assert post(browser, door, path, answer="approve", reason="test") == status
    assert bool(desk.done) is does
    action = "kill" if path == "/kill" else "approve"
    assert ((name, f"may_not_{action}") in refused(door, ledger)) is not does


@pytest.mark.parametrize(("answer", "approves"), [("approve", True), ("refuse", False)])
def test_the_answer_that_was_pressed_reaches_the_desk_with_its_note(
    browser: TestClient,
    door: Entrance,
    desk: NotedDesk,
    answer: str,
    approves: bool,  # noqa: FBT001
) -> None:
    sign_in(browser, door.keyring.token("approver"))
    post(browser, door, APPROVAL, answer=answer, intent_digest="ab", sheet_digest="cd", note="seen")
    assert desk.done == [("approver", "d-1", approves, ("ab", "cd"), "seen")]


@pytest.mark.parametrize("answer", ["", "Approve", "approved", "no"])
def test_an_answer_that_is_neither_does_nothing(
    browser: TestClient, door: Entrance, desk: NotedDesk, answer: str
) -> None:
    sign_in(browser, door.keyring.token("approver"))
    assert post(browser, door, APPROVAL, answer=answer) == 400
    assert not desk.done


def test_what_somebody_wrote_is_text_on_a_page_and_never_markup(
    browser: TestClient, door: Entrance
) -> None:
    sign_in(browser, door.keyring.token("approver"))
    form = {
        "token": door.guard.token(session_in(browser), APPROVAL),
        "answer": "refuse",
        "note": "<script>alert(1)</script>",
    }
    page = browser.post(APPROVAL, data=form, headers=OWN).text
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_who_is_signed_out_comes_back_to_the_page_of_his_form(
    browser: TestClient, desk: NotedDesk
) -> None:
    page = browser.post(APPROVAL, data={"token": "x"}, headers=OWN)
    assert page.status_code == 403
    assert 'href="/sign-in?next=/decisions/d-1"' in page.text
    assert not desk.done


def test_a_page_whose_address_is_too_long_is_not_come_back_to(browser: TestClient) -> None:
    short = "/kill?a=" + "b" * (NEXT_CHARS_MAX - len("/kill?a="))
    assert "next=" in browser.get(short).headers["location"]
    sent = browser.get(f"{short}b").headers["location"]
    assert sent == "/sign-in"
    assert browser.get(sent).status_code == 200


def test_a_used_link_leads_whoever_is_in_to_this_site_only(
    browser: TestClient, door: Entrance
) -> None:
    link = str(door.sessions.link("operator"))
    assert browser.get("/sign-in", params={"once": link}).status_code == 303
    again = {"once": link, "next": "//evil.example"}
    assert browser.get("/sign-in", params=again).headers["location"] == "/"


def test_the_form_carries_no_address_of_another_site(browser: TestClient) -> None:
    page = browser.get("/sign-in", params={"next": "https://evil.example/"}).text
    found = re.search(r'name="next" value="([^"]*)"', page)
    assert found is not None
    assert found[1] == "/"


def test_signing_out_takes_the_cookie_away(browser: TestClient, door: Entrance) -> None:
    sign_in(browser, door.keyring.token("operator"))
    form = {"token": door.guard.token(session_in(browser), "/sign-out")}
    answer = browser.post("/sign-out", data=form, headers=OWN)
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert not session_in(browser)


def test_a_key_is_read_as_it_is_copied_with_its_end_of_line(
    browser: TestClient, door: Entrance
) -> None:
    sign_in(browser, f" {door.keyring.token('operator')}\n")
    assert browser.get("/kill").status_code == 200


def test_a_wrong_key_is_told_what_is_asked_for(door: Entrance) -> None:
    async def at_once(_: float) -> None:
        pass

    object.__setattr__(door, "delay", at_once)
    app = FastAPI()
    register(app, Views(LedgerReader(NO_DATABASE, timeout_s=2.0)), NotedDesk(), door)
    browser = TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000))
    answer = browser.post("/sign-in", data={"key": "cs_wrong"}, headers=OWN)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_no_cache_keeps_a_page_or_a_way_in(browser: TestClient, door: Entrance) -> None:
    sent = browser.get("/kill")
    link = browser.get(f"/sign-in?once={door.sessions.link('operator')}")
    for answer in (sent, link, browser.get("/kill"), browser.get("/sign-in")):
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "script-src" not in answer.headers["content-security-policy"]


def test_a_key_shows_no_form_that_needs_a_session(browser: TestClient, door: Entrance) -> None:
    key = {"Authorization": f"Bearer {door.keyring.token('operator')}"}
    page = browser.get("/kill", headers=key)
    assert page.status_code == 200
    assert "<form" not in page.text


def test_a_session_rests_on_the_role_that_its_key_has_now(
    browser: TestClient, door: Entrance, desk: NotedDesk
) -> None:
    sign_in(browser, door.keyring.token("operator"))
    file = door.keyring.folder / "bearer.json"
    digest = digest_of(door.keyring.token("operator"))
    file.write_text(f'{{"operator": {{"role": "{Role.AUDITOR}", "sha256": "{digest}"}}}}')
    assert post(browser, door, "/kill", reason="test") == 403
    assert not desk.done


def test_the_pages_kill_goes_through_while_every_thread_is_taken(
    browser: TestClient, door: Entrance, desk: NotedDesk
) -> None:
    sign_in(browser, door.keyring.token("operator"))
    session = session_in(browser)
    form = {"token": door.guard.token(session, "/kill"), "reason": "smoke"}
    assert isinstance(browser.app, FastAPI)
    with busy(browser.app) as hurried:
        hurried.cookies.set("countersign_8700", session)
        assert hurried.post("/kill", data=form, headers=OWN).status_code == 200
    assert desk.done == [("kill", "operator", "smoke")]
