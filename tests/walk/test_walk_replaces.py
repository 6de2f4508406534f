"""One order replaced at the simulator by a whole gateway: each way that it can end."""

from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from fix.simulator.acts import BrokerAct
from fix.simulator.play import answer as play_answer
from fix.simulator.play import play
from fix.wire.messages import parse
from gateway.clock import pause, wall_us
from gateway.evidence.replay.replay import replay
from gateway.installation.children.simulator import wait_for
from gateway.launch.app import App
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, ended, outcome

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
WITHIN_S = 30.0


def replace(caller: Agent, name: str, key: str, **wanted: int | str) -> httpx.Response:
    body = {"client_key": key, "reason": "tested", **wanted}
    return caller.http.post(f"/v1/orders/{name}/replace", json=body)


def order(caller: Agent, name: str) -> dict[str, Any]:
    found: dict[str, Any] = caller.http.get(f"/v1/orders/{name}").raise_for_status().json()
    return found


def state(caller: Agent, name: str) -> str:
    return str(order(caller, name)["replaces"][-1]["state"])


def rest_one(app: App, agent: Agent, key: str, lots: int) -> dict[str, Any]:
    """Put an order of the agent to rest: the broker's market is out of its reach."""
    assert app.simulator is not None
    app.simulator.set_session(live_desk.HIGH_SESSION)
    pause(0.2)  # the simulator reads its control every 20 ms
    said = agent.intent(key, 2_000, max_qty_lots=lots).json()
    assert said["result"] == "approved", said
    name = str(said["cl_ord_id"])
    wait_for(lambda: order(agent, name)["state"] == "NEW", WITHIN_S, part="broker")
    return order(agent, name)


def control(app: App) -> Any:  # noqa: ANN401 - a path
    return app.plan.state.root / "ems" / "control.json"


def replays(app: App, decision_id: str) -> list[str]:
    steps = replay(app.reader, app.desk.own.tools.table, decision_id).lines
    return [line.split()[0] for line in steps]


def test_an_order_is_replaced_twice_filled_in_part_and_cancelled(
    app: App, agent: Agent, operator: Agent
) -> None:
    since_us, found = wall_us(), rest_one(app, agent, "swaps-1", 51)
    name, lots = str(found["cl_ord_id"]), int(found["qty_lots"])
    done = replace(agent, name, "r-1", qty_lots=lots - 11)
    assert done.status_code == 200, done.text
    wait_for(lambda: state(operator, name) == "replaced", WITHIN_S, part="replace")
    assert order(agent, name)["qty_lots"] == lots - 11
    raised = replace(operator, name, "r-2", qty_lots=lots - 1)
    assert raised.status_code == 200, raised.text
    wait_for(lambda: state(operator, name) == "replaced", WITHIN_S, part="second replace")
    sent = [
        dict(parse(raw))
        for raw in live_desk.received(live_desk.capture_of(app), "G", after_us=since_us)
    ]
    assert [one[41] for one in sent] == [name, sent[0][11]], "each names the one before"
    play(control(app), BrokerAct("fill", sent[1][11], 5))
    wait_for(lambda: order(agent, name)["filled_lots"] == 5, WITHIN_S, part="fill")
    play(control(app), BrokerAct("bust", sent[1][11]))
    wait_for(lambda: order(agent, name)["filled_lots"] == 0, WITHIN_S, part="bust")
    assert agent.http.post(
        f"/v1/orders/{name}/cancel", json={"client_key": "c-1", "reason": "enough"}
    ).json()["result"] in {"requested", "sent", "confirmed"}
    wait_for(lambda: not order(agent, name)["live"], WITHIN_S, part="cancel")
    (left,) = [
        dict(parse(raw))
        for raw in live_desk.received(live_desk.capture_of(app), "F", after_us=since_us)
    ]
    assert left[41] == sent[1][11], "the cancel names the order as the broker knows it"
    decision_id = str(found["decision_id"])
    ended(app, decision_id)
    assert outcome(app, decision_id) == "cancelled"
    assert replays(app, decision_id).count("replace_ended") == 2
    kinds = [r.kind for r in app.reader.records()]
    assert Kind.BOOK_DIFFERENCE not in kinds


def test_a_refused_replace_and_one_that_a_fill_overtakes(
    app: App, agent: Agent, operator: Agent
) -> None:
    found = rest_one(app, agent, "swaps-2", 52)
    name, lots = str(found["cl_ord_id"]), int(found["qty_lots"])
    play_answer(control(app), "replaces", "reject")
    pause(0.2)  # the simulator reads its control every 20 ms
    replace(agent, name, "r-1", qty_lots=lots - 1)
    wait_for(lambda: state(operator, name) == "rejected", WITHIN_S, part="refusal")
    assert (order(agent, name)["live"], order(agent, name)["qty_lots"]) == (True, lots)
    play_answer(control(app), "replaces", "fill")
    pause(0.2)  # the simulator reads its control every 20 ms
    assert replace(agent, name, "r-2", qty_lots=lots - 2).status_code == 200
    wait_for(lambda: not order(agent, name)["live"], WITHIN_S, part="fill")
    play_answer(control(app), "replaces", "confirm")
    assert state(agent, name) == "too_late"
    assert order(agent, name)["filled_lots"] == lots
    decision_id = str(found["decision_id"])
    ended(app, decision_id)
    assert outcome(app, decision_id) == "filled"
    replays(app, decision_id)


def test_a_kill_sweeps_a_replaced_order_under_its_newest_name(
    app: App, agent: Agent, operator: Agent
) -> None:
    found = rest_one(app, agent, "swaps-3", 53)
    name, lots = str(found["cl_ord_id"]), int(found["qty_lots"])
    play_answer(control(app), "replaces", "ignore")
    pause(0.2)  # the simulator reads its control every 20 ms
    assert replace(agent, name, "r-1", qty_lots=lots + 1).status_code == 200
    assert replace(agent, name, "r-2", qty_lots=lots - 1).status_code == 409, "one at a time"
    app.desk.kill_switch.press(actor="operator", reason="tested")
    wait_for(lambda: not order(operator, name)["live"], WITHIN_S, part="sweep")
    assert replace(agent, name, "r-3", qty_lots=1).status_code == 409
    assert state(operator, name) == "too_late"
    play_answer(control(app), "replaces", "confirm")
