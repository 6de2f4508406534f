"""A gateway starts while its broker is away, says so, and goes on when the broker comes."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from fix.dialects.profile import simulator_profile
from fix.session.link import SessionState
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.paper.play import open_session
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent
from tests.doubles.fix_world import Broker
from tests.doubles.state_folder import end_simulator

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]


@contextmanager
def serving(state: Path, port: int) -> Iterator[App]:
    """Yield a gateway whose broker is somebody else's: nothing of it is started here."""
    plan = live_desk.plan_for(state)
    plan = replace(plan, simulator=None, profile=lambda _: simulator_profile(port))
    with running(plan, lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        yield app


def test_a_start_while_the_broker_is_away_serves_and_goes_on_when_it_comes(
    walk_state: Path,
) -> None:
    broker = Broker(walk_state / "broker")
    try:
        with serving(walk_state, broker.config.port) as app, Agent(app) as agent:
            open_session(app, live_desk.sessions(1)[0])
            ready = httpx.get(f"{app.server.address}/readyz")
            assert (ready.status_code, ready.json()["parts"]["fix"]) == (503, "CONNECTING")
            told = agent.intent("while-away", 1_000).json()
            assert (told["result"], told["reason"]) == ("not_sent", "fix_session_connecting")

            broker.start()
            assert app.fix.wait_for(SessionState.READY, 60.0)
            sent = agent.intent("when-there", 1_500).json()
            assert sent["result"] == "approved", sent
            wait_for(lambda: len(broker.order_ids()) > 0, 10.0, part="the order")
            assert broker.order_ids() == [sent["cl_ord_id"]]
            assert agent.intent("while-away", 1_000).json() == told

            broker.stop()
            wait_for(lambda: app.fix.state is not SessionState.READY, 60.0, part="the loss")
            lost = agent.intent("lost", 2_000).json()
            assert lost["result"] == "not_sent", lost
            withdrawn = app.reader.records(
                stream=f"decision/{lost['decision_id']}", kinds=(Kind.ORDER_WITHDRAWN,)
            )
            assert len(list(withdrawn)) == 1
    finally:
        broker.stop()


def test_a_stranger_who_takes_the_simulators_port_gets_no_order(walk_state: Path) -> None:
    with live_desk.desk(walk_state) as app, Agent(app) as agent:
        assert app.simulator is not None
        open_session(app, live_desk.sessions(1)[0])
        end_simulator(walk_state / "ems" / "pid")
        wait_for(lambda: app.fix.state is not SessionState.READY, 60.0, part="the loss")
        stranger = Broker(walk_state / "stranger")
        stranger.config = replace(stranger.config, port=app.simulator.port)
        # one that knows the numbers too: an ignorant one is refused before, for its numbers
        shutil.copytree(walk_state / "ems" / "store", walk_state / "stranger" / "store")
        stranger.start()
        try:
            wait_for(lambda: bool(strangers(app)), 60.0, part="the stranger's logon")
            told = agent.intent("to-a-stranger", 1_000).json()
            assert told["result"] == "not_sent", told
            assert stranger.captured("A"), "the child did log on to it"
            assert [m.msg_type for m in stranger.captured() if m.msg_type in "DHAF"] == ["A"] * len(
                stranger.captured("A")
            )
        finally:
            stranger.stop()


def strangers(app: App) -> list[str]:
    """Return what is on record about strangers."""
    events = app.reader.records(kinds=(Kind.SESSION_EVENT,))
    return [str(e.body["detail"]) for e in events if e.body["event"] == "stranger_at_port"]
