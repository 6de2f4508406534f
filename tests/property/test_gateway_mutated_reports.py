"""A fill that arrives spoiled is booked right or told; it is never lost in silence (repro r01)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from audit.records.kinds import Kind
from fix.wire.fields import SOH, fields_in
from gateway.walk.journal.persons import RECORDED
from gateway.walk.journal.words import EVERY
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk, memory_desk

HEAD = (8, 9, 10)
EXTRA = (
    *((12, "0.35"), (13, "3"), (479, "USD"), (15, "USD"), (120, "USD")),
    *((136, "2"), (137, "0.02"), (138, "USD"), (139, "4"), (137, "0.03"), (138, "USD"), (139, "1")),
    *((382, "2"), (375, "B1"), (337, "T1"), (375, "B2"), (337, "T2")),
    *((354, "7"), (355, f"ab{SOH}31=9"), (58, "done"), (5_001, "own"), (9_999, "x")),
)
FEES = {12, 137}
FEE_MINOR = 40
ODD = st.sampled_from(
    ["", "?", "ZZZ", "-", "1e3", "NaN", "é", "\xff\xfe", "0", "99999999999999999"]
)
Pairs = list[tuple[int, str]]


def emptied(pairs: Pairs, place: int, odd: str) -> Pairs:  # noqa: ARG001
    return [*pairs[:place], (pairs[place][0], ""), *pairs[place + 1 :]]


def removed(pairs: Pairs, place: int, odd: str) -> Pairs:  # noqa: ARG001
    return [*pairs[:place], *pairs[place + 1 :]]


def replaced(pairs: Pairs, place: int, odd: str) -> Pairs:
    return [*pairs[:place], (pairs[place][0], odd), *pairs[place + 1 :]]


def doubled(pairs: Pairs, place: int, odd: str) -> Pairs:  # noqa: ARG001
    return [*pairs, pairs[place]]


def doubled_otherwise(pairs: Pairs, place: int, odd: str) -> Pairs:
    return [*pairs[:place], (pairs[place][0], odd), *pairs[place:]]


def moved(pairs: Pairs, place: int, odd: str) -> Pairs:  # noqa: ARG001
    rest = removed(pairs, place, "")
    return [*rest[: len(rest) // 2], pairs[place], *rest[len(rest) // 2 :]]


def with_user_tag(pairs: Pairs, place: int, odd: str) -> Pairs:
    return [*pairs[:place], (20_012, odd), *pairs[place:]]


def with_junk(pairs: Pairs, place: int, odd: str) -> Pairs:
    return [*pairs[:place], (58, f"cut{SOH}{odd}{SOH}=5"), *pairs[place:]]


WAYS = (
    emptied, removed, replaced, doubled, doubled_otherwise, moved, with_user_tag, with_junk
)  # fmt: skip


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryDesk, str]:
    """A desk to which each difference is news, with one order."""
    desk = memory_desk(tmp_path_factory.mktemp("desk"))
    desk.small = replace(
        desk.small, settling=replace(desk.small.settling, differences=None, persons=RECORDED)
    )
    return desk, desk.rest(500).decision_id


@settings(max_examples=400, deadline=None)
@given(
    way=st.sampled_from(WAYS),
    share=st.floats(0, 1, exclude_max=True),
    odd=ODD,
)
def test_a_spoiled_fill_is_booked_right_or_told_and_never_neither(
    resting: tuple[MemoryDesk, str], way: Callable[..., Pairs], share: float, odd: str
) -> None:
    desk, name = resting
    assert outcome(desk, name, way, share, odd) in {"booked", "told"}


def outcome(desk: MemoryDesk, name: str, way: Callable[..., Pairs], share: float, odd: str) -> str:
    """Return what becomes of a fill that is spoiled in one way at one place."""
    order, lots = desk.standing(name), desk.lots()
    sound = [pair for pair in fields_in(desk.report(order)) if pair[0] not in HEAD]
    pairs: Pairs = [*sound, *EXTRA]
    place = int(share * len(pairs))
    if odd == "0" and pairs[place][0] in FEES:
        odd = "-0x"  # a fee of zero is a sound one
    event(f"{way.__name__} {pairs[place][0]}")
    fields = way(pairs, place, odd)
    kind = next((pair for pair in fields if pair[0] == 35), (35, ""))
    rest = [pair for pair in fields if pair is not kind]
    records = desk.settled(framed(kind[1], tuple(rest)))
    limit = dict(sound)[31]
    differences = [one.body for one in records if one.kind is Kind.BOOK_DIFFERENCE]
    open_fee = any(one["reason"] == "FEE_OPEN" for one in differences)
    fills = [
        one.body["fill"]
        for one in records
        if one.kind is Kind.ORDER_REPORTED and one.body["fill"] is not None
    ]
    if fills:
        told = [(fill["qty_lots"], fill["price_ticks"]) for fill in fills]
        right = told == [(1, round(float(limit) * 100))]
        fee_right = fills[0]["fee_minor"] == FEE_MINOR or open_fee
        return "booked" if right and fee_right else f"booked wrong: {fills}"
    blocks = any(one["instrument"] in {"SPXN", EVERY} for one in differences)
    return "told" if blocks and desk.lots() == lots else f"neither: {records}"
