"""The FIX child's own clock is set while orders are on their way to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fix.session.link import HandResult
from gateway.clock import monotonic_us
from tests.doubles.fix_world import Desk, broker_at, desk_at, order_fields, wall_us
from tests.doubles.set_clock import ShimmedClock

pytestmark = pytest.mark.broker

SECOND_US = 1_000_000


@pytest.fixture
def clock(tmp_path: Path) -> ShimmedClock:
    """A clock for the child alone."""
    return ShimmedClock(tmp_path)


@pytest.fixture
def desk(tmp_path: Path, clock: ShimmedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A session that is up, of a child whose wall clock can be set."""
    with broker_at(tmp_path) as broker, desk_at(tmp_path, broker.profile) as one:
        for name, value in clock.environment.items():
            monkeypatch.setenv(name, value)
        one.open()
        yield one


def hand(desk: Desk, name: str, *, wall_s: int, monotonic_s: int) -> HandResult:
    """Hand an order that ends so many seconds from now on each clock."""
    fields = order_fields(name)
    before_us, until_us = wall_us() + wall_s * SECOND_US, monotonic_us() + monotonic_s * SECOND_US
    return desk.child.hand(dict(fields)[11], fields, 0, before_us, until_us)


def test_a_clock_set_back_lets_no_expired_order_leave(desk: Desk, clock: ShimmedClock) -> None:
    clock.set(-60)
    late = hand(desk, "late", wall_s=-1, monotonic_s=-1)
    assert late == HandResult(outcome="refused", reason="SEND_BEFORE_PASSED")
    assert hand(desk, "in time", wall_s=10, monotonic_s=10).outcome == "sent"


def test_a_clock_set_ahead_ends_an_order_early(desk: Desk, clock: ShimmedClock) -> None:
    assert hand(desk, "before", wall_s=10, monotonic_s=10).outcome == "sent"
    clock.set(60)
    early = hand(desk, "early", wall_s=10, monotonic_s=10)
    # a second later the session itself has counted a minute of silence and is down
    assert early.reason in {"SEND_BEFORE_PASSED", "NOT_LOGGED_ON"}
    assert early.outcome == "refused"
