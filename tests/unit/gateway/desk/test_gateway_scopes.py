"""A scope refuses before any model call, binds what is sent, and its budgets survive a restart."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.agents.baskets import submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.desk.desk import Desk
from gateway.desk.intake.admission import Admission, LineFullError
from gateway.desk.intake.scope import Scopes
from gateway.errors import BusyError, OutOfScopeError, OverBudgetError, ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import KeyScope
from gateway.surfaces.access.refusals import Refusals
from gateway.surfaces.api.app import build_api
from gateway.walk.journal.run import mark_taken
from gateway.walk.section import Section
from risk.intent import Side
from tests.doubles.memory_desk import TABLE, MemoryDesk
from tests.doubles.small_desk import RUN

ACCOUNT = f"{RUN}.one"
SCOPE = KeyScope(
    instruments=("SPXN",),
    sides=(Side.BUY,),
    order_notional_max_minor=3_000_000,
    day_notional_max_minor=5_000_000,
    intents_per_minute=20,
    expires_us=1 << 52,
    account="one",
)
LOTS = 40
MANY = 60


def keyed(desk: MemoryDesk, **changes: Any) -> Caller:  # noqa: ANN401 - any field
    """Return the holder of a key with a scope, as the keyring has it."""
    scope = SCOPE.model_copy(update=changes)
    token = desk.small.keyring.issue("desk-1", Role.AGENT, scope=scope)
    caller = desk.small.keyring.authenticate(token)
    assert caller is not None
    assert caller.scope == scope
    return caller


def ask(desk: MemoryDesk, caller: Caller, key: str = "one", **changes: Any) -> IntentResponse:  # noqa: ANN401 - any field
    fields: dict[str, Any] = {
        "client_key": key,
        "instrument": "SPXN",
        "target_exposure_bp": 2_000,
        "max_qty_lots": LOTS,
    }
    return desk.small.desk.submit(caller, IntentRequest(**{**fields, **changes}))


@pytest.mark.parametrize(
    ("scope", "asked", "bound"),
    [
        ({"instruments": ("NDXN",)}, {}, "instrument"),
        ({"sides": (Side.SELL,)}, {}, "side"),
        ({}, {"target_exposure_bp": -2_000}, "side"),
        ({"order_notional_max_minor": 100_000}, {}, "order_notional"),
        ({"day_notional_max_minor": 100_000}, {}, "day_notional"),
        ({"expires_us": 1}, {}, "expiry"),
    ],
)
def test_beyond_the_scope_is_refused_before_anything_is_on_record(
    desk: MemoryDesk, scope: dict[str, Any], asked: dict[str, Any], bound: str
) -> None:
    caller, size = keyed(desk, **scope), desk.log.size
    with pytest.raises(OutOfScopeError) as refused:
        ask(desk, caller, **asked)
    assert refused.value.bound == bound
    assert all(refused.value.details().values())
    assert desk.log.size == size, "no snapshot, no forecast, no decision"


@pytest.mark.parametrize(
    ("currency", "limit"), [("JPY", "30000"), ("USD", "30000.00"), ("KWD", "30000.000")]
)
def test_a_scope_counts_in_the_money_of_its_book(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch, currency: str, limit: str
) -> None:
    """Repro r22: 30,000 yen are 30,000 minor units, 30,000 dinars are 30,000,000."""
    caller, held = keyed(desk), desk.small.desk.own.section.policy
    changed = held.model_copy(update={"currency": currency})
    monkeypatch.setattr(Section, "policy", property(lambda _: changed))
    lots = {"JPY": 2, "USD": 200, "KWD": 2_000}[currency]  # of 268.37, 2.6837 or 0.26837 each
    with pytest.raises(OutOfScopeError) as refused:
        ask(desk, caller, max_qty_lots=lots, target_exposure_bp=9_000)
    assert refused.value.bound == "order_notional"
    assert refused.value.limit == limit


def test_inside_the_scope_an_order_leaves_and_the_scope_is_on_record_first(
    desk: MemoryDesk,
) -> None:
    caller = keyed(desk)
    assert ask(desk, caller).result == "approved"
    assert ask(desk, caller, "two", max_qty_lots=LOTS + 1).result == "approved"
    (scoped,) = desk.log.of_kind(Kind.AGENT_SCOPED)
    first = desk.log.of_kind(Kind.INTENT_RECEIVED)[0]
    assert caller.scope is not None
    assert scoped.body["scope"] == caller.scope.document()
    assert scoped.body["scope_digest"] == caller.scope.digest == first.body["scope_digest"]
    assert scoped.seq < first.seq


def test_a_scoped_key_trades_in_its_own_account(desk: MemoryDesk) -> None:
    answer = ask(desk, keyed(desk))
    section = desk.small.desk.own.section
    assert desk.standing(answer.decision_id).account == ACCOUNT
    assert section.book(ACCOUNT).deposit_minor == section.book(RUN).deposit_minor
    assert not section.book(f"{RUN}.agent").reservations


@pytest.mark.parametrize("rate", [1, 2])
def test_the_legs_of_a_basket_count_as_so_many_intents(desk: MemoryDesk, rate: int) -> None:
    caller = keyed(desk, intents_per_minute=rate, instruments=("SPXN", "NDXN"))
    legs = [
        IntentRequest(client_key=name, instrument=name, target_exposure_bp=2_000, max_qty_lots=LOTS)
        for name in ("SPXN", "NDXN")
    ]
    request, size = BasketRequest(client_key="whole", legs=legs), desk.log.size
    if rate >= len(legs):
        assert submit_basket(desk.small.desk, caller, request).result == "approved"
        return
    with pytest.raises(OverBudgetError, match="fewer legs") as refused:
        submit_basket(desk.small.desk, caller, request)
    assert refused.value.bound == "rate"
    assert desk.log.size == size


def test_a_scoped_keys_basket_is_named_by_its_own_record_and_replays(desk: MemoryDesk) -> None:
    """The record of the scope comes first in the same append; seeds follow the intents."""
    caller = keyed(desk, instruments=("SPXN", "NDXN"), day_notional_max_minor=1 << 50)
    for key, lots in (("first", LOTS), ("second", LOTS - 1)):
        legs = [
            IntentRequest(
                client_key=f"{key}-{name}",
                instrument=name,
                target_exposure_bp=2_000,
                max_qty_lots=lots,
            )
            for name in ("SPXN", "NDXN")
        ]
        submit_basket(desk.small.desk, caller, BasketRequest(client_key=key, legs=legs))
        received, decided = (
            desk.log.of_kind(kind)[-1] for kind in (Kind.BASKET_RECEIVED, Kind.BASKET_DECIDED)
        )
        assert decided.body["received_seq"] == received.seq
        for decision_id in received.body["legs"]:
            replay(desk.small.reader, desk.small.table, decision_id)


def test_a_basket_beyond_the_days_budget_as_a_whole_is_stopped(desk: MemoryDesk) -> None:
    """Each leg is within it; both are not, and neither leaves."""
    caller = keyed(desk, instruments=("SPXN", "NDXN"), day_notional_max_minor=3_000_000)
    legs = [
        IntentRequest(client_key=name, instrument=name, target_exposure_bp=9_000, max_qty_lots=lots)
        for name, lots in (("SPXN", 80), ("NDXN", 40))
    ]
    answer = submit_basket(desk.small.desk, caller, BasketRequest(client_key="whole", legs=legs))
    assert answer.result == "stopped", answer
    assert (answer.reason or "").startswith("leg 2 may not leave")
    assert not desk.small.broker.orders


def test_the_rate_is_counted_over_records_and_frees_after_a_minute(desk: MemoryDesk) -> None:
    caller = keyed(desk, intents_per_minute=2)
    for key in ("one", "two"):
        ask(desk, caller, key, max_qty_lots=1)
    with pytest.raises(OverBudgetError, match="2 intents a minute"):
        ask(desk, caller, "three", max_qty_lots=1)
    assert ask(desk, caller, "two", max_qty_lots=1).decision_id, (
        "the answer to an earlier key stays"
    )
    desk.wall.ahead_us += 61_000_000
    assert ask(desk, caller, "three", max_qty_lots=1).decision_id


def test_a_rate_survives_a_restart(desk: MemoryDesk) -> None:
    caller = keyed(desk, intents_per_minute=2, intents_at_once=2)
    for key in ("one", "two"):
        ask(desk, caller, key, max_qty_lots=1)
    again = Desk(own=desk.small.desk.own)
    request = IntentRequest(
        client_key="three", instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=1
    )
    with pytest.raises(OverBudgetError, match="2 intents a minute, 2 at once"):
        again.submit(caller, request)


def test_what_led_to_no_record_takes_nothing_of_the_rate(desk: MemoryDesk) -> None:
    caller = keyed(desk, intents_per_minute=1)
    for _ in range(3):
        with pytest.raises(OutOfScopeError, match="NDXN"):
            ask(desk, caller, "other", instrument="NDXN")
    assert ask(desk, caller, "one", max_qty_lots=1).decision_id
    for _ in range(3):
        assert ask(desk, caller, "one", max_qty_lots=1).decision_id, "a repeat takes nothing"


def test_an_agent_that_asks_too_often_is_told_at_once_when_to_come_again(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for no turn, and many refusals are one record."""
    caller = keyed(desk, intents_per_minute=1, intents_at_once=2)
    refusals = Refusals(desk.small.desk.own.tools.ledger, desk.wall)
    api = TestClient(build_api(desk.small.desk, desk.small.keyring, refusals))
    key = {"Authorization": f"Bearer {desk.small.keyring.token(caller.name)}"}
    body = {"instrument": "SPXN", "target_exposure_bp": 2_000, "max_qty_lots": LOTS}

    def asked(client_key: str) -> Any:  # noqa: ANN401 - a response
        return api.post("/v1/intents", json=body | {"client_key": client_key}, headers=key)

    for one in ("a", "b"):
        assert asked(one).status_code == 200
    size = desk.log.size

    def never(*_: object) -> None:
        raise AssertionError("nothing waits, and nothing is read")

    with monkeypatch.context() as held:
        held.setattr(Desk, "handling", never)
        held.setattr(Scopes, "place", never)
        answers = [asked(f"c-{number}") for number in range(MANY)]
    assert {one.status_code for one in answers} == {429}
    assert {1 <= int(one.headers["Retry-After"]) <= 60 for one in answers} == {True}
    assert answers[0].json()["bound"] == "rate"
    assert answers[0].json()["limit"] == "1 intents a minute, 2 at once"
    assert desk.log.size == size
    assert asked("a").status_code == 200, "an answer that is there is told again"
    refusals.flush()
    counted = desk.log.of_kind(Kind.ACCESS_REFUSED)
    assert {one.body["reason"] for one in counted} == {"scope_rate"}
    assert sum(one.body["count"] for one in counted) == MANY
    assert len(counted) <= 2, "one for each minute"


