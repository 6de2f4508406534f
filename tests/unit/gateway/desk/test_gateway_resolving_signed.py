"""What two officers signed names all that they answered, and only what is open and lives ends."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.errors import ResolutionRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.standing import Stage
from gateway.walk.projections.differences import Difference
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.small_desk import RUN


def request_with(**changes: Any) -> ResolveRequest:  # noqa: ANN401 - any field
    given = {"right": "book", "reason": "checked", "evidence": "the broker's statement"}
    return ResolveRequest.model_validate(given | changes)


def signed(desk: MemoryDesk, found: Difference, request: ResolveRequest) -> ResolveRequest:
    if request.right == "broker" and found.found.broker_lots is not None:
        lots = found.found.broker_lots - (found.found.book_lots or 0)
        request = request.model_copy(update={"lots": lots})
    own = desk.small.desk.own
    log = str(listed(own)["log_id"])
    text = resolution_statement(log, found.seq, found.leaf.hex(), request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    return request.model_copy(update={"signatures": signatures})


def open_one(desk: MemoryDesk) -> Difference:
    (found,) = desk.small.desk.own.section.differences.open()
    return found


def refused(desk: MemoryDesk) -> Difference:
    """Leave a refusal of a message whose number nobody knows."""
    head = ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "9"))
    desk.settled(framed("3", (*head, (45, "999"), (372, "D"))))
    return open_one(desk)


@pytest.mark.parametrize(
    "change",
    [
        {"right": "broker"},
        {"price": "269.00"},
        {"account": AGENT_ACCOUNT},
        {"side": "SELL"},
        {"lots": 3},
        {"ends": "A" * 20},
        {"reason": 'seen "again"'},
        {"evidence": "a call"},
        {"exec_ids": ["X1"]},
    ],
    ids=lambda one: next(iter(one)),
)
def test_every_answer_changes_what_the_officers_sign(change: dict[str, Any]) -> None:
    def text(**changes: Any) -> bytes:  # noqa: ANN401 - any field
        return resolution_statement("log#00", 4, "ab" * 32, request_with(**changes))

    assert text(**change) != text()
    assert text(side="BUY") != text(side="SELL")


@pytest.mark.parametrize("beside", [-1, 1])
def test_a_number_beside_the_open_one_resolves_nothing(desk: MemoryDesk, beside: int) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t14="7"))
    found = open_one(desk)
    with pytest.raises(ResolutionRefusedError, match="open"):
        resolve(desk.small.desk.own, "otto", found.seq + beside, request_with())
    assert open_one(desk) == found
    assert not desk.log.of_kind(Kind.DIFFERENCE_RESOLVED)


@pytest.mark.parametrize(("book", "broker", "side"), [(3, 1, "SELL"), (1, 3, "BUY")])
def test_an_account_is_brought_to_the_brokers_lots_from_either_side(
    desk: MemoryDesk, book: int, broker: int, side: str
) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t32=str(book), t14=str(book)))
    now = desk.standing(order.decision_id)
    booked = now.trades[0].fill
    assert booked is not None
    fill = structs.replace(booked, qty_lots=broker)
    fold = desk.small.desk.own.orders._fold  # noqa: SLF001 - as if the order's fold had gone wrong
    fold.by_decision[now.decision_id] = replace(now, trades=(replace(now.trades[0], fill=fill),))
    one = Found(
        cause=DifferenceCause.ACCOUNT_LOTS,
        account=AGENT_ACCOUNT,
        instrument="SPXN",
        cl_ord_id="",
        book_lots=book,
        broker_lots=broker,
    )
    desk.log.append(book_difference(one, session="EMSSIM", source="run_end", number=1))
    found = open_one(desk)
    request = signed(desk, found, request_with(right="broker", price="269.00"))
    done = resolve(desk.small.desk.own, "otto", found.seq, request)
    assert (done["adjustment"]["side"], done["adjustment"]["qty_lots"]) == (side, 2)
    assert desk.lots() == broker
    news = desk.small.desk.own.section.differences.is_news
    assert not news(replace(one, book_lots=broker, broker_lots=broker))
    assert news(one), "it is as far apart again"


@pytest.mark.parametrize(("price", "ticks"), [("269.03", None), ("269.05", 5_381)])
def test_an_adjustment_is_booked_in_whole_ticks_of_its_instrument(
    desk: MemoryDesk, price: str, ticks: int | None
) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t14="2"))
    found, own = open_one(desk), desk.small.desk.own
    coarse = replace(own.instruments["SPXN"], tick_minor=5)
    own = replace(own, instruments={**own.instruments, "SPXN": coarse})
    request = signed(desk, found, request_with(right="broker", price=price))
    if ticks is None:
        with pytest.raises(ResolutionRefusedError, match="ticks"):
            resolve(own, "otto", found.seq, request)
        return
    assert resolve(own, "otto", found.seq, request)["adjustment"]["price_ticks"] == ticks


def test_an_order_that_is_over_is_not_ended_again(desk: MemoryDesk) -> None:
    order = desk.rest()
    total = str(desk.small.desk.own.section.book(AGENT_ACCOUNT).reservations[0].open_lots)
    desk.settled(desk.report(order, t32=total, t14=total, t151="0", t39="2"))
    assert desk.outcome(order.decision_id) == "filled"
    found = refused(desk)
    request = signed(desk, found, request_with(ends=order.cl_ord_id))
    with pytest.raises(ResolutionRefusedError, match="is at work here"):
        resolve(desk.small.desk.own, "otto", found.seq, request)
    assert desk.standing(order.decision_id).seals == 1


def test_an_order_that_nobody_refused_ends_as_cancelled(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t14="7"))
    found = open_one(desk)
    request = signed(desk, found, request_with(ends=order.cl_ord_id))
    resolve(desk.small.desk.own, "otto", found.seq, request)
    assert desk.standing(order.decision_id).order_state == "CANCELED"
    assert desk.outcome(order.decision_id) == "cancelled"
    assert (desk.lots(), desk.reserved()) == (1, 0)


def test_an_order_that_came_to_life_again_is_sealed_anew(desk: MemoryDesk) -> None:
    order = desk.rest()
    total = str(desk.reserved())
    desk.settled(desk.report(order, t17="T1", t32=total, t14=total, t151="0", t39="2"))
    bust = {"t150": "H", "t19": "T1", "t39": "0", "t14": "0", "t32": "0", "t31": "0"}
    desk.settled(desk.report(order, t17="T2", **bust))
    assert desk.standing(order.decision_id).stage is Stage.SENT
    found = refused(desk)
    request = signed(desk, found, request_with(ends=order.cl_ord_id))
    resolve(desk.small.desk.own, "otto", found.seq, request)
    now = desk.standing(order.decision_id)
    assert (now.stage, now.seals) == (Stage.SEALED, 2)
    assert (desk.lots(), desk.reserved()) == (0, 0)


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_word_about_an_account_closes_no_other_difference(desk: MemoryDesk, first: int) -> None:
    """Only those of one order are closed together; what names no order stands for itself."""
    about = (
        (DifferenceCause.ACCOUNT_LOTS, AGENT_ACCOUNT, "SPXN"),
        (DifferenceCause.ACCOUNT_LOTS, AGENT_ACCOUNT, "NDXN"),
        (DifferenceCause.ACCOUNT_LOTS, RUN, "SPXN"),
    )
    for number, (cause, account, symbol) in enumerate(about):
        found = Found(
            cause=cause,
            account=account,
            instrument=symbol,
            cl_ord_id="",
            book_lots=0,
            broker_lots=2,
        )
        desk.log.append(book_difference(found, session="EMSSIM", source="run_end", number=number))
    head = ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "9"))
    desk.settled(framed("3", (*head, (45, "999"), (372, "D"))))
    own = desk.small.desk.own
    found_all = own.section.differences.open()
    assert len(found_all) == 4
    chosen = found_all[first]
    resolve(own, "otto", chosen.seq, request_with())
    assert own.section.differences.open() == tuple(one for one in found_all if one != chosen)
