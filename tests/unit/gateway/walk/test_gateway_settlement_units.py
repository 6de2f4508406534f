"""Fills that no whole lots or ticks say stay told until both officers have signed for the rest."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.errors import ResolutionRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.reconciliation.book_check import BookCheck, CheckTools
from tests.doubles import small_desk
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk

LOT = 100


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryDesk:
    in_lots = replace(small_desk.INSTRUMENTS["SPXN"], lot=LOT)
    monkeypatch.setitem(small_desk.INSTRUMENTS, "SPXN", in_lots)
    return memory_desk(tmp_path)


def filled(desk: MemoryDesk, order: Standing, units: int, total: int, **said: str) -> None:
    """Report a fill of so many units, after which the broker's total is `total`."""
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, **{"t32": str(units), "t14": str(total), "t151": "900"} | said))


def asked(desk: MemoryDesk, one: dict[str, Any], **terms: Any) -> ResolveRequest:  # noqa: ANN401
    """Return a request that both officers signed."""
    own = desk.small.desk.own
    given = {"right": "book", "reason": "50 are in the odd-lot account", "evidence": "a call"}
    request = ResolveRequest.model_validate(given | terms)
    text = resolution_statement(str(listed(own)["log_id"]), one["seq"], one["leaf"], request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    return request.model_copy(update={"signatures": signatures})


def told(desk: MemoryDesk) -> dict[str, Any]:
    (one,) = listed(desk.small.desk.own)["open"]
    found: dict[str, Any] = one
    return found


def starts_again(desk: MemoryDesk) -> int:
    """Hold the book against all of the broker's messages, as every start does."""
    own = desk.small.desk.own
    tools = CheckTools(
        ledger=own.tools.ledger,
        reader=own.reader,
        orders=own.orders,
        books=own.section,
        session=desk.small.settling.session,
        instruments=own.instruments,
        pause=lambda _: None,
    )
    return BookCheck(tools).run("reconciliation")


@pytest.mark.parametrize(("units", "lots"), [(50, 0), (150, 1)])
def test_units_beyond_whole_lots_are_told_and_only_both_officers_close_them(
    desk: MemoryDesk, units: int, lots: int
) -> None:
    order = desk.rest()
    filled(desk, order, units, units)
    one = told(desk)
    sides = {"reason": "UNBOOKABLE", "book_lots": 0, "broker_lots": lots, "odd_units": 50}
    assert one.items() >= (sides | {"lots": None}).items()
    assert "no whole lots of 100" in one["detail"]
    own = desk.small.desk.own
    for given in ({"lots": 0}, {"lots": lots, "price": "269.00"}):
        with pytest.raises(ResolutionRefusedError, match="50 units, which cannot be booked"):
            resolve(own, "otto", one["seq"], asked(desk, one, right="broker", **given))
    alone = asked(desk, one).model_copy(update={"signatures": {}})
    with pytest.raises(ResolutionRefusedError, match="both roles"):
        resolve(own, "otto", one["seq"], alone)
    starts_again(desk)
    assert told(desk)["odd_units"] == 50
    one = told(desk)
    resolve(own, "otto", one["seq"], asked(desk, one))
    assert listed(own)["open"] == []
    filled(desk, order, LOT, units + LOT)
    for _ in range(3):
        assert (starts_again(desk), listed(own)["open"]) == (0, [])
    filled(desk, order, 0, units + LOT, t150="4", t39="4", t151="0")
    assert (desk.lots(), listed(own)["open"], desk.reserved()) == (1, [], 0)
    assert desk.standing(order.decision_id).stage is Stage.SEALED


def test_another_difference_of_the_order_does_not_close_them(desk: MemoryDesk) -> None:
    order = desk.rest()
    filled(desk, order, LOT, LOT, t12="1.00", t13="4")
    fee = told(desk)
    filled(desk, order, 50, LOT + 50)
    own = desk.small.desk.own
    with pytest.raises(ResolutionRefusedError, match="resolve the newest"):
        resolve(own, "otto", fee["seq"], asked(desk, fee))
    assert {one["reason"] for one in listed(own)["open"]} == {"FEE_OPEN", "UNBOOKABLE"}


def test_more_units_after_a_resolution_are_told_again(desk: MemoryDesk) -> None:
    order = desk.rest()
    filled(desk, order, 50, 50)
    one = told(desk)
    resolve(desk.small.desk.own, "otto", one["seq"], asked(desk, one))
    filled(desk, order, 0, 80, t150="I", t17="0")
    assert told(desk).items() >= {"reason": "CUM_QTY", "odd_units": 80}.items()


def test_two_odd_fills_that_make_a_lot_are_booked_as_one(desk: MemoryDesk) -> None:
    order = desk.rest()
    filled(desk, order, 50, 50)
    filled(desk, order, 50, 100)
    one = told(desk)
    assert (one["broker_lots"], one["odd_units"], one["lots"]) == (1, 0, 1)
    signed = asked(desk, one, right="broker", lots=1, price="269.00")
    resolve(desk.small.desk.own, "otto", one["seq"], signed)
    assert (desk.lots(), listed(desk.small.desk.own)["open"]) == (1, [])


@pytest.mark.parametrize("price", ["95.855", "268.5250"])
def test_a_price_between_ticks_says_the_order_the_price_and_what_to_do(
    desk: MemoryDesk, price: str
) -> None:
    order = desk.rest()
    filled(desk, order, LOT, LOT, t31=price)
    one = told(desk)
    assert one["cl_ord_id"] == order.cl_ord_id
    for word in ("tag 31", price, "ticks of 0.01", "midpoint", "operate.md"):
        assert word in one["detail"]
    signed = asked(desk, one, right="broker", lots=1, price=price)
    with pytest.raises(ResolutionRefusedError, match="between ticks"):
        resolve(desk.small.desk.own, "otto", one["seq"], signed)


@pytest.mark.parametrize("right", ["book", "broker"])
def test_a_price_that_books_nothing_is_refused(desk: MemoryDesk, right: str) -> None:
    filled(desk, desk.rest(), LOT, LOT, t31="999.00")
    one = told(desk)
    assert (one["reason"], one["lots"]) == ("PRICE_BEYOND_LIMIT", 0)
    signed = asked(desk, one, right=right, price="268.00")
    with pytest.raises(ResolutionRefusedError, match="adjust give_up"):
        resolve(desk.small.desk.own, "otto", one["seq"], signed)
    assert told(desk)["seq"] == one["seq"]


def test_a_trade_without_any_clordid_is_an_unknown_order_of_its_instrument(
    desk: MemoryDesk,
) -> None:
    """It was put down as a stranger's, and its alarm ended by itself."""
    said = {"t32": str(LOT), "t14": str(LOT), "t38": "123400"}
    desk.settled(desk.report(desk.rest(), t11="", t37="NOBODYS", **said))
    one = told(desk)
    assert (one["reason"], one["instrument"]) == ("UNKNOWN_ORDER", "SPXN")
    assert desk.log.of_kind(Kind.FOREIGN_REPORTED) == []
    assert desk.small.desk.own.section.differences.blocks("SPXN")
    starts_again(desk)
    given = {"account": AGENT_ACCOUNT, "side": "BUY", "lots": 1, "price": "269.00"}
    signed = asked(desk, told(desk), right="broker", **given)
    resolve(desk.small.desk.own, "otto", told(desk)["seq"], signed)
    for _ in range(3):
        assert (starts_again(desk), desk.lots()) == (0, 1)
