import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import psycopg
import pytest
from fastapi.testclient import TestClient
from typing_extensions import override

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from audit.tlog.cosignature import cosign
from audit.tlog.note import parse_note
from gateway.clock import wall_us
from gateway.desk.bodies.requests import IntentRequest
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.surfaces.server import build_site
from gateway.surfaces.web.views.lists import PAGE_ROWS, Views
from gateway.walk.projections.book import Twin
from inference.weights.registry import read_table
from tests.doubles.cosigners import QUANTUM_SAFE, WITNESSES
from tests.doubles.page_person import sign_in
from tests.doubles.small_desk import RUN, SmallDesk, small_desk

pytestmark = pytest.mark.postgres

HOME = "http://127.0.0.1:8700"
DECISIONS = 30
TABLE_FILE = Path(__file__).parents[5] / "inference" / "models" / "pair_v1" / "table.safetensors"
AGENT = Caller(name="demo-agent", role=Role.AGENT)


@pytest.fixture(scope="module")
def database(postgres: EmbeddedPostgres, database_names: Iterator[int]) -> Iterator[str]:
    """One migrated database for the module: the pages only read, and playing takes seconds."""
    admin = postgres.start()
    name = f"pages_{next(database_names)}"
    server, _, options = admin.partition("?")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE migrated".encode())
    yield f"{server.rpartition('/')[0]}/{name}?{options}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="module")
def played(
    database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[SmallDesk, TestClient]]:
    state = tmp_path_factory.mktemp("pages")
    signer = FileSigner.generate(state / "ledger.key", "pages.test")
    ledger = Ledger.open(LedgerConfig(dsn=database, checkpoint_every_s=0), signer, wall_us)
    reader = LedgerReader(database)
    table = read_table(TABLE_FILE.read_bytes())
    try:
        desk = small_desk(ledger, reader, state, table)
        desk.play(DECISIONS)
        for instrument, exposure_bp in (("SPXN", 30_000), ("NDXN", 2_700), ("SPXN", 2_700)):
            reason = "<script>alert(1)</script>"
            desk.desk.submit(
                AGENT,
                IntentRequest(
                    client_key=f"{instrument}-{exposure_bp}",
                    instrument=instrument,
                    target_exposure_bp=exposure_bp,
                    reason=reason,
                ),
            )
        ledger.checkpoint_now()
        app = build_site(desk.desk, desk.keyring, Views(reader, table))
        browser = TestClient(app, base_url=HOME, client=("127.0.0.1", 40000))
        sign_in(browser, desk.keyring.token("approver"))
        yield desk, browser
    finally:
        ledger.close()
        reader.close()


@pytest.fixture
def browser(played: tuple[SmallDesk, TestClient]) -> TestClient:
    return played[1]


@pytest.fixture
def desk(played: tuple[SmallDesk, TestClient]) -> SmallDesk:
    return played[0]


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in {"href", "src", "action"} and value is not None:
                self.addresses.append(value)


def parsed(html: str) -> Links:
    links = Links()
    links.feed(html)
    return links


def hidden(html: str, name: str, form: str) -> str:
    inside = html[html.index(f'action="{form}"') :]
    found = re.search(rf'name="{name}" value="([^"]*)"', inside)
    assert found, f"no field {name} in the form {form}"
    return found.group(1)


def held(desk: SmallDesk) -> list[str]:
    return [s.decision_id for s in desk.desk.own.orders.held()]


def pages(desk: SmallDesk) -> list[str]:
    waiting = [f"/decisions/{name}" for name in held(desk)]
    return [
        "/",
        "/positions",
        "/positions?account=agent",
        "/feeds",
        "/fairness",
        "/policy",
        "/flow",
        "/ledger",
        "/records/0",
        *waiting,
    ] + [f"/decisions/{RUN}-{index:05d}" for index in range(0, DECISIONS, 7)]


def test_every_page_reads_without_scripts_and_asks_no_foreign_host(
    browser: TestClient, desk: SmallDesk
) -> None:
    for path in pages(desk):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        links = parsed(answer.text)
        assert not {"script", "iframe", "object", "embed", "base", "meta-refresh"} & set(links.tags)
        assert not any(name.startswith("on") or name == "style" for name in links.attributes)
        assert all(
            a.startswith(("/", "#", "?")) and not a.startswith("//") for a in links.addresses
        )
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "frame-ancestors 'none'" in policy


def test_every_page_says_mode_dev_and_that_the_run_is_later_than_the_training_data(
    browser: TestClient, desk: SmallDesk
) -> None:
    for path in pages(desk):
        text = re.sub(r"<[^>]+>|\s+", " ", browser.get(path).text)
        assert "dev=true: one person may hold both officers' development keys" in text
        said = re.sub(r"\s+", " ", text)
        assert "first as-of 2018-01-02 14:30:00 UTC &gt; data cut-off 2017-12-31" in said


def test_text_from_outside_is_shown_and_never_run(browser: TestClient, desk: SmallDesk) -> None:
    page = browser.get(f"/decisions/{held(desk)[0]}").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page


