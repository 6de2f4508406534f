"""Work beside the engine belongs to its forecast: it is waited for with a deadline, or dropped."""

import threading

import pytest

from gateway.launch.threads.beside import BesideTheEngine
from inference.errors import LateTwinError


def test_what_is_dropped_before_its_turn_is_never_done() -> None:
    """Repro burst: seven hundred simulations of decisions that had failed, and one that waited."""
    beside, going, done = BesideTheEngine(30), threading.Event(), list[str]()
    first = beside(lambda: going.wait(30))
    orphans = [beside(lambda: done.append("orphan")) for _ in range(760)]
    for one in orphans:
        one.drop()
    last = beside(lambda: done.append("last"))
    going.set()
    last.result()
    assert (done, first.result()) == (["last"], True)


def test_every_wait_has_a_deadline() -> None:
    beside, going = BesideTheEngine(0.05), threading.Event()
    hanging = beside(lambda: going.wait(30))
    with pytest.raises(LateTwinError, match=r"within 0\.05 s"):
        hanging.result()
    going.set()


def test_what_the_work_raises_is_raised_as_it_is() -> None:
    def work() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        BesideTheEngine(30)(work).result()
