"""What a report or a reject does to the child's own list of live orders."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fix.durable.resets import Reset, ResetCause
from fix.orders.live import LiveOrder
from fix.wire.messages import Fields, wire_text
from tests.doubles.child_desk import ChildDesk, child_desk, order, report
from tests.doubles.fix_world import PROFILE

OLD = "OLDORDEROLDORDEROLDO"
"""The ClOrdID of an order of ours that this child was not given."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ChildDesk]:
    with child_desk(tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    ("fields", "live"),
    [
        (report("A", "0", "0", t151="5"), True),
        (report("A", "F", "1", t32="2", t31="10", t151="3", t14="2"), True),
        (report("A", "F", "2", t32="5", t31="10", t14="5"), False),
        (report("A", "4", "4"), False),
        (report("A", "8", "8", t103="0"), False),
        (report("A", "C", "C"), False),
        (report("A", "3", "3", t151="5"), True),
        (report("A", "6", "6", t151="5"), True),
        (report("A", "I", "8", t103="5"), False),
        (report("A", "I", "0", t151="5"), True),
        (report("A", "H", "2", t19="X", t151="0", t14="5"), False),
        (report("A", "H", "4", t19="X", t151="0", t14="0"), False),
        (report("A", "G", "0", t19="X", t151="0", t14="3"), True),
        (report("B", "4", "4"), True),
        (report("C", "4", "4", t41="A"), False),
        (report("A", "4", "4", t41="B"), False),  # 41 names nothing of ours, 11 does (`naming`)
    ],
)
def test_a_report_ends_the_order_it_names_if_it_leaves_nothing(
    world: ChildDesk, fields: Fields, *, live: bool
) -> None:
    assert world.hand("A")["result"] == "sent"
    entry = world.hears(*fields)
    assert world.live() == (["A"] if live else [])
    assert world.said("inbox") == [
        {"ev": "inbox", "offset": entry.offset, "next_offset": entry.next_offset}
    ]
    assert world.journal.inbox_offset == entry.next_offset


@pytest.mark.parametrize(
    ("status", "reason", "unknown_is_gone", "live"),
    [
        ("2", "0", True, False),
        ("4", "0", True, False),
        ("C", "0", True, False),
        ("8", "0", True, False),
        ("8", "0", False, False),
        ("8", "1", True, False),
        ("8", "1", False, True),
        ("4", "1", False, False),
        ("0", "0", True, True),
        ("1", "3", True, True),
        ("6", "3", True, True),
    ],
)
def test_a_refused_cancel_says_where_its_order_stands(
    tmp_path: Path, status: str, reason: str, *, unknown_is_gone: bool, live: bool
) -> None:
    can = PROFILE.capabilities.model_copy(update={"unknown_is_gone": unknown_is_gone})
    with child_desk(tmp_path, PROFILE.model_copy(update={"capabilities": can})) as world:
        world.hand("A")
        fields = ((35, "9"), (34, "9"), (37, "E1"), (11, "C1"), (41, "A"))
        world.hears(*fields, (39, status), (434, "1"), (102, reason))
        assert world.live() == (["A"] if live else [])


def business(ref_type: str, ref_id: str, ref_number: int) -> Fields:
    name = ((379, ref_id),) if ref_id else ()
    return ((35, "j"), (34, "9"), (45, str(ref_number)), (372, ref_type), *name, (380, "0"))


def session_reject(ref_type: str, ref_number: int) -> Fields:
    named = ((372, ref_type),) if ref_type else ()
    return ((35, "3"), (34, "9"), (45, str(ref_number)), *named)


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        (business("D", "A", 8), ["B"]),
        (business("D", "", 8), ["A"]),
        (business("D", "", 3), ["A", "B"]),
        (business("F", "A", 7), ["A", "B"]),
        (session_reject("D", 7), ["B"]),
        (session_reject("D", 8), ["A"]),
        (session_reject("", 8), ["A"]),
        (session_reject("D", 9), ["A", "B"]),
        (session_reject("F", 7), ["A", "B"]),
        (((35, "r"), (34, "9"), (11, "A"), (531, "7")), ["A", "B"]),
        (((35, "8"), (34, "9"), (11, "A")), ["A", "B"]),
    ],
)
def test_a_reject_ends_the_new_order_it_names_and_no_other(
    world: ChildDesk, fields: Fields, left: list[str]
) -> None:
    world.hand("A")  # number 7
    world.hand("B")  # number 8
    world.hears(*fields)
    assert world.live() == left
    assert world.said("inbox"), "whatever it is, the gateway reads it"


