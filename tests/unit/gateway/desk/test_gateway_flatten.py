"""Flatten closes what is held through the same rules, and names what it cannot judge."""

from pathlib import Path
from typing import cast

import pytest

from audit.errors import LedgerWriteError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.stopping import FlattenRequest
from gateway.desk.officers import stops as stopping
from gateway.desk.officers.flatten import flatten, flattened_text, positions_held
from gateway.errors import RequestError, StopRefusedError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.journal.control.scope import AgentScoped
from risk.state.state import Stop
from tests.doubles.adjusting import adjusted
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk
from tests.doubles.page_desk import page_desk
from tests.doubles.small_desk import RUN

ADA = Caller(name="ada", role=Role.OPERATOR)


def asked(*, dry_run: bool = False, instrument: str | None = None) -> FlattenRequest:
    return FlattenRequest(reason="risk off", dry_run=dry_run, instrument=instrument)


def hold(desk: MemoryDesk, account: str, quantity: int = 40, ref: str = "o") -> None:
    """Let both officers open a book with a position."""
    desk.small.desk.own.section.open_beside(account, RUN)
    opening = [{"instrument": "SPXN", "quantity": quantity, "price": "250.00"}]
    adjusted(desk, ref=ref, sort="opening", account=account, amount="900000", positions=opening)


def test_a_position_is_closed_by_an_order_that_the_rules_judged(desk: MemoryDesk) -> None:
    hold(desk, AGENT_ACCOUNT)
    own = desk.small.desk.own
    told = flatten(desk.small.desk, ADA, asked())
    (order,) = told["orders"]
    assert (order["result"], order["order"], told["left"]) == (
        "approved",
        f"sell 40 SPXN in {AGENT_ACCOUNT}",
        [],
    )
    intent = desk.verdict(order["decision_id"]).body["intent"]
    assert (intent["side"], intent["qty_lots"], intent["author"]) == ("SELL", 40, "ada")
    assert own.section.stops.in_force() == (Stop.REDUCE_ONLY,)
    kinds = [one.kind for one in desk.log.records()]
    places = [Kind.STOP_BEGUN, Kind.FLATTEN_ASKED, Kind.VERDICT_GIVEN, Kind.ORDER_SENDING]
    assert sorted(places, key=kinds.index) == places, "each record stands before its effect"
    assert len(desk.small.broker.orders) == 1
    assert "approved" in flattened_text(told)
    replay(cast("LedgerReader", desk.log), own.tools.table, order["decision_id"])


def test_the_account_of_a_scoped_key_and_a_short_one_are_closed_in_their_own_books(
    desk: MemoryDesk,
) -> None:
    scoped = f"{RUN}.fund-b"
    scope = {"account": "fund-b"}
    of_key = AgentScoped(key="desk-b", account=scoped, scope=scope, scope_digest="0" * 64)
    desk.log.append(of_key.draft())
    hold(desk, scoped)
    told = flatten(desk.small.desk, ADA, asked())
    (order,) = told["orders"]
    assert (order["account"], order["result"]) == (scoped, "approved")
    assert desk.verdict(order["decision_id"]).body["account"] == scoped
    replay(cast("LedgerReader", desk.log), desk.small.desk.own.tools.table, order["decision_id"])


@pytest.mark.parametrize("other", [Stop.SECURE, Stop.BREAKER])
def test_reduce_only_begins_also_under_another_stop(desk: MemoryDesk, other: Stop) -> None:
    hold(desk, AGENT_ACCOUNT)
    own = desk.small.desk.own
    stopping.begin_stop(own, "ada", other, "a test")
    flatten(desk.small.desk, ADA, asked())
    assert set(own.section.stops.in_force()) == {other, Stop.REDUCE_ONLY}


