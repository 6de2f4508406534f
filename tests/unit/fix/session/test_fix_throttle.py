"""How many orders may leave in a second."""

from pathlib import Path

import pytest

from fix.session.guard import Refusal
from fix.session.handing import Throttle
from tests.doubles.child_desk import child_desk
from tests.doubles.fix_world import PROFILE, replace_pace


def test_no_second_has_more_orders_than_the_limit() -> None:
    throttle = Throttle(2)
    for now_us in (0, 400_000):
        assert throttle.allows(now_us)
        throttle.left(now_us)
    assert not throttle.allows(999_999)
    assert throttle.allows(1_000_000)
    throttle.left(1_000_000)
    assert not throttle.allows(1_399_999)
    assert throttle.allows(1_400_000)


def test_without_a_limit_every_order_may_leave() -> None:
    throttle = Throttle(0)
    for _ in range(10_001):
        assert throttle.allows(0)
        throttle.left(0)


@pytest.mark.parametrize("limit", [1, 3])
def test_an_order_above_the_limit_is_refused_and_never_leaves(tmp_path: Path, limit: int) -> None:
    with child_desk(tmp_path, replace_pace(PROFILE, orders_per_s=limit)) as world:
        told = [world.hand(f"ORDER{number}") for number in range(limit + 1)]
        assert [one["result"] for one in told] == ["sent"] * limit + ["refused"]
        assert told[-1]["reason"] == Refusal.THROTTLED
        world.now_us += 1_000_000
        assert world.hand(f"ORDER{limit}")["reason"] == Refusal.ALREADY_USED
        assert world.hand("LATER")["result"] == "sent"


def test_a_broker_that_knows_no_status_request_is_not_asked(tmp_path: Path) -> None:
    cannot = PROFILE.capabilities.model_copy(update={"order_status": False})
    with child_desk(tmp_path, PROFILE.model_copy(update={"capabilities": cannot})) as world:
        asked = world.ask("pass", fields=[[35, "H"], [11, "A"]])
        assert (asked["result"], asked["reason"]) == ("refused", Refusal.NOT_ALLOWED)
        assert world.ask("pass", fields=[[35, "F"], [11, "A"]])["result"] == "sent"
        assert world.session.types() == ["F"]
