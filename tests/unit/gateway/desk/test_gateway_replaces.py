"""The replace of one order: judged and reserved before it leaves, and told as it went."""

from dataclasses import replace
from typing import Any

import pytest

from audit.records.kinds import Kind
from fix.session.link import HandResult
from gateway.desk.bodies.order_requests import CancelRequest, ReplaceRequest, ReplaceResponse
from gateway.desk.officers.stops import begin_stop
from gateway.errors import NotReplaceableError, UnknownOrderError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import terms_of
from gateway.walk.projections.outbox import Orders
from risk.state.state import Stop
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk

OPERATOR = Caller(name="operator", role=Role.OPERATOR)
STRANGER = Caller(name="another", role=Role.AGENT)


def working(desk: MemoryDesk, lots: int = 50) -> Standing:
    """Return an order that the broker has acknowledged."""
    order = desk.rest(lots)
    desk.settled(desk.report(order, **QUIET, t150="0", t39="0", t14="0", t151=total(order)))
    return desk.standing(order.decision_id)


QUIET = {"t32": "0", "t31": "0"}


def total(order: Standing) -> str:
    return terms_of(order).quantity


def price(order: Standing, ticks: int = 0) -> str:
    """Return the order's limit, so many ticks of a cent higher."""
    return f"{float(terms_of(order).price) + ticks / 100:.2f}"


def ask(
    desk: MemoryDesk, order: Standing, key: str = "r-1", by: Caller = AGENT, **wanted: str | int
) -> ReplaceResponse:
    request = ReplaceRequest.model_validate({"client_key": key, "reason": "tested", **wanted})
    return desk.small.desk.order_desk.replace(by, order.cl_ord_id, request)


def now(desk: MemoryDesk, order: Standing) -> Standing:
    return desk.standing(order.decision_id)


def left(desk: MemoryDesk) -> list[dict[int, str]]:
    return [fields for _, fields in desk.small.broker.orders if fields[35] == "G"]


def replaced(desk: MemoryDesk, order: Standing, **changes: str) -> str:
    """The broker's report that it works the newest terms that were asked for."""
    asked = now(desk, order).replaces[-1]
    done = now(desk, order).filled_lots
    lot = int(asked.terms.quantity) // asked.terms.qty_lots
    rest = int(asked.terms.quantity) - done * lot
    fields = {"t150": "5", "t39": "1" if done else "0", "t14": str(done * lot), "t151": str(rest)}
    fields |= {"t11": asked.replace_id, "t41": asked.orig_name, "t38": asked.terms.quantity}
    return desk.report(now(desk, order), **(QUIET | fields | changes))


def reject(desk: MemoryDesk, order: Standing, **changes: str) -> str:
    desk.messages += 1
    asked = now(desk, order).replaces[-1]
    fields = {49: "EMSSIM", 56: "COUNTERSIGN", 34: str(desk.messages), 52: "20180102-15:00:00"}
    fields |= {37: "X1", 11: asked.replace_id, 41: asked.orig_name, 39: "0", 434: "2", 102: "3"}
    fields |= {int(name[1:]): text for name, text in changes.items()}
    return framed("9", tuple(fields.items()))


def outcomes(desk: MemoryDesk, order: Standing) -> list[str]:
    return [one.outcome for one in now(desk, order).replaces]


def replays(desk: MemoryDesk, order: Standing) -> list[str]:
    lines = replay(desk.small.reader, desk.small.table, order.decision_id).lines
    return [line.split()[0] for line in lines]


def test_a_reducing_replace_is_recorded_leaves_and_is_confirmed(desk: MemoryDesk) -> None:
    order = working(desk)
    before, fewer = terms_of(order), terms_of(order).qty_lots - 20
    done = ask(desk, order, qty_lots=fewer)
    assert (done.result, done.order.qty_lots) == ("sent", before.qty_lots)
    assert desk.reserved() == before.qty_lots, "the larger of both until the broker answers"
    (sent,) = left(desk)
    assert (sent[41], sent[11]) == (order.cl_ord_id, done.replace.replace_id)
    assert int(sent[38]) * before.qty_lots == int(before.quantity) * fewer
    assert order.sending is not None
    announced = {int(tag): text for tag, text in order.sending.body["fields"]}
    same = set(announced) - {11, 35, 38, 60}
    assert {tag: sent[tag] for tag in same} == {tag: announced[tag] for tag in same}
    desk.settled(replaced(desk, order))
    assert desk.reserved() == fewer
    after = ask(desk, order, qty_lots=fewer)
    assert (after.result, after.order.qty_lots, len(left(desk))) == ("replaced", fewer, 1)
    assert after.order.cl_ord_id == order.cl_ord_id, "its name here stays"
    assert now(desk, order).wire_name == done.replace.replace_id
    assert replays(desk, order)[-5:] == [
        "order_reported",
        "replace_requested",
        "replace_sent",
        "order_reported",
        "replace_ended",
    ]


