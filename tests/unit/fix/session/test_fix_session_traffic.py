"""What the child tells about the messages of its session."""

from typing import Any

import pytest

from fix.session.listener import GAPS_MAX, RECENT_MAX, Traffic


class World:
    """Traffic under a clock that a test sets."""

    def __init__(self) -> None:
        self.now_us = 5_000_000
        self.traffic = Traffic(lambda: self.now_us)

    def note(self, direction: str, number: int, msg_type: str, **more: str) -> None:
        fields = {35: msg_type, 34: str(number)} | {int(tag[1:]): v for tag, v in more.items()}
        self.traffic.note(direction, fields)

    def frame(self) -> Any:  # noqa: ANN401 - JSON
        return self.traffic.frame()


@pytest.fixture
def world() -> World:
    return World()


def test_before_the_first_message_nothing_is_told(world: World) -> None:
    assert world.frame() == {
        "at_us": 5_000_000,
        "in_us": 0,
        "out_us": 0,
        "received": 0,
        "sent": 0,
        "highest_in": 0,
        "last_s": {},
        "most": {},
        "gaps": [],
        "recent": [],
    }


def test_each_direction_has_its_time_and_its_count(world: World) -> None:
    world.note("out", 1, "A")
    world.now_us += 7
    world.note("in", 1, "A")
    world.note("in", 2, "8", t11="ORDER", t150="F", t39="2", t58="John", t448="Jane", t44="7")
    told = world.frame()
    assert (told["out_us"], told["in_us"]) == (5_000_000, 5_000_007)
    assert (told["sent"], told["received"]) == (1, 2)
    assert told["recent"][-1] == [5_000_007, "in", "8", 2, False, "ORDER F 2"]
    assert "John" not in str(told)
    assert "Jane" not in str(told)


def test_the_last_second_is_counted_for_each_sort_and_the_most_is_kept(world: World) -> None:
    for _ in range(3):
        world.note("out", 1, "F")
        world.now_us += 100_000
    world.note("out", 1, "H")
    assert world.frame()["last_s"] == {"F": 3, "H": 1}
    world.now_us += 750_000
    assert world.frame()["last_s"] == {"F": 2, "H": 1}
    world.now_us += 1_000_000
    told = world.frame()
    assert (told["last_s"], told["most"]) == ({}, {"F": 3, "H": 1})


def test_the_highest_number_shows_a_gap_and_a_logon_begins_anew(world: World) -> None:
    world.note("in", 8, "0")
    world.note("in", 5, "0", t43="Y")
    assert world.frame()["highest_in"] == 8
    world.note("in", 1, "A")
    assert world.frame()["highest_in"] == 1


def test_resends_and_gap_fills_are_told_with_their_bounds(world: World) -> None:
    world.note("out", 9, "2", t7="4", t16="0")
    world.note("in", 4, "4", t36="9", t123="Y")
    assert world.frame()["gaps"] == [
        [5_000_000, "out", "2", "4", "0"],
        [5_000_000, "in", "4", "4", "9"],
    ]


def test_only_the_last_messages_are_kept(world: World) -> None:
    for number in range(50):
        world.note("in", number, "2", t7=str(number), t16="0")
    told = world.frame()
    assert [one[3] for one in told["recent"]] == list(range(50 - RECENT_MAX, 50))
    assert len(told["gaps"]) == GAPS_MAX


@pytest.mark.parametrize("digits", ["", "x", "-1", "²"])
def test_a_number_that_is_none_is_counted_as_a_message(digits: str, world: World) -> None:
    world.traffic.note("in", {35: "0", 34: digits})
    told = world.frame()
    assert (told["received"], told["highest_in"]) == (1, 0)


def test_a_message_on_its_way_out_is_told_at_its_time_and_before_its_answer(world: World) -> None:
    world.traffic.leaves({35: "D", 34: "2", 11: "ORDER"})
    world.now_us += 9
    world.note("in", 2, "8", t11="ORDER")
    told = world.frame()
    assert [one[:3] for one in told["recent"]] == [[5_000_000, "out", "D"], [5_000_009, "in", "8"]]
    assert (told["out_us"], told["sent"], told["most"]) == (5_000_000, 1, {"D": 1})
    world.traffic.leaves({35: "D", 34: "3", 11: "NEXT"})
    assert world.frame()["sent"] == 2
