"""A blind review at a whole gateway: drawn by the log, answered without a look, compared."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.desk.officers.oversight.fairness import root_of
from gateway.desk.officers.oversight.reviews import proposals
from gateway.evidence.decisions import PREFIX
from gateway.installation.settings import Settings, load
from gateway.launch.app import App
from gateway.launch.commands.oversight.reviews import answer, draw, list_reviews, show
from gateway.launch.paper.play import case_of, open_session
from risk.windows.review import drawn
from tests.doubles.live_desk import desk, sessions

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
FOREVER = ("2020-01-01", "2199-12-31")


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
    walk_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=walk_state)
    with desk(walk_state) as app:
        for session in sessions(4):
            open_session(app, session)
            app.desk.make(case_of(app, session))
        assert list_reviews(settings, "auditor", as_json=False) == 0
        assert "no sample was drawn yet" in capsys.readouterr().out
        assert draw(settings, "auditor", FOREVER, 3) == 0
        assert "3 of 4 decisions, 0 answers" in capsys.readouterr().out

        (record,) = app.reader.records(kinds=(Kind.REVIEW_DRAWN,))
        said = record.body
        ids = [one.stream.removeprefix(PREFIX) for one in proposals(app.reader, *FOREVER)]
        root = root_of(app.reader, said["size"])
        assert said["root"] == root.hex()
        assert tuple(said["decisions"]) == drawn(root, ids, 3)
        assert draw(settings, "operator", FOREVER, 50) == 0  # the same days: the same sample
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

        told_on_the_command_line(settings, record.seq, third, capsys)


def told_on_the_command_line(
    settings: Settings, seq: int, decision_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert answer(settings, "operator", seq, decision_id, ("sell", "falling")) == 0
    assert "you said sell" in capsys.readouterr().out
    assert show(settings, "operator", seq, as_json=False) == 0
    assert "you said sell" in capsys.readouterr().out
    assert list_reviews(settings, "auditor", as_json=True) == 0
    (listed,) = json.loads(capsys.readouterr().out)["reviews"]
    assert listed["cases"] == 2
    assert listed["answers"] == {"approver": 1, "operator": 1}
