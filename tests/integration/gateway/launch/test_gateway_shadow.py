"""Shadow mode decides and records, and nothing leaves: no process, no connection, no byte."""

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from audit.records.kinds import Kind
from fix.dialects.profile import simulator_profile
from gateway import clock
from gateway.evidence.replay.replay import replay
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.plan import Plan
from tests.doubles.feeds import bars, quote
from tests.doubles.live_desk import plan_for

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


def shadow_plan(state: Path, port: int) -> Plan:
    """Return a plan in shadow mode whose broker would be at a port that a test listens on."""
    plan = plan_for(state)
    return replace(
        plan,
        tags=replace(plan.tags, mode="shadow"),
        simulator=None,
        profile=lambda _: simulator_profile(port),
        fed=True,
        playback={},
    )


def post(app: App, name: str, path: str, body: object) -> Any:  # noqa: ANN401 - JSON
    key = app.plan.keyring.token(name)
    answer = httpx2.post(
        app.server.address + path,
        content=json.dumps(body),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        timeout=30,
    )
    return answer.json()


def decided(app: App) -> dict[str, Any]:
    """Quote and ask until the rules approve: a machine that stood still made the quote too old."""
    for number in range(1, 21):
        post(app, "feed", "/v1/market/quotes", quote(number, clock.wall_us()))
        wish = {"client_key": f"k-{number}", "instrument": "SPXN", "target_exposure_bp": 2_000}
        answer = post(app, "agent", "/v1/intents", {**wish, "max_qty_lots": 50})
        if answer.get("verdict") in {"ALLOW", "WARN"}:
            return dict(answer)
    raise AssertionError("the rules approved nothing")


def test_an_approved_order_of_shadow_mode_is_recorded_and_never_leaves(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        broker.settimeout(0)
        plan = shadow_plan(tmp_path, broker.getsockname()[1])
        with running(plan, lambda _: None) as app:
            wait_for(lambda: app.engine.wait_ready(0.1), 30.0, part="scripted engine")
            post(app, "feed", "/v1/market/bars", bars(60, clock.wall_us()))
            answer = decided(app)
            assert (answer["result"], answer["reason"]) == ("not_sent", "shadow_mode")
            kinds = {one.kind for one in app.reader.records()}
            assert Kind.ORDER_WITHDRAWN in kinds
            assert not kinds & {Kind.ORDER_SENDING, Kind.ORDER_SENT, Kind.SESSION_EVENT}
            (run,) = app.reader.records(kinds=(Kind.RUN_STARTED,))
            (verdict, *_) = app.reader.records(kinds=(Kind.VERDICT_GIVEN,))
            assert (run.body["mode"], verdict.body["mode"]) == ("shadow", "shadow")
            replay(app.reader, app.desk.own.tools.table, answer["decision_id"])
            ready = httpx2.get(f"{app.server.address}/readyz")
            assert "fix" not in ready.json()["parts"]
            assert ready.json()["mode"] == "shadow"
            told = app.desk.kill_switch.press(actor="ops", reason="a test")
            assert told.child_confirmed, "without a FIX process no order passes"
            assert app.fix.pid == 0, "no FIX process was started"
        with pytest.raises(BlockingIOError):
            broker.accept()
    stored = [path for path in (tmp_path / "fix").rglob("*") if path.is_file()]
    assert stored == [], "there is no FIX store"