def test_a_decision_shows_every_record_of_its_stream(browser: TestClient, desk: SmallDesk) -> None:
    for decision_id in (f"{RUN}-00000", *held(desk)):
        page = browser.get(f"/decisions/{decision_id}").text
        records = list(desk.reader.records(stream=f"decision/{decision_id}"))
        assert len(records) > 5
        for record in records:
            assert f'href="/records/{record.seq}"' in page
            assert record.leaf.hex()[:12] in page


def test_a_sent_order_shows_the_very_messages_that_are_on_record(
    browser: TestClient, desk: SmallDesk
) -> None:
    sent = next(desk.reader.records(kinds=(Kind.ORDER_SENT,)))
    page = browser.get(f"/decisions/{sent.stream.removeprefix('decision/')}").text
    raw = str(sent.body["raw"]).replace("\x01", "|")
    assert raw in page
    assert "35=8|" in page


def test_the_pages_own_check_of_accept_and_reject_finds_no_fault(browser: TestClient) -> None:
    page = browser.get(f"/decisions/{RUN}-00003").text
    found = re.search(r"Recomputed from the record</dt><dd[^>]*>([\d,]+) of ([\d,]+) agree", page)
    assert found
    assert found.group(1) == found.group(2) != "0"


def test_inclusion_under_the_signed_checkpoint_is_recomputed(browser: TestClient) -> None:
    page = browser.get(f"/decisions/{RUN}-00000").text
    assert "recomputed" in page
    assert "does not give the signed root" not in page


def test_paths_of_tokens_are_paged(browser: TestClient) -> None:
    first = browser.get(f"/decisions/{RUN}-00000").text
    second = browser.get(f"/decisions/{RUN}-00000?paths=1").text
    assert "Path 1<" in first
    assert "Path 5<" not in first
    assert "Path 5<" in second


def test_the_fan_shows_only_closes_that_followed_in_this_run(browser: TestClient) -> None:
    first = browser.get(f"/decisions/{RUN}-00000").text
    last = browser.get(f"/decisions/{RUN}-{DECISIONS - 1:05d}").text
    assert "10 of 10 known" in first
    assert "1 of 10 known" in last


def test_the_list_pages_through_every_decision_once(browser: TestClient, desk: SmallDesk) -> None:
    seen: list[str] = []
    path: str | None = "/"
    while path:
        html = browser.get(path).text
        rows = re.findall(r'href="/decisions/([^"]+)"', html)
        assert 0 < len(rows) <= PAGE_ROWS
        seen += rows
        following = re.search(r'href="([^"]*before=\d+)"', html)
        path = following.group(1).replace("&amp;", "&") if following else None
    expected = {s.removeprefix("decision/") for s in desk.reader.streams("decision/")}
    assert len(seen) == len(set(seen))
    assert set(seen) == expected


def test_filters_keep_what_they_name(browser: TestClient, desk: SmallDesk) -> None:
    rejected = re.findall(r'href="/decisions/([^"]+)"', browser.get("/?outcome=rejected").text)
    assert [name.startswith("demo-agent-") for name in rejected] == [True]
    assert "No decision matches" in browser.get("/?run=another").text
    waiting = re.findall(r'href="/decisions/([^"]+)"', browser.get("/?outcome=held").text)
    assert sorted(waiting) == sorted(held(desk))


def test_positions_are_the_desks_own_book(browser: TestClient, desk: SmallDesk) -> None:
    book = desk.desk.own.section.book(RUN)
    twin = desk.desk.own.section.twin_book(Twin.PLACEBO, RUN)
    page = browser.get("/positions").text
    assert f"{book.equity_minor / 100:,.2f}" in page
    assert f"{twin.equity_minor / 100:,.2f}" in page
    assert page.count('class="plot"') == 4
    assert "could not be booked" not in page


def test_the_ledger_page_shows_the_signed_checkpoint(browser: TestClient, desk: SmallDesk) -> None:
    (checkpoint,) = desk.reader.checkpoints(limit=1)
    before = desk.reader.head().size
    page = browser.get("/ledger").text
    assert checkpoint.root_hex in page
    sizes = range(before, desk.reader.head().size + 1)  # to look is on record, too
    assert any(f"{size:,}" in page for size in sizes)
    assert "pages.test" in page
    assert "no cosignature yet" in page


def test_the_ledger_page_names_who_cosigned(
    browser: TestClient, desk: SmallDesk, database: str
) -> None:
    (checkpoint,) = desk.reader.checkpoints(limit=1)
    text = parse_note(checkpoint.note).text
    with psycopg.connect(database, autocommit=True) as connection:
        for signer in (WITNESSES[0], QUANTUM_SAFE):
            line = cosign(text, signer, 1_800_000_000)
            connection.execute(
                "INSERT INTO ledger.cosignature VALUES (%s, %s, %s, %s, 0)",
                (checkpoint.size, line.name, line.key_id, str(line).encode()),
            )
    page = browser.get("/ledger").text
    for said in ("w0.example", "Ed25519", "w9.example", "ML-DSA-44", "2027-01-15"):
        assert said in page
    assert "no cosignature yet" not in page


