"""What the engine adds, on the page and by the route: one function, read on record, honest."""

from pathlib import Path
from typing import cast

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.answers.engine_adds import engine_adds
from gateway.surfaces.api.app import build_api
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.page_desk import page_desk
from tests.doubles.scaled_desk import scaled_desk


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> MemoryDesk:
    return scaled_desk(tmp_path_factory.mktemp("page"), 4)


def test_the_page_shows_what_differs_and_that_one_path_is_no_evidence(
    played: MemoryDesk, tmp_path: Path
) -> None:
    page = page_desk(tmp_path, played).read("/engine-adds")
    assert "One path over part of one year is no evidence of skill." in page
    assert "Too few days for an interval" in page
    found = engine_adds(cast("LedgerReader", played.log))
    assert found.document()["title"] in page
    assert found.compared == 4
    assert found.differing
    for one in found.differing.values():
        assert f"/decisions/{one.decision_id}" in page
    (noted,) = played.log.of_kind(Kind.READ_RECORDED)[-1:]
    assert noted.body["object"] == "engine adds"


def test_without_twins_the_page_says_what_it_needs(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    desk.small.play(2)
    page = page_desk(tmp_path, desk).read("/engine-adds")
    assert "needs a model pair of codec 2" in page
    assert "2 (no fitted scale)" in page


def test_a_decisions_page_has_the_twin_or_why_there_is_none(
    played: MemoryDesk, tmp_path: Path
) -> None:
    (judged, *_) = played.log.of_kind(Kind.GJR_JUDGED)
    pages = page_desk(tmp_path, played)
    page = pages.read(f"/{judged.stream.replace('decision', 'decisions')}")
    assert 'id="gjr-twin"' in page
    assert "Parameters fitted by" in page
    assert "The GJR twin aims at" in page
    plain = memory_desk(tmp_path / "plain", live=False)
    plain.small.play(1)
    (taken,) = plain.log.of_kind(Kind.FORECAST_TAKEN)
    other = page_desk(tmp_path / "plain", plain)
    said = other.read(f"/{taken.stream.replace('decision', 'decisions')}")
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
