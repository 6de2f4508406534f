"""The document of who gets what (docs/access.md), held against a real site, route by route."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from typing_extensions import override

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from gateway.clock import wall_us
from gateway.desk.agents.baskets import submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.reads import Reads
from gateway.evidence.publication.published import LogFiles
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.surfaces.route_table import DoorlessError, access_rows
from gateway.surfaces.server import build_site
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.views.lists import Views
from inference.weights.registry import read_table
from tests.doubles.page_person import KeptDrafts, sign_in
from tests.doubles.small_desk import RUN, SmallDesk, small_desk

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parents[4]
TABLE_FILE = ROOT / "inference" / "models" / "pair_v1" / "table.safetensors"
HOME = "http://127.0.0.1:8700"
PERSONS = {
    Role.AGENT: "agent",
    Role.OPERATOR: "operator",
    Role.APPROVER: "approver",
    Role.AUDITOR: "auditor",
    Role.FEED: "feed",
    Role.MONITOR: "monitor",
}
IN = "in"
REFUSED = re.compile(r"<h1>Not (allowed|done|for you)</h1>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One line of the document."""

    method: str
    path: str
    brings: str
    nobody: str
    roles: dict[Role, str]
    noted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A site over a small desk with one held decision and a basket."""

    desk: SmallDesk
    app: FastAPI
    decision_id: str
    basket_id: str
    cl_ord_id: str

    def browser(self, **headers: str) -> TestClient:
        """Return a browser on this machine."""
        return TestClient(
            self.app,
            base_url=HOME,
            client=("127.0.0.1", 40_000),
            headers=headers,
            follow_redirects=False,
            raise_server_exceptions=False,
        )

    def with_key(self, name: str) -> TestClient:
        """Return a caller with a bearer key."""
        return self.browser(Authorization=f"Bearer {self.desk.keyring.token(name)}")

    def address(self, path: str) -> str:
        """Return an address of a route that there is something at."""
        for name, value in (
            ("{decision_id}", self.decision_id),
            ("/orders/{name}", f"/orders/{self.cl_ord_id}"),
            ("{seq}", "0"),
            ("{case_id}", "none"),
            ("{override_id}", "none"),
            ("{ref}", "none"),
            ("{approver}", "ada"),
            ("{first_day}", "2026-01-01"),
            ("{last_day}", "2026-01-31"),
            ("{basket_id}", self.basket_id),
            ("{form}", "header.json"),
            ("{path:path}", "tile/entries/000.p/1"),
            ("{name}", "site.css"),
            ("/live", "/live?wait_s=0"),
            ("/v1/events", "/v1/events?wait_s=0"),  # otherwise it stays open
        ):
            path = path.replace(name, value)
        assert "{" not in path, f"say here what to put into {path}"
        return path


def promises() -> list[Promise]:
    """Read the document."""
    found = []
    for line in (ROOT / "docs" / "access.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}:
            method, path, brings, _, nobody, *roles = cells[:-1]
            found.append(
                Promise(
                    method=method,
                    path=path.strip("`"),
                    brings=brings,
                    nobody=nobody,
                    roles=dict(zip(Role, roles, strict=True)),
                    noted=cells[-1],
                )
            )
    return found


@pytest.fixture
def site(postgres_dsn: str, tmp_path: Path) -> Iterator[Site]:
    signer = FileSigner.generate(tmp_path / "ledger.key", "access.test")
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    reader = LedgerReader(postgres_dsn)
    with Ledger.open(config, signer, wall_us) as ledger:
        desk = small_desk(ledger, reader, tmp_path, read_table(TABLE_FILE.read_bytes()))
        desk.play(2)
        asked = IntentRequest(client_key="held", instrument="NDXN", target_exposure_bp=2_700)
        agent = Caller(name="demo-agent", role=Role.AGENT)
        answer = desk.desk.submit(agent, asked)
        legs = [
            IntentRequest(client_key=name, instrument=name, target_exposure_bp=500)
            for name in ("SPXN", "NDXN")
        ]
        basket = submit_basket(desk.desk, agent, BasketRequest(client_key="both", legs=legs))
        ledger.checkpoint_now()
        log, views = LogFiles(reader=reader), Views(reader, desk.table)
        app = build_site(desk.desk, desk.keyring, views, log=log)
        cl_ord_id = desk.desk.own.orders.placed()[-1].cl_ord_id
        yield Site(
            desk=desk,
            app=app,
            decision_id=answer.decision_id,
            basket_id=basket.basket_id,
            cl_ord_id=cl_ord_id,
        )
    reader.close()


def ask(site: Site, browser: TestClient, one: Promise) -> httpx2.Response:
    """Ask a route; a form is sent as its page sends it, a body of the API is empty."""
    address = site.address(one.path)
    if one.method != "POST":
        return browser.request(one.method, address)
    if address.startswith("/v1/"):
        return browser.post(address, json={})
    entrance: Entrance = site.app.state.entrance
    session = next((v for n, v in browser.cookies.items() if n == "countersign_8700"), "")
    form = {"token": entrance.guard.token(session, address)}
    return browser.post(address, data=form, headers={"Origin": HOME})


def got(answer: httpx2.Response) -> str:
    """Return `in`, or the status of a refusal at the door."""
    if answer.status_code == 303 and answer.headers["location"].startswith("/sign-in?next="):
        return "303"
    if answer.status_code == 303 and answer.headers["location"] == "/sign-in":
        return IN if "set-cookie" in answer.headers else "303"  # signed out, or never in
    if answer.headers.get("content-type") == "application/json" and answer.content:
        body: Any = answer.json()
        code = body.get("detail", {}).get("code") if isinstance(body, dict) else None
        return str(answer.status_code) if code in {"unauthenticated", "forbidden"} else IN
    if not answer.content and answer.status_code in {401, 403}:
        return str(answer.status_code)  # HEAD
    return str(answer.status_code) if REFUSED.search(answer.text) else IN


def test_every_route_is_in_the_document_and_none_besides(site: Site) -> None:
    real = {(m, str(r.path)) for r in site.app.routes for m in r.methods}  # type: ignore[attr-defined]
    assert {(one.method, one.path) for one in promises()} == real


def test_who_has_no_key_gets_what_the_document_says(site: Site) -> None:
    for one in promises():
        assert got(ask(site, site.browser(), one)) == one.nobody, one
        stranger = site.browser(Authorization="Bearer cs_nobody")
        refused = "401" if one.brings in {"key", "session or key"} else one.nobody
        assert got(ask(site, stranger, one)) == refused, one


@pytest.mark.parametrize("role", list(Role))
def test_each_roles_key_opens_what_the_document_says(site: Site, role: Role) -> None:
    for one in promises():
        expected = "403" if one.brings == "session and its form" else one.roles[role]
        assert got(ask(site, site.with_key(PERSONS[role]), one)) == expected, (one, role)


@pytest.mark.parametrize(
    "role", [role for role in Role if role not in {Role.AGENT, Role.FEED, Role.MONITOR}]
)
def test_each_roles_session_opens_its_pages_and_no_route_of_the_api(site: Site, role: Role) -> None:
    for one in promises():
        browser = site.browser()
        sign_in(browser, site.desk.keyring.token(PERSONS[role]))
        expected = "401" if one.brings == "key" else one.roles[role]
        assert got(ask(site, browser, one)) == expected, (one, role)


def test_an_agent_signs_in_to_nothing(site: Site) -> None:
    browser = site.browser()
    form = {"key": site.desk.keyring.token("agent")}
    answer = browser.post("/sign-in", data=form, headers={"Origin": HOME})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def reads(site: Site) -> set[tuple[str, str, str]]:
    """Return who read what, as the ledger has it."""
    return {
        (str(r.body["reader"]), str(r.body["role"]), str(r.body["object"]))
        for r in site.desk.reader.records(stream="control", kinds=(Kind.READ_RECORDED,))
    }


def test_each_read_by_an_auditor_is_on_record_as_the_document_says(site: Site) -> None:
    seen = 0
    for one in promises():
        if one.method == "POST" or one.roles[Role.AUDITOR] != IN or one.brings == "nothing":
            continue
        if one.noted.startswith("nothing is read") or one.path.endswith(
            ("/allocation", "/{case_id}", "/reviews/{seq}")
        ):
            continue  # no split, no case and no review here, so nothing is shown
        what = (
            one.noted.replace("CLORDID", site.cl_ord_id)
            .replace("basket/ID", f"basket/{site.basket_id}")
            .replace("approvals/ID/ID/ID", "approvals/ada/2026-01-01/2026-01-31")
            .replace("/ID", f"/{site.decision_id}")
            .replace("ACCOUNT", RUN)
        )
        what = f"{what[:-1]}0" if what.endswith("/N") else what  # a ClOrdID may begin with N
        what = what.replace("/DAY", "/2018-01-02").removesuffix(", once an hour")
        site.desk.keyring.issue(f"auditor-{seen}", Role.AUDITOR)  # one of his own for each route
        answer = ask(site, site.with_key(f"auditor-{seen}"), one)
        assert answer.status_code == 200, one
        assert (f"auditor-{seen}", "auditor", what) in reads(site), one
        seen += 1
    assert seen > 8


def test_a_read_is_recorded_once_a_minute_for_each_person_and_object(site: Site) -> None:
    for _ in range(3):
        for name in ("auditor", "operator"):
            assert site.with_key(name).get("/records/1").status_code == 200
    found = [
        (r.body["reader"], r.body["object"], r.body["from_us"])
        for r in site.desk.reader.records(stream="control", kinds=(Kind.READ_RECORDED,))
    ]
    assert len(found) == len(set(found))
    assert {(reader, what) for reader, what, _ in found} == {
        ("auditor", "record/1"),
        ("operator", "record/1"),
    }
    assert len(found) <= 4, "two a minute, and the minute may have changed"


class TakesNothing(KeptDrafts):
    """A ledger that does not answer in time."""

    @override
    def append(self, *drafts: object, **_: object) -> NoReturn:
        """Refuse."""
        raise LedgerTimeoutError(f"no answer for {len(drafts)}", written=False)


def test_what_cannot_be_put_on_record_is_not_shown(site: Site) -> None:
    site.desk.desk.reads = Reads(TakesNothing(), wall_us)
    auditor = site.with_key("auditor")
    for path in ("/", f"/decisions/{site.decision_id}", "/positions", "/ledger", "/records/0"):
        answer = auditor.get(path)
        assert answer.status_code == 503
        assert "The ledger does not answer" in answer.text
        assert "access.test" not in answer.text
    assert auditor.get(f"/v1/decisions/{site.decision_id}").status_code == 503
    assert auditor.get("/log/checkpoint").status_code == 503
    assert auditor.get("/v1/kill").json() == {"kill_epoch": 0, "killed": False}


def test_a_route_without_a_door_does_not_start(site: Site) -> None:
    access_rows(site.app)

    def open_to_all() -> str:
        return "every secret"

    site.app.add_api_route("/secret", open_to_all)
    with pytest.raises(DoorlessError, match="GET /secret has no door"):
        access_rows(site.app)
