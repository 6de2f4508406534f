"""Each page that a person reads is on record under its own name before he sees it.

Over a desk in memory: the records are the walk's, no server is asked.
"""

from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.surfaces.web.actions import DeskActions
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk
from tests.doubles.page_person import entrance, sign_in
from tests.doubles.small_desk import RUN

HOME = "http://127.0.0.1:8700"


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path / "desk")


@pytest.fixture
def door(tmp_path: Path) -> Entrance:
    return entrance(tmp_path / "door")


@pytest.fixture
def browser(desk: MemoryDesk, door: Entrance) -> TestClient:
    app = FastAPI()
    views = Views(cast("LedgerReader", desk.log), desk.small.table)
    register(app, views, DeskActions(desk.small.desk), door)
    client = TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False)
    sign_in(client, door.keyring.token("auditor"))
    return client


def read(desk: MemoryDesk) -> list[tuple[str, str]]:
    """Return who read what, as the log has it."""
    found = desk.log.of_kind(Kind.READ_RECORDED)
    return [(str(one.body["reader"]), str(one.body["object"])) for one in found]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/", "decisions"),
        ("/?outcome=held", "decisions"),
        ("/positions", f"positions/{RUN}"),
        ("/positions?account=agent", f"positions/{AGENT_ACCOUNT}"),
        ("/positions?run=none", "positions"),
        ("/statement?day=2018-01-02", f"statement/{RUN}/2018-01-02"),
        ("/statement?day=2018-01-02&form=csv", f"statement/{RUN}/2018-01-02"),
        ("/statement?account=none", "statement"),
        ("/orders", "orders"),
        ("/approvals", "approvals"),
        ("/session", "session"),
        ("/feeds", "feeds"),
        ("/alarms", "alarms"),
        ("/fairness", "fairness"),
        ("/policy", "policy"),
        ("/flow", "flow"),
        ("/engine-adds", "engine adds"),
        ("/cases", "cases"),
        ("/ledger", "ledger"),
        ("/records/0", "record/0"),
        ("/records/0/check", "record/0"),
        ("/records/0/payload.json", "record/0"),
    ],
)
def test_what_a_person_reads_is_on_record_under_its_name(
    browser: TestClient, desk: MemoryDesk, address: str, name: str
) -> None:
    answer = browser.get(address)
    assert answer.status_code == 200, answer.text
    assert read(desk) == [("auditor", name)]


def test_a_decision_that_is_read_is_on_record(browser: TestClient, desk: MemoryDesk) -> None:
    order = desk.rest()
    answer = browser.get(f"/decisions/{order.decision_id}")
    assert answer.status_code == 200
    assert order.cl_ord_id in answer.text
    assert read(desk) == [("auditor", f"decision/{order.decision_id}")]


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/decisions/{}",
        "/positions",
        "/orders",
        "/approvals",
        "/session",
        "/feeds",
        "/fairness",
        "/policy",
        "/flow",
        "/cases",
        "/ledger",
        "/records/0",
        "/records/0/check",
    ],
)
def test_without_the_record_nothing_is_shown(
    browser: TestClient, desk: MemoryDesk, address: str
) -> None:
    name = desk.hold()
    desk.log.refuses = LedgerTimeoutError("no answer", written=False)
    answer = browser.get(address.format(name))
    assert answer.status_code == 503
    assert "The ledger does not answer" in answer.text
    assert name not in answer.text


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/records/{}", "No such record"),
        ("/records/{}/check", "No such record"),
        ("/records/{}/payload.json", "No such evidence"),
        ("/decisions/{}", "No such decision"),
    ],
)
@pytest.mark.parametrize("place", [-1, 10_000, 1 << 62, 10**30])
def test_what_does_not_exist_is_said_so_and_enters_no_record(
    browser: TestClient, desk: MemoryDesk, address: str, says: str, place: int
) -> None:
    answer = browser.get(address.format(place))
    assert answer.status_code == 404
    assert says in answer.text
    assert read(desk) == []


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("site.css", "text/css"),
        ("mark.svg", "image/svg+xml"),
        ("check.mjs", "text/javascript"),
        ("verify.mjs", "text/javascript"),
    ],
)
def test_a_browser_that_guesses_no_types_still_runs_the_verifier(
    browser: TestClient, name: str, media_type: str
) -> None:
    answer = browser.get(f"/static/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == media_type
    assert answer.headers["x-content-type-options"] == "nosniff", "a wrong type would not run"
    assert browser.get(f"/static/no-{name}").status_code == 404


def test_who_may_not_watch_sees_no_menu_and_no_state_of_the_book(
    browser: TestClient, door: Entrance
) -> None:
    assert 'href="/positions"' in browser.get("/kill").text
    browser.cookies.clear()
    browser.get(f"/sign-in?once={door.sessions.link('agent')}")
    answer = browser.get("/kill")
    assert answer.status_code == 403
    for address in ("/positions", "/ledger"):
        assert f'href="{address}"' not in answer.text


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "20261120", "x"])
def test_no_page_fails_at_a_day(browser: TestClient, day: str) -> None:
    """Repro r09: a day at the end of time is refused in words."""
    for address in (f"/flow?from={day}&to={day}", f"/statement?day={day}"):
        answer = browser.get(address)
        assert answer.status_code in {400, 404}, address
        assert "write 2026-11-20" in answer.text
