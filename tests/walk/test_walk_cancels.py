"""One order cancelled at the simulator by a whole gateway: each way that it can end."""

from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from fix.simulator.control import Control, write_control
from fix.wire.messages import parse
from gateway.clock import pause, wall_us
from gateway.evidence.replay.replay import replay
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, ended, outcome

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
WITHIN_S = 30.0


def cancel(caller: Agent, name: str, key: str, reason: str = "tested") -> httpx.Response:
    return caller.http.post(f"/v1/orders/{name}/cancel", json={"client_key": key, "reason": reason})


def order(caller: Agent, name: str) -> dict[str, Any]:
    found: dict[str, Any] = caller.http.get(f"/v1/orders/{name}").raise_for_status().json()
    return found


def cancel_state(caller: Agent, name: str) -> str:
    found = caller.http.get(f"/v1/orders/{name}").raise_for_status().json()
    return str(found["cancels"][-1]["state"])


def rest_one(app: App, agent: Agent, key: str, lots: int) -> str:
    """Put an order of the agent to rest: the broker's market is out of its reach."""
    assert app.simulator is not None
    app.simulator.set_session(live_desk.HIGH_SESSION)
    pause(0.2)  # the simulator reads its control every 20 ms
    answer = agent.intent(key, 2_000, max_qty_lots=lots).json()
    assert answer["result"] == "approved", answer
    name = str(answer["cl_ord_id"])
    wait_for(lambda: order(agent, name)["state"] == "NEW", WITHIN_S, part="broker")
    return name


def decision_of(app: App, name: str) -> str:
    standing = app.orders.by_cl_ord_id(name)
    assert standing is not None
    return standing.decision_id


def cancels_at_broker(app: App, after_us: int) -> list[dict[int, str]]:
    raws = live_desk.received(live_desk.capture_of(app), "F", after_us=after_us)
    return [dict(parse(raw)) for raw in raws]


def test_a_resting_order_is_cancelled_and_the_broker_confirms(
    app: App, agent: Agent, operator: Agent
) -> None:
    since_us, name = wall_us(), rest_one(app, agent, "rests-1", 51)
    for caller in (agent, operator):
        live = caller.http.get("/v1/orders?state=live").raise_for_status().json()["orders"]
        assert [one["cl_ord_id"] for one in live] == [name]
    with Agent(app, "demo-agent") as another:
        assert another.http.get("/v1/orders?state=all").json() == {"orders": []}
        assert another.http.get(f"/v1/orders/{name}").status_code == 404
        assert cancel(another, name, "c-1").status_code == 404
    done = cancel(agent, name, "c-1", "the limit is stale")
    assert done.status_code == 200
    assert done.json()["result"] in {"requested", "sent", "confirmed"}
    wait_for(lambda: cancel_state(operator, name) == "confirmed", WITHIN_S, part="cancel")
    decision_id = decision_of(app, name)
    ended(app, decision_id)
    assert outcome(app, decision_id) == "cancelled"
    (left,) = cancels_at_broker(app, since_us)
    assert (left[41], left[11]) == (name, done.json()["cancel"]["cancel_id"])
    again = cancel(agent, name, "c-1", "the limit is stale").json()
    assert (again["result"], again["order"]["live"]) == ("confirmed", False)
    assert len(cancels_at_broker(app, since_us)) == 1
    assert cancel(operator, name, "c-2").status_code == 409
    noted = app.reader.by_key(f"session/{app.settler.session}", f"cancel:{left[11]}")
    assert noted is not None
    assert noted.body["reason"] == "asked for"
    steps = replay(app.reader, app.desk.own.tools.table, decision_id).lines
    assert [line.split()[0] for line in steps][-4:] == [
        "cancel_requested",
        "order_reported",
        "cancel_ended",
        "decision_sealed",
    ]


def test_a_fill_that_the_broker_had_before_wins(app: App, agent: Agent, operator: Agent) -> None:
    """The broker fills the order, silent, before our cancel arrives; it says so afterwards."""
    name = rest_one(app, agent, "rests-2", 52)
    control = app.plan.state.root / "ems" / "control.json"
    live_desk.silence(app)  # from session 0's prices the resting order trades; nobody hears of it
    assert cancel(operator, name, "c-1").json()["result"] in {"requested", "sent"}
    wait_for(lambda: cancel_state(operator, name) == "sent", WITHIN_S, part="note of the cancel")
    assert order(operator, name)["live"]
    write_control(control, Control(session=0, silent=False))
    pause(0.2)  # the simulator reads its control every 20 ms
    assert cancel(operator, name, "c-2").status_code == 200
    wait_for(lambda: not order(operator, name)["live"], WITHIN_S, part="broker's word")
    found = order(operator, name)
    assert found["state"] == "FILLED"
    assert [one["state"] for one in found["cancels"]] == ["too_late", "too_late"]
    assert outcome(app, ended(app, decision_of(app, name)).decision_id) == "filled"


def test_a_cancel_while_the_session_is_down_is_told_as_not_sent(
    app: App, agent: Agent, operator: Agent
) -> None:
    since_us, name = wall_us(), rest_one(app, agent, "rests-3", 53)
    assert app.simulator is not None
    app.simulator.stop()
    try:
        wait_for(lambda: app.fix.state.value != "READY", WITHIN_S, part="logout")
        done = cancel(operator, name, "down-1").json()
        assert (done["result"], done["order"]["live"]) == ("not_sent", True)
    finally:
        app.simulator.start()
    wait_for(lambda: app.fix.state.value == "READY", WITHIN_S, part="FIX session")
    assert cancels_at_broker(app, since_us) == []
    kinds = [r.kind for r in app.reader.records(stream=f"decision/{decision_of(app, name)}")]
    assert kinds.index(Kind.CANCEL_REQUESTED) < kinds.index(Kind.CANCEL_ENDED)
