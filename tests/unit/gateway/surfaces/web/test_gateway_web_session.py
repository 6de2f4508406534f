"""The session page shows what the FIX child told, and the monitor's route its numbers."""

from dataclasses import replace

from fastapi.testclient import TestClient

from fix.dialects.profile import simulator_profile
from fix.session.link import Frame, SessionState
from gateway.surfaces.api.app import build_api
from gateway.telemetry.session import session_status
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.page_desk import PageDesk

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
    desk: MemoryDesk, pages: PageDesk
) -> None:
    tell(desk, VITALS)
    text = pages.read("/session")
    for words in ("reconciling", "1,234", ">567<", "567 to 570", "3 of 5 orders answered"):
        assert words in text
    for words in ("we asked for 567 on", "ExecutionReport", "OrderCancelRequest", "2.0 s ago"):
        assert words in text
    assert "&lt;ORDER&gt; F 2" in text
    assert "the line is &lt;slow&gt;" in text
    assert "memory of the FIX process" in text
    assert "is read from the ledger" not in text


def test_a_session_that_is_down_has_a_page_without_figures(
    desk: MemoryDesk, pages: PageDesk
) -> None:
    tell(desk, {}, SessionState.DOWN)
    text = pages.read("/session")
    assert ">down<" in text
    assert "Nothing has passed yet" in text


def test_a_monitor_sees_the_numbers_and_no_order(desk: MemoryDesk) -> None:
    tell(desk, VITALS, SessionState.READY)
    app = build_api(desk.small.desk, desk.small.keyring)
    said = TestClient(app).get("/readyz").json()["session"]
    assert (said["state"], said["next_sender"], said["next_target"]) == ("READY", 1_234, 567)
    assert (said["missing"], said["reconciled"]) == ([567, 570], [3, 5])
    assert "ORDER" not in str(said)
