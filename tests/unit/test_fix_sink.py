"""The bench's peer: a throttle that must reject, or a paced sweep could not fail."""

import pytest

from scripts.fix_sink import Sink, Throttle


@pytest.mark.parametrize(("gap_s", "over"), [(0.01, 0), (0.0099, 0), (0.005, 45), (0.0, 94)])
def test_what_is_over_the_limit_is_rejected(gap_s: float, over: int) -> None:
    throttle = Throttle(rate=100, burst=5)
    taken = [throttle.takes(10.0 + number * gap_s) for number in range(100)]
    assert throttle.rejected == taken.count(False) == over


def order(name: str) -> dict[int, str]:
    return {35: "D", 34: "2", 11: name, 55: "SPXN", 54: "1", 38: "7"}


def test_orders_work_until_they_are_cancelled_one_by_one_or_all() -> None:
    sink = Sink(ends_orders=False)
    for name in "ABC":
        sink.answers(order(name), 1.0)
    cancelled = sink.answers({35: "F", 34: "5", 11: "X", 41: "A"}, 2.0)
    assert [dict(one)[39] for one in cancelled] == ["4"]
    report, *ended = sink.answers({35: "q", 34: "6", 11: "M"}, 3.0)
    assert (dict(report)[35], [dict(one)[11] for one in ended]) == ("r", ["B", "C"])
    assert not sink.live
    assert sink.wait_for("B") == 1.0
    sink.stop()
