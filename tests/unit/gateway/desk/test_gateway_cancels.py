"""The cancel of one order: on record before it leaves, asked once, and told as it went."""

from dataclasses import replace
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.session.link import HandResult, SessionState
from fix.wire.identity import cl_ord_id
from gateway.desk.bodies.order_requests import CancelRequest, CancelResponse
from gateway.desk.controls.orders import PacedCancels
from gateway.errors import NotCancellableError, UnknownOrderError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.outbox import Orders
from gateway.walk.reconciliation.asking import Budget, Chaser
from gateway.walk.reconciliation.recovery import end_unsent_cancels
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT, MemoryDesk

OPERATOR = Caller(name="operator", role=Role.OPERATOR)
STRANGER = Caller(name="another", role=Role.AGENT)
AUDITOR = Caller(name="auditor", role=Role.AUDITOR)


def cancel(
    desk: MemoryDesk, order: Standing, key: str = "c-1", by: Caller = AGENT, reason: str = ""
) -> CancelResponse:
    request = CancelRequest(client_key=key, reason=reason)
    return desk.small.desk.order_desk.cancel(by, order.cl_ord_id, request)


def now(desk: MemoryDesk, order: Standing) -> Standing:
    return desk.standing(order.decision_id)


def sent(desk: MemoryDesk) -> list[tuple[str, str]]:
    return desk.small.broker.cancelled


def requests(desk: MemoryDesk, order: Standing) -> list[Record]:
    stream = f"decision/{order.decision_id}"
    return list(desk.log.records(stream=stream, kinds=(Kind.CANCEL_REQUESTED,)))


def ended(desk: MemoryDesk, order: Standing) -> list[dict[str, Any]]:
    stream = f"decision/{order.decision_id}"
    return [dict(r.body) for r in desk.log.records(stream=stream, kinds=(Kind.CANCEL_ENDED,))]


def reject(desk: MemoryDesk, order: Standing, **changes: str) -> str:
    """An OrderCancelReject of the order's first cancel."""
    desk.messages += 1
    fields = {49: "EMSSIM", 56: "COUNTERSIGN", 34: str(desk.messages), 52: "20180102-15:00:00"}
    fields |= {37: "X1", 11: now(desk, order).cancels[0].cancel_id, 41: order.cl_ord_id}
    fields |= {39: "0", 434: "1", 102: "3", 58: "not now"}
    fields |= {int(name[1:]): text for name, text in changes.items()}
    return framed("9", tuple(fields.items()))


def gone(desk: MemoryDesk, order: Standing, **changes: str) -> str:
    """The broker's report that the order is cancelled."""
    fields = {"t150": "4", "t39": "4", "t32": "0", "t31": "0", "t151": "0"}
    done = str(now(desk, order).filled_lots)
    return desk.report(now(desk, order), **(fields | {"t14": done} | changes))


def replays(desk: MemoryDesk, order: Standing) -> list[str]:
    """Replay the decision; it raises where a step differs."""
    table = desk.small.table
    return [line.split()[0] for line in replay(desk.small.reader, table, order.decision_id).lines]


def test_the_request_is_on_record_before_the_cancel_leaves(desk: MemoryDesk) -> None:
    order = desk.rest()
    seen: list[list[Kind]] = []

    class Looking(type(desk.small.broker)):  # type: ignore[misc]
        def cancel_order(self, order_fields: Any, cancel_id: str) -> HandResult:  # noqa: ANN401
            seen.append(desk.kinds(order.decision_id))
            assert cancel_id == cl_ord_id(requests(desk, order)[0].leaf)
            assert dict(order_fields)[11] == order.cl_ord_id
            return HandResult(outcome="sent")

    desk.small.broker.__class__ = Looking
    assert cancel(desk, order, reason="changed my mind").result == "requested"
    assert [kinds[-1] for kinds in seen] == [Kind.CANCEL_REQUESTED]
    (asked,) = requests(desk, order)
    assert (asked.actor, asked.body["reason"]) == ("agent:agent", "changed my mind")


