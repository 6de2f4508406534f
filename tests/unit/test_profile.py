"""`make profile`: the steps that are timed exist, and each thread's time is counted once."""

import importlib
from pathlib import Path

import pytest

from scripts.load.profiled import BEGIN, STEPS, Stopwatches
from scripts.profile_decision import by_failpoint, by_step, kind_of


@pytest.mark.parametrize("place", STEPS.values())
def test_what_is_timed_is_there(place: str) -> None:
    module, _, path = place.partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    assert callable(found)


def test_a_steps_time_is_without_the_steps_inside_it(tmp_path: Path) -> None:
    watches = Stopwatches(tmp_path / "counted.json")

    def spin(times: int) -> int:
        return sum(range(times))

    inner = watches.timed("inner", lambda: spin(300_000))
    outer = watches.timed("outer", lambda: inner() + inner())
    outer()
    assert not any(watches.cpu_ns["inner"].values()), "nothing is counted before it begins"
    watches.toggle()
    outer()
    (inside,), (outside,) = watches.cpu_ns["inner"].values(), watches.cpu_ns["outer"].values()
    assert 0 <= outside < inside / 2
    assert watches.calls == {"inner": 2, "outer": 1}
    watches.toggle()
    assert watches.file.exists()


def test_the_way_between_two_failpoints_is_on_one_thread_and_in_one_decision(
    tmp_path: Path,
) -> None:
    watches = Stopwatches(tmp_path / "counted.json")
    watches.on = True
    for name in (BEGIN, "a", "b", "answered", BEGIN, "a", "settle.received", "c"):
        watches.reached(name)
    assert {between: len(taken) for between, taken in watches.walls_us.items()} == {
        (BEGIN, "a"): 2,
        ("a", "b"): 1,
        ("b", "answered"): 1,
        ("settle.received", "c"): 1,
    }


def test_the_table_has_each_thread_once_and_the_whole_process() -> None:
    step = next(iter(STEPS))
    found = {
        "process_ns": 40_000_000,
        "threads": {
            "1": {"name": "http-1", "cpu_ns": 10_000_000, "steps": {step: 4_000_000}},
            "2": {"name": "http-2", "cpu_ns": 2_000_000, "steps": {}},
        },
        "calls": {step: 2},
    }
    assert by_step(found, 2) == [
        [step, "1.0", "2.00", "10.0%"],
        ["thread http: the rest", "", "4.00", "20.0%"],
        ["the whole process", "", "20.00", "100.0%"],
    ]
    assert kind_of("AnyIO worker thread") == "AnyIO worker thread"
    assert by_failpoint({"walls": [["a", "b", [1_000, 3_000, 2_000]]]})[0][:4] == [
        *("a", "b", "3", "2.00")
    ]
