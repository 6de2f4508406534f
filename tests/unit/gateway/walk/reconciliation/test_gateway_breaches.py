"""A trade that breaks its order is booked, and its instrument waits until a person has looked."""

import pytest

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.desk.officers.resolution import listed, resolve
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import terms_of
from risk.intent import Side
from tests.doubles.memory_desk import AGENT, MemoryDesk


def quantity(order: Standing) -> int:
    assert order.verdict is not None
    return int(order.verdict.body["intent"]["qty_lots"])


def told(desk: MemoryDesk) -> list[tuple[object, ...]]:
    names = ("reason", "cl_ord_id", "book_lots", "broker_lots")
    return [tuple(r.body[name] for name in names) for r in desk.log.of_kind(Kind.BOOK_DIFFERENCE)]


def close_all(desk: MemoryDesk) -> None:
    """Close what is open: somebody has looked, and nothing changes."""
    own = desk.small.desk.own
    request = ResolveRequest.model_validate({"right": "book", "reason": "r", "evidence": "e"})
    while found := listed(own)["open"]:
        assert found[0]["lots"] == 0
        assert resolve(own, "otto", found[0]["seq"], request)["adjustment"] is None


@pytest.mark.parametrize(
    ("beyond_limit", "beyond_quantity", "reasons"),
    [
        (True, False, ["PRICE_BEYOND_LIMIT"]),
        (False, True, ["OVERFILLED"]),
        (True, True, ["OVERFILLED", "PRICE_BEYOND_LIMIT"]),
        (False, False, []),
    ],
)
def test_a_trade_that_breaks_its_order_shuts_the_instrument_until_a_person_has_looked(
    desk: MemoryDesk, *, beyond_limit: bool, beyond_quantity: bool, reasons: list[str]
) -> None:
    order = desk.rest()
    lots = quantity(order) + 1 if beyond_quantity else 1
    price = {"t31": "999.00"} if beyond_limit else {}
    desk.settled(desk.report(order, t32=str(lots), t14=str(lots), **price))
    assert sorted(told(desk)) == [(name, order.cl_ord_id, lots, lots) for name in reasons]
    assert desk.lots() == lots
    differences = desk.small.desk.own.section.differences
    assert differences.blocks("SPXN") is bool(reasons)
    assert (differences.state == "ready") is not bool(reasons)
    close_all(desk)
    assert differences.state == "ready"
    assert desk.lots() == lots


def test_a_later_trade_within_the_order_is_no_second_alarm(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t31="999.00"))
    desk.settled(desk.report(desk.standing(order.decision_id)))
    assert [row[0] for row in told(desk)] == ["PRICE_BEYOND_LIMIT"]


def test_a_broken_order_whose_total_differs_too_says_both(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t31="999.00", t14="7"))
    assert told(desk) == [
        ("CUM_QTY", order.cl_ord_id, 1, 7),
        ("PRICE_BEYOND_LIMIT", order.cl_ord_id, 1, 7),
    ]


def test_each_trade_beyond_the_quantity_is_told(desk: MemoryDesk) -> None:
    order = desk.rest()
    lots = quantity(order) + 1
    desk.settled(desk.report(order, t32=str(lots), t14=str(lots)))
    close_all(desk)
    desk.settled(desk.report(desk.standing(order.decision_id)))
    assert told(desk)[-1] == ("OVERFILLED", order.cl_ord_id, lots + 1, lots + 1)


def replacing(desk: MemoryDesk, side: Side, ticks: int) -> Standing:
    """Return a working order whose replace by so many ticks is not answered yet."""
    order = desk.rest(50)
    if side is Side.SELL:
        lots = terms_of(order).quantity
        desk.settled(desk.report(order, t39="2", t32=lots, t14=lots, t151="0"))
        order = desk.standing(desk.ask(50, exposure_bp=0).decision_id)
    total = terms_of(order).quantity
    quiet = {"t32": "0", "t31": "0", "t14": "0"}
    desk.settled(desk.report(order, t150="0", t39="0", t151=total, **quiet))
    request = ReplaceRequest(client_key="r", limit_price=price(order, ticks))
    desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request)
    return desk.standing(order.decision_id)


def price(order: Standing, ticks: int) -> str:
    return f"{float(terms_of(order).price) + ticks / 100:.2f}"


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("ticks", [-3, 3])
@pytest.mark.parametrize("traded", [-4, -3, 0, 3, 4])
def test_while_a_replace_is_open_a_trade_under_either_terms_breaks_nothing(
    desk: MemoryDesk, side: Side, ticks: int, traded: int
) -> None:
    """A purchase may cost the higher of both limits, a sale may bring the lower; no tick worse."""
    order = replacing(desk, side, ticks)
    assert order.open_replace is not None
    desk.settled(desk.report(order, t31=price(order, traded)))
    worst = max(ticks, 0) if side is Side.BUY else -min(ticks, 0)
    breaks = side.sign * traded > worst
    assert [row[0] for row in told(desk)] == ["PRICE_BEYOND_LIMIT"] * breaks