def test_the_same_key_asks_once(desk: MemoryDesk) -> None:
    order = desk.rest()
    first, second = cancel(desk, order), cancel(desk, order)
    assert first.cancel == second.cancel
    assert len(sent(desk)) == len(requests(desk, order)) == 1
    assert cancel(desk, order, key="c-2").cancel.cancel_id != first.cancel.cancel_id
    assert cancel(desk, order, by=OPERATOR).cancel.requested_by == "operator"
    assert len(sent(desk)) == 3


def test_an_agent_cancels_its_own_orders_only(desk: MemoryDesk) -> None:
    order = desk.rest()
    with pytest.raises(UnknownOrderError):
        cancel(desk, order, by=STRANGER)
    with pytest.raises(UnknownOrderError):
        desk.small.desk.order_desk.cancel(AGENT, "NOSUCHORDER", CancelRequest(client_key="c"))
    assert (sent(desk), requests(desk, order)) == ([], [])


def test_a_decision_names_its_order(desk: MemoryDesk) -> None:
    order = desk.rest()
    request = CancelRequest(client_key="c-1")
    done = desk.small.desk.order_desk.cancel(OPERATOR, order.decision_id, request)
    assert done.order.cl_ord_id == order.cl_ord_id


def test_a_decision_without_an_order_has_nothing_to_cancel(desk: MemoryDesk) -> None:
    held = desk.hold()
    with pytest.raises(NotCancellableError, match="no order at the broker: it is held"):
        desk.small.desk.order_desk.cancel(AGENT, held, CancelRequest(client_key="c"))


def test_the_broker_confirms_and_the_decision_is_sealed(desk: MemoryDesk) -> None:
    order = desk.rest()
    done = cancel(desk, order)
    raw = gone(desk, order, t11=done.cancel.cancel_id, t41=order.cl_ord_id)
    kinds = [one.kind for one in desk.settled(raw)]
    assert kinds == [
        Kind.FIX_INBOUND,
        Kind.ORDER_REPORTED,
        Kind.CANCEL_ENDED,
        Kind.DECISION_SEALED,
    ]
    again = cancel(desk, order)
    assert (again.result, again.order.state, again.order.live) == ("confirmed", "CANCELED", False)
    assert (desk.reserved(), desk.outcome(order.decision_id)) == (0, "cancelled")
    assert replays(desk, order)[-4:] == [
        "cancel_requested",
        "order_reported",
        "cancel_ended",
        "decision_sealed",
    ]
    with pytest.raises(NotCancellableError, match=r"nothing of order .* is left: it is CANCELED"):
        cancel(desk, order, key="c-9")


