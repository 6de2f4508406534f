"""Which differences a message is, which of them are news, and what a kill leaves on record."""

from dataclasses import replace
from typing import Any, cast

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from fix.durable.journal import CancelNote
from fix.durable.kill_word import Press, boot_id
from gateway.walk.journal.control.difference import (
    BookDifference,
    DifferenceCause,
    Found,
    book_difference,
)
from gateway.walk.journal.control.kill import cancel_sent, kill_outcome, kill_pressed, kill_released
from gateway.walk.journal.words import EVERY
from gateway.walk.projections.differences import Differences
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.memory_ledger import MemoryLedger

HEAD = {49: "EMSSIM", 56: "COUNTERSIGN", 34: "9", 52: "20180102-15:00:00"}
STRANGER = "STRANGERSTRANGERSTRA"
"""A ClOrdID in our form: one that is not is a stranger's, and no difference."""
STRANGE = {
    37: "X1",
    11: STRANGER,
    17: "S1",
    150: "F",
    39: "1",
    55: "SPXN",
    54: "1",
    38: "9",
    32: "4",
    31: "10.00",
    151: "5",
    14: "4",
    6: "10.00",
    60: "20180102-15:00:00",
}


def told(records: list[Record]) -> list[tuple[Any, ...]]:
    names = ("reason", "account", "instrument", "cl_ord_id", "book_lots", "broker_lots", "source")
    return [
        tuple(one.body.get(name) for name in names)
        for one in records
        if one.kind is Kind.BOOK_DIFFERENCE
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("UNKNOWN_ORDER", None, "SPXN", STRANGER, 0, 4, "report")),
        ({55: ""}, ("UNKNOWN_ORDER", None, EVERY, STRANGER, 0, 4, "report")),
        ({55: "ODD"}, ("UNKNOWN_ORDER", None, "ODD", STRANGER, 0, 4, "report")),
        ({41: "OLDER"}, ("UNKNOWN_ORDER", None, "SPXN", "OLDER", 0, 4, "report")),
        (
            {150: "0", 39: "0", 32: "", 31: "", 14: "4"},
            ("UNKNOWN_ORDER", None, "SPXN", STRANGER, 0, 4, "report"),
        ),
        ({150: "0", 39: "0", 32: "", 31: "", 14: "0"}, None),
        (
            {150: "H", 14: "0", 19: "E1"},
            ("UNKNOWN_ORDER", None, "SPXN", STRANGER, 0, 0, "report"),
        ),
        ({14: "x"}, ("UNKNOWN_ORDER", None, "SPXN", STRANGER, 0, None, "report")),
        ({31: "x"}, ("UNREADABLE", None, "SPXN", STRANGER, 0, 4, "report")),
        (
            {14: "x", 150: "0", 39: "0"},
            ("UNREADABLE", None, "SPXN", STRANGER, 0, None, "report"),
        ),
    ],
)
def test_what_a_strange_report_tells(
    desk: MemoryDesk, changes: dict[int, str], expected: tuple[Any, ...] | None
) -> None:
    fields = {tag: text for tag, text in (HEAD | STRANGE | changes).items() if text}
    found = told(desk.settled(framed("8", tuple(fields.items()))))
    assert found == ([] if expected is None else [expected])


def test_a_quarantined_report_of_our_order_names_its_account(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order))
    raw = desk.report(desk.standing(order.decision_id), t32="1.5", t14="2")
    assert told(desk.settled(raw)) == [
        ("UNBOOKABLE", AGENT_ACCOUNT, "SPXN", order.cl_ord_id, 1, 2, "report")
    ]


def test_a_total_below_the_book_counts_only_where_it_is_the_total_now(desk: MemoryDesk) -> None:
    order = desk.rest()
    for _ in range(2):
        desk.settled(desk.report(desk.standing(order.decision_id)))
    old = desk.report(order, t150="0", t39="0", t32="0", t31="0", t14="0")
    assert told(desk.settled(old)) == []
    now = desk.report(order, t150="I", t39="1", t17="0", t32="0", t31="0", t14="1")
    assert told(desk.settled(now)) == [
        ("CUM_QTY", AGENT_ACCOUNT, "SPXN", order.cl_ord_id, 2, 1, "report")
    ]


# news


def found(cause: DifferenceCause = DifferenceCause.CUM_QTY, **changes: Any) -> Found:  # noqa: ANN401 - any field
    given: dict[str, Any] = {
        "account": "a",
        "instrument": "SPXN",
        "cl_ord_id": "A",
        "book_lots": 2,
        "broker_lots": 5,
    }
    return Found(cause=cause, **(given | changes))


