"""What a restart must not change: an agent's key names its decision, an account keeps its book.

Two gateways run over one state folder, with an account that stays, as `serve` has it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App, running
from gateway.launch.paper.play import open_session
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, decided, ended, orders_at_broker

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
ACCOUNT = "desk"


@contextmanager
def served(state: Path) -> Iterator[App]:
    """Yield a gateway with the account that stays."""
    plan = live_desk.plan_for(state)
    with running(replace(plan, tags=replace(plan.tags, account=ACCOUNT)), lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        yield app


def test_a_restart_makes_no_second_order_and_forgets_no_holding(walk_state: Path) -> None:
    with served(walk_state) as app, Agent(app) as agent:
        open_session(app, live_desk.sessions(1)[0])
        first = agent.intent("rebalance-1", 1_000).json()
        assert first["result"] == "approved", first
        ended(app, first["decision_id"])
        held = app.desk.own.section.book(f"{ACCOUNT}.agent")
        run_id, sent = app.plan.tags.run_id, orders_at_broker(app)
        assert held.lots("SPXN") > 0
    with served(walk_state) as app, Agent(app) as agent:
        assert app.plan.tags.run_id != run_id
        assert app.desk.own.section.book(f"{ACCOUNT}.agent") == held
        assert decided(agent.intent("rebalance-1", 1_000).json()) == decided(first)
        other = agent.intent("rebalance-1", 2_000)
        assert (other.status_code, "another request" in other.json()["message"]) == (400, True)
        assert orders_at_broker(app) == sent