def test_a_fill_before_the_cancel_makes_it_too_late(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    cancel(desk, order)
    cancel(desk, order, key="c-2", by=OPERATOR)
    assert order.approving is not None
    whole = str(order.approving.body["intent"]["qty_lots"])
    desk.settled(desk.report(order, t32=whole, t14=whole, t151="0", t39="2"))
    assert [one["outcome"] for one in ended(desk, order)] == ["too_late", "too_late"]
    assert cancel(desk, order).reason == "the order is FILLED"
    records = desk.settled(reject(desk, order, t39="2", t102="0"))
    reasons = [str(one.body["reason"]) for one in records if one.kind is Kind.FIX_ANOMALY]
    assert reasons == ["cancel_rejected"], "the request is over; the answer is kept"
    replays(desk, order)


@pytest.mark.parametrize(
    ("pending", "said", "state"),
    [
        ("6", "0", "NEW"),
        ("6", "1", "PARTIAL"),
        ("6", "9", "SUSPENDED"),
        ("6", "3", "DONE_FOR_DAY"),
        ("6", "6", "PENDING_CANCEL"),
        ("", "1", "SENT"),
    ],
)
def test_a_refused_cancel_puts_the_order_back_where_the_broker_has_it(
    desk: MemoryDesk, pending: str, said: str, state: str
) -> None:
    order = desk.rest()
    cancel(desk, order)
    if pending:
        fields = {"t150": pending, "t39": pending, "t32": "0", "t31": "0", "t14": "0"}
        desk.settled(desk.report(order, **fields))
        assert now(desk, order).order_state == "PENDING_CANCEL"
    records = desk.settled(reject(desk, order, t39=said))
    assert [one.kind for one in records] == [Kind.FIX_INBOUND, Kind.CANCEL_ENDED]
    after = cancel(desk, order)
    assert (after.result, after.order.state, after.order.live) == ("rejected", state, True)
    assert after.reason == f"102=3 39={said} not now"
    assert desk.reserved() > 0, "the order goes on"
    replays(desk, order)


@pytest.mark.parametrize("changes", [{"t102": "0"}, {"t39": "2"}, {"t39": "4"}])
def test_a_cancel_refused_as_too_late_asks_for_the_order(
    desk: MemoryDesk, changes: dict[str, str]
) -> None:
    order = desk.rest()
    desk.settled(desk.report(order, t150="0", t39="0", t32="0", t31="0", t14="0", t151="50"))
    cancel(desk, order)
    desk.settled(reject(desk, order, **changes))
    after = cancel(desk, order)
    assert (after.result, after.order.live, after.order.state) == ("too_late", True, "NEW")
    fix = Asked()
    chaser = Chaser(fix, desk.small.desk.own.orders, Budget(5))
    chaser.ask(0)
    assert chaser.ask(10_000_000) == 1
    assert fix.names == [order.cl_ord_id]


class Asked:
    """A session that notes for which orders it asks."""

    def __init__(self) -> None:
        self.state = SessionState.READY
        self.names: list[str] = []

    def status_request(self, fields: tuple[tuple[int, str], ...]) -> HandResult:
        self.names.append(dict(fields)[11])
        return HandResult(outcome="sent")


def test_a_business_reject_of_the_cancel_ends_the_request(desk: MemoryDesk) -> None:
    order = desk.rest()
    done = cancel(desk, order)
    fields = ((34, "7"), (45, "9"), (372, "F"), (379, done.cancel.cancel_id), (380, "3"))
    desk.settled(framed("j", ((49, "E"), (56, "C"), (52, "20180102-15:00:00"), *fields)))
    assert (cancel(desk, order).result, cancel(desk, order).reason) == ("rejected", "35=j 380=3")
    replays(desk, order)


def test_a_cancel_that_the_child_refuses_is_told_as_not_sent(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.small.broker.cancel_answer = HandResult(outcome="refused", reason="NOT_LOGGED_ON")
    done = cancel(desk, order)
    assert (done.result, done.reason, done.order.live) == ("not_sent", "NOT_LOGGED_ON", True)
    desk.small.broker.cancel_answer = HandResult(outcome="sent")
    assert cancel(desk, order).result == "not_sent", "the same key asks once"
    assert cancel(desk, order, key="c-2").result == "requested"
    assert len(sent(desk)) == 2
    replays(desk, order)


def test_a_cancel_that_nobody_answered_is_not_said_to_be_unsent(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.small.broker.cancel_answer = HandResult(outcome="unknown", reason="no answer in 3 s")
    assert (cancel(desk, order).result, ended(desk, order)) == ("requested", [])


def test_a_start_ends_the_requests_that_the_child_never_noted(desk: MemoryDesk) -> None:
    order, other = desk.rest(), desk.rest(40)
    first, second = cancel(desk, order), cancel(desk, other)
    own = desk.small.desk.own
    noted = {second.cancel.cancel_id}
    count = end_unsent_cancels(own.tools.ledger, own.orders, "EMSSIM", noted, market_time_us=1)
    assert count == 1
    assert [(one["outcome"], one["reason"]) for one in ended(desk, order)] == [
        ("not_sent", "restart")
    ]
    assert ended(desk, other) == []
    assert first.cancel.state == "requested"
    assert end_unsent_cancels(own.tools.ledger, own.orders, "EMSSIM", noted, market_time_us=2) == 0


def test_a_kill_in_force_does_not_stop_a_cancel(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.small.desk.kill_switch.press(actor="ops", reason="now")
    assert cancel(desk, order).result == "requested"
    assert len(sent(desk)) == 1


def test_the_first_end_of_a_request_counts(desk: MemoryDesk) -> None:
    order = desk.rest()
    desk.small.broker.cancel_answer = HandResult(outcome="refused", reason="NOT_LOGGED_ON")
    cancel(desk, order)
    desk.settled(gone(desk, order))
    assert [one["outcome"] for one in ended(desk, order)] == ["not_sent"]
    assert now(desk, order).stage is Stage.SEALED


def test_a_restart_folds_the_requests_again(desk: MemoryDesk) -> None:
    order = desk.rest()
    cancel(desk, order)
    desk.settled(reject(desk, order))
    orders = Orders()
    orders.fold(desk.log.records())
    assert orders.by_cl_ord_id(order.cl_ord_id) == now(desk, order)


def test_an_order_is_listed_with_what_is_known_of_it(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t37="BROKER-7"))
    desk.settled(desk.report(now(desk, order), t31="100.00", t6="1", t14="2"))
    (line,) = desk.small.desk.order_desk.listed(AGENT)
    assert order.sending is not None
    fields = {int(tag): text for tag, text in order.sending.body["fields"]}
    assert (line.cl_ord_id, line.side, line.quantity) == (order.cl_ord_id, "BUY", fields[38])
    assert (line.limit_price, line.state) == (fields[44], "PARTIAL")
    assert (line.filled_lots, line.leaves_lots) == (2, line.qty_lots - 2)
    assert line.broker_order_id == "X1"
    prices = (float(fields[44]) + 100.0) / 2
    assert float(line.average_price or 0) == pytest.approx(prices)
    assert (line.live, line.author, line.time_in_force) == (True, "agent", "DAY")
    assert line.age_s is not None
    assert line.permalink == f"/decisions/{order.decision_id}"


def test_an_agent_lists_its_own_orders_and_people_all(desk: MemoryDesk) -> None:
    desk.small.play(1)
    order = desk.rest()
    asks = desk.small.desk.order_desk
    assert [one.cl_ord_id for one in asks.listed(AGENT)] == [order.cl_ord_id]
    assert asks.listed(STRANGER, live=False) == ()
    everybody = asks.listed(AUDITOR, live=False)
    assert {one.author for one in everybody} == {"agent", "playback"}
    assert everybody[0].cl_ord_id == order.cl_ord_id, "newest first"
    assert len(asks.listed(AUDITOR, live=False, limit=1)) == 1
    with pytest.raises(UnknownOrderError):
        asks.order(STRANGER, order.cl_ord_id)
    assert asks.order(AUDITOR, order.cl_ord_id).live


def test_cancels_wait_for_their_turn(desk: MemoryDesk) -> None:
    class Clocked:
        def __init__(self) -> None:
            self.names: list[str] = []

        def cancel_order(self, order: Any, cancel_id: str) -> HandResult:  # noqa: ANN401, ARG002
            self.names.append(cancel_id)
            return HandResult(outcome="sent")

    fix = Clocked()
    paced = PacedCancels(fix, 1_000)
    for number in range(20):
        paced.cancel_order(((11, "A"),), str(number))
    assert fix.names == [str(number) for number in range(20)]
    assert replace(desk.small.desk.own, cancels=paced).cancels is paced


def test_the_answer_to_an_intent_names_its_order(desk: MemoryDesk) -> None:
    answer = desk.ask(50)
    line = desk.small.desk.order_desk.order(AGENT, answer.decision_id)
    assert (answer.cl_ord_id, answer.side, answer.quantity) == (
        line.cl_ord_id,
        "BUY",
        line.quantity,
    )
    assert (answer.limit_price, answer.permalink) == (line.limit_price, line.permalink)
    assert answer.order_state == "SENT"
    held = desk.ask(1_000, exposure_bp=2_800)
    assert (held.side, held.quantity, held.order_state) == (None, None, None)
    assert held.permalink == f"/decisions/{held.decision_id}"
