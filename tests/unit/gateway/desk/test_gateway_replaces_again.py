"""A replace that comes after another one: the order keeps the name that the broker last gave it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fix.session.link import HandResult
from gateway.desk.bodies.order_requests import CancelRequest, ReplaceRequest
from gateway.errors import NotReplaceableError
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import fields_of, terms_of
from gateway.walk.projections.outbox import Orders
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, MemoryDesk

QUIET = {"t32": "0", "t31": "0", "t14": "0"}


def ask(desk: MemoryDesk, order: Standing, key: str, fewer: int) -> str:
    request = ReplaceRequest(client_key=key, qty_lots=terms_of(order).qty_lots - fewer)
    return desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request).replace.replace_id


def confirm(desk: MemoryDesk, order: Standing) -> None:
    now = desk.standing(order.decision_id)
    asked = now.replaces[-1]
    fields = {"t11": asked.replace_id, "t41": asked.orig_name, "t38": asked.terms.quantity}
    fields |= {"t150": "5", "t39": "0", "t151": asked.terms.quantity}
    desk.settled(desk.report(now, **(QUIET | fields)))


def working(desk: MemoryDesk) -> Standing:
    order = desk.rest(50)
    desk.settled(desk.report(order, **QUIET, t150="0", t39="0", t151=terms_of(order).quantity))
    return desk.standing(order.decision_id)


def replaced_once(desk: MemoryDesk) -> Standing:
    """Return an order that works under the terms and the name of its first replace."""
    order = working(desk)
    ask(desk, order, "r-1", 5)
    confirm(desk, order)
    return desk.standing(order.decision_id)


def rejected(desk: MemoryDesk, order: Standing) -> None:
    ask(desk, order, "r-2", 5)
    asked = desk.standing(order.decision_id).replaces[-1]
    head = {49: "EMSSIM", 56: "COUNTERSIGN", 34: "900", 52: "20180102-15:00:00", 37: "X1"}
    said = {11: asked.replace_id, 41: asked.orig_name, 39: "0", 434: "2", 102: "3"}
    desk.settled(framed("9", tuple((head | said).items())))


def never_received(desk: MemoryDesk, order: Standing) -> None:
    name = ask(desk, order, "r-2", 5)
    unknown = {"t150": "I", "t39": "8", "t103": "5", "t151": "0", "t17": "0", "t11": name}
    desk.settled(desk.report(desk.standing(order.decision_id), **(QUIET | unknown)))


def not_sent(desk: MemoryDesk, order: Standing) -> None:
    desk.small.broker.hand_answer = HandResult(outcome="refused", reason="THROTTLED")
    ask(desk, order, "r-2", 5)


@pytest.mark.parametrize("ends", [rejected, never_received, not_sent])
def test_an_order_keeps_its_last_name_when_a_second_replace_comes_to_nothing(
    desk: MemoryDesk, ends: Callable[[MemoryDesk, Standing], None]
) -> None:
    """What is asked next must name the order as the broker knows it, not as it began."""
    order = replaced_once(desk)
    first, terms = order.replaces[0].replace_id, terms_of(order)
    ends(desk, order)
    now = desk.standing(order.decision_id)
    assert (len(now.replaces), now.open_replace, now.is_live) == (2, None, True)
    assert (now.wire_name, terms_of(now)) == (first, terms)
    assert dict(fields_of(now))[11] == first
    folded = Orders()
    folded.fold(desk.log.records())
    assert folded.get(order.decision_id) == now, "a restart knows the same"
    desk.small.broker.hand_answer = None
    third = ask(desk, now, "r-3", 6)
    sent = desk.small.broker.orders[-1][1]
    assert (sent[11], sent[41]) == (third, first)
    confirm(desk, now)
    desk.small.desk.order_desk.cancel(AGENT, order.cl_ord_id, CancelRequest(client_key="c"))
    assert desk.small.broker.cancelled[-1][0] == third


@pytest.mark.parametrize("more", [5, -5], ids=["raises", "reduces"])
def test_a_mode_without_replaces_has_none_that_reduces_either(desk: MemoryDesk, more: int) -> None:
    order = working(desk)
    own = desk.small.desk.own
    object.__setattr__(own.dispatching, "no_replace", "not in this mode")
    with pytest.raises(NotReplaceableError, match="not in this mode"):
        ask(desk, order, "r-1", -more)
    assert not desk.standing(order.decision_id).replaces


@pytest.mark.parametrize(("step", "lots", "may"), [(7, 42, True), (7, 44, False), (7, 6, False)])
def test_a_quantity_between_two_tradable_ones_is_no_replace(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, step: int, lots: int, *, may: bool
) -> None:
    """No rule judges a replace that only reduces: the step is looked at before."""
    order = working(desk)
    instruments = desk.small.desk.own.instruments
    monkeypatch.setitem(instruments, "SPXN", replace(instruments["SPXN"], min_qty=step))
    fewer = terms_of(order).qty_lots - lots
    assert fewer > 0
    if may:
        assert ask(desk, order, "r-1", fewer)
        return
    with pytest.raises(NotReplaceableError, match=f"no multiple of {step} lots"):
        ask(desk, order, "r-1", fewer)
