"""A blind review at a whole gateway: drawn by the log, answered without a look, compared."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.desk.officers.oversight.fairness import root_of
from gateway.desk.officers.oversight.reviews import proposals
from gateway.evidence.decisions import PREFIX
from gateway.launch.app import App
from gateway.launch.paper.play import case_of, open_session
from risk.windows.review import drawn
from tests.doubles.live_desk import desk, sessions
from tests.doubles.verbs import typed

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
FOREVER = ("2020-01-01", "2199-12-31")
DAYS = ("--from", FOREVER[0], "--to", FOREVER[1])


def told(folder: Path, *words: object) -> str:
    code, said = typed(folder, "review", *words)
    assert code == 0, said
    return said


def http_of(app: App, name: str) -> httpx.Client:
    token = app.plan.keyring.token(name)
    return httpx.Client(
        base_url=app.server.address,
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=30.0,
    )


def item_of(found: dict[str, Any], decision_id: str) -> dict[str, Any]:
    (item,) = [one for one in found["items"] if one["decision_id"] == decision_id]
    return dict(item)


def test_a_sample_is_judged_without_the_models_answer_and_compared(
    walk_state: Path,
) -> None:
    with desk(walk_state) as app:
        for session in sessions(4):
            open_session(app, session)
            app.desk.make(case_of(app, session))
        assert "no sample was drawn yet" in told(walk_state, "list")
        drawn_now = told(walk_state, "draw", *DAYS, "--count", 3)
        assert "3 of 4 decisions, 0 answers" in drawn_now

        (record,) = app.reader.records(kinds=(Kind.REVIEW_DRAWN,))
        said = record.body
        ids = [one.stream.removeprefix(PREFIX) for one in proposals(app.reader, *FOREVER)]
        root = root_of(app.reader, said["size"])
        assert said["root"] == root.hex()
        assert tuple(said["decisions"]) == drawn(root, ids, 3)
        told(walk_state, "draw", *DAYS, "--count", 50, "--as", "operator")  # the same sample
        assert len([*app.reader.records(kinds=(Kind.REVIEW_DRAWN,))]) == 1

        first, second, third = said["decisions"]
        with http_of(app, "approver") as http:
            blind = http.get(f"/v1/reviews/{record.seq}").raise_for_status()
            for leak in ("forecast", "verdict", "target_exposure_bp", "delta_qty", '"side"'):
                assert leak not in blind.text
            item = item_of(blind.json(), first)
            assert (item["answer"], item["model"]) == (None, None)
            assert len(item["sheet"]["closes"]) > 10

            page = http.get(f"/reviews/{record.seq}").raise_for_status().text
            assert "the model:" not in page
            http.get(f"/decisions/{second}").raise_for_status()
            where = f"/v1/reviews/{record.seq}/answers"
            body = {"answer": "none", "note": "no view"}
            refused = http.post(f"{where}/{second}", json=body)
            assert (refused.status_code, refused.json()["code"]) == (409, "review_refused")
            assert "would not be blind" in refused.json()["message"]
            done = http.post(f"{where}/{first}", json=body).raise_for_status().json()
            again = http.post(f"{where}/{first}", json={**body, "answer": "buy"})
            assert "has your answer already" in again.json()["message"]
            unknown = http.post(f"{where}/nobody", json=body)
            assert unknown.status_code == 404
            wrong = http.post(f"{where}/{third}", json={**body, "answer": "maybe"})
            assert wrong.status_code == 422
            seen = item_of(http.get(f"/v1/reviews/{record.seq}").json(), first)
            assert (seen["answer"], seen["model"]) == ("none", done["model"])
            page = http.get(f"/reviews/{record.seq}").raise_for_status().text
            assert f"you: none, the model: {done['model']}" in page
            assert f"/reviews/{record.seq}" in http.get("/reviews").raise_for_status().text
            assert http.get("/reviews/0").status_code == 404

        told_on_the_command_line(walk_state, record.seq, third)


def told_on_the_command_line(folder: Path, seq: int, decision_id: str) -> None:
    words = ("--say", "sell", "--note", "falling", "--as", "operator")
    assert "you said sell" in told(folder, "answer", seq, decision_id, *words)
    shown = told(folder, "show", seq, "--as", "operator")
    assert "you said sell" in shown
    assert re.search(r"last closes in ticks \d+, \d+", shown)
    (listed,) = json.loads(told(folder, "list", "--json"))["reviews"]
    assert listed["cases"] == 2
    assert listed["answers"] == {"approver": 1, "operator": 1}
