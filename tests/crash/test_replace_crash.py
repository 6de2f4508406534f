"""The gateway is killed between a replace's record and its message, and right after the message.

Everything but the model is the product; the judge reads the broker's capture and the ledger.
"""

from typing import Any

import httpx
import pytest

from gateway.installation.children.simulator import wait_for
from tests.crash.gateway_actions import Callers, Told
from tests.crash.gateway_campaign import verified, world_of
from tests.crash.gateway_judge import Judge
from tests.crash.gateway_process import Ask
from tests.crash.gateway_round import takes_orders
from tests.crash.gateway_world import World

WITHIN_S = 120.0
LOTS, FEWER = 40, 12


def order(world: World, name: str) -> dict[str, Any]:
    with world.caller("operator") as caller:
        found: dict[str, Any] = caller.get(f"/v1/orders/{name}").raise_for_status().json()
        return found


def standing(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.up().ask(Ask.STANDING)
    return found


def rested(world: World) -> str:
    """Put an order to rest at the broker; return its ClOrdID."""
    wait_for(lambda: takes_orders(standing(world)), WITHIN_S, part="session and forecasts")
    world.deal("rest", "rest", "rest")
    callers, told = Callers(world), Told()
    try:
        name = ""
        for number in range(3):  # a machine that stood still made the quote too old
            said = callers.intent(told, f"rests-{number}", LOTS + number)
            if said["result"] == "approved":
                name = str(said["cl_ord_id"])
                break
    finally:
        callers.close()
    assert name, told.answers
    wait_for(lambda: order(world, name)["state"] == "NEW", WITHIN_S, part="broker")
    return name


@pytest.mark.walk
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("failpoint", "left", "outcome"),
    [("replace.requested", 0, "too_late"), ("replace.handed", 1, "replaced")],
)
def test_a_replace_that_a_crash_cuts_off_leaves_once_or_never_and_ends(
    failpoint: str, left: int, outcome: str
) -> None:
    """The FIX child, alone, cancels what is live before it ends, also an order just replaced."""
    with world_of("replace") as world:
        gateway, judge = world.up(), Judge(world.broker.config.capture)
        name = rested(world)
        before = order(world, name)["qty_lots"]
        gateway.ask(Ask.ARM, f"{failpoint}:kill@1")
        callers = Callers(world)
        try:
            with pytest.raises(httpx.TransportError):
                callers.replace(name, "r-1", FEWER)
        finally:
            callers.close()
        wait_for(lambda: not gateway.alive, WITHIN_S, part="the end of the gateway")
        world.up()
        wait_for(lambda: takes_orders(standing(world)), WITHIN_S, part="session and forecasts")
        wait_for(
            lambda: order(world, name)["replaces"][-1]["state"] == outcome, WITHIN_S, part=outcome
        )
        found = order(world, name)
        assert (found["qty_lots"], found["state"]) == (FEWER if left else before, "CANCELED")
        assert len(world.broker.fields("G")) == left, "never sent by the start"
        assert standing(world)["reserved"] == [], "nothing is left behind"
        judge.read(world.reader())
        now = standing(world)
        assert [
            *judge.faults(world.reader()),
            *judge.settled_faults(now["lots"], now["booked"]),
        ] == []
        assert verified(world) == []
