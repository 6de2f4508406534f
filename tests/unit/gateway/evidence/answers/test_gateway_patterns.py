"""What patterns are told of orders on record: who waits, leaves or is dropped; and the case."""

from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentRequest
from gateway.evidence.answers.patterns import FLOW_KINDS, PatternFlow
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.launch.threads.conduct import ConductWatch
from risk.windows.conduct.events import SECOND_US, Deed
from tests.doubles.memory_desk import MemoryDesk, StillMarket
from tests.doubles.memory_ledger import MemoryLedger

COLLEAGUE = Caller(name="demo-agent", role=Role.AGENT)
LOTS = 30


def told(desk: MemoryDesk) -> list[tuple[Deed, str]]:
    flow = PatternFlow()
    records = desk.log.records(kinds=FLOW_KINDS)
    return [(one.deed, one.order) for record in records for one in flow.take(record)]


def test_an_order_waits_once_from_its_hold_until_it_leaves(desk: MemoryDesk) -> None:
    name = desk.hold()
    assert told(desk) == [(Deed.WAITING, name)]
    assert desk.answer(name) == "approved"
    assert told(desk) == [(Deed.WAITING, name), (Deed.PLACED, name)], "the renewal is the same"


def test_a_hold_that_is_refused_is_dropped(desk: MemoryDesk) -> None:
    name = desk.hold()
    desk.answer(name, approve=False)
    assert told(desk) == [(Deed.WAITING, name), (Deed.DROPPED, name)]


def later(desk: MemoryDesk) -> None:
    """Let two seconds pass on the market's clock."""
    cast("StillMarket", desk.small.desk.own.market).time_us += 2 * SECOND_US


def traded(desk: MemoryDesk, exposure_bp: int, *, gain_ticks: int) -> None:
    """Trade a colleague's order in full, so many ticks above its limit."""
    key = f"colleague-{exposure_bp}"
    wanted = IntentRequest(
        client_key=key,
        instrument="SPXN",
        target_exposure_bp=exposure_bp,
        max_qty_lots=LOTS,
    )
    order = desk.standing(desk.small.desk.submit(COLLEAGUE, wanted).decision_id)
    assert order.sending is not None
    limit = next(str(text) for tag, text in order.sending.body["fields"] if tag == 44)
    price = f"{float(limit) + gain_ticks / 100:.2f}"
    full = {"t32": str(LOTS), "t14": str(LOTS), "t151": "0", "t39": "2"}
    desk.settled(desk.report(order, **full, t31=price))


@pytest.mark.parametrize(("gain_ticks", "cases"), [(200, ["front-running"]), (0, [])])
def test_trading_ahead_of_a_held_order_and_back_opens_a_case(
    desk: MemoryDesk, gain_ticks: int, cases: list[str]
) -> None:
    name = desk.hold()
    later(desk)
    traded(desk, 4_000, gain_ticks=0)
    later(desk)
    assert desk.answer(name) == "approved"
    later(desk)
    traded(desk, 0, gain_ticks=gain_ticks)
    found = MemoryLedger()
    ConductWatch(cast("LedgerReader", desk.log), found).look()
    opened = list(found.records(kinds=(Kind.CASE_OPENED,)))
    assert [one.body["indicator"] for one in opened] == cases
    for one in opened:
        assert (one.body["who"], one.body["agents"]) == ("demo-agent", ["agent", "demo-agent"])
        told_of = {desk.log.record(seq).kind for seq in one.body["evidence"]}  # type: ignore[union-attr]
        assert told_of == {Kind.VERDICT_GIVEN, Kind.ORDER_SENT, Kind.ORDER_REPORTED}
