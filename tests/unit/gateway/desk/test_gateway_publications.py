"""Own publications: on record once, read by the next verdict, found again by a replay."""

from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError
from typing_extensions import override

from audit.errors import GuardMovedError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Guard
from audit.store.reader import LedgerReader
from gateway.desk.bodies.oversight import EndRequest, PublicationBody
from gateway.desk.controls.statements import statement
from gateway.desk.officers.oversight.publications import (
    AHEAD_US,
    end_publication,
    note_publication,
    publications,
    publications_state,
)
from gateway.errors import ReplayDiffersError, RequestError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.policies import policy
from gateway.walk.journal.control.oversight.publications import (
    REMEMBERED,
    OwnPublications,
    PublicationNoted,
)
from risk.forms.canonical import canonical_bytes
from risk.policy.policy import policy_document
from tests.doubles.full_policy import armed_without
from tests.doubles.memory_desk import AGENT_ACCOUNT, TABLE, MemoryDesk, memory_desk

DAY_US = 86_400_000_000


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    signed = tmp_path / "policy.json"
    armed = armed_without(("R30", "R43", "R46"))
    signed.write_bytes(canonical_bytes(policy_document(armed)))
    monkeypatch.setattr(policy, "SHIPPED", signed)
    return memory_desk(tmp_path)


def noted(desk: MemoryDesk, ref: str = "note-1", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    body = {"ref": ref, "instrument": "SPXN", "author": "research-eq", "medium": "research"}
    asked = PublicationBody.model_validate(body | {"reference": "notes/1"} | changes)
    return note_publication(desk.small.desk.own, "operator", asked)


def actions(response: Any) -> set[str]:  # noqa: ANN401 - an answer
    return {one.action for one in response.rules}


def test_an_own_publication_keeps_the_firm_out_until_the_window_has_passed(
    desk: MemoryDesk,
) -> None:
    assert desk.ask().result == "approved"
    now_us = desk.small.desk.own.market.now_us()
    said = noted(desk, published_us=now_us - DAY_US + 1)
    refused = desk.ask()
    given = desk.verdict(refused.decision_id)
    worst = [one for one in given.body["verdict"]["results"] if one["reason"] == "OWN_PUBLICATION"]
    assert (refused.result, [one["rule_id"] for one in worst]) == ("rejected", ["R49"])
    assert given.body["inputs"]["publications"]["acts"] == [
        {"instrument": "SPXN", "seq": said["seq"], "time_us": now_us - DAY_US + 1}
    ]
    assert "OWN_PUBLICATION" not in str(refused), "conduct is one line of the answer"
    replay(cast("LedgerReader", desk.log), TABLE, refused.decision_id)


def test_an_older_act_or_one_on_another_instrument_stops_nothing(desk: MemoryDesk) -> None:
    now_us = desk.small.desk.own.market.now_us()
    noted(desk, published_us=now_us - DAY_US)
    noted(desk, "note-2", instrument="NDXN")
    assert desk.ask().result == "approved"


def test_an_act_about_each_instrument_and_one_ahead_of_its_time_count(desk: MemoryDesk) -> None:
    now_us = desk.small.desk.own.market.now_us()
    noted(desk, instrument="*", published_us=now_us + AHEAD_US)
    assert desk.ask().result == "rejected"


@pytest.mark.parametrize("named", [{}, {"instrument": ""}, {"instrument": None}])
def test_an_act_about_every_instrument_is_asked_for_explicitly(named: dict[str, Any]) -> None:
    body = {"ref": "note-1", "author": "research-eq", "medium": "research", "reference": "notes/1"}
    with pytest.raises(ValidationError):
        PublicationBody.model_validate(body | named)


def ended(desk: MemoryDesk, ref: str, *, by: tuple[str, ...] = SIGNING_ROLES) -> dict[str, Any]:
    own = desk.small.desk.own
    state = publications_state(own)
    act = next(one for one in state["publications"] if one["ref"] == ref)
    record, words = f"record {act['seq']} {act['leaf']}", 'reason "wrong instrument"'
    text = statement("publication end", str(state["log_id"]), record, words)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in by}
    request = EndRequest.model_validate({"reason": "wrong instrument", "signatures": signatures})
    return end_publication(own, "operator", ref, request)