class World:
    """Differences over a log in memory."""

    def __init__(self) -> None:
        self.log = MemoryLedger()
        self.differences = Differences(cast("LedgerReader", self.log))
        self.log.subscribe(self.differences.follow)

    def tell(self, one: Found) -> Record:
        number = self.log.size
        (record,) = self.log.append(
            book_difference(one, session="s", source="report", number=number)
        )
        return record

    def resolve(self, of: Record, **more: Any) -> None:  # noqa: ANN401 - any field
        payload: dict[str, Any] = {
            "account": "a",
            "of_seq": of.seq,
            "of_leaf": of.leaf.hex(),
            "right": "book",
            "reason": "checked",
            "evidence": "a statement",
            "resolved_by": "operator",
            "signatures": {},
            "market_time_us": 1,
        }
        self.log.append(
            Draft(
                stream="control",
                kind=Kind.DIFFERENCE_RESOLVED,
                payload=payload | more,
                actor="person:operator",
                idem_key=f"resolved:{of.seq}",
            )
        )


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("one", "news"),
    [
        (found(), False),
        (found(broker_lots=6), True),
        (found(book_lots=3, broker_lots=6), True),
        (found(cl_ord_id="B"), True),
        (found(cl_ord_id="B", book_lots=5), False),
        (found(account="b"), False),
        (found(DifferenceCause.UNBOOKABLE), True),
        (found(DifferenceCause.ACCOUNT_LOTS, cl_ord_id=""), True),
        (found(DifferenceCause.ACCOUNT_LOTS, cl_ord_id="", book_lots=5), False),
        (found(cl_ord_id="B", broker_lots=None), True),
    ],
)
def test_what_is_open_or_equal_is_no_news(world: World, one: Found, *, news: bool) -> None:
    world.tell(found())
    assert world.differences.is_news(one) is news


@pytest.mark.parametrize(
    ("one", "news"),
    [
        (found(), False),
        (found(book_lots=4, broker_lots=7), False),
        (found(broker_lots=6), True),
        (found(broker_lots=2), True),
        (found(cl_ord_id="B", book_lots=4, broker_lots=7), True),
    ],
)
def test_what_a_person_accepted_stays_accepted(world: World, one: Found, *, news: bool) -> None:
    """The order's totals may stay as far apart as they were then, and no other way."""
    world.resolve(world.tell(found()))
    assert world.differences.open() == ()
    assert world.differences.is_news(one) is news


def test_what_was_accepted_of_an_account_is_of_one_instrument(world: World) -> None:
    of_account = found(DifferenceCause.ACCOUNT_LOTS, cl_ord_id="")
    world.resolve(world.tell(of_account))
    assert not world.differences.is_news(of_account)
    assert world.differences.is_news(replace(of_account, instrument="NDXN"))
    assert world.differences.is_news(replace(of_account, account="b"))


def test_the_newest_of_one_subject_counts_and_others_stand_beside_it(world: World) -> None:
    world.tell(found())
    second = world.tell(found(broker_lots=9))
    third = world.tell(found(cl_ord_id="B", instrument="NDXN"))
    nameless = found(DifferenceCause.REJECT_UNMATCHED, cl_ord_id="", account="", instrument="")
    fourth, fifth = world.tell(nameless), world.tell(nameless)
    assert [one.seq for one in world.differences.open()] == [
        second.seq,
        third.seq,
        fourth.seq,
        fifth.seq,
    ]
    assert (world.differences.blocks("SPXN"), world.differences.blocks("OTHER")) == (True, False)
    assert world.differences.state.startswith("4 unresolved")
    world.resolve(fourth)
    assert len(world.differences.open()) == 3
    world.tell(found(DifferenceCause.UNREADABLE, cl_ord_id="C", instrument=EVERY))
    assert world.differences.blocks("OTHER")


ADJUSTMENT = {"instrument": "SPXN", "price_ticks": 1, "unit_minor": 1, "fee_minor": 0}


def test_adjustments_add_up_with_their_sign(world: World) -> None:
    for side, lots in (("BUY", 5), ("SELL", 2)):
        told_ = world.tell(found(broker_lots=lots + 40))
        world.resolve(told_, adjustment=ADJUSTMENT | {"side": side, "qty_lots": lots})
    assert world.differences.adjusted("a", "SPXN") == 3
    assert world.differences.adjusted("a", "NDXN") == 0
    assert world.differences.adjusted("b", "SPXN") == 0


