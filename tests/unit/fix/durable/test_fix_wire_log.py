"""The engine's log gives back the broker's own order of fields, and nothing else."""

from pathlib import Path

import pytest

from fix.durable.wire_log import WireLog, _differences, scrub_since
from fix.wire.messages import wire_text


def message(seq: int, *body: tuple[int, str], sender: str = "THEM") -> str:
    return wire_text(((35, "8"), (34, str(seq)), (49, sender), *body))


def write(path: Path, *messages: str) -> None:
    with path.open("ab") as file:
        for one in messages:
            file.write(b"20180626-08:00:00.000000000 : " + one.encode("latin-1") + b"\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "messages.log"


def test_the_order_on_the_wire_is_given_back(path: Path) -> None:
    wire = WireLog(path, "THEM")
    came = message(1, (39, "2"), (11, "A"))
    write(path, message(1, (11, "x"), sender="US"), came, message(2, (11, "B")))
    assert wire.original(message(1, (11, "A"), (39, "2"))) == came
    assert wire.original(message(2, (11, "B"))) == message(2, (11, "B"))


def test_another_message_of_the_same_number_is_not_taken(path: Path) -> None:
    wire = WireLog(path, "THEM")
    write(path, message(1, (11, "B")))
    ours = message(1, (11, "A"))
    assert wire.original(ours) == ours


def test_a_message_that_waited_for_a_gap_is_still_found(path: Path) -> None:
    wire = WireLog(path, "THEM")
    late, early = message(3, (39, "0"), (11, "C")), message(2, (39, "0"), (11, "B"))
    write(path, late, early)
    assert wire.original(message(2, (11, "B"), (39, "0"))) == early
    assert wire.original(message(3, (11, "C"), (39, "0"))) == late


def test_a_line_that_is_half_written_or_no_message_changes_nothing(path: Path) -> None:
    wire = WireLog(path, "THEM")
    ours = message(1, (11, "A"))
    assert wire.original(ours) == ours, "no log yet"
    path.write_bytes(b"garbage\n20180626 : 8=FIX.4.4\x01\n20180626 : " + ours.encode()[:20])
    assert wire.original(ours) == ours
    assert wire.original("no message") == "no message"
    with path.open("ab") as file:
        file.write(ours.encode()[20:] + b"\n")
    assert wire.original(ours) == ours


def test_a_log_that_begins_anew_is_followed(path: Path) -> None:
    write(path, *(message(n, (11, "old")) for n in range(9)))
    wire = WireLog(path, "THEM")
    path.unlink()
    came = message(1, (39, "2"), (11, "A"))
    write(path, came)
    assert wire.original(message(1, (11, "A"), (39, "2"))) == came


def test_our_own_message_of_the_same_number_does_not_take_the_brokers_place(path: Path) -> None:
    wire = WireLog(path, "THEM")
    came = message(1, (39, "2"), (11, "A"))
    write(path, came, message(1, (11, "x"), sender="US"))
    assert wire.original(message(1, (11, "A"), (39, "2"))) == came


def test_what_an_earlier_life_left_in_the_log_is_no_original(path: Path) -> None:
    """Numbers may have begun anew since: a line of then is another message."""
    write(path, message(1, (39, "2"), (11, "A")))
    ours = message(1, (11, "A"), (39, "2"))
    assert WireLog(path, "THEM").original(ours) == ours


@pytest.mark.parametrize("beyond", [0, 1, 1_000])
def test_a_log_that_is_shorter_than_when_it_was_left_is_looked_through_from_its_start(
    path: Path, beyond: int
) -> None:
    """Somebody put another one there: how far the last life came says nothing about it."""
    mark = path.with_name("log.scrubbed")
    write(path, message(1, (337, "JANE DOE")))
    size = path.stat().st_size
    mark.write_text(str(size + beyond))
    scrub_since(path, mark)
    assert (b"JANE" in path.read_bytes()) is (beyond == 0)
    assert mark.read_text() == str(size)


def test_only_the_bytes_that_change_are_written() -> None:
    """A byte more would undo what somebody else overwrites there at the same time."""
    assert list(_differences(b"a Bob b", b"a *** b")) == [(2, b"***")]
    assert list(_differences(b"xayaz", b"x*y*z")) == [(1, b"*"), (3, b"*")]
    assert list(_differences(b"same", b"same")) == []
