"""Who may press and release a kill over HTTP, and with which signatures."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from audit.errors import LedgerStoppedError
from audit.records.kinds import Kind
from gateway.desk.controls.statements import release_statement
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.roles import MAY, Role
from gateway.surfaces.api.app import build_api
from tests.doubles.memory_desk import MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path, live=False)


def http(desk: MemoryDesk, role: Role) -> TestClient:
    """Return a caller of this role, with a key."""
    ring: Keyring = desk.small.keyring
    token = ring.issue(f"some-{role.value}", role)
    return TestClient(
        build_api(desk.small.desk, ring), headers={"Authorization": f"Bearer {token}"}
    )


def signed(desk: MemoryDesk, epoch: int) -> dict[str, Any]:
    """Return a release that both roles have signed, as the desk asks for it."""
    own = desk.small.desk.own
    statement = release_statement(
        log_id(own.reader, own.origin), epoch, own.word.newest_press().press_id
    )
    return {
        "kill_epoch": epoch,
        "signatures": {
            role: desk.small.keyring.signing_key(role).sign(statement).hex()
            for role in SIGNING_ROLES
        },
        "reason": "over",
    }


@pytest.mark.parametrize("role", Role)
def test_press_and_release_are_for_operators_and_approvers(desk: MemoryDesk, role: Role) -> None:
    may = role in {Role.OPERATOR, Role.APPROVER}
    assert (role in MAY["kill"]) == may
    caller, word = http(desk, role), desk.small.desk.own.word
    assert caller.post("/v1/kill", json={"reason": "now"}).status_code == (200 if may else 403)
    assert word.read().killed == may
    if not may:
        word.press()
    epoch = word.read().kill_epoch
    answer = caller.post("/v1/kill/release", json=signed(desk, epoch))
    assert answer.status_code == (200 if may else 403)
    assert word.read().killed != may, "two signatures are no role"
    assert len(desk.log.of_kind(Kind.KILL_RELEASED)) == may
    reads = role in MAY["read"]
    assert caller.get("/v1/kill").status_code == (200 if reads else 403)
    state = (caller if reads else http(desk, Role.AUDITOR)).get("/v1/kill").json()
    assert (state["kill_epoch"], state["killed"]) == (epoch, not may)
    assert ("to_sign" in state) == (not may), "what is to be signed, while there is something"


def test_without_a_key_nothing_is_pressed_or_released(desk: MemoryDesk) -> None:
    stranger = TestClient(build_api(desk.small.desk, desk.small.keyring))
    word = desk.small.desk.own.word
    assert stranger.post("/v1/kill", json={"reason": "now"}).status_code == 401
    assert not word.read().killed
    word.press()
    assert stranger.post("/v1/kill/release", json=signed(desk, 1)).status_code == 401
    assert word.read().killed


@pytest.mark.parametrize(
    "change",
    [
        {"kill_epoch": 2},
        {"signatures": {}},
        {"signatures": {"risk": "00" * 64, "compliance": "00" * 64}},
    ],
)
def test_a_release_needs_both_signatures_over_the_epoch_in_force(
    desk: MemoryDesk, change: dict[str, Any]
) -> None:
    caller, word = http(desk, Role.OPERATOR), desk.small.desk.own.word
    assert caller.post("/v1/kill", json={"reason": "now"}).status_code == 200
    body = {**signed(desk, 1), **change}
    assert caller.post("/v1/kill/release", json=body).status_code == 403
    for role in SIGNING_ROLES:
        one = {**signed(desk, 1), "signatures": {role: signed(desk, 1)["signatures"][role]}}
        assert caller.post("/v1/kill/release", json=one).status_code == 403
    assert word.read().killed
    assert desk.log.of_kind(Kind.KILL_RELEASED) == []


def test_a_release_is_on_record_before_the_gate_opens(desk: MemoryDesk) -> None:
    caller, word = http(desk, Role.OPERATOR), desk.small.desk.own.word
    caller.post("/v1/kill", json={"reason": "now"})
    desk.log.refuses = LedgerStoppedError("stopped")
    assert caller.post("/v1/kill/release", json=signed(desk, 1)).status_code == 503
    assert word.read().killed, "an unrecorded release opens nothing"
    desk.log.refuses = None
    assert caller.post("/v1/kill/release", json=signed(desk, 1)).status_code == 200
    assert not word.read().killed
