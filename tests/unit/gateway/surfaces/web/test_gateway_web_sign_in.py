"""Signing in and out, without a ledger: what a browser gets, and what is counted."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import httpx
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
from gateway.evidence.answers.days import FlowReport
from gateway.evidence.answers.engine_adds import EngineAdds
from gateway.evidence.answers.outcomes import Scores
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.installation.settings import ApiSettings
from gateway.surfaces.server import Server
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.sign_in import DELAY_S, DELAYED_MAX
from gateway.surfaces.web.views.lists import Views
from tests.doubles.page_person import KeptDrafts, entrance, sign_in

HOME = "http://127.0.0.1:8700"
OWN = {"Origin": HOME}
NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"


class NoDesk:
    """The pages' actions of a gateway that does nothing."""

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
        raise NotImplementedError((caller, reason))

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
        raise NotImplementedError((caller, decision_id, approve, digests, note))


@pytest.fixture
def ledger() -> KeptDrafts:
    return KeptDrafts()


@pytest.fixture
def door(tmp_path: Path, ledger: KeptDrafts) -> Entrance:
    return entrance(tmp_path, ledger)


def site(door: Entrance) -> FastAPI:
    made = FastAPI()
    register(made, Views(LedgerReader(NO_DATABASE, timeout_s=2.0)), NoDesk(), door)
    return made


@pytest.fixture
def app(door: Entrance) -> FastAPI:
    return site(door)


def new_browser(app: FastAPI) -> TestClient:
    return TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False)


@pytest.fixture
def browser(app: FastAPI) -> TestClient:
    return new_browser(app)


def refused(door: Entrance, ledger: KeptDrafts) -> list[tuple[str, str, int]]:
    """Return the counts on record, of all minutes: one may have ended meanwhile."""
    door.refusals.flush()
    counts: Counter[tuple[str, str]] = Counter()
    for draft in ledger.drafts:
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


def test_a_link_enters_once_and_is_gone_from_the_address(
    app: FastAPI, door: Entrance, ledger: KeptDrafts
) -> None:
    link = door.sessions.link("operator")
    first = new_browser(app)
    came = first.get(f"/sign-in?once={link}")
    assert (came.status_code, came.headers["location"]) == (303, "/")
    assert first.get("/kill").status_code == 200
    assert first.get(f"/sign-in?once={link}").status_code == 303, "he is in already"
    second = new_browser(app)
    again = second.get(f"/sign-in?once={link}")
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert str(link) not in again.text
    assert second.get("/kill").status_code == 303
    on_record = refused(door, ledger)
    assert ("none", "link_not_valid", 1) in on_record
    assert str(link) not in str(on_record)


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(
    app: FastAPI, browser: TestClient, door: Entrance
) -> None:
    sign_in(browser, door.keyring.token("operator"))
    copied = new_browser(app)
    copied.cookies.update(dict(browser.cookies.items()))
    assert copied.get("/kill").status_code == 200
    page = browser.get("/kill").text.partition('action="/sign-out"')[2]
    found = re.search(r'name="token" value="(\w+)"', page)
    assert found is not None
    for bad in ({"token": "0" * 64}, {}):
        assert browser.post("/sign-out", data=bad, headers=OWN).status_code == 403
    foreign = {"Origin": "http://evil.example"}
    assert browser.post("/sign-out", data={"token": found[1]}, headers=foreign).status_code == 403
    assert browser.get("/kill").status_code == 200
    out = browser.post("/sign-out", data={"token": found[1]}, headers=OWN)
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert copied.get("/kill").status_code == 303
    assert browser.get("/kill").status_code == 303


def test_signing_in_anew_ends_the_session_before(
    app: FastAPI, browser: TestClient, door: Entrance
) -> None:
    sign_in(browser, door.keyring.token("operator"))
    before = new_browser(app)
    before.cookies.update(dict(browser.cookies.items()))
    sign_in(browser, door.keyring.token("approver"))
    assert before.get("/kill").status_code == 303


def test_a_form_of_another_site_signs_nobody_in(
    browser: TestClient, door: Entrance, ledger: KeptDrafts
) -> None:
    form = {"key": door.keyring.token("operator")}
    for headers in ({"Origin": "http://evil.example"}, {}):
        answer = browser.post("/sign-in", data=form, headers=headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert refused(door, ledger) == [("none", "foreign_form", 2)]


def test_refusals_of_pages_are_counted_by_name_and_reason(
    app: FastAPI, browser: TestClient, door: Entrance, ledger: KeptDrafts
) -> None:
    browser.get("/ledger")
    browser.get("/ledger", headers={"Authorization": "Bearer cs_nobody"})
    browser.get("/ledger", headers={"Authorization": f"Bearer {door.keyring.token('agent')}"})
    browser.post("/kill", data={"token": "x"}, headers=OWN)
    browser.post("/sign-in", data={"key": "cs_nobody"}, headers=OWN)
    browser.post("/sign-in", data={"key": door.keyring.token("agent")}, headers=OWN)
    sign_in(browser, door.keyring.token("auditor"))
    browser.post("/kill", data={"token": "x"}, headers=OWN)
    elsewhere = TestClient(app, base_url=HOME, client=("10.0.0.5", 1))
    assert elsewhere.get("/sign-in").status_code == 403
    stranger = door.refusals.pseudonym("cs_nobody")
    assert set(refused(door, ledger)) == {
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


def test_wrong_keys_are_answered_late_and_never_hold_up_a_right_one(door: Entrance) -> None:
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

    with served(site(replace(door, delay=delay))) as address, ThreadPoolExecutor(32) as pool:
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
