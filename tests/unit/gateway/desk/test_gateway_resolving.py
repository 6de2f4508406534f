"""A difference ends by a person's word on record; a book changes by two signatures only."""

from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.errors import ResolutionRefusedError
from gateway.evidence.replay.orders import order as replay_orders
from gateway.evidence.replay.past import Past
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.policies.policy import development_policy
from gateway.walk.journal.standing import Stage
from gateway.walk.projections.differences import Difference
from gateway.walk.section import Section
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.small_desk import EQUITY_MINOR


def request_with(**changes: Any) -> ResolveRequest:  # noqa: ANN401 - any field
    given = {"right": "book", "reason": "checked", "evidence": "broker's statement of 2 January"}
    return ResolveRequest.model_validate(given | changes)


def signed(
    desk: MemoryDesk, found: Difference, request: ResolveRequest, *, leaf: str = ""
) -> ResolveRequest:
    if request.right == "broker" and found.found.broker_lots is not None:
        lots = found.found.broker_lots - (found.found.book_lots or 0)
        request = request.model_copy(update={"lots": lots})
    own = desk.small.desk.own
    text = resolution_statement(
        str(listed(own)["log_id"]), found.seq, leaf or found.leaf.hex(), request
    )
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    return request.model_copy(update={"signatures": signatures})


def open_one(desk: MemoryDesk) -> Difference:
    (found,) = desk.small.desk.own.section.differences.open()
    return found


def ready(desk: MemoryDesk) -> bool:
    return desk.small.desk.own.section.differences.state == "ready"


def missing_trades(desk: MemoryDesk) -> str:
    """Leave an order that the broker says is filled, of which one trade alone was told."""
    order = desk.rest(50)
    quantity = int(order.approving.body["intent"]["qty_lots"]) if order.approving else 0
    desk.settled(desk.report(order, t14=str(quantity), t151="0", t39="2"))
    assert desk.standing(order.decision_id).stage is Stage.SENT
    return order.decision_id


def test_one_operator_may_say_that_the_book_is_right_and_it_is_not_told_again(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t14="7"))
    done = resolve(desk.small.desk.own, "otto", open_one(desk).seq, request_with())
    assert done["adjustment"] is None
    assert ready(desk)
    assert desk.lots() == 1
    assert desk.ask(33).result == "approved"
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, t150="I", t14="7"))
    assert ready(desk), "the same two totals"
    desk.settled(desk.report(now, t14="8"))
    assert ready(desk), "one more on both sides"
    desk.settled(desk.report(desk.standing(order.decision_id), t150="I", t14="9"))
    assert not ready(desk)


def test_where_the_broker_is_right_two_officers_adjust_the_book_and_end_the_order(
    desk: MemoryDesk,
) -> None:
    decision = missing_trades(desk)
    found = open_one(desk)
    assert found.found.broker_lots is not None
    lots = found.found.broker_lots - 1
    request = request_with(right="broker", price="269.00", lots=lots)
    with pytest.raises(ResolutionRefusedError, match="both roles"):
        resolve(desk.small.desk.own, "otto", found.seq, request)
    assert not ready(desk)
    done = resolve(desk.small.desk.own, "otto", found.seq, signed(desk, found, request))
    assert done["adjustment"]["qty_lots"] == found.found.broker_lots - 1
    assert desk.lots() == found.found.broker_lots
    assert desk.reserved() == 0
    assert desk.standing(decision).stage is Stage.SEALED
    assert desk.outcome(decision) == "filled"
    assert ready(desk)
    assert desk.ask(33).result == "approved"

    reader = desk.small.reader
    records = list(reader.records(stream=f"decision/{decision}"))
    past = Past.of(reader, desk.small.table, decision, records)
    (ended,) = (r for r in records if r.kind is Kind.ORDER_ENDED)
    assert replay_orders.order_ended(past, ended) == "resolved by otto"
    assert replay_orders.decision_sealed(past, records[-1]) == "filled"
    (book,) = past.books(account=AGENT_ACCOUNT, after=ended.seq, before=ended.seq + 1)
    assert book.lots("SPXN") == desk.lots()


@pytest.mark.parametrize(
    "change", ["price", "lots", "right", "another difference", "one role", "swapped"]
)
def test_signatures_hold_for_this_resolution_of_this_difference_only(
    desk: MemoryDesk, change: str
) -> None:
    missing_trades(desk)
    found = open_one(desk)
    request = signed(desk, found, request_with(right="broker", price="269.00"))
    match change:
        case "price":
            request = request.model_copy(update={"price": "1.00"})
        case "lots":
            request = request.model_copy(update={"lots": request.lots + 1})
        case "right":
            other = signed(desk, found, request_with(right="book"))
            request = request.model_copy(update={"signatures": other.signatures})
        case "another difference":
            request = signed(desk, found, request, leaf="00" * 32)
        case "one role":
            request = request.model_copy(
                update={"signatures": {"risk": request.signatures["risk"]}}
            )
        case _:
            risk, compliance = request.signatures["risk"], request.signatures["compliance"]
            swapped = {"risk": compliance, "compliance": risk}
            request = request.model_copy(update={"signatures": swapped})
    with pytest.raises(ResolutionRefusedError):
        resolve(desk.small.desk.own, "otto", found.seq, request)
    assert desk.lots() == 1


