"""Looks at disk and clock: steps are seen, and a disk that is gone is no look."""

from pathlib import Path

import pytest

from gateway.launch.threads.vitals import Vitals

SECOND_US = 1_000_000


class Clocks:
    """A wall clock and a monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.wall_us, self.passed_us = 1_700_000_000_000_000, 5

    def run(self, us: int) -> None:
        self.wall_us += us
        self.passed_us += us


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def vitals(folder: Path, clocks: Clocks) -> Vitals:
    return Vitals(folder, lambda: clocks.wall_us, lambda: clocks.passed_us)


def test_a_look_is_taken_anew_after_a_second(tmp_path: Path, clocks: Clocks) -> None:
    look = vitals(tmp_path, clocks)
    first = look()
    assert first is not None
    assert 0 <= first.disk_free_bp <= 10_000
    assert (first.age_us, first.clock_step_us) == (0, 0)
    clocks.run(SECOND_US - 1)
    late = look()
    assert late is not None
    assert late.age_us == SECOND_US - 1
    clocks.run(1)
    anew = look()
    assert anew is not None
    assert anew.age_us == 0


@pytest.mark.parametrize("step_us", [700_000, -700_000])
def test_a_step_of_the_clock_is_seen_for_a_minute(
    tmp_path: Path, clocks: Clocks, step_us: int
) -> None:
    look = vitals(tmp_path, clocks)
    look()
    clocks.wall_us += step_us
    seen = []
    for _ in range(62):
        clocks.run(SECOND_US)
        found = look()
        assert found is not None
        seen.append(found.clock_step_us)
    assert seen == [step_us] * 61 + [0]


def test_a_disk_that_cannot_be_looked_at_is_no_look(tmp_path: Path, clocks: Clocks) -> None:
    assert vitals(tmp_path / "gone", clocks)() is None
