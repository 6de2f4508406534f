"""The queues before the sequencer: when a stream-head map is handed out alone."""

import threading
import time

from audit.sequencer.lanes import Append, Lane, Lanes, MapHeads
from tests.doubles.audit_log import append, note

_FAR_S = 60.0


def _lanes(*requests: Append | MapHeads) -> Lanes:
    lanes = Lanes(urgent_max=8, decision_max=8)
    for request in requests:
        lane = Lane.URGENT if isinstance(request, MapHeads) else Lane.DECISION
        lanes.put(request, lane, time.monotonic())
    return lanes


def test_a_map_waits_for_an_append_and_comes_with_it() -> None:
    mapped, company = MapHeads(alone_from=time.monotonic() + _FAR_S), append(note("a"))
    lanes = _lanes(mapped)
    assert lanes.drain(100, wait=False) == []
    threading.Timer(0.05, lanes.put, (company, Lane.DECISION, 0.0)).start()
    assert lanes.drain(100) == [mapped, company]


def test_a_map_whose_time_has_come_goes_alone() -> None:
    mapped = MapHeads(alone_from=time.monotonic() + 0.05)
    lanes = _lanes(mapped)
    assert lanes.drain(100) == [mapped]
    assert time.monotonic() >= mapped.alone_from


def test_maps_go_at_once_when_nothing_more_can_come() -> None:
    maps = [MapHeads(alone_from=time.monotonic() + _FAR_S) for _ in range(2)]
    lanes = _lanes(*maps)
    lanes.close()
    assert lanes.drain(100) == maps
    assert lanes.drain(100) == []


def test_a_map_that_waits_for_nobody_goes_at_once() -> None:
    mapped = MapHeads()
    assert _lanes(mapped).drain(100, wait=False) == [mapped]


def test_an_urgent_append_is_company_too() -> None:
    mapped, company = MapHeads(alone_from=time.monotonic() + _FAR_S), append(note("a"))
    lanes = _lanes(mapped)
    lanes.put(company, Lane.URGENT, 0.0)
    assert lanes.drain(100, wait=False) == [mapped, company]
