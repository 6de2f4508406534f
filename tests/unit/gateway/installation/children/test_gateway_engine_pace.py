"""The engine's pace, from its own beats: idle time is no slowness, no measure no refusal."""

from typing import Any

import pytest

from gateway.installation.children.engine_pace import EnginePace, PaceNow
from inference.errors import FrameError


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> EnginePace:
    return EnginePace(clock)


def beat(pace: EnginePace, left: int, done: int, stepped_s: float) -> None:
    pace.beat(
        {"tokens_left": left, "tokens_done": done, "stepped_us": round(stepped_s * 1_000_000)}
    )


def test_the_speed_is_of_the_time_in_steps_and_follows_new_measures(
    pace: EnginePace, clock: Clock
) -> None:
    assert pace.now() == PaceNow(tokens_s=None, tokens_left=0, silent_s=0.0)
    beat(pace, 300, 1_000, 2.0)
    assert pace.now().tokens_s == 500.0
    clock.now_s += 3_600  # idle
    beat(pace, 0, 1_300, 2.6)
    assert pace.now().tokens_s == 500.0
    beat(pace, 0, 1_400, 3.6)
    assert pace.now().tokens_s == 300.0, "half way to the hundred a second of now"
    beat(pace, 0, 1_400, 3.6)
    assert pace.now().tokens_s == 300.0, "an idle beat is no measure"


def test_what_it_needs_counts_what_others_wait_for(pace: EnginePace) -> None:
    pace.asked(1_000)
    assert pace.needs_s(100, 1_000) == 0.0, "nobody knows how fast it is"
    beat(pace, 1_000, 100, 1.0)
    assert pace.needs_s(100, 1_000) == 11.0
    assert pace.needs_s(100, 0) == 0.0, "nobody waits: it is tried"
    assert pace.needs_s(100, 200) == 3.0, "the rest was given up"
    pace.asked(500)
    assert pace.needs_s(100, 5_000) == 16.0
    assert pace.now().wait_s == 15.0


def test_a_new_child_has_nothing_to_do_and_the_speed_of_the_machine(
    pace: EnginePace, clock: Clock
) -> None:
    beat(pace, 700, 100, 1.0)
    clock.now_s += 9
    assert pace.silent_s() == 9.0
    pace.begin()
    assert pace.now() == PaceNow(tokens_s=100.0, tokens_left=0, silent_s=0.0)
    beat(pace, 0, 50, 1.0)  # its own counts begin at zero
    assert pace.now().tokens_s == 75.0


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tokens_left": 1, "tokens_done": 1},
        {"tokens_left": -1, "tokens_done": 1, "stepped_us": 1},
        {"tokens_left": True, "tokens_done": 1, "stepped_us": 1},
        {"tokens_left": 1.5, "tokens_done": 1, "stepped_us": 1},
        {"tokens_left": "1", "tokens_done": 1, "stepped_us": 1},
    ],
)
def test_a_beat_that_names_no_load_is_refused(pace: EnginePace, fields: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        pace.beat(fields)
