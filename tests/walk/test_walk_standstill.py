"""A database that stands still while a hold is open: the gateway stays, says so, and goes on.

Only the model is scripted.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from audit.upkeep.dump import verify_database
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.policies.policy import SHIPPED
from gateway.installation.settings import load
from gateway.launch.app import App, running
from gateway.launch.commands.kill import press_kill, release_kill
from gateway.launch.paper.play import open_session
from gateway.launch.plan import Plan
from gateway.walk.journal.standing import Stage
from risk.policy.policy import parse_policy
from risk.policy.signing import SignedPolicy, sign_policy
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, hold, outcome, reserved, standing_of

pytestmark = [pytest.mark.walk, pytest.mark.timeout(300)]
TTL_US = 4_000_000
BOUND_S = 30.0
"""Five seconds of silence are enough to be not ready; the rest is a busy machine's."""
AGAIN_S = 90.0
"""A commit in doubt is asked about after ten seconds, housekeeping's back-off is four."""


def with_short_holds(plan: Plan) -> Plan:
    """Return a plan whose policy ends a hold after a few seconds."""
    document = json.loads(SHIPPED.read_bytes())
    document["approval"]["ttl"]["value"] = TTL_US
    policy = parse_policy(json.dumps(document).encode())
    keys = plan.keyring
    signatures = tuple(
        sign_policy(policy, role, f"dev-{role}", keys.signing_key(role)) for role in SIGNING_ROLES
    )
    return replace(plan, policy=SignedPolicy(policy=policy, signatures=signatures))


@pytest.fixture
def desk(walk_state: Path) -> Iterator[App]:
    """A running gateway with an open market and its housekeeping."""
    plan = with_short_holds(live_desk.plan_for(walk_state))
    with running(plan, lambda _: None) as app, app.housekeeping.in_background():
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        for session in live_desk.sessions(2):
            open_session(app, session)
        yield app


@contextmanager
def standing_still(state: Path) -> Iterator[None]:
    """Stop every process of the database's server, as a machine does that hangs."""
    postmaster = int((state / "pg" / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    stopped = [postmaster, *map(int, children)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def readiness(app: App) -> tuple[int, dict[str, str]]:
    """Ask for readiness, which has to be answered at once."""
    answer = httpx.get(f"{app.server.address}/readyz", trust_env=False, timeout=5.0)
    return answer.status_code, answer.json()["parts"]


def test_a_database_that_stands_still_is_outlived(
    desk: App, capsys: pytest.CaptureFixture[str]
) -> None:
    wait_for(lambda: readiness(desk)[0] == 200, BOUND_S, part="a ready gateway")
    root = desk.plan.state.root
    with Agent(desk) as agent, standing_still_after(hold(agent, "waits"), root) as held:
        wait_for(lambda: readiness(desk)[0] == 503, BOUND_S, part="/readyz at 503")
        assert readiness(desk)[1]["database"].startswith("no answer for")
        wait_for(lambda: trouble(desk) != "ready", BOUND_S, part="the hold's end to be tried")
        assert trouble(desk).startswith("expiring holds: ")
        assert httpx.get(f"{desk.server.address}/healthz", trust_env=False).status_code == 200
        assert press_kill(load(state=root), "it stands still") == 0
        assert "on record: False" in capsys.readouterr().out
        assert desk.desk.kill_switch.state[1]
        assert standing_of(desk, held).stage is Stage.HELD
    wait_for(lambda: standing_of(desk, held).stage is Stage.SEALED, AGAIN_S, part="the hold's end")
    assert outcome(desk, held) == "hold_expired"
    assert not reserved(desk, held)
    wait_for(lambda: readiness(desk)[1]["database"] == "ready", AGAIN_S, part="the database")
    wait_for(lambda: pressed(desk) == [("operator", "it stands still")], AGAIN_S, part="the press")
    assert release_kill(load(state=root), "it answers again", {}) == 0
    assert len(pressed(desk)) == 1
    wait_for(lambda: readiness(desk)[0] == 200, AGAIN_S, part="a ready gateway again")
    desk.ledger.checkpoint_now()
    key = desk.plan.state.ledger_vkey.read_text().strip()
    assert verify_database(desk.dsn, (key,)).exit_code == 0


def pressed(app: App) -> list[tuple[str, str]]:
    """Return who pressed the kill, and why, as it is on record."""
    found = app.reader.records(stream="control", kinds=(Kind.KILL_PRESSED,))
    return [(str(one.body["actor_name"]), str(one.body["reason"])) for one in found]


@contextmanager
def standing_still_after(held: str, state: Path) -> Iterator[str]:
    """Stop the database once a hold is open; yield the hold's decision."""
    with standing_still(state):
        yield held


def trouble(app: App) -> str:
    """Return what readiness says of housekeeping."""
    return readiness(app)[1]["housekeeping"]
