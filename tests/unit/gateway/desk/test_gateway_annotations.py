"""An annotation is a new record under a person's name; it changes nothing that is on record."""

from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient

from audit.errors import IdempotencyConflictError
from audit.evidence.bundle import annotations_of
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.oversight import AnnotationBody
from gateway.desk.officers.oversight.annotations import annotate, read_annotations
from gateway.errors import RequestError, UnknownDecisionError
from gateway.evidence.explanation import decision_document
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.control.oversight.annotations import DecisionAnnotated
from gateway.walk.journal.words import AnnotationSort
from tests.doubles.memory_desk import AGENT, APPROVER, TABLE, MemoryDesk
from tests.doubles.page_desk import page_desk

HOME = "http://127.0.0.1:8700"
AUDITOR = Caller(name="auditor", role=Role.AUDITOR)


def say(desk: MemoryDesk, decision_id: str, by: Caller = APPROVER, **said: Any) -> int:  # noqa: ANN401 - any field
    body = AnnotationBody.model_validate({"text": "the print was late", "client_key": "1", **said})
    return int(annotate(desk.small.desk.own, by, decision_id, body)["seq"])


def reader_of(desk: MemoryDesk) -> LedgerReader:
    return cast("LedgerReader", desk.log)


def test_author_role_and_words_are_on_record_and_the_decision_is_as_it_was(
    desk: MemoryDesk,
) -> None:
    decision = desk.ask().decision_id
    before = [one.leaf for one in desk.log.records(stream=f"decision/{decision}")]
    seq = say(desk, decision)
    other = say(desk, decision, AUDITOR, sort="dissent", instead="none", about_seq=None)
    first, second = read_annotations(reader_of(desk), decision)
    assert first.document().keys() == second.document().keys(), "what was not said is null"
    assert (first.seq, second.seq) == (seq, other)
    assert (first.said.actor_name, first.said.role) == ("approver", "approver")
    assert (second.said.role, second.said.sort, second.said.instead) == (
        "auditor",
        "dissent",
        "none",
    )
    record = desk.log.of_kind(Kind.DECISION_ANNOTATED)[0]
    assert record.actor == "person:approver"
    assert "instead" not in record.body
    assert [one.leaf for one in desk.log.records(stream=f"decision/{decision}")] == before
    replay(reader_of(desk), TABLE, decision)


def test_the_same_key_is_one_annotation_and_never_other_words(desk: MemoryDesk) -> None:
    decision = desk.ask().decision_id
    assert say(desk, decision) == say(desk, decision)
    with pytest.raises(IdempotencyConflictError):
        say(desk, decision, text="another")
    assert len(desk.log.of_kind(Kind.DECISION_ANNOTATED)) == 1


def test_an_annotation_of_nothing_is_refused(desk: MemoryDesk) -> None:
    one, other = desk.ask().decision_id, desk.ask().decision_id
    foreign = next(iter(desk.log.records(stream=f"decision/{other}"))).seq
    with pytest.raises(UnknownDecisionError):
        say(desk, "no-such-decision")
    with pytest.raises(UnknownDecisionError):
        say(desk, "a\x00b")
    with pytest.raises(RequestError, match="not one of decision"):
        say(desk, one, about_seq=foreign)
    with pytest.raises(RequestError, match="only a dissent"):
        say(desk, one, instead="buy")
    assert desk.log.of_kind(Kind.DECISION_ANNOTATED) == []


def test_words_that_name_a_known_person_become_a_personal_value(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    person = vault.subject("Jane Roe")
    said = DecisionAnnotated(
        annotated_id="d-1",
        sort=AnnotationSort.REMARK,
        text="ask jane roe",
        actor_name="approver",
        role="approver",
    )
    shielded = vault.shield(said.draft(client_key="1", author="person"))
    assert shielded.payload["text"] == person
    assert [one.value for one in shielded.personal] == ["ask jane roe"]


def test_show_and_page_have_the_words_and_escape_them(desk: MemoryDesk, tmp_path: Path) -> None:
    decision = desk.ask().decision_id
    seq = say(desk, decision, AUDITOR, sort="dissent", instead="sell", text="<b>late</b>")
    shown = decision_document(reader_of(desk), TABLE, decision)
    assert [one["seq"] for one in shown["annotations"]] == [seq]
    assert [one.seq for one in annotations_of(reader_of(desk), decision)] == [seq]
    page = page_desk(tmp_path, desk).read(f"/decisions/{decision}", "approver")
    assert "What persons remarked" in page
    assert "auditor, auditor" in page
    assert "dissent: sell instead" in page
    assert "&lt;b&gt;late&lt;/b&gt;" in page
    assert f'href="/records/{seq}"' in page


def test_the_api_takes_words_of_persons_and_none_of_agents(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    decision = desk.ask().decision_id
    web = TestClient(build_api(desk.small.desk, own.keyring))
    route = f"/v1/decisions/{decision}/annotations"
    body = {"text": "the print was late", "client_key": "1"}

    def asked(name: str, method: str = "POST") -> int:
        head = {"Authorization": f"Bearer {own.keyring.token(name)}"}
        content = body if method == "POST" else None
        return web.request(method, route, headers=head, json=content).status_code

    assert [asked(name) for name in ("agent", "feed", "operator")] == [403, 403, 200]
    assert [asked(name, "GET") for name in ("agent", "auditor")] == [403, 200]
    (one,) = read_annotations(reader_of(desk), decision)
    assert one.said.actor_name == "operator"
    assert AGENT.role is Role.AGENT


def test_an_agent_remarks_on_its_own_decision_alone_and_reads_it_back(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    decision = desk.ask().decision_id
    web = TestClient(build_api(desk.small.desk, own.keyring))
    head = {"Authorization": f"Bearer {own.keyring.token('agent')}"}
    body = {"text": "for the index review", "client_key": "1"}

    def remarked(of: str, **more: object) -> int:
        route = f"/v1/decisions/{of}/remarks"
        return web.post(route, headers=head, json=body | more).status_code

    assert remarked(decision) == remarked(decision) == 200
    for other in ("another-" + decision.partition("-")[2], "no-such-decision", "a%00b"):
        assert remarked(other) == 404
    assert remarked(decision, sort="dissent") == 422, "an agent does not dissent"
    (record,) = desk.log.of_kind(Kind.DECISION_ANNOTATED)
    assert (record.actor, record.body["role"]) == ("agent:agent", "agent")
    say(desk, decision, AUDITOR)
    shown = web.get(f"/v1/decisions/{decision}", headers=head).json()["annotations"]
    assert [(one["seq"], one["text"]) for one in shown] == [(record.seq, "for the index review")]
    head = {"Authorization": f"Bearer {own.keyring.token('auditor')}"}
    shown = web.get(f"/v1/decisions/{decision}", headers=head).json()["annotations"]
    assert [one["role"] for one in shown] == ["agent", "auditor"]
