"""The fairness gate in the walk: words on record, justifications that two officers signed."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.fairness import JustificationBody
from gateway.desk.bodies.oversight import EndRequest
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.desk.controls.statements import signed_text
from gateway.desk.officers.oversight.justifications import (
    LIFE_US,
    end_justification,
    enter_justification,
    justifications,
)
from gateway.desk.signing import SIGNED, AskedToSign
from gateway.errors import ReplayDiffersError, RequestError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.policies import policy
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.control.oversight.justifications import (
    FairnessSources,
    JustificationEnded,
)
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document, policy_from_document
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, TABLE, MemoryDesk, memory_desk

SAID = {"owner": "head of compliance", "why": "criteria of the firm", "review_by": "2027-05-21"}
WORDS = [
    {"name": "wealthy", "attribute": "wealth", "sort": "protected"},
    {"name": "turkey", "attribute": "region", "sort": "region"},
]
DAY_US = 86_400_000_000


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    document: Any = json.loads(json.dumps(policy_document(gathered_policy())))
    document["families"]["fairness"] = {"words": [SAID | one for one in WORDS]}
    signed = tmp_path / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(policy_from_document(document))))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(tmp_path)


def asked(desk: MemoryDesk, reason: str) -> IntentResponse:
    desk.keys += 1
    request = IntentRequest(
        client_key=f"words-{desk.keys}",
        instrument="SPXN",
        target_exposure_bp=2_000,
        max_qty_lots=50 + desk.keys,
        reason=reason,
    )
    response = desk.small.desk.submit(AGENT, request)
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
    return response


def entry(desk: MemoryDesk, **changes: Any) -> JustificationBody:  # noqa: ANN401 - any field
    now_us = desk.small.desk.own.market.now_us()
    given: dict[str, Any] = {"ref": "region-1", "mechanism": "sanctions", "attribute": "region"}
    given |= {"asset_class": "index", "horizon_us_max": 20 * DAY_US, "bound_bp": 10}
    given |= {"valid_from_us": now_us - 5, "valid_to_us": now_us + DAY_US, "evidence": ["ab" * 32]}
    return JustificationBody.model_validate(given | changes)


def entered(desk: MemoryDesk, roles: tuple[str, ...] = SIGNING_ROLES, **changes: Any) -> int:  # noqa: ANN401 - any field
    own, body = desk.small.desk.own, entry(desk, **changes)
    signatures = signed(desk, "justifications.enter", body, roles)
    signed_body = body.model_copy(update={"signatures": signatures})
    return int(enter_justification(own, "otto", signed_body)["seq"])


def signed(
    desk: MemoryDesk, act: str, body: BaseModel, roles: tuple[str, ...] = SIGNING_ROLES, **ids: str
) -> dict[str, str]:
    """Return what the officers' keys sign of an act, as the verb does."""
    own = desk.small.desk.own
    asked = AskedToSign(name=act, actor="otto", ids=ids, body=body, read=justifications(own))
    text = SIGNED[act](asked)
    return {role: own.keyring.signing_key(role).sign(text).hex() for role in roles}


def ended(desk: MemoryDesk, roles: tuple[str, ...] = SIGNING_ROLES) -> dict[str, Any]:
    body = EndRequest(reason="the sanctions were lifted")
    signatures = signed(desk, "justifications.end", body, roles, ref="region-1")
    asked = body.model_copy(update={"signatures": signatures})
    return end_justification(desk.small.desk.own, "otto", "region-1", asked)


def reasons(response: IntentResponse) -> set[str]:
    return {one.reason for one in response.rules if one.action == "HOLD"}


def test_words_hold_an_order_and_only_a_region_can_be_justified(desk: MemoryDesk) -> None:
    assert asked(desk, "raise the exposure").result == "approved"
    region = asked(desk, "Turkey is cheap")
    assert (region.result, reasons(region)) == ("held", {"NOT_JUSTIFIED"})
    entered(desk)
    justified = asked(desk, "Turkey is cheap")
    assert justified.result == "approved"
    seen = desk.verdict(justified.decision_id).body["inputs"]["fairness"]
    assert (seen["words"], [one["ref"] for one in seen["justified"]]) == (["turkey"], ["region-1"])
    person = asked(desk, "for a wealthy client")
    assert (person.result, reasons(person)) == ("held", {"PROTECTED_ATTRIBUTE"})
    assert reasons(asked(desk, "for his wife")) == {"PROTECTED_ATTRIBUTE"}, "a masked word"


