"""A resolution books what its difference lacks: on that side, in that instrument and account."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import terms_of
from risk.intent import Side
from tests.doubles.both_verifiers import judged_by_both, told
from tests.doubles.broker_files import Broker, officers, written_again
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk

Scene = Callable[[MemoryDesk], Side]
OTHER = {"BUY": "SELL", "SELL": "BUY"}


def resolved(desk: MemoryDesk, lots: int, **more: str) -> None:
    """Let two officers book the open difference."""
    own = desk.small.desk.own
    (found,) = own.section.differences.open()
    given = {"reason": "lost", "evidence": "file", "lots": lots, "price": "269.00", **more}
    request = ResolveRequest.model_validate({"right": "broker", **given})
    text = resolution_statement(str(listed(own)["log_id"]), found.seq, found.leaf.hex(), request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    resolve(own, "otto", found.seq, request.model_copy(update={"signatures": signatures}))


def sale(desk: MemoryDesk) -> Standing:
    """Return a working sale of what was bought before."""
    bought = desk.rest(50)
    lots = terms_of(bought).quantity
    desk.settled(desk.report(bought, t39="2", t32=lots, t14=lots, t151="0"))
    return desk.standing(desk.ask(50, exposure_bp=0).decision_id)


def purchase_lacks(desk: MemoryDesk) -> Side:
    desk.settled(desk.report(desk.rest(30), t32="2", t14="5"))
    resolved(desk, 3)
    return Side.BUY


def sale_lacks(desk: MemoryDesk) -> Side:
    desk.settled(desk.report(sale(desk), t32="2", t14="5"))
    resolved(desk, 3)
    return Side.SELL


def purchase_has_too_many(desk: MemoryDesk) -> Side:
    order = desk.rest(30)
    desk.settled(desk.report(order, t32="3", t14="3"))
    order = desk.standing(order.decision_id)
    desk.settled(desk.report(order, t17="0", t150="I", t39="0", t32="0", t31="0", t14="0"))
    resolved(desk, -3)
    return Side.SELL


def stranger_sold(desk: MemoryDesk) -> Side:
    order = desk.rest(30)
    strange = {"t11": "B" * 20, "t37": "ZZ", "t54": "2", "t32": "2", "t14": "2"}
    desk.settled(desk.report(order, **strange))
    resolved(desk, 2, account=AGENT_ACCOUNT, side="SELL")
    return Side.SELL


def account_off(desk: MemoryDesk, book: int, broker: int) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t32=str(book), t14=str(book)))
    now = desk.standing(order.decision_id)
    trade = now.trades[0]
    assert trade.fill is not None
    wrong = replace(trade, fill=structs.replace(trade.fill, qty_lots=broker))
    fold = desk.small.desk.own.orders._fold  # noqa: SLF001 - as if the order's fold had gone wrong
    fold.by_decision[now.decision_id] = replace(now, trades=(wrong,))
    found = Found(
        cause=DifferenceCause.ACCOUNT_LOTS,
        account=AGENT_ACCOUNT,
        instrument="SPXN",
        cl_ord_id="",
        book_lots=book,
        broker_lots=broker,
    )
    desk.log.append(book_difference(found, session="EMSSIM", source="run_end", number=1))
    resolved(desk, broker - book)


def account_lacks(desk: MemoryDesk) -> Side:
    account_off(desk, 1, 3)
    return Side.BUY


def account_has_too_many(desk: MemoryDesk) -> Side:
    account_off(desk, 3, 1)
    return Side.SELL


SCENES: tuple[Scene, ...] = (
    purchase_lacks,
    sale_lacks,
    purchase_has_too_many,
    stranger_sold,
    account_lacks,
    account_has_too_many,
)


def with_other(name: str) -> Callable[[Any], Any]:
    """Return a change of what is booked, in either of its forms."""

    def change(booked: dict[str, Any]) -> dict[str, Any]:
        other = OTHER[booked["side"]] if name == "side" else "NDXN"
        return {**booked, name: other}

    return change


@pytest.mark.parametrize("scene", SCENES)
def test_a_resolution_that_books_something_else_than_was_signed_is_found(
    tmp_path: Path, scene: Scene
) -> None:
    """Both forms of what is booked say the same, and the officers' signatures hold."""
    broker = Broker(memory_desk(tmp_path))
    side = scene(broker.desk)
    (record,) = broker.desk.log.of_kind(Kind.DIFFERENCE_RESOLVED)
    assert record.body["adjustment"]["side"] == side.value
    log, keys = broker.ledger(), officers(broker, tmp_path)
    asked = {"honest": (log, keys)}
    for name in ("side", "instrument"):
        change = with_other(name)
        forged = told(Kind.DIFFERENCE_RESOLVED, adjustment=change, trade=change)
        asked[name] = (written_again(log, forged), keys)
    found = judged_by_both(asked, tmp_path)
    code, said = found.pop("honest")
    assert code == 0, said
    for name, (code, said) in found.items():
        assert (code, f": difference: it books another {name} than " in said) == (1, True), said
