"""What a person is asked, what he says, and what is made of it: on record, page, API and `show`.

And each decision, also one that no rule judged, names the policy in force.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from audit.evidence.bundle import context_of
from audit.records.kinds import Kind
from gateway.clock import wall_us
from gateway.desk.bodies.requests import ApprovalRequest, IntentRequest, IntentResponse
from gateway.desk.holds.answering import open_sheet
from gateway.evidence.explanation import decision_document
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.surfaces.server import build_site
from gateway.surfaces.web.views.lists import Views
from inference.engine.port import EngineDescription, SampleRequest, Samples
from inference.errors import EngineDeadError, EngineError
from inference.weights.registry import read_table
from risk.policy.policy import policy_digest
from tests.doubles.page_person import sign_in
from tests.doubles.row_engine import RowEngine
from tests.doubles.small_desk import SmallDesk

pytestmark = pytest.mark.postgres

HOME = "http://127.0.0.1:8700"
TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"
AGENT = Caller(name="demo-agent", role=Role.AGENT)
APPROVER = Caller(name="anna", role=Role.APPROVER)
TABLE = read_table(TABLE_FILE.read_bytes())


@pytest.fixture
def browser(desk: SmallDesk) -> TestClient:
    """The pages, for a person who is signed in."""
    site = build_site(desk.desk, desk.keyring, Views(desk.reader, TABLE))
    client = TestClient(site, base_url=HOME, client=("127.0.0.1", 40000))
    sign_in(client, desk.keyring.token("approver"))
    return client


def ask(desk: SmallDesk, key: str, exposure_bp: int, instrument: str = "NDXN") -> IntentResponse:
    """Submit an agent's intent."""
    request = IntentRequest(client_key=key, instrument=instrument, target_exposure_bp=exposure_bp)
    return desk.desk.submit(AGENT, request)


def answer(desk: SmallDesk, asked: IntentResponse, note: str, *, approve: bool = True) -> str:
    """Let an approver answer what he was shown."""
    assert asked.approval is not None
    digest = asked.approval.intent_digest
    sheet = open_sheet(desk.reader, desk.desk.reads, APPROVER, asked.decision_id)
    said = ApprovalRequest(
        approve=approve, intent_digest=digest, sheet_digest=sheet.digest, note=note
    )
    return str(desk.desk.holds.answer(APPROVER, asked.decision_id, said)["result"])


def bodies(desk: SmallDesk, decision_id: str, kind: Kind) -> list[dict[str, object]]:
    """Return the payloads of a decision's records of a kind."""
    return [r.body for r in desk.reader.records(stream=f"decision/{decision_id}", kinds=(kind,))]


def page(browser: TestClient, decision_id: str) -> str:
    """Return a decision's page."""
    answer = browser.get(f"/decisions/{decision_id}")
    assert answer.status_code == 200
    return answer.text


def test_a_request_to_a_person_says_until_when_and_what_a_yes_would_cover(
    desk: SmallDesk, browser: TestClient
) -> None:
    before_us = wall_us()
    asked = ask(desk, "until", 2_700)
    assert asked.result == "held"
    (body,) = bodies(desk, asked.decision_id, Kind.APPROVAL_REQUESTED)
    (verdict,) = bodies(desk, asked.decision_id, Kind.VERDICT_GIVEN)
    life_us = desk.desk.own.section.policy.approval.ttl.value
    expires_us = body["expires_us"]
    assert isinstance(expires_us, int)
    assert before_us + life_us <= expires_us <= wall_us() + life_us
    assert body["intent_digest"] == verdict["intent_digest"]
    intent, band = verdict["intent"], body["band"]
    assert isinstance(intent, dict)
    assert isinstance(band, dict)
    assert band["price_low_ticks"] <= intent["limit_ticks"] <= band["price_high_ticks"]
    assert band["qty_max_lots"] >= intent["qty_lots"]
    assert asked.approval is not None
    assert (asked.approval.expires_us, asked.approval.band) == (expires_us, band)
    shown = decision_document(desk.reader, TABLE, asked.decision_id)["approval"]
    assert (shown["expires_us"], shown["band"], shown["answers"]) == (expires_us, band, [])
    html = page(browser, asked.decision_id)
    assert "Answer until, UTC" in html
    assert "No rule asked for a person" not in html
    assert answer(desk, asked, "no", approve=False) == "refused"