@pytest.mark.parametrize(
    "path",
    ["/decisions/none", "/records/999999999", "/records/-1", "/records/99999999999999999999999"],
)
def test_what_is_not_there_is_a_page_that_says_so(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "No such" in answer.text


@pytest.mark.parametrize(
    "path", ["/?before=x", "/?outcome=" + "x" * 99, "/static/../pages.py", "/static/pages.py"]
)
def test_odd_addresses_are_refused(browser: TestClient, path: str) -> None:
    assert 400 <= browser.get(path).status_code < 500


def test_pages_are_not_served_to_other_machines(desk: SmallDesk) -> None:
    app = build_site(desk.desk, desk.keyring, Views(desk.reader, desk.table))
    elsewhere = TestClient(app, base_url=HOME, client=("10.1.2.3", 9))
    rebound = TestClient(app, base_url="http://evil.example", client=("127.0.0.1", 9))
    for client in (elsewhere, rebound):
        for path in ("/", "/ledger", "/static/site.css"):
            assert client.get(path).status_code == 403


def test_approving_needs_form_session_and_role_and_goes_on_record(
    browser: TestClient, desk: SmallDesk
) -> None:
    decision_id = held(desk)[0]
    address = f"/decisions/{decision_id}/approval"
    page = browser.get(f"/decisions/{decision_id}").text
    form = {
        "token": hidden(page, "token", address),
        "intent_digest": hidden(page, "intent_digest", address),
        "sheet_digest": hidden(page, "sheet_digest", address),
        "answer": "approve",
        "note": "read it",
    }
    origin = {"Origin": HOME}
    for change in ({"token": "0" * 64}, {"token": hidden(page, "token", "/kill")}):
        assert browser.post(address, data={**form, **change}, headers=origin).status_code == 403
    other = TestClient(browser.app, base_url=HOME, client=("127.0.0.1", 2))
    with_key = {"Authorization": f"Bearer {desk.keyring.token('approver')}"}
    assert other.post(address, data=form, headers=origin).status_code == 403
    assert other.post(address, data=form, headers={**origin, **with_key}).status_code == 403
    sign_in(other, desk.keyring.token("operator"))
    assert other.post(address, data=form, headers=origin).status_code == 403
    assert f'action="{address}"' not in other.get(f"/decisions/{decision_id}").text
    for wrong in ({"intent_digest": "0" * 64}, {"sheet_digest": "0" * 64}, {"note": ""}):
        assert browser.post(address, data=form | wrong, headers=origin).status_code == 409
    waits = browser.get("/approvals").text
    assert f"/decisions/{decision_id}#approval" in waits
    assert browser.post(address, data=form, headers={"Origin": "http://e.x"}).status_code == 403
    assert decision_id in held(desk)
    done = browser.post(address, data=form, headers=origin)
    assert done.status_code == 200
    assert "Recorded for approver" in done.text
    kinds = [r.kind for r in desk.reader.records(stream=f"decision/{decision_id}")]
    assert Kind.APPROVAL_GIVEN in kinds
    assert "approval given" in browser.get(f"/decisions/{decision_id}").text


def test_refusing_ends_the_decision(browser: TestClient, desk: SmallDesk) -> None:
    decision_id = held(desk)[0]
    address = f"/decisions/{decision_id}/approval"
    page = browser.get(f"/decisions/{decision_id}").text
    form = {
        "token": hidden(page, "token", address),
        "intent_digest": hidden(page, "intent_digest", address),
        "answer": "refuse",
        "note": "too large",
    }
    assert browser.post(address, data=form, headers={"Origin": HOME}).status_code == 200
    page = browser.get(f"/decisions/{decision_id}").text
    assert "approval refused" in page
    assert f'action="{address}"' not in page


# Last in the file: a pressed kill stays pressed for the module's desk.
def test_the_kill_button_kills_for_who_may_only(browser: TestClient, desk: SmallDesk) -> None:
    form = {"token": hidden(browser.get("/").text, "token", "/kill"), "reason": "drill"}
    origin = {"Origin": HOME}
    bare = TestClient(browser.app, base_url=HOME, client=("127.0.0.1", 2))
    assert bare.post("/kill", data=form, headers=origin).status_code == 403
    sign_in(bare, desk.keyring.token("auditor"))
    assert 'action="/kill"' not in bare.get("/").text
    assert bare.post("/kill", data=form, headers=origin).status_code == 403
    assert desk.desk.kill_switch.state == (0, False)
    done = browser.post("/kill", data=form, headers=origin)
    assert "Kill 1 is in force" in done.text
    assert desk.desk.kill_switch.state == (1, True)
    pressed = next(desk.reader.records(kinds=(Kind.KILL_PRESSED,)))
    assert pressed.body["reason"] == "drill"
    assert "Kill 1 is in force" in browser.get("/positions").text