def test_both_officers_end_a_mistaken_act_from_the_next_verdict_on(desk: MemoryDesk) -> None:
    said = noted(desk, instrument="*")
    first = desk.ask()
    assert first.result == "rejected"
    done = ended(desk, "note-1")
    assert (done["again"], ended(desk, "note-1")["again"]) == (False, True)
    assert desk.ask().result == "approved"
    replay(cast("LedgerReader", desk.log), TABLE, first.decision_id)
    (listed,) = publications(cast("LedgerReader", desk.log))
    assert (listed["seq"], listed["ended_seq"]) == (said["seq"], done["seq"])


@pytest.mark.parametrize("by", [(), SIGNING_ROLES[:1], SIGNING_ROLES[1:]])
def test_one_officer_ends_no_act(desk: MemoryDesk, by: tuple[str, ...]) -> None:
    noted(desk)
    with pytest.raises(RequestError, match="both officers"):
        ended(desk, "note-1", by=by)
    noted(desk, "note-2")
    with pytest.raises(RequestError, match="no publication note-3"):
        end_publication(
            desk.small.desk.own,
            "operator",
            "note-3",
            EndRequest(reason="wrong", signatures={}),
        )
    assert desk.ask().result == "rejected"


def test_the_end_of_one_act_ends_no_other(desk: MemoryDesk) -> None:
    noted(desk)
    noted(desk, "note-2")
    ended(desk, "note-1")
    assert desk.ask().result == "rejected"


def test_no_verdict_overlooks_an_act_that_was_recorded_meanwhile(desk: MemoryDesk) -> None:
    basis = desk.log.head().size - 1
    noted(desk)
    (first,) = desk.log.records(kinds=(Kind.PUBLICATION_NOTED,))
    body = {**first.body, "ref": "note-2"}
    again = PublicationNoted.read(body).draft()
    with pytest.raises(GuardMovedError):
        desk.log.append(again, guard=Guard(section=AGENT_ACCOUNT, basis_seq=basis))


def test_a_name_stands_once(desk: MemoryDesk) -> None:
    first = noted(desk)
    again = noted(desk)
    assert (again["seq"], again["again"]) == (first["seq"], True)
    with pytest.raises(RequestError, match="other terms"):
        noted(desk, medium="social")
    (record,) = desk.log.records(kinds=(Kind.PUBLICATION_NOTED,))
    (listed,) = publications(cast("LedgerReader", desk.log))
    rest = {"leaf": record.leaf.hex(), "ended_seq": None}
    assert listed == {"seq": record.seq, **rest, **record.body}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [({"instrument": "NOPE"}, "not in this gateway's table"), ({"published_us": 1 << 52}, "week")],
)
def test_what_cannot_be_meant_is_refused(
    desk: MemoryDesk, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(RequestError, match=problem):
        noted(desk, **changes)
    assert not [*desk.log.records(kinds=(Kind.PUBLICATION_NOTED,))]


def test_of_many_acts_a_verdict_reads_the_latest(desk: MemoryDesk) -> None:
    now_us = desk.small.desk.own.market.now_us()
    for number in range(REMEMBERED + 1):
        noted(desk, f"note-{number}", published_us=now_us - number)
    basis = desk.log.head().size - 1
    found = OwnPublications(desk.log).until(basis, "SPXN")
    assert [one.time_us for one in found.acts] == [
        now_us - number for number in reversed(range(REMEMBERED))
    ]


def test_a_gateway_that_overlooks_an_act_is_found_by_a_replay(
    desk: MemoryDesk,
) -> None:
    noted(desk)

    class Deaf(OwnPublications):
        @override
        def _read(self, basis_seq: int) -> None:
            """Read nothing."""

    source = desk.small.desk.own.section._gathering  # noqa: SLF001 - plants the fault
    assert source is not None
    object.__setattr__(source, "said", Deaf(desk.log))
    response = desk.ask()
    assert response.result == "approved"
    with pytest.raises(ReplayDiffersError, match=r"inputs\.publications"):
        replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