def test_an_entry_ends_with_its_time_or_with_the_one_that_supersedes_it(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    now_us, seq = own.market.now_us(), entered(desk)
    sources = FairnessSources(desk.log)
    assert [one.seq for one in sources.in_force(seq, now_us)] == [seq]
    assert not sources.in_force(seq - 1, now_us), "not before its record"
    assert not sources.in_force(seq, now_us + DAY_US), "its end is not in force"
    assert not sources.in_force(seq, now_us - 6), "not before its start"
    later = entered(desk, ref="region-2", supersedes="region-1", bound_bp=0)
    assert [one.seq for one in sources.in_force(later, now_us)] == [later]
    assert [one.seq for one in sources.in_force(seq, now_us)] == [seq], "as it was then"
    assert len([*desk.log.records(kinds=(Kind.JUSTIFICATION_ENTERED,))]) == 2
    states = [(one["ref"], one["in_force"]) for one in justifications(own)["justifications"]]
    assert states == [("region-2", True), ("region-1", False)]


def test_both_officers_end_an_entry_from_the_next_verdict_on(desk: MemoryDesk) -> None:
    now_us, seq = desk.small.desk.own.market.now_us(), entered(desk)
    for roles in ((), ("risk",), ("compliance",)):
        with pytest.raises(RequestError, match="both officers"):
            ended(desk, roles)
    assert asked(desk, "Turkey is cheap").result == "approved"
    first = ended(desk)
    assert ended(desk) == first | {"again": True}
    with pytest.raises(RequestError, match=f"was ended by record {first['seq']}"):
        entered(desk)
    assert (held := asked(desk, "Turkey is cheap")).result == "held"
    assert reasons(held) == {"NOT_JUSTIFIED"}
    sources = FairnessSources(desk.log)
    assert [one.seq for one in sources.in_force(first["seq"] - 1, now_us)] == [seq]
    assert not sources.in_force(first["seq"], now_us)
    (shown,) = justifications(desk.small.desk.own)["justifications"]
    assert (shown["in_force"], shown["ended_seq"]) == (False, first["seq"])
    (record,) = desk.log.records(kinds=(Kind.JUSTIFICATION_ENDED,))
    assert signed_text(JustificationEnded.of(record), "log") == (
        b"countersign statement v2\njustification end\nlog\n"
        b"record %d %s\n" % (seq, shown["leaf"].encode()) + b'reason "the sanctions were lifted"\n'
    ), "published words: a form that an officer reads"


def test_nothing_ends_that_is_not_on_record(desk: MemoryDesk) -> None:
    with pytest.raises(RequestError, match="no justification region-9"):
        end_justification(desk.small.desk.own, "otto", "region-9", EndRequest(reason="x"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"attribute": "wealth"}, "never justified"),
        ({"attribute": "unknown"}, "no proxy or region"),
        ({"asset_class": "bond"}, "no asset class"),
        ({"valid_to_us": 0}, "before it begins"),
        ({"supersedes": "nobody"}, "no entry"),
    ],
)
def test_what_the_registry_does_not_take(
    desk: MemoryDesk, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(RequestError, match=problem):
        entered(desk, **changes)


def test_an_entry_lives_180_days_at_most(desk: MemoryDesk) -> None:
    begins = desk.small.desk.own.market.now_us()
    with pytest.raises(RequestError, match="180 days"):
        entered(desk, valid_from_us=begins, valid_to_us=begins + LIFE_US + 1)
    entered(desk, valid_from_us=begins, valid_to_us=begins + LIFE_US)


@pytest.mark.parametrize("roles", [("risk",), ("compliance",), ()])
def test_both_officers_sign_and_a_name_stands_once(
    desk: MemoryDesk, roles: tuple[str, ...]
) -> None:
    with pytest.raises(RequestError, match="both officers"):
        entered(desk, roles)
    seq = entered(desk)
    assert entered(desk) == seq
    with pytest.raises(RequestError, match="other terms"):
        entered(desk, bound_bp=11)


def test_a_gateway_that_overlooks_a_word_is_found_by_a_replay(desk: MemoryDesk) -> None:
    source = desk.small.desk.own.section._gathering  # noqa: SLF001 - plants the fault
    assert source is not None

    class Deaf:
        def look(self, lexicon: Any, name: str, headlines: Any, moment: tuple[int, int]) -> Any:  # noqa: ANN401 - as the product's
            """See nothing in the decision's words."""
            del name, headlines
            return FairnessSources(desk.log).look(lexicon, "none", (), moment)

    object.__setattr__(source, "fairness", Deaf())
    with pytest.raises(ReplayDiffersError, match=r"inputs\.fairness"):
        asked(desk, "Turkey is cheap")


def test_the_registry_is_read_over_http_and_each_read_is_on_record(desk: MemoryDesk) -> None:
    seq, small = entered(desk), desk.small
    browser = TestClient(build_api(small.desk, small.keyring))
    token = small.keyring.token("auditor")
    found = browser.get(
        "/v1/fairness/justifications", headers={"Authorization": f"Bearer {token}"}
    ).json()
    assert [(one["seq"], one["in_force"]) for one in found["justifications"]] == [(seq, True)]
    assert found["justifications"][0]["signed_by"] == ["compliance", "risk"]
    reads = [one.body["object"] for one in desk.log.records(kinds=(Kind.READ_RECORDED,))]
    assert "justifications" in reads