def test_a_raising_replace_is_judged_and_reserves_more_before_it_leaves(desk: MemoryDesk) -> None:
    order = working(desk)
    before, more = terms_of(order), terms_of(order).qty_lots + 10
    seen: list[int] = []

    class Looking(type(desk.small.broker)):  # type: ignore[misc]
        def hand(self, *words: Any) -> HandResult:  # noqa: ANN401
            seen.append(desk.reserved())
            return super().hand(*words)  # type: ignore[no-any-return]

    desk.small.broker.__class__ = Looking
    assert ask(desk, order, qty_lots=more, limit_price=price(order, 5)).result == "sent"
    assert seen == [more]
    desk.settled(replaced(desk, order))
    held = desk.small.desk.own.section.book(AGENT_ACCOUNT).reservation(order.decision_id)
    assert held is not None
    assert (held.open_lots, held.limit_ticks) == (more, before.limit_ticks + 5)
    replays(desk, order)


def test_the_rules_refuse_what_they_would_refuse_of_a_new_order(desk: MemoryDesk) -> None:
    order = working(desk)
    with pytest.raises(NotReplaceableError, match="the rules say REJECT"):
        ask(desk, order, qty_lots=5_000_000)
    with pytest.raises(NotReplaceableError, match="R05"):
        ask(desk, order, limit_price=price(order, 100_000))
    assert (left(desk), now(desk, order).replaces) == ([], ())
    assert desk.reserved() == terms_of(order).qty_lots


@pytest.mark.parametrize("stop", [Stop.PAUSE, Stop.REDUCE_ONLY])
def test_a_stop_refuses_what_raises_and_lets_reductions_pass(desk: MemoryDesk, stop: Stop) -> None:
    order = working(desk)
    begin_stop(desk.small.desk.own, "operator", stop, "tested")
    with pytest.raises(NotReplaceableError, match="the rules say"):
        ask(desk, order, qty_lots=terms_of(order).qty_lots + 1)
    assert ask(desk, order, qty_lots=terms_of(order).qty_lots - 1).result == "sent"


def test_a_kill_refuses_every_replace(desk: MemoryDesk) -> None:
    order = working(desk)
    desk.small.desk.kill_switch.press(actor="ops", reason="now")
    with pytest.raises(NotReplaceableError, match="a kill is in force"):
        ask(desk, order, qty_lots=terms_of(order).qty_lots - 1)


