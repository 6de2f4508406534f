"""A life ends on whichever clock says so first, and what is not known here is over."""

import pytest

from gateway.walk.deadlines import KEPT_US, Deadlines, Moment, SteadyWall

YEAR_US = 365 * 86_400_000_000


class Hands:
    """Two clocks with hands to turn."""

    def __init__(self) -> None:
        self.wall, self.passed = 1_700_000_000_000_000, 5_000_000

    def wall_us(self) -> int:
        return self.wall

    def monotonic_us(self) -> int:
        return self.passed

    def now(self) -> Moment:
        return Moment(wall_us=self.wall, monotonic_us=self.passed)


@pytest.mark.parametrize(
    ("wall_us", "passed_us", "over"),
    [
        (0, 0, False),
        (9, 9, False),
        (10, 0, True),  # the wall clock leapt ahead
        (0, 10, True),  # it stood still
        (-YEAR_US, 10, True),  # it was set back
        (-YEAR_US, 9, False),
        (YEAR_US, 0, True),
    ],
)
def test_a_life_of_ten_ends_on_whichever_clock_says_so_first(
    wall_us: int, passed_us: int, *, over: bool
) -> None:
    hands = Hands()
    deadlines = Deadlines(hands.monotonic_us)
    deadlines.keep("one", hands.now().after(10))
    hands.wall += wall_us
    hands.passed += passed_us
    assert deadlines.over("one", hands.wall) is over


def test_what_this_process_did_not_begin_is_over() -> None:
    hands = Hands()
    deadlines = Deadlines(hands.monotonic_us)
    deadlines.keep("one", hands.now().after(YEAR_US))
    assert not deadlines.over("one", hands.wall)
    assert deadlines.over("another", hands.wall)
    assert Deadlines(hands.monotonic_us).over("one", hands.wall), "a process after it"


def test_grace_is_given_on_both_clocks() -> None:
    hands = Hands()
    deadlines = Deadlines(hands.monotonic_us)
    deadlines.keep("one", hands.now().after(10))
    hands.passed += 14
    assert not deadlines.over("one", hands.wall, grace_us=5)
    hands.passed += 1
    assert deadlines.over("one", hands.wall, grace_us=5)


def test_what_is_long_over_is_forgotten_and_still_over() -> None:
    hands = Hands()
    deadlines = Deadlines(hands.monotonic_us)
    deadlines.keep("old", hands.now().after(10))
    hands.passed += KEPT_US + 11
    deadlines.keep("new", hands.now().after(10))
    assert deadlines.end("old") is None
    assert deadlines.over("old", hands.wall)
    assert not deadlines.over("new", hands.wall)


def test_of_two_ends_the_earlier_counts_on_each_clock() -> None:
    one, two = Moment(wall_us=10, monotonic_us=99), Moment(wall_us=20, monotonic_us=50)
    assert one.earlier(two) == Moment(wall_us=10, monotonic_us=50) == two.earlier(one)


def test_a_steady_wall_follows_a_leap_ahead_and_its_way_back_but_goes_not_behind_its_start() -> (
    None
):
    hands = Hands()
    steady, start = SteadyWall(hands.wall_us, hands.monotonic_us), hands.wall
    hands.wall += YEAR_US
    assert steady() == start + YEAR_US
    hands.wall = start - YEAR_US
    hands.passed += 7
    assert steady() == start + 7