def test_a_dry_run_says_the_same_and_records_and_sends_nothing(desk: MemoryDesk) -> None:
    hold(desk, AGENT_ACCOUNT)
    told = flatten(desk.small.desk, ADA, asked(dry_run=True))
    assert [one["order"] for one in told["orders"]] == [f"sell 40 SPXN in {AGENT_ACCOUNT}"]
    assert desk.log.of_kind(Kind.FLATTEN_ASKED) == desk.log.of_kind(Kind.STOP_BEGUN) == []
    assert desk.small.broker.orders == []
    assert "would ask for" in flattened_text(told)


def test_it_is_refused_while_killed_or_paused_or_flat(desk: MemoryDesk) -> None:
    with pytest.raises(StopRefusedError, match="nothing is held"):
        flatten(desk.small.desk, ADA, asked())
    with pytest.raises(RequestError, match="no instrument"):
        flatten(desk.small.desk, ADA, asked(instrument="NONE"))
    hold(desk, AGENT_ACCOUNT)
    stopping.begin_stop(desk.small.desk.own, "ada", Stop.PAUSE, "wait")
    with pytest.raises(StopRefusedError, match="pause is in force"):
        flatten(desk.small.desk, ADA, asked())
    stopping.resume(desk.small.desk.own, "ada", None, "over", {})
    desk.small.desk.kill_switch.press(actor="ada", reason="a test")
    with pytest.raises(StopRefusedError, match="kill is in force"):
        flatten(desk.small.desk, ADA, asked(dry_run=True))
    assert desk.small.broker.orders == []


def test_an_order_of_unknown_fate_is_named_and_nothing_is_sent_beside_it(
    desk: MemoryDesk,
) -> None:
    hold(desk, AGENT_ACCOUNT)
    working = desk.rest()
    told = flatten(desk.small.desk, ADA, asked())
    assert (told["orders"], len(told["left"])) == ([], 1)
    assert "cancel-all" in told["left"][0]["why"]
    (named,) = positions_held(desk.small.desk.own, "SPXN")
    assert named.why == told["left"][0]["why"], "also when the instrument is named"
    assert desk.small.desk.own.section.stops.in_force() == (Stop.REDUCE_ONLY,), "in doubt, stop"
    (record,) = desk.log.of_kind(Kind.FLATTEN_ASKED)
    assert record.body["left"] == told["left"]
    assert len(desk.small.broker.orders) == 1, f"only {working.cl_ord_id}"


def test_a_market_that_is_not_there_is_said_and_the_stop_holds(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(desk, AGENT_ACCOUNT)
    market = desk.small.desk.own.market

    def unquoted(_: str) -> None:
        raise RequestError(problem="SPXN is stale: no quote for 9 s")

    monkeypatch.setattr(market, "tick", unquoted)
    told = flatten(desk.small.desk, ADA, asked())
    assert told["orders"] == []
    assert "no quote for 9 s" in told["left"][0]["why"]
    assert desk.small.broker.orders == []


def test_without_the_ledger_nothing_is_asked_for(desk: MemoryDesk) -> None:
    hold(desk, AGENT_ACCOUNT)
    desk.log.refuses = LedgerWriteError("the disk is full")
    with pytest.raises(LedgerWriteError):
        flatten(desk.small.desk, ADA, asked())
    assert desk.small.broker.orders == []


def test_a_second_flatten_asks_for_nothing_twice(desk: MemoryDesk) -> None:
    hold(desk, AGENT_ACCOUNT)
    flatten(desk.small.desk, ADA, asked())
    again = flatten(desk.small.desk, ADA, asked())
    assert again["orders"] == []
    assert len(desk.small.broker.orders) == 1


def test_the_pages_button_only_tells_until_its_box_is_ticked(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    hold(desk, AGENT_ACCOUNT)
    pages = page_desk(tmp_path, desk)
    told = pages.press("operator", "/stops/flatten", reason="risk off")
    assert "would ask for: sell 40 SPXN" in told
    assert desk.small.broker.orders == []
    assert "approved" in pages.press("operator", "/stops/flatten", reason="risk off", sure="yes")
    assert len(desk.small.broker.orders) == 1