def test_who_may_ask_and_what_is_no_request(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    with pytest.raises(UnknownOrderError):
        ask(desk, order, by=STRANGER, qty_lots=lots - 1)
    for wanted, why in (
        ({"qty_lots": lots}, "has these terms already"),
        ({"limit_price": price(order)}, "has these terms already"),
        ({"limit_price": "0.00001"}, "multiple of the tick"),
    ):
        with pytest.raises(NotReplaceableError, match=why):
            ask(desk, order, **wanted)
    desk.settled(desk.report(now(desk, order), t151=str(int(total(order)) - 1)))
    with pytest.raises(NotReplaceableError, match="1 lots are executed"):
        ask(desk, order, qty_lots=1)
    fresh = desk.rest(40)
    with pytest.raises(NotReplaceableError, match="it is SENT"):
        ask(desk, fresh, qty_lots=1)
    assert ask(desk, order, by=OPERATOR, qty_lots=lots - 1).replace.requested_by == "operator"
    with pytest.raises(NotReplaceableError, match="not answered yet"):
        ask(desk, order, key="r-2", qty_lots=lots - 2)


def test_a_broker_without_replace_gets_none(desk: MemoryDesk) -> None:
    order = working(desk)
    own = desk.small.desk.own
    can = own.dispatching.profile.capabilities.model_copy(update={"replace": False})
    profile = own.dispatching.profile.model_copy(update={"capabilities": can})
    own = replace(own, dispatching=replace(own.dispatching, profile=profile))
    other = type(desk.small.desk)(own=own)
    request = ReplaceRequest(client_key="r-1", qty_lots=1)
    with pytest.raises(NotReplaceableError, match="the broker's profile has no replace"):
        other.order_desk.replace(AGENT, order.cl_ord_id, request)


@pytest.mark.parametrize(
    ("changes", "outcome", "state"),
    [
        ({}, "rejected", "NEW"),
        ({"t39": "E"}, "rejected", "PENDING_REPLACE"),
        ({"t102": "0", "t39": "0"}, "rejected", "NEW"),
        ({"t39": "2"}, "too_late", "NEW"),
    ],
)
def test_a_refused_replace_leaves_the_order_as_it_was(
    desk: MemoryDesk, changes: dict[str, str], outcome: str, state: str
) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    asked = ask(desk, order, qty_lots=lots + 9)
    pending = {"t150": "E", "t39": "E", "t11": asked.replace.replace_id, "t41": order.cl_ord_id}
    if outcome == "rejected":
        desk.settled(desk.report(order, **QUIET, **pending, t14="0", t151=str(lots)))
        assert now(desk, order).order_state == "PENDING_REPLACE"
    assert desk.reserved() == lots + 9
    desk.settled(reject(desk, order, **changes))
    assert (outcomes(desk, order), now(desk, order).order_state) == ([outcome], state)
    assert (desk.reserved(), terms_of(now(desk, order)).qty_lots) == (lots, lots)
    assert now(desk, order).wire_name == order.cl_ord_id
    replays(desk, order)


def test_a_fill_arrives_before_the_replace_and_more_after_it(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    ask(desk, order, qty_lots=lots - 10)
    desk.settled(desk.report(now(desk, order), t32="4", t14="4", t151=str(lots - 4)))
    assert (now(desk, order).filled_lots, desk.reserved()) == (4, lots - 4)
    desk.settled(replaced(desk, order))
    assert desk.reserved() == lots - 14
    rest = str(lots - 14)
    name = now(desk, order).wire_name
    records = desk.settled(
        desk.report(
            now(desk, order),
            t11=name,
            t32=rest,
            t14=str(lots - 10),
            t151="0",
            t39="2",
            t38=str(lots - 10),
        )
    )
    assert Kind.DECISION_SEALED in [one.kind for one in records]
    assert not [one for one in records if one.kind in {Kind.BOOK_DIFFERENCE, Kind.FIX_ANOMALY}]
    assert (desk.lots(), desk.reserved()) == (lots - 10, 0)
    assert desk.outcome(order.decision_id) == "filled"
    replays(desk, order)


def test_a_fill_of_everything_makes_a_replace_too_late_and_a_raised_one_works_again(
    desk: MemoryDesk,
) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    ask(desk, order, qty_lots=lots + 6)
    desk.settled(desk.report(order, t32=str(lots), t14=str(lots), t151="0", t39="2"))
    assert (outcomes(desk, order), desk.reserved()) == (["too_late"], 0)
    assert desk.outcome(order.decision_id) == "filled"
    desk.settled(replaced(desk, order, t39="1"))  # the broker carried it out after all
    assert outcomes(desk, order) == ["replaced"]
    assert now(desk, order).is_live
    assert desk.reserved() == 6
    replays(desk, order)


def test_a_bust_of_a_replaced_order_still_books(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    desk.settled(desk.report(now(desk, order), t17="F1", t32="5", t14="5", t151=str(lots - 5)))
    ask(desk, order, qty_lots=lots - 10)
    desk.settled(replaced(desk, order))
    name = now(desk, order).wire_name
    bust = {"t150": "H", "t19": "F1", "t11": name, "t14": "0", "t39": "0"}
    records = desk.settled(
        desk.report(now(desk, order), **QUIET, **bust, t151=str(lots - 10), t38=str(lots - 10))
    )
    assert not [one for one in records if one.kind in {Kind.BOOK_DIFFERENCE, Kind.FIX_ANOMALY}]
    assert (desk.lots(), desk.reserved()) == (0, lots - 10)
    replays(desk, order)


def test_a_cancel_crosses_a_replace(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    ask(desk, order, qty_lots=lots - 1)
    done = desk.small.desk.order_desk.cancel(AGENT, order.cl_ord_id, CancelRequest(client_key="c"))
    assert desk.small.broker.cancelled[-1][0] == order.cl_ord_id
    desk.settled(replaced(desk, order))
    gone = {"t150": "4", "t39": "4", "t14": "0", "t151": "0", "t41": order.cl_ord_id}
    desk.settled(desk.report(order, **QUIET, **gone, t11=done.cancel.cancel_id))
    assert (now(desk, order).order_state, outcomes(desk, order)) == ("CANCELED", ["replaced"])
    assert (desk.reserved(), desk.outcome(order.decision_id)) == (0, "cancelled")
    replays(desk, order)


def test_a_later_cancel_names_the_order_as_the_broker_knows_it(desk: MemoryDesk) -> None:
    order = working(desk)
    ask(desk, order, qty_lots=terms_of(order).qty_lots - 1)
    desk.settled(replaced(desk, order))
    desk.small.desk.order_desk.cancel(AGENT, order.cl_ord_id, CancelRequest(client_key="c"))
    assert desk.small.broker.cancelled[-1][0] == now(desk, order).replaces[0].replace_id


def test_an_unknown_replace_was_never_received_and_an_old_name_says_nothing(
    desk: MemoryDesk,
) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    asked = ask(desk, order, qty_lots=lots + 3)
    unknown = {"t150": "I", "t39": "8", "t103": "5", "t14": "0", "t151": "0", "t17": "0"}
    desk.settled(desk.report(order, **QUIET, **unknown))
    assert (now(desk, order).is_live, outcomes(desk, order), desk.reserved()) == (
        True,
        [""],
        lots + 3,
    )
    desk.settled(desk.report(order, **QUIET, **unknown, t11=asked.replace.replace_id))
    assert (outcomes(desk, order), desk.reserved()) == (["not_received"], lots)
    assert now(desk, order).is_live
    replays(desk, order)


def test_a_message_that_the_broker_refuses_ends_the_request(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    ask(desk, order, qty_lots=lots - 2)
    number = str(len(desk.small.broker.orders) + 1)
    head = ((49, "E"), (56, "C"), (34, "900"), (52, "20180102-15:00:00"))
    desk.settled(framed("3", (*head, (45, number), (373, "5"), (58, "no"))))
    assert (outcomes(desk, order), now(desk, order).order_state) == (["rejected"], "NEW")
    asked = ask(desk, order, key="r-2", qty_lots=lots - 2).replace.replace_id
    desk.settled(framed("j", (*head, (45, "1"), (372, "G"), (379, asked), (380, "3"))))
    assert outcomes(desk, order) == ["rejected", "rejected"]
    replays(desk, order)


def test_a_replace_that_the_child_refuses_is_told_as_not_sent(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    desk.small.broker.hand_answer = HandResult(outcome="refused", reason="THROTTLED")
    done = ask(desk, order, qty_lots=lots + 1)
    assert (done.result, done.reason) == ("not_sent", "THROTTLED")
    assert desk.reserved() == lots
    replays(desk, order)


def test_a_replace_that_nobody_answered_keeps_the_larger_reservation(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    desk.small.broker.hand_answer = HandResult(outcome="unknown", reason="no answer in 3 s")
    assert ask(desk, order, qty_lots=lots + 1).result == "requested"
    assert desk.reserved() == lots + 1
    orders = Orders()
    orders.fold(desk.log.records())
    assert orders.by_cl_ord_id(order.cl_ord_id) == now(desk, order)
    assert orders.by_cl_ord_id(now(desk, order).replaces[0].replace_id) == now(desk, order)


def test_a_broker_that_confirms_more_than_was_asked_keeps_it_reserved(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    ask(desk, order, qty_lots=lots - 10)
    records = desk.settled(replaced(desk, order, t38=total(order), t151=total(order)))
    reasons = [str(one.body["reason"]) for one in records if one.kind is Kind.FIX_ANOMALY]
    assert reasons == ["replaced_otherwise"]
    assert (desk.reserved(), terms_of(now(desk, order)).qty_lots) == (lots, lots)


def test_a_client_key_is_its_callers_own(desk: MemoryDesk) -> None:
    order = working(desk)
    lots = terms_of(order).qty_lots
    first = ask(desk, order, qty_lots=lots - 1)
    desk.settled(replaced(desk, order))
    other = ask(desk, order, by=OPERATOR, qty_lots=lots - 2)
    assert (other.result, other.replace.requested_by) == ("sent", "operator")
    assert len(left(desk)) == 2
    again = ask(desk, order, qty_lots=lots - 1)
    assert again.replace.replace_id == first.replace.replace_id
