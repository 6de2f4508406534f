"""A logon asks for every order that may be live, and after lost numbers for those that ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from audit.records.kinds import Kind
from fix.durable.inbox import Entry
from fix.orders.live import LiveOrder
from fix.orders.reconcile import MASS_PATIENCE_US, PATIENCE_US
from fix.session.link import HandResult, SessionState
from fix.wire.messages import Fields
from gateway import clock
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.installation.children.fix import FixChild
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.asked import terms_of
from gateway.walk.projections.session_orders import SessionOrders
from gateway.walk.reconciliation.asking import Budget
from gateway.walk.reconciliation.recovery import reconcile
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, MemoryDesk

LOGON_NO, OFFSET = 7, 400


@dataclass
class Time:
    """A monotonic clock that moves when somebody waits."""

    now_us: int = 1_000_000

    def pause(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)

    def monotonic_us(self) -> int:
        return self.now_us


@dataclass
class Child:
    """A FIX child with a broker behind it that answers as a test says."""

    answers: Callable[[Fields], str | None]
    state: SessionState = SessionState.RECONCILING
    live: tuple[LiveOrder, ...] = ()
    opened: bool = True
    asked: list[Fields] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    reconciled: list[int] = field(default_factory=list)

    def status_request(self, fields: Fields) -> HandResult:
        self.asked.append(fields)
        raw = self.answers(fields)
        if raw is not None:
            self.put(raw)
        return HandResult(outcome="sent", msg_seq_num=len(self.asked))

    def put(self, raw: str) -> None:
        begin = self.inbox[-1].next_offset if self.inbox else OFFSET
        self.inbox.append(Entry(offset=begin, next_offset=begin + 100, raw=raw))

    def inbox_since(self, offset: int) -> list[Entry]:
        return [one for one in self.inbox if one.offset >= offset]

    def live_orders(self) -> tuple[LiveOrder, ...]:
        return self.live

    def set_reconciled(self, logon_no: int) -> bool:
        self.reconciled.append(logon_no)
        return self.opened

    def names(self) -> list[str]:
        return [dict(one)[11] for one in self.asked]


@dataclass
class Logon:
    """One logon: what was noted, and at which offset the book was checked."""

    notes: list[tuple[str, str]] = field(default_factory=list)
    checked: list[int] = field(default_factory=list)
    result: bool = False


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(clock, "monotonic_us", time.monotonic_us)
    monkeypatch.setattr(clock, "pause", time.pause)
    return time


def logon(
    desk: MemoryDesk,
    child: Child,
    per_s: int = 100,
    mass_id: str = "",
    ended: Sequence[Standing] = (),
) -> Logon:
    done = Logon()
    done.result = reconcile(
        cast("FixChild", child),
        SessionOrders(desk.small.desk.own.orders, "EMSSIM"),
        lambda event, detail: done.notes.append((event, detail)),
        Budget(per_s),
        done.checked.append,
        logon_no=LOGON_NO,
        inbox_offset=OFFSET,
        mass_id=mass_id,
        ended=ended,
    )
    return done


def answering(desk: MemoryDesk, *orders: Standing) -> Callable[[Fields], str | None]:
    """A broker that reports on some orders, and is silent on the rest."""
    by_name = {one.cl_ord_id: one for one in orders}

    def answer(fields: Fields) -> str | None:
        order = by_name.get(dict(fields)[11])
        if order is None:
            return None
        return desk.report(order, t17="0", t150="I", t39="0", t32="0", t31="0", t14="0")

    return answer


def test_every_live_order_is_asked_for_and_the_session_opens(desk: MemoryDesk, time: Time) -> None:
    first, second = desk.rest(20), desk.rest(30)
    ended = desk.rest(40)
    desk.settled(desk.report(ended, t150="4", t39="4", t32="0", t31="0", t14="0", t151="0"))
    child = Child(answering(desk, first, second))
    done = logon(desk, child)
    assert child.names() == [first.cl_ord_id, second.cl_ord_id]
    assert {dict(one)[35] for one in child.asked} == {"H"}
    assert (done.result, done.notes, child.reconciled) == (True, [], [LOGON_NO])
    assert done.checked == [child.inbox[-1].next_offset]
    assert time.now_us < 1_000_000 + PATIENCE_US // 2, "answered: nobody waits on"


def replacing(desk: MemoryDesk, order: Standing, key: str, fewer: int) -> str:
    lots = terms_of(desk.standing(order.decision_id)).qty_lots - fewer
    request = ReplaceRequest(client_key=key, qty_lots=lots)
    done = desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request)
    assert done.result == "sent"
    return done.replace.replace_id


def confirmed(desk: MemoryDesk, order: Standing) -> None:
    now = desk.standing(order.decision_id)
    asked = now.replaces[-1]
    fields = {"t11": asked.replace_id, "t41": asked.orig_name, "t38": asked.terms.quantity}
    fields |= {"t150": "5", "t39": "0", "t32": "0", "t31": "0", "t14": "0"}
    desk.settled(desk.report(now, **fields, t151=asked.terms.quantity))


def test_an_unanswered_replace_is_asked_for_beside_the_name_that_it_replaces(
    desk: MemoryDesk, time: Time
) -> None:
    """It may have arrived or not: of its order the first, then the second replace is open."""
    del time
    order = desk.rest(50)
    total = terms_of(order).quantity
    desk.settled(desk.report(order, t150="0", t39="0", t32="0", t31="0", t14="0", t151=total))
    known = order.cl_ord_id
    for key in ("r-1", "r-2"):
        name = replacing(desk, order, key, 5)
        child = Child(lambda _: None)
        logon(desk, child)
        assert set(child.names()) == {known, name}
        confirmed(desk, order)
        child = Child(lambda _: None)
        logon(desk, child)
        assert set(child.names()) == {name}, "answered: the order has one name again"
        known = name


def test_without_a_live_order_nothing_is_asked_and_nobody_waits(
    desk: MemoryDesk, time: Time
) -> None:
    child = Child(lambda _: None)
    done = logon(desk, child)
    assert (child.asked, done.checked, done.result) == ([], [OFFSET], True)
    assert time.now_us == 1_000_000


def test_an_order_without_an_answer_is_asked_for_twice_and_noted(
    desk: MemoryDesk, time: Time
) -> None:
    order, known = desk.rest(20), desk.rest(30)
    child = Child(answering(desk, known))
    done = logon(desk, child)
    assert child.names() == [order.cl_ord_id, known.cl_ord_id, order.cl_ord_id]
    assert done.notes == [("quarantined", order.cl_ord_id)]
    assert done.result, "the rest of the desk is not held up"
    # two orders asked twice within a budget of 100 a second
    over_us = 1_000_000 + PATIENCE_US + 2 * 20_000
    assert over_us <= time.now_us < over_us + 100_000


def test_questions_keep_to_the_budget_and_wait_their_turn(desk: MemoryDesk, time: Time) -> None:
    orders = [desk.rest(20 + 10 * place) for place in range(3)]
    child = Child(answering(desk, *orders))
    done = logon(desk, child, per_s=1)
    assert child.names() == [one.cl_ord_id for one in orders]
    assert done.notes == []
    assert time.now_us >= 1_000_000 + 2_000_000, "one a second"


def test_a_session_that_goes_down_ends_the_questions(desk: MemoryDesk, time: Time) -> None:
    order = desk.rest()
    child = Child(lambda _: None, state=SessionState.DOWN, opened=False)
    done = logon(desk, child)
    assert (done.result, child.names()) == (False, [order.cl_ord_id])
    assert time.now_us == 1_000_000, "it does not wait for answers that cannot come"


def test_an_answer_that_cannot_be_read_does_not_stop_those_behind_it(
    desk: MemoryDesk, time: Time
) -> None:
    order = desk.rest()
    good = answering(desk, order)
    child = Child(lambda fields: good(fields) if child.inbox else None)
    child.put("no fix at all")
    child.put(framed("8", ((34, "x"),)))
    done = logon(desk, child)
    assert (done.notes, done.result) == ([], True)
    assert time.now_us < 1_000_000 + PATIENCE_US // 2
    assert done.checked == [child.inbox[-1].next_offset]


def test_what_was_in_the_inbox_before_the_questions_is_no_answer(
    desk: MemoryDesk, time: Time
) -> None:
    order = desk.rest()
    child = Child(lambda _: None)
    child.inbox.append(Entry(offset=0, next_offset=OFFSET, raw=desk.report(order)))
    assert logon(desk, child).notes == [("quarantined", order.cl_ord_id)]
    assert time.now_us > 1_000_000 + PATIENCE_US


def test_an_order_of_the_child_that_the_ledger_lacks_is_noted(desk: MemoryDesk, time: Time) -> None:
    known = desk.rest()
    live = tuple(
        LiveOrder(cl_ord_id=name, fields=((11, name),), inbox_offset=0)
        for name in ("STRANGER", known.cl_ord_id, "OTHER")
    )
    child = Child(answering(desk, known), live=live)
    done = logon(desk, child)
    assert done.notes == [("not_in_ledger", "STRANGER OTHER")]
    assert time.now_us > 1_000_000


def filled(desk: MemoryDesk) -> tuple[Standing, str]:
    """Let an order be filled whole; return it and its quantity."""
    order = desk.rest(50)
    assert order.approving is not None
    total = str(order.approving.body["intent"]["qty_lots"])
    desk.settled(desk.report(order, t32=total, t14=total, t151="0", t39="2"))
    return desk.standing(order.decision_id), total


STATUS = {"t17": "0", "t150": "I", "t32": "0", "t31": "0"}


def test_an_ended_order_is_asked_for_and_a_bust_that_nobody_heard_is_found(
    desk: MemoryDesk, time: Time
) -> None:
    (busted, total), (whole, _) = filled(desk), filled(desk)
    says = {
        busted.cl_ord_id: {"t39": "0", "t14": "0", "t151": total},
        whole.cl_ord_id: {"t39": "2", "t14": str(whole.filled_lots), "t151": "0"},
    }
    orders = {one.cl_ord_id: one for one in (busted, whole)}

    def answer(fields: Fields) -> str:
        name = dict(fields)[11]
        return desk.report(orders[name], **STATUS, **says[name])

    child = Child(answer)
    done = logon(desk, child, ended=(busted, whole))
    assert (child.names(), done.notes) == ([busted.cl_ord_id, whole.cl_ord_id], [])
    for entry in child.inbox:
        desk.settled(entry.raw)
    own = desk.small.desk.own
    (found,) = desk.log.of_kind(Kind.BOOK_DIFFERENCE)
    assert found.body["cl_ord_id"] == busted.cl_ord_id
    assert (found.body["book_lots"], found.body["broker_lots"]) == (busted.filled_lots, 0)
    assert own.section.differences.blocks("SPXN"), "until two officers resolved it"
    assert [one.cl_ord_id for one in own.orders.live()] == [busted.cl_ord_id], "it works again"
    assert desk.standing(whole.decision_id).stage is Stage.SEALED
    assert time.now_us < 1_000_000 + PATIENCE_US // 2, "answered: nobody waits on"


@pytest.mark.parametrize("forgotten", [True, False])
def test_an_ended_order_that_the_broker_forgot_or_says_nothing_about_stays_as_it_is(
    desk: MemoryDesk, time: Time, *, forgotten: bool
) -> None:
    order, _ = filled(desk)
    unknown = desk.report(order, **STATUS, t39="8", t103="5", t14="0", t151="0", t37="NONE")
    child = Child(lambda _: unknown if forgotten else None)
    done = logon(desk, child, ended=(order,))
    assert done.notes == ([] if forgotten else [("ended_unsaid", order.cl_ord_id)])
    assert done.result, "the desk is not held up"
    for entry in child.inbox:
        desk.settled(entry.raw)
    assert desk.standing(order.decision_id).stage is Stage.SEALED
    assert desk.lots() == order.filled_lots
    assert list(desk.log.of_kind(Kind.BOOK_DIFFERENCE)) == []
    assert time.now_us > 0


def test_a_mass_request_goes_first_and_what_it_leaves_out_is_asked_singly(
    desk: MemoryDesk, time: Time
) -> None:
    named, left_out = desk.rest(), desk.rest()
    singly = answering(desk, left_out)

    def answer(fields: Fields) -> str | None:
        if dict(fields)[35] != "AF":
            return singly(fields)
        status = {"t17": "0", "t150": "I", "t39": "0", "t32": "0", "t31": "0", "t14": "0"}
        return desk.report(named, t584="M1", t911="1", t912="Y", **status)

    child = Child(answer)
    done = logon(desk, child, mass_id="M1")
    assert [dict(one)[35] for one in child.asked] == ["AF", "H"]
    assert dict(child.asked[1])[11] == left_out.cl_ord_id
    assert done.notes == [("mass_status", "answered: 1 orders")]
    assert done.result
    assert time.now_us < 1_000_000 + MASS_PATIENCE_US // 2, "nobody waits for more"


HEAD = ((49, "E"), (56, "C"), (34, "9"), (45, "1"))
NO_ANSWERS = [
    (None, "not answered to the end: 0 orders"),
    (framed("j", (*HEAD, (372, "AF"), (380, "3"))), "refused: 35=j 380=3"),
    (framed("3", (*HEAD, (373, "11"))), "refused: 35=3 373=11"),
]


@pytest.mark.parametrize(("raw", "words"), NO_ANSWERS)
def test_a_broker_without_an_answer_to_the_mass_request_is_asked_singly(
    desk: MemoryDesk, time: Time, raw: str | None, words: str
) -> None:
    order = desk.rest()
    singly = answering(desk, order)
    child = Child(lambda fields: raw if dict(fields)[35] == "AF" else singly(fields))
    done = logon(desk, child, mass_id="M1")
    assert [dict(one)[35] for one in child.asked] == ["AF", "H"]
    assert [(event, detail.strip()) for event, detail in done.notes] == [("mass_status", words)]
    assert done.result
    assert time.now_us < 1_000_000 + 2 * MASS_PATIENCE_US


def test_the_book_is_checked_before_the_session_opens(desk: MemoryDesk, time: Time) -> None:
    child = Child(lambda _: None)
    seen: list[tuple[int, list[int]]] = []
    opened = reconcile(
        cast("FixChild", child),
        SessionOrders(desk.small.desk.own.orders, "EMSSIM"),
        lambda *_: None,
        Budget(10),
        lambda offset: seen.append((offset, list(child.reconciled))),
        logon_no=LOGON_NO,
        inbox_offset=OFFSET,
    )
    assert (seen, child.reconciled, opened) == ([(OFFSET, [])], [LOGON_NO], True)
    assert time.now_us == 1_000_000
