"""The gateway is killed at each step of a basket: no leg left, or the whole was approved on record.

Everything but the model is the product; the judge reads the broker's capture and the ledger.
"""

from typing import Any

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.installation.children.simulator import wait_for
from tests.crash.gateway_campaign import verified, world_of
from tests.crash.gateway_desk import SYMBOLS
from tests.crash.gateway_judge import Judge
from tests.crash.gateway_process import Ask
from tests.crash.gateway_round import takes_orders
from tests.crash.gateway_world import World

WITHIN_S = 120.0
TRIES = 5


def standing(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.up().ask(Ask.STANDING)
    return found


def basket(number: int) -> dict[str, Any]:
    """Return a basket of two small orders; each number is another one."""
    legs = [
        {
            "client_key": f"{instrument}-{number}",
            "instrument": instrument,
            "target_exposure_bp": 1_200,
            "max_qty_lots": 20 + number,
        }
        for instrument in SYMBOLS[:2]
    ]
    return {"client_key": f"whole-{number}", "legs": legs}


def killed_while_asking(world: World) -> dict[str, Any]:
    """Ask for baskets until the gateway dies; return the one that it died of."""
    with world.caller("agent") as agent:
        for number in range(TRIES):  # a machine that stood still made a quote too old
            try:
                agent.post("/v1/baskets", json=basket(number)).raise_for_status()
            except httpx.TransportError:
                return basket(number)
    pytest.fail("the failpoint was not reached")


@pytest.mark.walk
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("failpoint", "left", "results"),
    [
        ("basket.received", 0, {"stopped"}),
        ("basket.judged", 0, {"stopped"}),
        ("basket.decided", 0, {"stopped"}),
        ("dispatch.handed", 1, {"partly_sent", "unknown"}),
    ],
)
def test_a_kill_leaves_no_leg_sent_or_an_approved_whole(
    failpoint: str, left: int, results: set[str]
) -> None:
    with world_of("basket") as world:
        gateway, judge = world.up(), Judge(world.broker.config.capture)
        wait_for(lambda: takes_orders(standing(world)), WITHIN_S, part="session and forecasts")
        world.deal(*["rest"] * 2 * TRIES)
        gateway.ask(Ask.ARM, f"{failpoint}:kill@1")
        asked = killed_while_asking(world)
        wait_for(lambda: not gateway.alive, WITHIN_S, part="the end of the gateway")
        world.up()
        wait_for(lambda: takes_orders(standing(world)), WITHIN_S, part="session and forecasts")
        assert len(world.broker.fields("D")) == left, "a start sends nothing"
        with world.caller("agent") as agent:
            said = agent.post("/v1/baskets", json=asked).raise_for_status().json()
        assert said["result"] in results, said
        if left:
            decided = [*world.reader().records(kinds=(Kind.BASKET_DECIDED,))]
            assert [one.body["outcome"] for one in decided] == ["approved"]
        judge.read(world.reader())
        assert judge.faults(world.reader()) == []
        assert verified(world) == []
