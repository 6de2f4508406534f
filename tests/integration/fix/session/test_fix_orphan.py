"""A child whose gateway is gone goes on cancelling for as long as a kill leaves something live."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fix.dialects.profile import Profile
from fix.durable.journal import read_live
from fix.session.link import SessionState
from fix.simulator.control import Control, write_control
from tests.doubles.fix_world import (
    Broker,
    broker_at,
    desk_at,
    order_fields,
    quick,
    quotes_above,
    until,
)

pytestmark = pytest.mark.broker
PATIENCE_S = 1


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with broker_at(tmp_path, quotes=quotes_above(tmp_path), script=("fill",) * 9) as broker:
        yield broker


def left_alone(folder: Path, broker: Broker, profile: Profile) -> tuple[int, str]:
    """Leave a child alone with a live order, a kill in force and a broker that says nothing."""
    with desk_at(folder, profile) as desk:
        desk.open()
        fields = order_fields("live")
        name = dict(fields)[11]
        assert desk.hand(fields).outcome == "sent"
        assert until(lambda: desk.said("inbox"))
        write_control(broker.config.control, Control(silent=True))
        assert desk.child.kill(desk.word.press(), 5.0)
        pid = desk.child.pid
        desk.child.stop(alone=True)
        return pid, name


def gone(pid: int) -> bool:
    """Whether a process has ended; a child of ours is a zombie then."""
    path = Path(f"/proc/{pid}/stat")
    return not path.exists() or path.read_text().rpartition(")")[2].split()[0] == "Z"


def test_an_orphan_stays_until_the_broker_confirmed_everything_gone(
    tmp_path: Path, broker: Broker
) -> None:
    pid, name = left_alone(tmp_path, broker, quick(broker.profile, PATIENCE_S))
    time.sleep(PATIENCE_S + 5.0)  # longer than a child without a kill would stay
    assert not gone(pid), "it left with an order live and a kill in force"
    before = len(broker.captured("F"))
    assert until(lambda: len(broker.captured("F")) > before, 20.0), "it asks again and again"
    write_control(broker.config.control, Control(silent=False))
    assert until(lambda: gone(pid), 30.0)
    assert read_live(tmp_path / "fix" / "journal") == ()
    assert broker.order_ids() == [name]


def test_an_orphan_told_often_that_it_is_alone_stays(tmp_path: Path, broker: Broker) -> None:
    """The pipe's end and the kernel's signal both say it; neither is a successor."""
    pid, _ = left_alone(tmp_path, broker, quick(broker.profile, PATIENCE_S))
    before = len(broker.captured("F"))
    for _ in range(50):
        os.kill(pid, signal.SIGTERM)
        time.sleep(0.01)
    assert until(lambda: len(broker.captured("F")) > before, 20.0), "it left"
    os.kill(pid, signal.SIGKILL)  # it would stay until its patience ends
    assert until(lambda: gone(pid), 5.0)


def test_an_orphan_makes_room_for_the_next_child_which_goes_on(
    tmp_path: Path, broker: Broker
) -> None:
    pid, name = left_alone(tmp_path, broker, quick(broker.profile, PATIENCE_S))
    with desk_at(tmp_path, broker.profile) as desk:
        numbers = desk.child.start(30.0)
        assert numbers.live == (name,)
        assert until(lambda: gone(pid), 5.0)
        desk.child.logon(min_next_sender=1)
        write_control(broker.config.control, Control(silent=False))
        assert desk.child.wait_for(SessionState.RECONCILING, 30.0)
        assert until(lambda: desk.child.live_orders() == (), 10.0)
        assert until(desk.sweeps)


def test_an_orphan_without_a_kill_leaves_when_its_patience_ends(
    tmp_path: Path, broker: Broker
) -> None:
    profile = quick(broker.profile, PATIENCE_S)
    with desk_at(tmp_path, profile) as desk:
        desk.open()
        assert desk.hand(order_fields("live")).outcome == "sent"
        assert until(lambda: desk.said("inbox"))
        write_control(broker.config.control, Control(silent=True))
        pid = desk.child.pid
        ending = threading.Thread(target=desk.child.stop, kwargs={"alone": True})
        ending.start()
        assert until(lambda: gone(pid), 20.0)
        ending.join(20.0)