@pytest.mark.parametrize("price", ["", "0", "269.005"])
def test_an_adjustment_needs_a_price_in_whole_ticks(desk: MemoryDesk, price: str) -> None:
    missing_trades(desk)
    found = open_one(desk)
    request = signed(desk, found, request_with(right="broker", price=price))
    with pytest.raises(ResolutionRefusedError, match="ticks"):
        resolve(desk.small.desk.own, "otto", found.seq, request)


def test_a_book_with_too_much_is_adjusted_down(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t32="5", t14="5"))
    desk.settled(desk.report(desk.standing(order.decision_id), t150="I", t14="3"))
    found = open_one(desk)
    request = signed(desk, found, request_with(right="broker", price="269.00"))
    done = resolve(desk.small.desk.own, "otto", found.seq, request)
    assert (done["adjustment"]["side"], done["adjustment"]["qty_lots"]) == ("SELL", 2)
    assert desk.lots() == 3


def test_trades_of_an_order_that_is_not_ours_go_where_the_officers_say(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t11="NOBODYSORDERNOBODYSO", t32="4", t14="4"))
    found = open_one(desk)
    own = desk.small.desk.own
    for wrong in ({}, {"account": AGENT_ACCOUNT}, {"account": "strange", "side": "BUY"}):
        request = signed(desk, found, request_with(right="broker", price="269.00", **wrong))
        with pytest.raises(ResolutionRefusedError):
            resolve(own, "otto", found.seq, request)
    where = {"account": AGENT_ACCOUNT, "side": "BUY"}
    request = request_with(right="broker", price="269.00", **where)
    resolve(own, "otto", found.seq, signed(desk, found, request))
    assert desk.lots() == 4
    assert ready(desk)


def test_an_order_that_an_unmatched_refusal_ended_is_ended_by_two(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    desk.settled(refusal())
    found, own = open_one(desk), desk.small.desk.own
    request = request_with(ends=order.cl_ord_id)
    with pytest.raises(ResolutionRefusedError, match="both roles"):
        resolve(own, "otto", found.seq, request)
    with pytest.raises(ResolutionRefusedError, match="no order"):
        resolve(own, "otto", found.seq, signed(desk, found, request_with(ends="A" * 20)))
    resolve(own, "otto", found.seq, signed(desk, found, request))
    assert desk.standing(order.decision_id).order_state == "REJECTED"
    assert desk.outcome(order.decision_id) == "rejected_by_broker"
    assert desk.reserved() == 0


def test_a_difference_is_resolved_once_and_the_record_says_who_why_and_what_shows_it(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(50)
    desk.settled(desk.report(order, t14="7"))
    found, own = open_one(desk), desk.small.desk.own
    resolve(own, "otto", found.seq, request_with())
    with pytest.raises(ResolutionRefusedError, match="open"):
        resolve(own, "otto", found.seq, request_with())
    (record,) = desk.log.records(kinds=(Kind.DIFFERENCE_RESOLVED,))
    body = record.body
    assert (body["of_seq"], body["of_leaf"]) == (found.seq, found.leaf.hex())
    assert (body["resolved_by"], body["reason"]) == ("otto", "checked")
    assert body["evidence"].startswith("broker's statement")
    assert record.actor == "person:otto"


def test_a_restart_folds_resolutions_and_adjustments_again(desk: MemoryDesk) -> None:
    missing_trades(desk)
    found, own = open_one(desk), desk.small.desk.own
    request = signed(desk, found, request_with(right="broker", price="269.00"))
    resolve(own, "otto", found.seq, request)
    again = Section(
        ledger=own.tools.ledger,
        reader=own.reader,
        bundle=development_policy(own.keyring),
        policy_keys=own.keyring.public_keys(),
        kill=own.word.read,
        wall_us=own.dispatching.wall_us,
        send_within_us=1,
    )
    again.open_account(AGENT_ACCOUNT, EQUITY_MINOR)
    assert again.book(AGENT_ACCOUNT) == own.section.book(AGENT_ACCOUNT)
    assert again.differences.open() == ()
    lots = found.found.broker_lots
    assert lots is not None
    assert again.differences.adjusted(AGENT_ACCOUNT, "SPXN") == lots - 1


def refusal() -> str:
    return framed("3", ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "9"), (45, "999"), (372, "D")))


def test_where_the_book_was_right_an_order_ends_by_the_total_of_its_trades(
    desk: MemoryDesk,
) -> None:
    """The broker's total was too low for a while; the resolution takes no trade from the book."""
    order = desk.rest(50)
    desk.settled(desk.report(order, t32="5", t14="5"))
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, t150="I", t32="0", t31="0", t14="3"))
    resolve(desk.small.desk.own, "otto", open_one(desk).seq, request_with())
    assert ready(desk)
    desk.settled(desk.report(now, t150="4", t39="4", t32="0", t31="0", t14="5", t151="0"))
    assert desk.outcome(order.decision_id) == "cancelled"
    assert (desk.lots(), desk.reserved()) == (5, 0)