BEGUN = Reset(
    reset_no=1,
    cause=ResetCause.BY_BROKER,
    allowed=True,
    old_sender=8,
    old_target=9,
    new_sender=1,
    new_target=1,
    at_us=1,
)


def test_a_number_of_an_earlier_beginning_names_no_order(world: ChildDesk) -> None:
    world.hand("A")
    world.desk.reset(BEGUN)
    world.hears(*session_reject("D", 7))
    assert world.live() == ["A"]


@pytest.mark.parametrize(("again", "gone"), [(7, 8), (8, 7)])
def test_a_number_used_again_names_its_new_order_and_the_others_none(
    world: ChildDesk, again: int, gone: int
) -> None:
    world.hand("A")  # 7
    world.hand("B")  # 8
    world.session.first_number = again - 2  # two have been sent
    world.hand("C")
    world.hears(*session_reject("D", gone))
    assert world.live() == ["A", "B", "C"], "it was of another beginning"
    world.hears(*session_reject("D", again))
    assert world.live() == ["A", "B"]


@pytest.mark.parametrize(
    ("fields", "again"),
    [
        (report("A", "H", "0", t19="X", t151="5"), True),
        (report("A", "G", "1", t19="X", t151="2", t14="3"), True),
        (report("A", "I", "0", t151="5"), True),
        (report("A", "0", "0", t151="5"), False),  # older than the fill, as for the gateway
        (report("A", "0", "0", t151="5", t14="4"), False),
        (report("A", "0", "0", t151="5", t14="5"), True),  # in doubt it lives
        (report("A", "D", "0", t151="5"), True),
        (report("A", "D", "4", t151="5"), True),
        (report("A", "F", "1", t32="1", t31="10", t14="1", t151="4"), True),
        (report("A", "4", "4", t151="5"), False),
        (report("A", "D", "4"), False),
        (report("A", "H", "4", t19="X", t151="0"), False),
    ],
)
def test_an_order_that_the_broker_lets_live_again_is_live_with_its_own_fields(
    world: ChildDesk, fields: Fields, *, again: bool
) -> None:
    world.hand("A")
    world.hears(*report("A", "F", "2", t32="5", t31="10", t14="5"))
    assert world.live() == []
    entry = world.hears(*fields)
    assert world.live() == (["A"] if again else [])
    if again:
        assert world.journal.live()[0].fields == order("A")
        assert world.journal.inbox_offset == entry.next_offset


def test_an_acknowledgement_after_unknown_order_opens_it_again(world: ChildDesk) -> None:
    """A broker's two halves: its cancel desk does not know yet what its order desk has taken."""
    world.hand("A")
    world.hears(*unknown_order("A"), (34, "9"))
    assert world.live() == []
    world.hears(*report("A", "0", "0", t151="131", t34="10"))
    assert world.live() == ["A"]
    world.hears(*report("A", "4", "4", t34="11"))
    assert world.live() == []
    world.hears(*report("A", "D", "0", t151="229", t34="12"))
    assert world.live() == ["A"], "reinstated"


def unknown_order(name: str) -> Fields:
    return ((35, "9"), (37, "E1"), (11, f"C{name}"), (41, name), (39, "8"), (434, "1"), (102, "1"))


OLD_ACK = report("A", "0", "0", t151="5", t34="8", t17="ACK")


