"""A report that cannot be read as a whole is booked as far as it goes, or told (repro r01)."""

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.wire.fields import SOH, fields_in
from gateway.walk.journal.words import EVERY
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk

OWN = {8, 9, 10}


def seen(desk: MemoryDesk, records: list[Record]) -> tuple[int, list[str], list[str]]:
    """Return the lots of the book, the reasons of anomalies and of differences."""
    told = [one.body["reason"] for one in records if one.kind is Kind.FIX_ANOMALY]
    differ = [one.body["reason"] for one in records if one.kind is Kind.BOOK_DIFFERENCE]
    return desk.lots(), told, differ


@pytest.mark.parametrize(
    "changes",
    [
        {"t58": ""},
        {"t6": ""},
        {"t37": ""},
        {"t38": "many"},
        {"t60": "\xe9"},
        {"t34": "x"},
        {"t55": ""},
        {"t354": "5", "t355": f"a{SOH}31="},
        {"t354": "9", "t355": f"a{SOH}31=9.00"},
        {"t95": "3", "t96": f"{SOH}={SOH}"},
        {"t354": "4", "t355": "a longer text"},
        {"t354": "?", "t355": "text"},
        {"t58": f"cut{SOH}off"},
        {"t151": ""},
    ],
)
def test_a_fill_with_a_spoiled_field_that_nothing_depends_on_is_booked(
    desk: MemoryDesk, changes: dict[str, str]
) -> None:
    lots, told, differ = seen(desk, desk.settled(desk.report(desk.rest(), **changes)))
    assert (lots, differ) == (1, [])
    assert told == (["read_in_part"] if "t151" in changes else [])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"t17": ""}, "UNREADABLE"),
        ({"t150": ""}, "UNREADABLE"),
        ({"t150": "Z"}, "UNREADABLE"),
        ({"t32": "1,0"}, "UNREADABLE"),
        ({"t31": ""}, "UNREADABLE"),
        ({"t54": "?"}, "UNBOOKABLE"),
        ({"t55": "\xe9"}, "UNBOOKABLE"),
        ({"t11": ""}, "UNKNOWN_ORDER"),
        ({"t11": "?"}, "UNKNOWN_ORDER"),
    ],
)
def test_a_fill_that_cannot_be_booked_is_a_difference(
    desk: MemoryDesk, changes: dict[str, str], reason: str
) -> None:
    lots, told, differ = seen(desk, desk.settled(desk.report(desk.rest(), **changes)))
    assert (lots, len(told), differ) == (0, 1, [reason])
    assert desk.ask().result == "rejected"


@pytest.mark.parametrize("other", ["1.00", "?", "269"])
def test_a_price_that_stands_twice_is_not_booked(desk: MemoryDesk, other: str) -> None:
    pairs = [pair for pair in fields_in(desk.report(desk.rest())) if pair[0] not in OWN]
    for twice in ([*pairs, (31, other)], [(31, other), *pairs]):
        lots, told, _ = seen(desk, desk.settled(framed("8", tuple(twice))))
        assert lots == 0
        assert told in (["unbookable"], ["unreadable"])
        assert desk.small.desk.own.section.differences.blocks("SPXN")
    assert desk.ask().result == "rejected"


@pytest.mark.parametrize(
    ("twice", "changes", "is_live"),
    [
        ((31, "1.00"), {}, False),
        ((58, "b"), {"t55": "NDXN"}, False),
        ((58, "b"), {"t55": "ZZZZ"}, False),
        ((58, "b"), {"t54": "2"}, False),
        ((58, "b"), {"t15": "GBX"}, False),
        ((39, "1"), {}, True),
        ((14, "2"), {}, True),
        ((11, "ANOTHER"), {}, True),
    ],
)
def test_what_a_fill_that_is_not_booked_says_of_its_order_counts_unless_it_is_in_doubt(
    desk: MemoryDesk, twice: tuple[int, str], changes: dict[str, str], *, is_live: bool
) -> None:
    """The FIX child took such an order for ended, the gateway for working (as in repro r12)."""
    order = desk.rest()
    last = {"t39": "2", "t151": "0", "t14": "51", "t32": "51", "t58": "a"}
    pairs = [one for one in fields_in(desk.report(order, **last | changes)) if one[0] not in OWN]
    lots, _, differ = seen(desk, desk.settled(framed("8", (*pairs, twice))))
    now = desk.standing(order.decision_id)
    assert (lots, differ, now.is_live, now.sealed) == (0, ["UNBOOKABLE"], is_live, False)
    assert desk.reserved() == 51


@pytest.mark.parametrize("kind", ["ZZ", "9", "j", "3", "0", "AE"])
def test_a_fill_under_another_type_of_message_is_a_difference(desk: MemoryDesk, kind: str) -> None:
    raw = desk.report(desk.rest())
    pairs = [pair for pair in fields_in(raw) if pair[0] not in {*OWN, 35}]
    lots, told, differ = seen(desk, desk.settled(framed(kind, tuple(pairs))))
    assert (lots, told, differ) == (0, ["unreadable"], ["UNREADABLE"])


def test_a_fill_whose_frame_is_damaged_is_never_booked(desk: MemoryDesk) -> None:
    raw = desk.report(desk.rest())
    records = desk.settled(raw.replace(f"{SOH}32=1{SOH}", f"{SOH}32=2{SOH}"))
    assert seen(desk, records) == (0, ["unreadable"], ["UNREADABLE"])
    (found,) = (one for one in records if one.kind is Kind.BOOK_DIFFERENCE)
    assert found.body["instrument"] in {"SPXN", EVERY}


@pytest.mark.parametrize("missing", ["t14", "t39"])
def test_what_a_fill_does_not_say_of_its_order_follows_from_the_book(
    desk: MemoryDesk, missing: str
) -> None:
    order = desk.rest()
    desk.settled(desk.report(order))
    raw = desk.report(desk.standing(order.decision_id), **{missing: ""}, t17="TWICE")
    for again in (False, True):
        records = desk.settled(raw)
        lots, told, differ = seen(desk, records)
        assert (lots, differ) == (2, [])
        assert told == ([] if again else ["read_in_part"])
