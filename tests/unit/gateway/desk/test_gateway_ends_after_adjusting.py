"""An order that a resolution adjusted ends by its adjusted total, and frees what it reserved."""

from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.evidence.replay.orders import order as replay_orders
from gateway.evidence.replay.past import Past
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.outbox import Orders
from gateway.walk.reconciliation.recovery import close_abandoned
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk

MARKET_US = 1_514_905_200_000_000


def resolved(desk: MemoryDesk, right: str = "broker") -> None:
    """Resolve the one open difference as it is listed, signed by both officers."""
    own = desk.small.desk.own
    document = listed(own)
    (one,) = document["open"]
    given = {"right": right, "reason": "checked", "evidence": "his statement"}
    price = {"price": "269.00"} if right == "broker" and one["lots"] else {}
    request = ResolveRequest.model_validate(given | {"lots": one["lots"]} | price)
    text = resolution_statement(str(document["log_id"]), one["seq"], one["leaf"], request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    resolve(own, "otto", one["seq"], request.model_copy(update={"signatures": signatures}))


def told(desk: MemoryDesk, order: Standing, **changes: str) -> None:
    desk.settled(desk.report(desk.standing(order.decision_id), **changes))


def adjusted(desk: MemoryDesk, lots: int = 10) -> Standing:
    """Lose the report of a fill, learn of it by a status, and adjust the book."""
    order = desk.rest(113)
    told(desk, order, t150="I", t14=str(lots))
    resolved(desk)
    assert desk.lots() == lots
    return order


def quantity(order: Standing) -> int:
    assert order.verdict is not None
    return int(order.verdict.body["intent"]["qty_lots"])


def replayed(desk: MemoryDesk, order: Standing) -> list[str]:
    """Replay every record of the order's end; raises where one differs."""
    reader = desk.small.reader
    records = list(reader.records(stream=f"decision/{order.decision_id}"))
    past = Past.of(reader, desk.small.table, order.decision_id, records)
    parts = {
        Kind.ORDER_REPORTED: replay_orders.order_reported,
        Kind.ORDER_ENDED: replay_orders.order_ended,
        Kind.DECISION_SEALED: replay_orders.decision_sealed,
    }
    return [parts[r.kind](past, r) for r in records if r.kind in parts]


def test_an_order_that_ends_at_its_adjusted_total_is_sealed_and_reserves_nothing(
    desk: MemoryDesk,
) -> None:
    order = adjusted(desk)
    told(desk, order, t32="4", t14="14")
    told(desk, order, t150="4", t39="4", t14="14", t151="0")
    assert (desk.lots(), desk.reserved()) == (14, 0)
    assert desk.standing(order.decision_id).stage is Stage.SEALED
    assert desk.outcome(order.decision_id) == "cancelled"
    again = Orders()
    again.fold(desk.log.records())
    assert again.get(order.decision_id) == desk.standing(order.decision_id), "after a restart too"
    assert replayed(desk, order)[-1] == "cancelled"
    assert desk.ask(33).result == "approved"


def test_an_order_that_the_book_alone_is_right_about_ends_by_its_known_total(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(113)
    told(desk, order, t150="I", t14="10")
    resolved(desk, "book")
    told(desk, order, t150="4", t39="4", t14="10", t151="0")
    assert (desk.lots(), desk.reserved()) == (0, 0)
    assert desk.outcome(order.decision_id) == "cancelled"
    assert replayed(desk, order)[-1] == "cancelled"


def test_an_end_that_tells_more_than_was_adjusted_still_waits_for_trades(desk: MemoryDesk) -> None:
    order = adjusted(desk)
    told(desk, order, t150="4", t39="4", t14="14", t151="0")
    assert desk.standing(order.decision_id).stage is Stage.SENT
    assert desk.small.desk.own.section.differences.blocks("SPXN")
    resolved(desk)
    assert (desk.lots(), desk.reserved()) == (14, 0)
    assert desk.outcome(order.decision_id) == "cancelled"


def test_an_adjustment_takes_its_lots_off_what_a_working_order_reserves(desk: MemoryDesk) -> None:
    order = adjusted(desk)
    assert desk.reserved() == quantity(order) - 10
    told(desk, order, t32="4", t14="14")
    assert desk.reserved() == quantity(order) - 14
    told(desk, order, t150="I", t14="6")
    resolved(desk)
    assert (desk.lots(), desk.reserved()) == (6, quantity(order) - 6), "and puts them back"
    records = list(desk.log.records(stream=f"decision/{order.decision_id}"))
    past = Past.of(desk.small.reader, desk.small.table, order.decision_id, records)
    size = desk.log.size
    (book,) = past.books(account=AGENT_ACCOUNT, after=size - 1, before=size)
    assert book == desk.small.desk.own.section.book(AGENT_ACCOUNT), "replay folds the same book"


def test_an_adjustment_beyond_the_order_reserves_nothing_and_is_undone_exactly(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(113)
    told(desk, order, t150="I", t14=str(quantity(order) + 5))
    resolved(desk)
    assert desk.reserved() == 0
    told(desk, order, t150="I", t14="3")
    resolved(desk)
    assert (desk.lots(), desk.reserved()) == (3, quantity(order) - 3)


def test_a_start_ends_an_order_that_an_earlier_version_left_stuck(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = adjusted(desk)
    told(desk, order, t32="4", t14="14")
    with monkeypatch.context() as patch:  # as before: only the fills are held against CumQty
        patch.setattr("gateway.walk.settlement._resolved_lots", lambda *_: 0)
        told(desk, order, t150="4", t39="4", t14="14", t151="0")
    assert desk.standing(order.decision_id).stage is Stage.SENT
    assert desk.reserved() > 0
    own = desk.small.desk.own
    differences = own.section.differences
    assert close_abandoned(own.tools.ledger, own.orders, differences, market_time_us=MARKET_US) == 1
    assert (desk.lots(), desk.reserved()) == (14, 0)
    assert desk.outcome(order.decision_id) == "cancelled"
    assert replayed(desk, order)[-1] == "cancelled"
    assert close_abandoned(own.tools.ledger, own.orders, differences, market_time_us=MARKET_US) == 0


def test_a_start_leaves_an_end_alone_whose_trades_are_still_missing(desk: MemoryDesk) -> None:
    order = desk.rest(113)
    told(desk, order, t150="4", t39="4", t14="14", t151="0")
    own = desk.small.desk.own
    differences = own.section.differences
    assert close_abandoned(own.tools.ledger, own.orders, differences, market_time_us=MARKET_US) == 0
    assert desk.standing(order.decision_id).stage is Stage.SENT
    assert desk.reserved() == quantity(order)


def test_a_report_of_an_earlier_version_replays_as_it_was_recorded(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = adjusted(desk)
    with monkeypatch.context() as patch:
        patch.setattr("gateway.walk.settlement._resolved_lots", lambda *_: 0)
        told(desk, order, t150="4", t39="4", t14="10", t151="0")
    bodies: list[dict[str, Any]] = [
        r.body for r in desk.log.of_kind(Kind.ORDER_REPORTED) if r.body["order_state"] == "CANCELED"
    ]
    assert [one["anomaly"] for one in bodies] == ["missing_trades"]
    assert replayed(desk, order)
