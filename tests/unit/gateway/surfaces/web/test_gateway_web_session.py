"""The session page shows what the FIX child told, and the monitor's route its numbers."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from audit.store.reader import LedgerReader
from fix.dialects.profile import simulator_profile
from fix.session.link import Frame, SessionState
from gateway.surfaces.api.app import build_api
from gateway.surfaces.web.actions import DeskActions
from gateway.surfaces.web.pages import register
from gateway.surfaces.web.views.lists import Views
from gateway.telemetry.session import session_status
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.page_person import entrance, sign_in

HOME = "http://127.0.0.1:8700"

VITALS: Frame = {
    "at_us": 9_000_000,
    "next_sender": 1_234,
    "next_target": 567,
    "in_us": 8_000_000,
    "out_us": 9_000_000,
    "received": 566,
    "sent": 1_233,
    "highest_in": 570,
    "last_s": {"F": 3},
    "most": {"F": 9},
    "gaps": [[9_000_000, "out", "2", "567", "0"]],
    "recent": [[9_000_000, "in", "8", 570, False, "<ORDER> F 2"]],
}


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path / "desk")


def shown(desk: MemoryDesk, folder: Path) -> str:
    """The page as an auditor sees it."""
    door, app = entrance(folder / "door"), FastAPI()
    views = Views(cast("LedgerReader", desk.log), desk.small.table)
    register(app, views, DeskActions(desk.small.desk), door)
    client = TestClient(app, base_url=HOME, client=("127.0.0.1", 40_000), follow_redirects=False)
    sign_in(client, door.keyring.token("auditor"))
    return client.get("/session").text


def tell(desk: MemoryDesk, vitals: Frame, state: SessionState = SessionState.RECONCILING) -> None:
    """Let the desk's session be in this state."""
    status = session_status(
        simulator_profile(9_878),
        vitals,
        state=state,
        detail="the line is <slow>",
        logon_no=2,
        reconciled=(3, 5),
        now_us=10_000_000,
    )
    desk.small.desk.own = replace(desk.small.desk.own, session=lambda: status)


def test_the_page_has_state_numbers_gaps_throttle_messages_and_progress(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    tell(desk, VITALS)
    text = shown(desk, tmp_path)
    for words in ("reconciling", "1,234", ">567<", "567 to 570", "3 of 5 orders answered"):
        assert words in text
    for words in ("we asked for 567 on", "ExecutionReport", "OrderCancelRequest", "2.0 s ago"):
        assert words in text
    assert "&lt;ORDER&gt; F 2" in text
    assert "the line is &lt;slow&gt;" in text
    assert "memory of the FIX process" in text
    assert "is read from the ledger" not in text


def test_a_session_that_is_down_has_a_page_without_figures(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    tell(desk, {}, SessionState.DOWN)
    text = shown(desk, tmp_path)
    assert ">down<" in text
    assert "Nothing has passed yet" in text


def test_a_monitor_sees_the_numbers_and_no_order(desk: MemoryDesk) -> None:
    tell(desk, VITALS, SessionState.READY)
    app = build_api(desk.small.desk, desk.small.keyring)
    said = TestClient(app).get("/readyz").json()["session"]
    assert (said["state"], said["next_sender"], said["next_target"]) == ("READY", 1_234, 567)
    assert (said["missing"], said["reconciled"]) == ([567, 570], [3, 5])
    assert "ORDER" not in str(said)
