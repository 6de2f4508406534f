"""What a replace asks is judged unless it only reduces, and the larger of both is reserved."""

from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.desk.controls.replacing import only_reduces
from gateway.desk.officers.stops import begin_stop
from gateway.errors import NotReplaceableError
from gateway.walk.journal.standing import Standing, Terms
from gateway.walk.projections.asked import terms_of
from gateway.walk.section import Section
from risk.intent import Side
from risk.state.state import Stop
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk

QUIET = {"t32": "0", "t31": "0"}


def working(desk: MemoryDesk, exposure_bp: int = 2_000) -> Standing:
    """Return an order that the broker has acknowledged."""
    order = desk.standing(desk.ask(50, exposure_bp=exposure_bp).decision_id)
    quantity = terms_of(order).quantity
    desk.settled(desk.report(order, **QUIET, t150="0", t39="0", t14="0", t151=quantity))
    return desk.standing(order.decision_id)


def ask(desk: MemoryDesk, order: Standing, lots: int, ticks: int) -> None:
    """Ask for so many lots, at a limit so many ticks of a cent higher."""
    price = f"{float(terms_of(order).price) + ticks / 100:.2f}"
    request = ReplaceRequest(client_key="r-1", qty_lots=lots, limit_price=price)
    desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request)


def _terms(lots: int, ticks: int) -> Terms:
    return Terms(name="", qty_lots=lots, limit_ticks=ticks, quantity="", price="")


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("lots", [-1, 0, 1])
@pytest.mark.parametrize("ticks", [-1, 0, 1])
def test_only_what_is_smaller_and_no_easier_to_trade_needs_no_verdict(
    side: Side, lots: int, ticks: int
) -> None:
    """A sale's limit lowered trades sooner, raised is worth more: both are judged."""
    reduces = only_reduces(side, _terms(10, 100), _terms(10 + lots, 100 + ticks))
    allowed = ticks <= 0 if side is Side.BUY else ticks == 0
    assert reduces == (lots <= 0 and allowed)


def test_a_sale_whose_limit_is_lowered_is_judged(desk: MemoryDesk) -> None:
    bought = desk.rest(50)
    total = terms_of(bought).quantity
    desk.settled(desk.report(bought, t39="2", t32=total, t14=total, t151="0"))
    order = working(desk, 0)
    ask(desk, order, terms_of(order).qty_lots, -1)
    (request,) = desk.log.of_kind(Kind.REPLACE_REQUESTED)
    assert request.body["judged"]["verdict"]["action"] in {"ALLOW", "WARN"}


def test_a_fill_between_the_look_and_the_verdict_leaves_the_order_as_it_is(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is judged is what may still execute when the request is on record."""
    order, real = working(desk), Section.judge_replace
    total = int(terms_of(order).quantity)

    def late(*asked: Any) -> Any:  # noqa: ANN401 - as the real one
        part = {"t32": "10", "t14": "10", "t151": str(total - 10), "t39": "1"}
        desk.settled(desk.report(order, **part))
        return real(*asked)

    monkeypatch.setattr(Section, "judge_replace", late)
    with pytest.raises(NotReplaceableError, match="executed further meanwhile"):
        ask(desk, order, terms_of(order).qty_lots + 5, 0)
    assert not desk.log.of_kind(Kind.REPLACE_REQUESTED)
    monkeypatch.undo()
    ask(desk, order, terms_of(order).qty_lots + 5, 0)
    (request,) = desk.log.of_kind(Kind.REPLACE_REQUESTED)
    assert request.body["judged"]["intent"]["qty_lots"] == terms_of(order).qty_lots + 5 - 10


@pytest.mark.parametrize("ticks", [-3, 0, 3])
@pytest.mark.parametrize("more", [-10, 0, 10])
def test_the_larger_quantity_at_the_higher_limit_is_reserved(
    desk: MemoryDesk, more: int, ticks: int
) -> None:
    if not more and not ticks:
        return  # nothing is asked for
    order = working(desk)
    before = terms_of(order)
    ask(desk, order, before.qty_lots + more, ticks)
    (request,) = desk.log.of_kind(Kind.REPLACE_REQUESTED)
    most = (before.qty_lots + max(more, 0), before.limit_ticks + max(ticks, 0))
    held = request.body["reservation"]
    assert (held["qty_lots"], held["limit_ticks"]) == most
    book = desk.small.desk.own.section.book(AGENT_ACCOUNT).reservation(order.decision_id)
    assert book is not None
    assert (book.open_lots, book.limit_ticks) == most


def test_a_replace_passes_the_stops_that_its_own_verdict_was_given_under(desk: MemoryDesk) -> None:
    """The order was judged before the stop; a sale that closes is allowed under it."""
    bought = desk.rest(50)
    total = terms_of(bought).quantity
    desk.settled(desk.report(bought, t39="2", t32=total, t14=total, t151="0"))
    order = working(desk, 0)
    begin_stop(desk.small.desk.own, "operator", Stop.REDUCE_ONLY, "tested")
    ask(desk, order, terms_of(order).qty_lots, -1)
    (request,) = desk.log.of_kind(Kind.REPLACE_REQUESTED)
    assert request.body["judged"]["state"]["stops"] == [Stop.REDUCE_ONLY.value]
    assert desk.log.of_kind(Kind.REPLACE_SENT)
