"""Busts and corrections: the book, the order and its seal are what they would be without the trade.

Ledger, section, dispatch, settling and replay are the product's; the broker's words are made here.
"""

import itertools
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.requests import IntentRequest
from gateway.evidence.replay.orders import order as replay_orders
from gateway.evidence.replay.past import Past
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.outbox import Orders
from gateway.walk.reconciliation.recovery import close_abandoned
from gateway.walk.settlement import Received, settle
from risk.state.book import Book
from tests.doubles.answering_broker import framed
from tests.doubles.small_desk import RUN, SmallDesk

pytestmark = pytest.mark.postgres

TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"
AGENT = Caller(name="agent", role=Role.AGENT)
ACCOUNT = f"{RUN}.agent"
_numbers = itertools.count(1)


def rest(desk: SmallDesk, lots: int = 40) -> Standing:
    """Put an agent's order to rest at the broker."""
    request = IntentRequest(
        client_key=f"bust-{next(_numbers)}",
        instrument="SPXN",
        target_exposure_bp=2_000,
        max_qty_lots=lots,
    )
    response = desk.desk.submit(AGENT, request)
    assert response.result == "approved", response
    return standing(desk, response.decision_id)


def standing(desk: SmallDesk, decision_id: str) -> Standing:
    found = desk.desk.own.orders.get(decision_id)
    assert found is not None
    return found


def said(order: Standing, **changes: str) -> str:
    """Return a report about an order, a fill of ten at its limit unless told otherwise."""
    assert order.sending is not None
    sent = {int(tag): str(text) for tag, text in order.sending.body["fields"]}
    number = str(next(_numbers))
    fields = {
        49: "EMSSIM",
        56: "COUNTERSIGN",
        34: number,
        52: "20180102-15:00:00",
        37: "X1",
        11: order.cl_ord_id,
        17: f"T{number}",
        150: "F",
        39: "1",
        55: sent[55],
        54: sent[54],
        38: sent[38],
        32: "10",
        31: sent[44],
        151: "30",
        14: "10",
        6: sent[44],
        12: "1.00",
        13: "3",
        60: "20180102-15:00:00",
    }
    fields |= {int(name.removeprefix("t")): text for name, text in changes.items()}
    return framed("8", tuple((tag, text) for tag, text in fields.items() if text))


def settled(desk: SmallDesk, raw: str) -> list[Record]:
    before = desk.ledger.size
    settle(Received(offset=2_000_000 + next(_numbers), raw=raw), desk.settling)
    return list(desk.reader.records(after_seq=before - 1))


def anomalies(records: list[Record]) -> list[str]:
    return [str(r.body["reason"]) for r in records if r.kind is Kind.FIX_ANOMALY]


def book(desk: SmallDesk) -> Book:
    return desk.desk.own.section.book(ACCOUNT)


def reserved(desk: SmallDesk, order: Standing) -> int:
    held = book(desk).reservation(order.decision_id)
    return 0 if held is None else held.open_lots


def replayed(desk: SmallDesk, order: Standing) -> int:
    """Replay what the broker said and how it ended; returns how many records recomputed."""
    records = list(desk.reader.records(stream=f"decision/{order.decision_id}"))
    past = Past.of(desk.reader, desk.table, order.decision_id, records)
    head = records[-1].seq
    (folded,) = past.books(account=ACCOUNT, after=head, before=head + 1)
    assert folded == book(desk)
    steps = {
        Kind.ORDER_REPORTED: replay_orders.order_reported,
        Kind.DECISION_SEALED: replay_orders.decision_sealed,
    }
    return len([steps[r.kind](past, r) for r in records if r.kind in steps])


BUST = {"t150": "H", "t32": "", "t31": "", "t12": "", "t13": ""}


def test_a_bust_of_a_sealed_order_takes_the_shares_back_and_lets_it_live_again(
    desk: SmallDesk,
) -> None:
    order = rest(desk)
    before = book(desk)
    settled(desk, said(order, t17="F1"))
    filled = {"t17": "F2", "t32": "30", "t14": "40", "t151": "0", "t39": "2"}
    settled(desk, said(order, **filled))
    assert standing(desk, order.decision_id).stage is Stage.SEALED
    assert (book(desk).lots("SPXN"), reserved(desk, order)) == (40, 0)

    bust = said(order, **BUST, t17="B1", t19="F2", t39="1", t151="30", t14="10")
    assert anomalies(settled(desk, bust)) == []
    now = standing(desk, order.decision_id)
    assert (now.stage, now.order_state, now.filled_lots, now.sealed) == (
        Stage.SENT,
        "PARTIAL",
        10,
        False,
    )
    assert now in desk.desk.own.orders.live()
    assert (book(desk).lots("SPXN"), reserved(desk, order)) == (10, 30)

    other = said(order, **BUST, t17="B2", t19="F1", t39="0", t151="40", t14="0")
    settled(desk, other)
    assert standing(desk, order.decision_id).order_state == "NEW"
    undone = book(desk)
    assert (undone.positions, undone.cash_minor, undone.fees_minor) == (
        before.positions,
        before.cash_minor,
        before.fees_minor,
    )
    assert (undone.reservations, undone.day, undone.peak_minor) == (
        before.reservations,
        before.day,
        before.peak_minor,
    )

    ended = {**BUST, "t150": "4", "t17": "C1", "t39": "4", "t151": "0", "t14": "0"}
    settled(desk, said(order, **ended))
    stream = f"decision/{order.decision_id}"
    seals = list(desk.reader.records(stream=stream, kinds=(Kind.DECISION_SEALED,)))
    assert [(r.body["outcome"], r.idem_key) for r in seals] == [
        ("filled", "sealed"),
        ("cancelled", "sealed:1"),
    ]
    assert (book(desk).lots("SPXN"), reserved(desk, order)) == (0, 0)
    assert replayed(desk, order)


