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
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.page_person import entrance, sign_in

HOME = "http://127.0.0.1:8700"
NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"


class OneDesk:
    """An `Actions` that keeps who pressed what."""

    def __init__(self) -> None:
        self.pressed: list[tuple[str, str]] = []
        self.book = "ready"

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
        """Where the book differs."""
        return self.book

    def kill_state(self) -> tuple[int, bool]:
        return len(self.pressed), bool(self.pressed)

    def kill(self, caller: Caller, reason: str) -> str:
        self.pressed.append((caller.name, reason))
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
        raise ApprovalRefusedError(
            problem=f"{caller.name} {decision_id} {approve} {digests} {note}"
        )


@pytest.fixture
def actions() -> OneDesk:
    return OneDesk()


@pytest.fixture
def door(tmp_path: Path) -> Entrance:
    return entrance(tmp_path)


@pytest.fixture
def browser(actions: OneDesk, door: Entrance) -> TestClient:
    app = FastAPI()
    register(app, Views(LedgerReader(NO_DATABASE, timeout_s=2.0)), actions, door)
    client = TestClient(app, base_url=HOME, client=("127.0.0.1", 40000))
    sign_in(client, door.keyring.token("operator"))
    return client


def form_token(browser: TestClient) -> str:
    inside = browser.get("/kill").text.partition('action="/kill"')[2]
    token = re.search(r'name="token" value="(\w+)"', inside)
    assert token
    return token.group(1)


def test_without_a_database_every_page_says_so_and_still_offers_the_kill(
    browser: TestClient,
) -> None:
    for path in ("/", "/positions", "/ledger", "/records/0", "/decisions/x"):
        answer = browser.get(path)
        assert answer.status_code == 503
        assert "The ledger does not answer" in answer.text
        assert 'action="/kill"' in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_kill_works_while_the_database_is_down(browser: TestClient, actions: OneDesk) -> None:
    assert "No kill is in force" in browser.get("/kill").text
    form = {"token": form_token(browser), "reason": "drill"}
    answer = browser.post("/kill", data=form, headers={"Origin": HOME})
    assert answer.status_code == 200
    assert "No kill is in force" not in browser.get("/kill").text
    assert "Kill 1 is in force" in answer.text
    assert actions.pressed == [("operator", "drill")]


def test_every_page_says_where_the_book_and_the_broker_differ(
    browser: TestClient, actions: OneDesk
) -> None:
    assert "reports differ" not in browser.get("/kill").text
    actions.book = "1 unresolved: SPXN"
    assert "reports differ: 1 unresolved: SPXN" in browser.get("/kill").text
    browser.cookies.clear()
    assert "SPXN" not in browser.get("/sign-in").text


@pytest.mark.parametrize("token", ["x", "", "0" * 64])
def test_a_wrong_token_presses_nothing(browser: TestClient, actions: OneDesk, token: str) -> None:
    form = {"token": token, "reason": "drill"}
    assert browser.post("/kill", data=form, headers={"Origin": HOME}).status_code == 403
    assert actions.pressed == []


def test_who_signed_out_or_never_in_presses_nothing(browser: TestClient, actions: OneDesk) -> None:
    form = {"token": form_token(browser), "reason": "drill"}
    browser.cookies.clear()
    answer = browser.post("/kill", data=form, headers={"Origin": HOME})
    assert answer.status_code == 403
    assert 'href="/sign-in?next=/kill">Sign in</a>' in answer.text
    assert actions.pressed == []


def test_an_auditor_has_no_kill_button_and_may_not_press(
    browser: TestClient, actions: OneDesk, door: Entrance
) -> None:
    sign_in(browser, door.keyring.token("auditor"))
    assert 'action="/kill"' not in browser.get("/kill").text
    (session,) = (value for name, value in browser.cookies.items() if "8700" in name)
    form = {"token": door.guard.token(session, "/kill"), "reason": "drill"}
    answer = browser.post("/kill", data=form, headers={"Origin": HOME})
    assert answer.status_code == 403
    assert "auditor may not kill" in answer.text
    assert actions.pressed == []


def test_asking_for_the_kill_page_presses_nothing(
    browser: TestClient, actions: OneDesk, door: Entrance
) -> None:
    key = door.keyring.token("operator")
    assert browser.get("/kill").status_code == 200
    assert browser.get(f"/kill?key={key}&reason=x").status_code == 200
    assert actions.pressed == []
