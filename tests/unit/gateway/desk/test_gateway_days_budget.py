"""What a key has used of its day: the larger worth while a replace is open, and until a new day."""

from dataclasses import replace
from typing import Any, Literal

import pytest

from fix.session.link import HandResult
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.desk.bodies.requests import IntentRequest
from gateway.errors import OutOfScopeError, OverBudgetError
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import KeyScope
from gateway.walk.journal.run import mark_taken
from gateway.walk.journal.standing import Standing, Terms
from gateway.walk.projections.asked import terms_of
from risk.intent import Side
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.small_desk import RUN

ACCOUNT = f"{RUN}.one"
QUIET = {"t32": "0", "t31": "0"}


@pytest.fixture
def caller(desk: MemoryDesk) -> Caller:
    scope = KeyScope(
        instruments=("SPXN", "NDXN"),
        sides=(Side.BUY,),
        order_notional_max_minor=1 << 50,
        day_notional_max_minor=1 << 50,
        intents_per_minute=600,
        expires_us=1 << 52,
        account="one",
    )
    token = desk.small.keyring.issue("desk-1", Role.AGENT, scope=scope)
    found = desk.small.keyring.authenticate(token)
    assert found is not None
    return found


def used(desk: MemoryDesk) -> int:
    """Return what the next order of the key would find used."""
    scopes = desk.small.desk.scopes
    scopes._catch_up()  # noqa: SLF001 - as every look does
    return scopes._mandates.used_minor("desk-1")  # noqa: SLF001


def working(desk: MemoryDesk, caller: Caller) -> Standing:
    wanted = IntentRequest(
        client_key="a", instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=40
    )
    order = desk.standing(desk.small.desk.submit(caller, wanted).decision_id)
    quantity = terms_of(order).quantity
    desk.settled(desk.report(order, **QUIET, t150="0", t39="0", t14="0", t151=quantity))
    return desk.standing(order.decision_id)


def worth(desk: MemoryDesk, terms: Terms) -> int:
    return terms.qty_lots * terms.limit_ticks * desk.small.desk.own.instruments["SPXN"].unit_minor


def asked(desk: MemoryDesk, caller: Caller, order: Standing, key: str, **wanted: Any) -> Standing:  # noqa: ANN401 - any term
    request = ReplaceRequest.model_validate({"client_key": key, **wanted})
    assert desk.small.desk.order_desk.replace(caller, order.cl_ord_id, request).result == "sent"
    return desk.standing(order.decision_id)


def ended(desk: MemoryDesk, order: Standing, *, confirmed: bool) -> None:
    now = desk.standing(order.decision_id)
    one = now.replaces[-1]
    if confirmed:
        fields = {"t11": one.replace_id, "t41": one.orig_name, "t38": one.terms.quantity}
        fields |= {"t150": "5", "t39": "0", "t14": "0", "t151": one.terms.quantity}
        desk.settled(desk.report(now, **(QUIET | fields)))
        return
    fields_9 = {49: "EMSSIM", 56: "COUNTERSIGN", 34: "999", 52: "20180102-15:00:00", 37: "X1"}
    fields_9 |= {11: one.replace_id, 41: one.orig_name, 39: "0", 434: "2", 102: "3"}
    desk.settled(framed("9", tuple(fields_9.items())))


@pytest.mark.parametrize("confirmed", [True, False], ids=["replaced", "rejected"])
@pytest.mark.parametrize("more", [25, -15], ids=["raises", "reduces"])
def test_the_larger_worth_counts_until_the_broker_answers(
    desk: MemoryDesk, caller: Caller, *, more: int, confirmed: bool
) -> None:
    order = working(desk, caller)
    before = terms_of(order)
    assert used(desk) == worth(desk, before)
    order = asked(desk, caller, order, "r", qty_lots=before.qty_lots + more)
    after = order.replaces[-1].terms
    assert used(desk) == max(worth(desk, before), worth(desk, after))
    ended(desk, order, confirmed=confirmed)
    assert used(desk) == worth(desk, after if confirmed else before)


