"""What patterns of conduct are told of orders on record: who waits, leaves or is dropped."""

from pathlib import Path

import pytest

from gateway.evidence.answers.patterns import FLOW_KINDS, PatternFlow
from risk.windows.conduct.events import Deed
from tests.doubles.memory_desk import MemoryDesk, memory_desk


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    return memory_desk(tmp_path)


def told(desk: MemoryDesk) -> list[tuple[Deed, str]]:
    flow = PatternFlow()
    records = desk.log.records(kinds=FLOW_KINDS)
    return [(one.deed, one.order) for record in records for one in flow.take(record)]


def test_an_order_waits_once_from_its_hold_until_it_leaves(desk: MemoryDesk) -> None:
    name = desk.hold()
    assert told(desk) == [(Deed.WAITING, name)]
    assert desk.answer(name) == "approved"
    assert told(desk) == [(Deed.WAITING, name), (Deed.PLACED, name)], "the renewal is the same"


def test_a_hold_that_is_refused_is_dropped(desk: MemoryDesk) -> None:
    name = desk.hold()
    desk.answer(name, approve=False)
    assert told(desk) == [(Deed.WAITING, name), (Deed.DROPPED, name)]
