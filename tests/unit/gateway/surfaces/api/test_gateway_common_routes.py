"""What every route has in common: days are read or refused in words, and HEAD is as GET."""

from urllib.parse import quote

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from gateway.surfaces.api.app import build_api
from tests.doubles.memory_desk import MemoryDesk

HOME = "http://127.0.0.1:8700"


@pytest.fixture
def app(desk: MemoryDesk) -> FastAPI:
    return build_api(desk.small.desk, desk.small.keyring)


def key_of(desk: MemoryDesk) -> dict[str, str]:
    return {"Authorization": f"Bearer {desk.small.keyring.token('auditor')}"}


DAYS = ("9999-12-31", "9998-12-31", "0001-01-01", "1970-01-01", "20261120", "2026-W47", "\x00")


@pytest.mark.parametrize("day", DAYS)
def test_no_route_fails_at_a_day(app: FastAPI, desk: MemoryDesk, day: str) -> None:
    """Repro r09: every query field that is a text, of every route that reads."""
    browser, asked = TestClient(app, base_url=HOME, raise_server_exceptions=False), 0
    for path, operations in app.openapi()["paths"].items():
        fields = [
            one["name"]
            for one in operations.get("get", {}).get("parameters", [])
            if one["in"] == "query" and one["schema"].get("type") == "string"
        ]
        if not fields or "{" in path:
            continue
        asked += 1
        query = "&".join(f"{name}={quote(day)}" for name in fields)
        answer = browser.get(f"{path}?{query}", headers=key_of(desk))
        assert answer.status_code < 500, (path, answer.text)
    assert asked >= 3


def test_head_is_answered_as_get_without_a_body(app: FastAPI, desk: MemoryDesk) -> None:
    browser, key = TestClient(app, base_url=HOME), key_of(desk)
    ready, full = browser.head("/healthz"), browser.get("/healthz")
    assert (ready.status_code, ready.content) == (full.status_code, b"")
    assert ready.headers["content-length"] == full.headers["content-length"]
    assert browser.head("/v1/flow").status_code == 401
    before = len(desk.log.of_kind(Kind.READ_RECORDED))
    assert browser.head("/v1/flow", headers=key).status_code == 200
    (noted,) = desk.log.of_kind(Kind.READ_RECORDED)[before:]
    assert noted.body["object"] == "flow"
    assert browser.head("/v1/intents", headers=key).status_code == 405
    assert browser.head("/nowhere", headers=key).status_code == 404