def test_the_approvers_note_is_kept_and_what_he_saw_stays_beside_what_was_renewed(
    desk: SmallDesk, browser: TestClient
) -> None:
    asked = ask(desk, "note", 2_800)
    assert answer(desk, asked, "spoken with the desk") == "approved"
    (given,) = bodies(desk, asked.decision_id, Kind.APPROVAL_GIVEN)
    assert given["reason"] == "spoken with the desk"
    shown = decision_document(desk.reader, TABLE, asked.decision_id)["approval"]
    assert [one["note"] for one in shown["answers"]] == ["spoken with the desk"]
    first, second = (
        r.seq
        for r in desk.reader.records(
            stream=f"decision/{asked.decision_id}", kinds=(Kind.VERDICT_GIVEN,)
        )
    )
    assert (shown["shown_verdict_seq"], shown["renewed_verdict_seq"]) == (first, second)
    html = page(browser, asked.decision_id)
    assert "spoken with the desk" in html
    for part in ("fan-target", "fan-placebo", "fan-renewed-target", "fan-renewed-placebo"):
        assert f'"{part}' in html, part
    seen, renewed = html.index('id="rules"'), html.index('id="renewal"')
    assert html.index("HOLD", seen) < html.index('id="approval"') < renewed
    held, approved = (
        str(body["basis_seq"]) for body in bodies(desk, asked.decision_id, Kind.VERDICT_GIVEN)
    )
    assert f"judged on records up to {held} " in html
    assert f"judged on records up to {approved} " in html[renewed:]


def test_a_rule_that_asked_for_a_person_is_not_denied_when_others_refused(
    desk: SmallDesk, browser: TestClient
) -> None:
    asked = ask(desk, "denied", 30_000, "SPXN")
    assert asked.result == "rejected"
    assert [line.rule for line in asked.rules if line.action == "HOLD"], "R31 must have asked"
    html = page(browser, asked.decision_id)
    assert "No rule asked for a person" not in html
    assert "R31 asked for a person, but nobody was asked: other rules refused" in html


def test_a_decision_that_no_rule_judged_names_the_policy_in_force(
    desk: SmallDesk, browser: TestClient
) -> None:
    own = desk.desk.own
    policy = own.section.policy
    digest = policy_digest(policy)
    named = {"policy_digest": digest, "policy_version": policy.version}
    no_trade = ask(desk, "nothing", 0)
    assert isinstance(own.tools.engine, RowEngine)
    desk.desk.own = replace(own, tools=replace(own.tools, engine=DeadEngine()))
    usual = own.market.session("NDXN")
    other = replace(usual.snapshot, bars=usual.snapshot.bars[1:])  # whose forecast does not stand
    own.market.open_session(replace(usual, snapshot=other))
    no_forecast = ask(desk, "silent", 900)
    own.market.open_session(usual)
    desk.desk.own = own
    assert (no_trade.result, no_forecast.result) == ("no_trade", "no_forecast")
    for one in (no_trade, no_forecast):
        for kind in (Kind.INTENT_RECEIVED, Kind.FORECAST_TAKEN, Kind.DECISION_SEALED):
            (body,) = bodies(desk, one.decision_id, kind)
            assert {name: body[name] for name in named} == named, kind
        shown = decision_document(desk.reader, TABLE, one.decision_id)
        (in_force,) = shown["liability"]["policies"]
        assert in_force["policy_digest"] == digest
        assert in_force["version"] == named["policy_version"]
        records = list(desk.reader.records(stream=f"decision/{one.decision_id}"))
        assert Kind.POLICY_ACTIVATED in {r.kind for r in context_of(desk.reader, records)}
        html = page(browser, one.decision_id)
        assert "Nothing was judged, so nobody was asked" in html
        assert digest[:12] in html


class DeadEngine:
    """An engine that has died."""

    def describe(self) -> EngineDescription:
        """Say so."""
        raise EngineDeadError("killed by a test")

    def sample(self, request: SampleRequest) -> Samples:
        """Say so."""
        raise EngineDeadError(request.request_id)

    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        """Say so."""
        raise EngineDeadError(f"{request.request_id} beside {twin.request_id}")
