import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.queries import LedgerReader
from gateway.errors import ApprovalRefusedError
from gateway.keyring import Caller
from gateway.roles import Role
from gateway.web.pages import register
from gateway.web.views import Views

HOME = "http://127.0.0.1:8700"
NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"


class OneOperator:
    """An `Actions` with one operator, whose key is `cs_right`."""

    def __init__(self) -> None:
        self.pressed: list[tuple[str, str]] = []

    def authenticate(self, key: str) -> Caller | None:
        return Caller(name="ops", role=Role.OPERATOR) if key == "cs_right" else None

    def kill_state(self) -> tuple[int, bool]:
        return len(self.pressed), bool(self.pressed)

    def kill(self, caller: Caller, reason: str) -> str:
        self.pressed.append((caller.name, reason))
        return "Kill 1 is in force."

    def answer_hold(
        self, caller: Caller, decision_id: str, *, approve: bool, intent_digest: str, note: str
    ) -> str:
        raise ApprovalRefusedError(
            problem=f"{caller.name} {decision_id} {approve} {intent_digest} {note}"
        )


@pytest.fixture
def actions() -> OneOperator:
    return OneOperator()


@pytest.fixture
def browser(actions: OneOperator) -> TestClient:
    app = FastAPI()
    register(app, Views(LedgerReader(NO_DATABASE, timeout_s=2.0)), actions, b"s" * 32)
    return TestClient(app, base_url=HOME, client=("127.0.0.1", 40000))


def test_without_a_database_every_page_says_so_and_still_offers_the_kill(
    browser: TestClient,
) -> None:
    for path in ("/", "/positions", "/ledger", "/records/0", "/decisions/x"):
        answer = browser.get(path)
        assert answer.status_code == 503
        assert "The ledger does not answer" in answer.text
        assert 'action="/kill"' in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_kill_works_while_the_database_is_down(
    browser: TestClient, actions: OneOperator
) -> None:
    page = browser.get("/kill").text
    token = re.search(r'name="token" value="(\w+)"', page)
    assert token
    form = {"token": token.group(1), "key": "cs_right", "reason": "drill"}
    answer = browser.post("/kill", data=form, headers={"Origin": HOME})
    assert answer.status_code == 200
    assert "Kill 1 is in force" in answer.text
    assert actions.pressed == [("ops", "drill")]


@pytest.mark.parametrize("change", [{"key": "cs_wrong"}, {"token": "x"}, {"key": ""}])
def test_a_wrong_key_or_token_presses_nothing(
    browser: TestClient, actions: OneOperator, change: dict[str, str]
) -> None:
    page = browser.get("/kill").text
    token = re.search(r'name="token" value="(\w+)"', page)
    assert token
    form = {"token": token.group(1), "key": "cs_right", "reason": "drill", **change}
    assert browser.post("/kill", data=form, headers={"Origin": HOME}).status_code == 403
    assert actions.pressed == []


def test_asking_for_the_kill_page_presses_nothing(
    browser: TestClient, actions: OneOperator
) -> None:
    assert browser.get("/kill").status_code == 200
    assert browser.get("/kill?key=cs_right&reason=x").status_code == 200
    assert actions.pressed == []