@pytest.mark.parametrize(
    ("again", "news"),
    [
        (report("A", "0", "0", t151="5", t34="8", t43="Y", t17="ACK"), False),
        # sent again under a new number, with and without a word on that (97=Y)
        (report("A", "0", "0", t151="5", t34="10", t17="ACK"), False),
        (report("A", "0", "0", t151="5", t34="10", t97="Y", t17="ACK"), False),
        # under an old number and marked so: its ExecID does not matter
        (report("A", "0", "0", t151="5", t34="9", t43="Y", t17="OTHER"), False),
        (report("A", "I", "0", t151="5", t34="7", t43="Y", t17="0"), False),
        (report("A", "H", "0", t151="5", t34="7", t43="Y", t19="X"), False),
        # behind a gap: the mark alone makes no word an old one
        (report("A", "0", "0", t151="5", t34="10", t43="Y", t17="OTHER"), True),
        (report("A", "0", "0", t151="4", t14="1", t34="10", t17="ACK"), True),
        (report("A", "0", "0", t151="5", t34="10", t17="0"), True),
        (report("A", "I", "0", t151="5", t34="10", t17="0"), True),
    ],
)
def test_only_a_word_that_was_not_heard_before_opens_an_ended_order(
    world: ChildDesk, again: Fields, *, news: bool
) -> None:
    world.hand("A")
    world.hears(*OLD_ACK)
    world.hears(*report("A", "4", "4", t34="9", t17="END"))
    for _ in range(2):
        world.hears(*again)
        assert world.live() == (["A"] if news else [])


def test_an_old_ending_does_not_end_what_works_again(world: ChildDesk) -> None:
    world.hand("A")
    ended = report("A", "4", "4", t34="8", t17="END")
    world.hears(*ended)
    world.hears(*report("A", "D", "0", t151="5", t34="9", t17="AGAIN"))
    for number, mark in (("8", "Y"), ("10", "N")):
        fields = dict(ended) | {34: number, 43: mark}
        world.hears(*fields.items())
        assert world.live() == ["A"]
    world.hears(*unknown_order("A"), (34, "9"), (43, "Y"))
    assert world.live() == ["A"]
    world.hears(*report("A", "4", "4", t34="11", t17="END2"))
    assert world.live() == []


@pytest.mark.parametrize("begun", ["told", "counted"])
def test_numbers_that_began_anew_make_no_word_an_old_one(world: ChildDesk, begun: str) -> None:
    world.hand("A")
    world.hears(*report("A", "4", "4", t34="9"))
    if begun == "told":
        world.desk.reset(BEGUN)
    else:
        world.session.next_numbers = (1, 1)
        world.ask("logon", epoch=0, min_next_sender=1)
    world.hears(*report("A", "D", "0", t151="5", t34="1", t43="Y"))
    assert world.live() == ["A"]


def test_what_the_engine_took_in_an_earlier_life_is_old(world: ChildDesk) -> None:
    world.session.next_numbers = (7, 20)
    world.ask("logon", epoch=0, min_next_sender=1)
    world.hears(*report(OLD, "0", "0", t151="5", t34="19", t43="Y"))
    assert world.live() == []
    world.hears(*report(OLD, "0", "0", t151="5", t34="20", t43="Y"))
    assert world.live() == [OLD]


def test_an_order_of_an_earlier_journal_lives_again_as_the_report_describes_it(
    world: ChildDesk,
) -> None:
    entry = world.hears(*report(OLD, "H", "0", t19="X", t151="5"))
    (found,) = world.journal.live()
    assert found == LiveOrder(
        cl_ord_id=OLD,
        fields=((35, "D"), (11, OLD), (55, "SPXN"), (54, "1"), (38, "5")),
        inbox_offset=entry.next_offset,
    )
    world.hears(*report("", "H", "0", t19="X", t151="5")[:3], (17, "X"), (150, "H"), (39, "0"))
    assert world.live() == [OLD], "a report that names none revives none"


def test_reports_of_an_earlier_life_are_accounted_for_before_anything_else(tmp_path: Path) -> None:
    """The gateway has not been told of them by this child; it reads the inbox by itself."""
    with child_desk(tmp_path) as world:
        world.hand("A")
        world.hand("B")
        entries = [world.inbox.append("8=x"), world.inbox.append(wire_text(report("A", "4", "4")))]
        world.desk.catch_up(entries)
        assert world.live() == ["B"]
        assert world.journal.inbox_offset == entries[1].next_offset
        assert world.said("inbox") == []
