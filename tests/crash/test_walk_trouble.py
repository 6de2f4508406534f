"""Trouble in the middle of a playback: the engine, the FIX child or the database goes away.

The run goes on or ends with one clear line, nothing unrecorded is at the broker, and the next run
in the same folder works.
"""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from audit.store.reader import LedgerReader
from audit.upkeep.dump import verify_database
from fix.session.link import SessionState
from gateway.clock import pause
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.children.simulator import wait_for
from gateway.launch.paper.play import open_session
from gateway.walk.decision import Result
from gateway.walk.journal.standing import Stage
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, agreement
from tests.doubles.programs import WITHIN_S, play, start_play
from tests.doubles.walk_oracle import faults

pytestmark = [pytest.mark.walk, pytest.mark.timeout(300)]


@pytest.fixture
def state(walk_state: Path) -> Path:
    """A fresh state folder."""
    return walk_state


def assert_sound(state: Path) -> None:
    """The ledger verifies and agrees with the broker."""
    server = EmbeddedPostgres(state)
    dsn = server.start()
    reader = LedgerReader(dsn)
    try:
        key = (state / "keys" / "ledger.key.pub").read_text().strip()
        report = verify_database(dsn, (key,))
        assert report.exit_code == 0, report.lines
        assert faults(state / "ems" / "capture.jsonl", reader) == []
    finally:
        reader.close()
        server.stop()


@pytest.mark.parametrize("behaviour", ["nan", "crash", "lie"])
def test_an_engine_that_misbehaves_yields_no_forecast_and_no_order(
    state: Path, behaviour: str
) -> None:
    code, printed = play(state, 2, behaviour=behaviour)
    assert code == 0, printed
    (path,) = (state / "runs").glob("summary-*.json")
    summary = json.loads(path.read_text())
    assert (summary["forecasts"], summary["no_forecasts"]) == (0, 2), summary
    assert summary["orders"] == 0
    assert summary["outcomes"] == {"no_forecast": 2}
    assert summary["verified"] is True


def test_a_hanging_engine_costs_its_deadline_and_no_order(state: Path) -> None:
    with live_desk.desk(state, "hang") as app:
        decision = live_desk.decide(app, live_desk.sessions(1)[0])
        assert decision.result is Result.NO_FORECAST
        with Agent(app) as agent:
            answer = agent.intent("hang", 500).json()
        assert answer["result"] == "no_forecast"
        assert live_desk.received(live_desk.capture_of(app), "D") == []


def test_a_hold_whose_renewal_has_no_forecast_frees_its_limits(state: Path) -> None:
    with live_desk.desk(state) as app:
        open_session(app, live_desk.sessions(1)[0])
        with Agent(app) as agent, Agent(app, "approver") as approver:
            held = agent.intent("held", 2_700).json()
            assert held["result"] == "held"
            app.engine.stop()
            standing = app.orders.get(held["decision_id"])
            assert standing is not None
            assert standing.verdict is not None
            answer = approver.http.post(
                f"/v1/decisions/{held['decision_id']}/approval",
                json=agreement(approver, app, held["decision_id"]),
            )
        assert (answer.status_code, answer.json()["result"]) == (200, "no_forecast")
        book = app.desk.own.section.book(f"{app.plan.tags.account}.agent")
        assert book.reservations == ()
        sealed = app.orders.get(held["decision_id"])
        assert sealed is not None
        assert sealed.stage is Stage.SEALED


def test_a_killed_fix_child_comes_back_and_every_order_is_accounted_for(state: Path) -> None:
    with live_desk.desk(state) as app:
        live_desk.rest_one(app)
        os.kill(app.fix.pid, signal.SIGKILL)
        for session in live_desk.sessions(6)[1:4]:
            live_desk.decide(app, session)
            app.housekeeping.round()
        wait_for(lambda: app.fix.state is SessionState.READY, 20.0, part="FIX session")
        decision = live_desk.decide(app, live_desk.sessions(6)[5])
        app.housekeeping.round()
        wait_for(lambda: not app.orders.in_doubt(), 10.0, part="every order's fate")
        assert decision.result in {Result.APPROVED, Result.NO_TRADE}
    assert_sound(state)


def test_a_killed_database_ends_the_run_with_one_line_and_the_next_run_works(state: Path) -> None:
    with start_play(state, 300) as running:
        assert running.stdout is not None
        printed = ""
        for line in running.stdout:
            printed += line
            if "decisions  [" in line:
                break
        pid = int((state / "pg" / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        rest, _ = running.communicate(timeout=WITHIN_S)
    assert running.returncode == 2, printed + rest
    assert "Traceback" not in rest, rest
    last = rest.strip().splitlines()[-1]
    assert last.startswith("countersign: the ledger takes no more records"), rest
    code, printed = play(state, 2)
    assert code == 0, printed
    assert_sound(state)


def test_a_flood_of_requests_leaves_a_gateway_that_answers(state: Path) -> None:
    with live_desk.desk(state) as app:
        open_session(app, live_desk.sessions(1)[0])

        def flood(number: int) -> set[int]:
            seen = set()
            with Agent(app) as agent:
                for place in range(25):
                    kind = (number + place) % 4
                    if kind == 0:
                        seen.add(agent.intent(f"f{number}-{place}", 300 + place).status_code)
                    elif kind == 1:
                        seen.add(agent.http.post("/v1/intents", content=b"{").status_code)
                    elif kind == 2:
                        seen.add(agent.http.get("/v1/decisions/none").status_code)
                    else:
                        seen.add(agent.http.get("/readyz").status_code)
            return seen

        with ThreadPoolExecutor(24) as pool:
            seen = set().union(*pool.map(flood, range(24)))
        assert seen <= {200, 404, 422, 503}, seen
        ready = httpx.get(f"{app.server.address}/readyz", trust_env=False)
        assert ready.status_code == 200, ready.text
        pause(0.5)
        assert not app.orders.in_doubt()
    assert_sound(state)


def test_two_playbacks_cannot_share_a_folder(state: Path) -> None:
    with start_play(state, 300) as first, start_play(state, 300) as second:
        processes: list[subprocess.Popen[str]] = [first, second]
        wait_for(lambda: any(p.poll() is not None for p in processes), 60.0, part="the refused one")
        refused = next(p for p in processes if p.poll() is not None)
        other = next(p for p in processes if p is not refused)
        printed, _ = refused.communicate(timeout=WITHIN_S)
        assert refused.returncode == 2, printed
        assert "is in use by process" in printed
        assert "Traceback" not in printed
        other.terminate()
        printed, _ = other.communicate(timeout=WITHIN_S)
        assert other.returncode == 0, printed
    assert_sound(state)