def test_a_full_line_does_not_spare_the_rate_of_who_asks_too_often(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told `busy` without it, an agent at fifty a second is told so for ever, never 429."""
    caller = keyed(desk, intents_per_minute=1, intents_at_once=4)
    ask(desk, caller, "one", max_qty_lots=1)

    def full(*_: object, **__: object) -> None:
        raise LineFullError(1.0)

    monkeypatch.setattr(Admission, "refuse_full", full)
    request = IntentRequest(
        client_key="two", instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=1
    )
    again = request.model_copy(update={"client_key": "one"})
    for _ in range(6):
        with pytest.raises(BusyError):
            desk.small.desk.refuse_early(caller, again)  # a repeat takes nothing
    for _ in range(3):
        with pytest.raises(BusyError):
            desk.small.desk.refuse_early(caller, request)
    with pytest.raises(OverBudgetError):
        desk.small.desk.refuse_early(caller, request)


def test_the_days_notional_survives_a_restart_and_ends_with_the_trading_day(
    desk: MemoryDesk,
) -> None:
    caller = keyed(desk)
    assert ask(desk, caller).result == "approved"
    sold = desk.verdict(desk.small.desk.own.orders.live()[0].decision_id).body["reservation"]
    used = sold["qty_lots"] * sold["limit_ticks"] * sold["unit_minor"]
    small = keyed(desk, day_notional_max_minor=used + 1)
    again = Desk(own=desk.small.desk.own)
    request = IntentRequest(
        client_key="two", instrument="SPXN", target_exposure_bp=2_000, max_qty_lots=LOTS + 1
    )
    with pytest.raises(OverBudgetError, match="next trading day"):
        again.submit(small, request)
    tags = replace(desk.small.tags, account=ACCOUNT)
    desk.log.append(
        mark_taken(
            tags,
            instrument="SPXN",
            market_time_us=desk.small.desk.own.market.now_us(),
            price_ticks=sold["limit_ticks"],
            kind="open",
            session_index=9,
            session_date="2018-02-01",
        )
    )
    assert again.submit(keyed(desk), request).result == "approved"


def test_an_order_that_grew_beyond_the_scope_after_the_forecast_never_leaves(
    desk: MemoryDesk,
) -> None:
    """Two at once: both fit when they ask, only the first fits when it is sent."""
    caller = keyed(desk, day_notional_max_minor=1_500_000)
    other: list[IntentResponse] = []

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.QUOTE_TAKEN:
            desk.log.before = lambda _: None
            other.append(ask(desk, caller, "inner", max_qty_lots=LOTS + 1))

    desk.log.before = before
    outer = ask(desk, caller, "outer")
    assert other[0].result == "approved"
    assert outer.result == "not_sent"
    assert "day_notional" in str(outer.reason)
    assert len(desk.small.broker.orders) == 1


def test_a_key_that_was_replaced_while_its_order_waited_sends_nothing(desk: MemoryDesk) -> None:
    caller = keyed(desk)

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.SNAPSHOT_TAKEN:
            keyed(desk, order_notional_max_minor=1)

    desk.log.before = before
    answer = ask(desk, caller)
    assert answer.result == "not_sent"
    assert "scope of key desk-1 changed" in str(answer.reason)


def test_accounts_of_scoped_keys_are_open_again_after_a_start(desk: MemoryDesk) -> None:
    ask(desk, keyed(desk))
    reader = cast("LedgerReader", desk.log)
    own = replace(desk.small.desk.own, reader=reader)
    section = own.section
    section._folds.pop(ACCOUNT)  # noqa: SLF001 - as a new process finds it
    Desk(own=own).scopes.open_accounts()
    assert ACCOUNT in section.accounts
    assert section.book(ACCOUNT).reservations


def test_the_api_says_bound_limit_observed_and_what_to_do_next(desk: MemoryDesk) -> None:
    caller = keyed(desk)
    clock: Callable[[], int] = desk.wall
    refusals = Refusals(desk.small.desk.own.tools.ledger, clock)
    api = TestClient(build_api(desk.small.desk, desk.small.keyring, refusals))
    key = {"Authorization": f"Bearer {desk.small.keyring.token(caller.name)}"}
    body = {"client_key": "a", "instrument": "NDXN", "target_exposure_bp": 2_000}
    answer = api.post("/v1/intents", json=body, headers=key)
    assert answer.status_code == 403
    assert answer.json() == {
        "code": "out_of_scope",
        "message": "key desk-1: instrument NDXN is beyond its scope, which allows SPXN;"
        " ask for SPXN",
        "bound": "instrument",
        "limit": "SPXN",
        "observed": "NDXN",
        "next": "ask for SPXN",
    }
    assert api.post("/v1/intents", json=body | {"instrument": "X"}, headers=key).status_code == 400
    refusals.flush()
    found = {(r.body["who"], r.body["reason"]) for r in desk.log.of_kind(Kind.ACCESS_REFUSED)}
    assert found == {("desk-1", "scope_instrument"), ("desk-1", "unknown_instrument")}


def test_an_expired_key_opens_nothing(desk: MemoryDesk) -> None:
    keyed(desk, expires_us=1)
    api = TestClient(build_api(desk.small.desk, desk.small.keyring))
    key = {"Authorization": f"Bearer {desk.small.keyring.token('desk-1')}"}
    answer = api.get("/v1/decisions/any", headers=key)
    assert (answer.status_code, answer.json()["detail"]["code"]) == (403, "key_expired")


def test_a_scoped_decision_replays_in_its_own_account(desk: MemoryDesk) -> None:
    answer = ask(desk, keyed(desk))
    order = desk.standing(answer.decision_id)
    desk.settled(desk.report(order, t39="2", t32=str(LOTS), t14=str(LOTS), t151="0"))
    lines = replay(cast("LedgerReader", desk.log), TABLE, answer.decision_id).lines
    assert "desk-1" in lines[0]


def test_a_scope_that_is_not_on_record_does_not_replay(desk: MemoryDesk) -> None:
    answer = ask(desk, keyed(desk))
    order = desk.standing(answer.decision_id)
    desk.settled(desk.report(order, t39="2", t32=str(LOTS), t14=str(LOTS), t151="0"))
    (scoped,) = desk.log.of_kind(Kind.AGENT_SCOPED)
    desk.log.disavowed = {scoped.seq}
    with pytest.raises(ReplayDiffersError, match="no agent_scoped before it"):
        replay(cast("LedgerReader", desk.log), TABLE, answer.decision_id)
