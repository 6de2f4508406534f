"""What the engine adds, on the page and by the route: one function, read on record, honest."""

from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.answers.engine_adds import engine_adds
from gateway.surfaces.api.app import build_api
from gateway.surfaces.web.actions import DeskActions
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.page_person import entrance, sign_in
from tests.doubles.scaled_desk import scaled_desk

HOME = "http://127.0.0.1:8700"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> MemoryDesk:
    return scaled_desk(tmp_path_factory.mktemp("page"), 4)


def browser_of(desk: MemoryDesk, folder: Path) -> TestClient:
    app, door = FastAPI(), _door(folder)
    views = Views(cast("LedgerReader", desk.log), desk.small.table)
    register(app, views, DeskActions(desk.small.desk), door)
    client = TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False)
    sign_in(client, door.keyring.token("auditor"))
    return client


def _door(folder: Path) -> Entrance:
    return entrance(folder / "door")


def test_the_page_shows_what_differs_and_that_one_path_is_no_evidence(
    played: MemoryDesk, tmp_path: Path
) -> None:
    answer = browser_of(played, tmp_path).get("/engine-adds")
    assert answer.status_code == 200
    assert "One path over part of one year is no evidence of skill." in answer.text
    assert "Too few days for an interval" in answer.text
    found = engine_adds(cast("LedgerReader", played.log))
    assert found.document()["title"] in answer.text
    assert found.compared == 4
    assert found.differing
    for one in found.differing.values():
        assert f"/decisions/{one.decision_id}" in answer.text
    (noted,) = played.log.of_kind(Kind.READ_RECORDED)[-1:]
    assert noted.body["object"] == "engine adds"


def test_without_twins_the_page_says_what_it_needs(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    desk.small.play(2)
    answer = browser_of(desk, tmp_path).get("/engine-adds")
    assert "needs a model pair of codec 2" in answer.text
    assert "2 (no fitted scale)" in answer.text


def test_a_decisions_page_has_the_twin_or_why_there_is_none(
    played: MemoryDesk, tmp_path: Path
) -> None:
    (judged, *_) = played.log.of_kind(Kind.GJR_JUDGED)
    browser = browser_of(played, tmp_path)
    page = browser.get(f"/{judged.stream.replace('decision', 'decisions')}").text
    assert 'id="gjr-twin"' in page
    assert "Parameters fitted by" in page
    assert "The GJR twin aims at" in page
    plain = memory_desk(tmp_path / "plain", live=False)
    plain.small.play(1)
    (twin,) = plain.log.of_kind(Kind.GJR_MADE)
    other = browser_of(plain, tmp_path / "plain")
    said = other.get(f"/{twin.stream.replace('decision', 'decisions')}").text
    assert "does not apply, because return-codec-1" in said


def test_the_route_answers_the_same_and_needs_a_key_that_may_watch(played: MemoryDesk) -> None:
    api = TestClient(build_api(played.small.desk, played.small.keyring))
    asked = {"Authorization": f"Bearer {played.small.keyring.token('auditor')}"}
    answer = api.get("/v1/engine-adds", headers=asked)
    assert answer.status_code == 200
    assert answer.json() == engine_adds(cast("LedgerReader", played.log)).document()
    assert api.get("/v1/engine-adds?account=none", headers=asked).json()["compared"] == 0
    agent = {"Authorization": f"Bearer {played.small.keyring.token('agent')}"}
    assert api.get("/v1/engine-adds", headers=agent).status_code == 403
