"""Own publications and justifications at a whole gateway: verbs, routes and pages."""

import json
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.launch.app import App
from gateway.launch.paper.play import open_session
from tests.doubles.live_desk import desk, sessions
from tests.doubles.verbs import typed

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
ACT = (
    *("note-7", "--instrument", "SPXN", "--author", "research-eq"),
    *("--medium", "research", "--reference", "notes/7"),
)


def told(folder: Path, *words: str) -> str:
    code, said = typed(folder, *words)
    assert code == 0, said
    return said


def http_of(app: App, name: str) -> httpx.Client:
    return httpx.Client(
        base_url=app.server.address,
        headers={"Authorization": f"Bearer {app.plan.keyring.token(name)}"},
        trust_env=False,
        timeout=30.0,
    )


def test_an_act_is_recorded_once_and_shown(
    walk_state: Path,
) -> None:
    with desk(walk_state) as app:
        (session, *_) = sessions(1)
        open_session(app, session)
        assert "no own publication" in told(walk_state, "publications", "list")
        assert told(walk_state, "publications", "add", *ACT).startswith("record ")
        again = told(walk_state, "publications", "add", *ACT, "--as", "approver")
        assert again.startswith("on record before: record ")
        (record,) = app.reader.records(kinds=(Kind.PUBLICATION_NOTED,))
        assert record.actor == "person:operator"

        with http_of(app, "auditor") as http:
            assert "note-7" in http.get("/publications").raise_for_status().text
            page = http.get("/justifications").raise_for_status().text
            assert "No justification is registered" in page
        shown = told(walk_state, "publications", "list", "--as", "auditor", "--json")
        (listed,) = json.loads(shown)["publications"]
        assert (listed["seq"], listed["ref"]) == (record.seq, "note-7")
        ended = told(walk_state, "publications", "end", "note-7", "--reason", "a mistake")
        assert "does not count any more" in ended
        with http_of(app, "auditor") as http:
            assert "by record" in http.get("/publications").raise_for_status().text
        assert "no justification is registered" in told(walk_state, "justify", "list")