def test_a_batch_that_does_not_follow_is_read_from_the_log(world: World) -> None:
    late = Differences(cast("LedgerReader", world.log))
    first = world.tell(found())
    second = world.tell(found(cl_ord_id="B"))
    late.follow((second,))
    assert [one.seq for one in late.open()] == [first.seq, second.seq]
    late.read(1)
    assert len(late.open()) == 2, "what is read is not read again"


def test_a_difference_survives_its_record() -> None:
    for one in (found(), found(account="", book_lots=None, broker_lots=None)):
        draft = book_difference(one, session="s", source="run_end", number=7)
        assert BookDifference.read(draft.payload).found == one
        assert ("account" in draft.payload) == bool(one.account)
        assert draft.idem_key == "difference:s:run_end:7:A"
    nameless = book_difference(found(cl_ord_id=""), session="s", source="report", number=7)
    assert nameless.idem_key == "difference:s:report:7:a"


# a kill's records

HERE = boot_id().hex()
PRESS = Press(4, killed=True, press_id="ab", pressed_us=900, boot_id=HERE)


@pytest.mark.parametrize(
    ("press", "confirmed_us", "more"),
    [
        (PRESS, 7, {"press_id": "ab", "boot_id": HERE, "pressed_us": 900, "confirmed_us": 7}),
        (PRESS, 0, {"press_id": "ab", "boot_id": HERE, "pressed_us": 900}),
        (PRESS._replace(boot_id="cd" * 16), 7, {"press_id": "ab"}),
        (PRESS._replace(pressed_us=0), 7, {"press_id": "ab"}),
        (PRESS._replace(press_id=""), 0, {"boot_id": HERE, "pressed_us": 900}),
    ],
)
def test_a_press_on_record(press: Press, confirmed_us: int, more: dict[str, Any]) -> None:
    draft = kill_pressed(press, "operator", "a test", confirmed=True, confirmed_us=confirmed_us)
    said = {"kill_epoch": 4, "actor_name": "operator", "reason": "a test", "confirmed": True}
    assert dict(draft.payload) == said | more
    assert (draft.stream, draft.kind, draft.idem_key) == ("control", Kind.KILL_PRESSED, "kill:4")


@pytest.mark.parametrize(
    ("press", "more"),
    [
        (PRESS, {"boot_id": HERE, "pressed_us": 900, "answered_us": 5}),
        (PRESS._replace(boot_id="cd" * 16), {}),
    ],
)
def test_an_outcome_on_record(press: Press, more: dict[str, Any]) -> None:
    outcome = {"confirmed": ["A", "B"], "unknown": ["C"], "open": ["D", "E", "F"]}
    times = {"answered_us": 5, "first_cancel_us": 0}
    draft = kill_outcome(press, outcome, times, number=8)
    counts = {"kill_epoch": 4, "confirmed": 2, "unknown": 1, "open": 3}
    assert dict(draft.payload) == counts | {"detail": "unknown C; open D E F"} | more
    assert (draft.kind, draft.idem_key) == (Kind.KILL_OUTCOME, "kill_outcome:4:8")


@pytest.mark.parametrize(
    ("note", "more"),
    [
        (CancelNote(cancel_id="X", cl_ord_id="A", kill_epoch=0), {"reason": "sweep"}),
        (
            CancelNote(cancel_id="X", cl_ord_id="A", kill_epoch=4, at_us=6, boot_id="cd"),
            {"reason": "kill 4", "kill_epoch": 4, "boot_id": "cd", "cancelled_us": 6},
        ),
    ],
)
def test_a_cancel_on_record(note: CancelNote, more: dict[str, Any]) -> None:
    draft = cancel_sent(note, "EMSSIM")
    said = {"cl_ord_id": "X", "orig_cl_ord_id": "A", "session": "EMSSIM"}
    assert dict(draft.payload) == said | more
    assert (draft.stream, draft.idem_key) == ("session/EMSSIM", "cancel:X")


def test_a_release_on_record_names_who_what_and_where() -> None:
    draft = kill_released(PRESS, "log#1", "operator", "over", {"risk": "aa"})
    assert dict(draft.payload) == {
        "kill_epoch": 4,
        "press_id": "ab",
        "log_id": "log#1",
        "released_by": "operator",
        "reason": "over",
        "signatures": {"risk": "aa"},
    }
    assert draft.actor == "person:operator"
    again = kill_released(PRESS, "log#1", "another", "over", {"risk": "aa"})
    assert again.idem_key != draft.idem_key, "another person may release the same press again"
    assert canonical(dict(draft.payload))