def test_an_open_replace_keeps_another_order_out_of_the_budget(
    desk: MemoryDesk, caller: Caller
) -> None:
    order = working(desk, caller)
    lots = terms_of(order).qty_lots
    order = asked(desk, caller, order, "r", qty_lots=3 * lots)
    assert caller.scope is not None
    left = worth(desk, terms_of(order)) // 2  # beside the larger worth; beside the old, 2.5 fit
    scope = caller.scope.model_copy(update={"day_notional_max_minor": used(desk) + left})
    token = desk.small.keyring.issue("desk-1", Role.AGENT, scope=scope)
    narrow = desk.small.keyring.authenticate(token)
    assert narrow is not None
    wanted = IntentRequest(
        client_key="b", instrument="SPXN", target_exposure_bp=3_000, max_qty_lots=lots
    )
    with pytest.raises(OverBudgetError, match="day_notional"):
        desk.small.desk.submit(narrow, wanted)


@pytest.mark.parametrize("bound", ["order_notional", "day_notional"])
@pytest.mark.parametrize("room", [0, -1], ids=["fits", "does_not"])
@pytest.mark.parametrize(("more", "ticks"), [(10, 0), (0, 3), (10, 3), (10, -3), (-10, 3)])
def test_a_raise_is_held_against_the_scope_with_all_that_it_reserves(
    desk: MemoryDesk, caller: Caller, more: int, ticks: int, room: int, bound: str
) -> None:
    """Until the broker answers both terms may trade, so the larger of each counts."""
    order = working(desk, caller)
    now = terms_of(order)
    most = replace(
        now,
        qty_lots=now.qty_lots + max(more, 0),
        limit_ticks=now.limit_ticks + max(ticks, 0),
    )
    assert caller.scope is not None
    limit = {f"{bound}_max_minor": worth(desk, most) + room}
    scope = caller.scope.model_copy(update=limit)
    narrow = desk.small.keyring.authenticate(
        desk.small.keyring.issue("desk-1", Role.AGENT, scope=scope)
    )
    assert narrow is not None
    price = f"{float(now.price) + ticks / 100:.2f}"
    wanted = {"qty_lots": now.qty_lots + more, "limit_price": price}
    if not room:
        asked(desk, narrow, order, "r", **wanted)
        return
    with pytest.raises(OutOfScopeError, match=bound):
        asked(desk, narrow, order, "r", **wanted)
    assert not desk.standing(order.decision_id).replaces, "nothing is on record"


@pytest.mark.parametrize("outcome", ["refused", "unknown"])
def test_an_order_that_never_left_counts_no_more(
    desk: MemoryDesk, caller: Caller, outcome: Literal["refused", "unknown"]
) -> None:
    told = HandResult(outcome=outcome, reason="throttled")
    desk.small.broker.go = lambda *_: lambda: told  # type: ignore[method-assign]
    wanted = IntentRequest(
        client_key="n", instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=40
    )
    order = desk.standing(desk.small.desk.submit(caller, wanted).decision_id)
    kept = 0 if outcome == "refused" else worth(desk, terms_of(order))
    assert used(desk) == kept, "an order that may have left still counts"


def mark(desk: MemoryDesk, account: str, instrument: str, kind: str, day: str) -> None:
    number = desk.log.size
    desk.log.append(
        mark_taken(
            replace(desk.small.tags, account=account),
            instrument=instrument,
            market_time_us=desk.small.desk.own.market.now_us() + number,
            price_ticks=26_850,
            kind=kind,
            session_index=number,
            session_date=day,
        )
    )


def test_only_the_first_open_of_a_new_day_of_the_account_empties_its_budget(
    desk: MemoryDesk, caller: Caller
) -> None:
    mark(desk, ACCOUNT, "SPXN", "open", "2018-02-01")
    order = working(desk, caller)
    spent = worth(desk, terms_of(order))
    for account, instrument, kind, day in (
        (ACCOUNT, "NDXN", "open", "2018-02-01"),
        (ACCOUNT, "SPXN", "open", "2018-02-01"),
        (ACCOUNT, "SPXN", "close", "2018-02-02"),
        (f"{RUN}.two", "SPXN", "open", "2018-02-02"),
        (RUN, "SPXN", "open", "2018-02-02"),
    ):
        mark(desk, account, instrument, kind, day)
        assert used(desk) == spent, (account, instrument, kind, day)
    mark(desk, ACCOUNT, "NDXN", "open", "2018-02-02")
    assert used(desk) == 0
