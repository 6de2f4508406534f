"""Pilot's limit of positions: one order counts once, and the position is the firm's (sec_pilot)."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import KeyScope
from gateway.walk.approval import beyond_pilot
from gateway.walk.journal.standing import Stage
from gateway.walk.projections.asked import Going
from risk.intent import Side
from risk.state.pilot import PilotLimits
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.walk_scenes import quantity

LIMIT_LOTS = 50
LIMITS = PilotLimits(
    instruments=("SPXN",),
    price_max_minor=10**6,
    value_max_minor=10**9,
    orders_per_day=100,
    position_max_lots=LIMIT_LOTS,
)
SCOPE = KeyScope(
    instruments=("SPXN",),
    sides=(Side.BUY,),
    order_notional_max_minor=10**9,
    day_notional_max_minor=10**9,
    intents_per_minute=600,
    expires_us=1 << 52,
    account="x",
)


def pilot_desk(folder: Path, looks: list[Stage]) -> MemoryDesk:
    """Return a desk whose dispatch looks at the limits as `serve` does, and notes each look."""
    desk = memory_desk(folder)
    own = desk.small.desk.own

    def held(going: Going) -> str:
        standing = going.standing
        looks.append(standing.stage)
        spxn, now_us = own.instruments["SPXN"], own.dispatching.wall_us()
        return beyond_pilot(standing, LIMITS, own.section, own.orders, spxn, now_us)

    desk.small.desk.own = replace(own, dispatching=replace(own.dispatching, held_back=held))
    return desk


def ask(desk: MemoryDesk, name: str, lots: int) -> IntentResponse:
    """Ask with a key of its own, so on an account of its own."""
    scope = SCOPE.model_copy(update={"account": name})
    keys = desk.small.keyring
    caller = keys.authenticate(keys.issue(f"{name}-key", Role.AGENT, scope=scope))
    assert caller is not None
    wish = IntentRequest(
        client_key=name, instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=lots
    )
    return desk.small.desk.submit(caller, wish)


@pytest.mark.parametrize("lots", [26, 45, LIMIT_LOTS])
def test_an_order_counts_once_before_and_after_its_announcement(tmp_path: Path, lots: int) -> None:
    looks: list[Stage] = []
    desk = pilot_desk(tmp_path, looks)
    answer = ask(desk, "one", lots)
    assert (answer.result, answer.reason) == ("approved", None)
    assert looks == [Stage.APPROVED, Stage.APPROVED]
    assert desk.standing(answer.decision_id).stage is Stage.SENT


@pytest.mark.parametrize("filled", [True, False])
def test_the_position_is_the_firms_and_not_an_accounts(tmp_path: Path, *, filled: bool) -> None:
    desk = pilot_desk(tmp_path, [])
    held, said = 0, []
    for name in ("one", "two", "three"):
        answer = ask(desk, name, 24)
        said.append(answer.reason)
        if answer.result != "approved":
            continue
        order = desk.standing(answer.decision_id)
        held += quantity(order)
        if filled:
            lots = str(quantity(order))
            desk.settled(desk.report(order, t39="2", t32=lots, t14=lots, t151="0"))
    assert held == 48
    assert said == [None, None, "pilot_position: 72, at most 50"]