def test_a_correction_is_booked_as_the_trade_should_have_been(desk: SmallDesk) -> None:
    order = rest(desk)
    settled(desk, said(order, t17="F1", t32="40", t14="40", t151="0", t39="2"))
    cash = book(desk).cash_minor
    limit = int(str(order.verdict.body["intent"]["limit_ticks"])) if order.verdict else 0
    price = f"{(limit - 10) / 100:.2f}"
    change = {"t150": "G", "t19": "F1", "t31": price, "t12": "", "t13": ""}
    settled(desk, said(order, **change, t17="G1", t32="25", t14="25", t151="15", t39="1"))
    now = book(desk)
    assert (now.lots("SPXN"), reserved(desk, order), now.fees_minor) == (25, 15, 100)
    assert now.cash_minor == cash + 40 * limit - 25 * (limit - 10)
    # the correction is corrected, by its own ExecID, and completes the order
    change |= {"t19": "G1", "t12": "2.00", "t13": "3"}
    settled(desk, said(order, **change, t17="G2", t32="40", t14="40", t151="0", t39="2"))
    assert (book(desk).lots("SPXN"), book(desk).fees_minor) == (40, 200)
    assert standing(desk, order.decision_id).stage is Stage.SEALED
    assert replayed(desk, order)


def test_the_same_bust_again_changes_nothing_and_a_second_one_is_an_alarm(desk: SmallDesk) -> None:
    order = rest(desk)
    settled(desk, said(order, t17="F1"))
    bust = said(order, **BUST, t17="B1", t19="F1", t39="0", t151="40", t14="0")
    settled(desk, bust)
    assert [r.kind for r in settled(desk, bust)] == [Kind.FIX_INBOUND]
    second = said(order, **BUST, t17="B2", t19="F1", t39="0", t151="40", t14="0")
    assert anomalies(settled(desk, second)) == ["trade_undone_twice"]
    assert (book(desk).lots("SPXN"), reserved(desk, order)) == (0, 40)


@pytest.mark.parametrize("named", ["nobody", "", "F1-of-another"])
def test_a_bust_of_no_trade_of_the_order_changes_nothing_and_is_an_alarm(
    desk: SmallDesk, named: str
) -> None:
    order, other = rest(desk), rest(desk, 41)
    settled(desk, said(order, t17="F1"))
    settled(desk, said(other, t17="F1-of-another"))
    records = settled(desk, said(order, **BUST, t17="B1", t19=named, t39="0", t151="40", t14="0"))
    assert anomalies(records) == ["undoes_unknown_trade"]
    assert book(desk).lots("SPXN") == 20


def test_a_bust_that_leaves_nothing_to_work_keeps_the_order_ended(desk: SmallDesk) -> None:
    order = rest(desk)
    settled(desk, said(order, t17="F1"))
    settled(
        desk, said(order, t17="C1", t150="4", t39="4", t151="0", t32="", t31="", t12="", t13="")
    )
    bust = said(order, **BUST, t17="B1", t19="F1", t39="4", t151="0", t14="0")
    settled(desk, bust)
    now = standing(desk, order.decision_id)
    assert (now.stage, now.order_state) == (Stage.SEALED, "CANCELED")
    assert (book(desk).lots("SPXN"), reserved(desk, order)) == (0, 0)


def test_a_restart_folds_to_the_same_orders_and_books(desk: SmallDesk) -> None:
    order = rest(desk)
    settled(desk, said(order, t17="F1", t32="40", t14="40", t151="0", t39="2"))
    settled(desk, said(order, **BUST, t17="B1", t19="F1", t39="0", t151="40", t14="0"))
    again = Orders()
    again.fold(desk.reader.records())
    assert again.get(order.decision_id) == standing(desk, order.decision_id)
    assert (
        close_abandoned(
            desk.ledger, desk.desk.own.orders, desk.desk.own.section.differences, market_time_us=1
        )
        == 0
    )
    assert [s.cl_ord_id for s in again.live()] == [order.cl_ord_id]
