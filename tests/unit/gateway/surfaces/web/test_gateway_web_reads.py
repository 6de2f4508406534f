"""Each page that a person reads is on record under its own name before he sees it.

Over a desk in memory: the records are the walk's, no server is asked.
"""

import pytest
from fastapi.testclient import TestClient

from audit.errors import LedgerTimeoutError
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.pages.table import PAGES
from gateway.surfaces.web.sheets import TEMPLATES
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.page_desk import PageDesk
from tests.doubles.small_desk import RUN

NAMED = [
    (page.path, page.noted)
    for page in PAGES
    if "{" not in page.path + page.noted and not page.plain
]
"""Every page whose address and name are the same for everybody."""


@pytest.mark.parametrize(
    ("address", "name"),
    [
        *NAMED,
        ("/?outcome=held", "decisions"),
        ("/positions", f"positions/{RUN}"),
        ("/positions?account=agent", f"positions/{AGENT_ACCOUNT}"),
        ("/positions?run=none", "positions"),
        ("/statement?day=2018-01-02", f"statement/{RUN}/2018-01-02"),
        ("/statement?day=2018-01-02&form=csv", f"statement/{RUN}/2018-01-02"),
        ("/statement?account=none", "statement"),
        ("/records/0", "record/0"),
        ("/records/0/check", "record/0"),
        ("/records/0/payload.json", "record/0"),
    ],
)
def test_what_a_person_reads_is_on_record_under_its_name(
    browser: TestClient, pages: PageDesk, address: str, name: str
) -> None:
    answer = browser.get(address)
    assert answer.status_code == 200, answer.text
    assert pages.reads() == [("auditor", name)]


def test_a_decision_that_is_read_is_on_record(
    browser: TestClient, desk: MemoryDesk, pages: PageDesk
) -> None:
    order = desk.rest()
    answer = browser.get(f"/decisions/{order.decision_id}")
    assert answer.status_code == 200
    assert order.cl_ord_id in answer.text
    assert pages.reads() == [("auditor", f"decision/{order.decision_id}")]


@pytest.mark.parametrize(
    "address",
    [
        *(address for address, _ in NAMED),
        "/decisions/{}",
        "/positions",
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
    browser: TestClient, pages: PageDesk, address: str, says: str, place: int
) -> None:
    answer = browser.get(address.format(place))
    assert answer.status_code == 404
    assert says in answer.text
    assert pages.reads() == []


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


def test_every_template_is_a_rows_or_a_part_of_one() -> None:
    parts = {"base", "macros", "decision_parts", "kill_form", "message", "sign_in"}
    files = {one.name for one in TEMPLATES.glob("*.html")}
    assert files - {f"{part}.html" for part in parts} == {page.template for page in PAGES} - {""}
