"""Own publications and justifications at a whole gateway: verbs, routes and pages."""

import json
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.installation.settings import load
from gateway.launch.app import App
from gateway.launch.commands.oversight.justifications import list_justifications
from gateway.launch.commands.oversight.publications import (
    add_publication,
    end_publication,
    list_publications,
)
from gateway.launch.paper.play import open_session
from tests.doubles.live_desk import desk, sessions

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
ACT = {"ref": "note-7", "instrument": "SPXN", "author": "research-eq", "medium": "research"}


def http_of(app: App, name: str) -> httpx.Client:
    return httpx.Client(
        base_url=app.server.address,
        headers={"Authorization": f"Bearer {app.plan.keyring.token(name)}"},
        trust_env=False,
        timeout=30.0,
    )


def test_an_act_is_recorded_once_and_shown(
    walk_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=walk_state)
    body = ACT | {"published_us": None, "reference": "notes/7"}
    with desk(walk_state) as app:
        (session, *_) = sessions(1)
        open_session(app, session)
        assert list_publications(settings, "auditor", as_json=False) == 0
        assert "no own publication" in capsys.readouterr().out
        assert add_publication(settings, "operator", body) == 0
        assert "is recorded: record" in capsys.readouterr().out
        assert add_publication(settings, "approver", body) == 0
        assert "was recorded before" in capsys.readouterr().out
        (record,) = app.reader.records(kinds=(Kind.PUBLICATION_NOTED,))
        assert record.actor == "person:operator"

        with http_of(app, "auditor") as http:
            assert "note-7" in http.get("/publications").raise_for_status().text
            page = http.get("/justifications").raise_for_status().text
            assert "No justification is registered" in page
        assert list_publications(settings, "auditor", as_json=True) == 0
        (listed,) = json.loads(capsys.readouterr().out)["publications"]
        assert (listed["seq"], listed["ref"]) == (record.seq, "note-7")
        keys: dict[str, Path | None] = {"risk": None, "compliance": None}
        assert end_publication(settings, "operator", "note-7", "a mistake", keys) == 0
        assert "does not count any more" in capsys.readouterr().out
        with http_of(app, "auditor") as http:
            assert "by record" in http.get("/publications").raise_for_status().text
        assert list_justifications(settings, "auditor", as_json=False) == 0
        assert "no justification is registered" in capsys.readouterr().out
