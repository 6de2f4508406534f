"""What an agent asks for becomes one decision, his own, and what it rests on is on record first."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from fix.session.link import HandResult
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.admission import AT_ONCE, EACH_MAX, Waiting
from gateway.errors import BusyError, RequestError, UndecidedError, UnknownDecisionError
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.journal.control.difference import DifferenceCause, Found, book_difference
from gateway.walk.ports import Tick
from tests.doubles.fix_world import until
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, APPROVER, MemoryDesk
from tests.doubles.small_desk import RUN

OTHER = Caller(name="other", role=Role.AGENT)


def request(key: str = "one", **changes: Any) -> IntentRequest:  # noqa: ANN401 - any field
    fields: dict[str, Any] = {
        "client_key": key,
        "instrument": "SPXN",
        "target_exposure_bp": 2_000,
        "max_qty_lots": 40,
    }
    return IntentRequest(**{**fields, **changes})


def test_the_same_key_again_is_the_same_decision_and_no_second_order(desk: MemoryDesk) -> None:
    first = desk.small.desk.submit(AGENT, request())
    assert first.result == "approved"
    size = desk.log.size
    assert desk.small.desk.submit(AGENT, request()) == first
    assert (len(desk.small.broker.orders), desk.log.size) == (1, size)


def test_a_retry_while_the_order_is_handed_out_is_told_to_ask_again(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed, answered, go = threading.Event(), threading.Event(), desk.small.broker.go

    def slow(*order: Any) -> Callable[[], HandResult]:  # noqa: ANN401 - as `go`
        wait = go(*order)

        def answer() -> HandResult:
            handed.set()
            assert answered.wait(30)
            return wait()

        return answer

    monkeypatch.setattr(desk.small.broker, "go", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(desk.small.desk.submit, AGENT, request())
        assert handed.wait(30)
        with pytest.raises(UndecidedError, match="being handed out; ask again") as told:
            desk.small.desk.submit(AGENT, request())
        assert told.value.retry_after_s == 1
        answered.set()
        assert first.result().result == "approved"
    assert desk.small.desk.submit(AGENT, request()) == first.result()


@pytest.mark.parametrize(
    "changes", [{"max_qty_lots": 41}, {"target_exposure_bp": 2_001}, {"instrument": "NDXN"}]
)
def test_a_key_that_was_used_for_something_else_is_refused(
    desk: MemoryDesk, changes: dict[str, Any]
) -> None:
    desk.small.desk.submit(AGENT, request())
    size = desk.log.size
    with pytest.raises(RequestError, match="another request"):
        desk.small.desk.submit(AGENT, request(**changes))
    assert (len(desk.small.broker.orders), desk.log.size) == (1, size)


def test_a_key_is_its_callers_own(desk: MemoryDesk) -> None:
    desk.small.keyring.issue(OTHER.name, OTHER.role)
    first = desk.small.desk.submit(AGENT, request())
    second = desk.small.desk.submit(OTHER, request(max_qty_lots=41))
    assert first.decision_id != second.decision_id
    assert len(desk.small.broker.orders) == 2


@pytest.fixture
def standing_still(desk: MemoryDesk) -> Iterator[threading.Event]:
    """Let the ledger take no request until the event is set."""
    going = threading.Event()

    def before(drafts: tuple[Draft, ...]) -> None:
        if drafts[0].kind is Kind.INTENT_RECEIVED:
            assert going.wait(30)

    desk.log.before = before
    yield going
    going.set()


def test_who_does_not_fit_in_line_is_told_at_once_and_everybody_in_it_is_served(
    desk: MemoryDesk, standing_still: threading.Event
) -> None:
    """Repro sec_starve: one agent's flood kept every other one out."""
    desk.small.keyring.issue(OTHER.name, OTHER.role)
    own = desk.small.desk
    with ThreadPoolExecutor(AT_ONCE + EACH_MAX + 1) as pool:
        asked = [
            pool.submit(own.submit, AGENT, request(f"k{n}", max_qty_lots=40 + n))
            for n in range(AT_ONCE + EACH_MAX)
        ]
        until(lambda: own.load().waiting.queue == EACH_MAX)
        with pytest.raises(BusyError, match="desk is busy with other intents: try again") as busy:
            own.submit(AGENT, request("one-more"))
        assert busy.value.retry_after_s >= 1
        other = pool.submit(own.submit, OTHER, request(max_qty_lots=70))
        until(lambda: own.load().waiting.queue == EACH_MAX + 1)
        standing_still.set()
        judged = [one.result().result for one in (*asked, other)]
    judged.append(own.submit(AGENT, request("one-more")).result)
    assert set(judged) <= {"approved", "rejected"}, "each has a verdict"
    assert "approved" in judged
    assert own.load().waiting == Waiting(handled=0, queue=0, oldest_s=0.0, needs_s=0.0)


def test_one_decision_of_an_account_at_a_time_goes_from_its_book_to_its_verdict(
    desk: MemoryDesk,
) -> None:
    """Two at once: the other one's order would be in the book, and not in the joint paths."""
    section = desk.small.desk.own.section

    def of_kind(kind: Kind) -> int:
        return len(desk.log.of_kind(kind))

    with ThreadPoolExecutor(1) as pool:
        with section.deciding(AGENT_ACCOUNT):
            asked = pool.submit(desk.small.desk.submit, AGENT, request())
            until(lambda: of_kind(Kind.FORECAST_TAKEN) == 1)
            with section.deciding("another"):
                assert of_kind(Kind.QUOTE_TAKEN) == 0
        assert asked.result().result == "approved"
    assert of_kind(Kind.QUOTE_TAKEN) == 1


def test_an_intent_that_fails_leaves_its_place(desk: MemoryDesk) -> None:
    for _ in range(AT_ONCE + 1):
        with pytest.raises(RequestError, match="unknown instrument"):
            desk.small.desk.submit(AGENT, request(instrument="NOBODY"))
    assert desk.small.desk.submit(AGENT, request()).result == "approved"


def test_agents_trade_in_an_account_of_their_own(desk: MemoryDesk) -> None:
    order = desk.rest()
    assert order.account == AGENT_ACCOUNT
    own = desk.small.desk.own.section
    assert (len(own.book(AGENT_ACCOUNT).reservations), len(own.book(RUN).reservations)) == (1, 0)


def test_a_forecasts_seed_is_drawn_from_before_its_opening_and_once(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    own = desk.small.desk.own
    drawn = own.tools.seed_root

    def seed_root(opened_seq: int) -> tuple[bytes, int]:
        asked.append(opened_seq)
        return drawn(opened_seq)

    monkeypatch.setattr(
        desk.small.desk, "own", replace(own, tools=replace(own.tools, seed_root=seed_root))
    )
    desk.ask()
    desk.ask()
    (opened,) = desk.log.of_kind(Kind.SNAPSHOT_TAKEN)
    assert asked == [opened.seq]


def test_the_market_is_looked_at_after_the_forecast_stands(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quote of before the forecast would be older than what it is judged with."""
    known: list[set[Kind]] = []
    market = desk.small.desk.own.market
    plain: Callable[[str], Tick] = market.tick

    def tick(instrument: str) -> Tick:
        known.append({one.kind for one in desk.log.records()})
        return plain(instrument)

    monkeypatch.setattr(market, "tick", tick)
    desk.ask()
    assert known
    assert all(Kind.FORECAST_MADE in kinds for kinds in known)
    assert all(Kind.QUOTE_TAKEN not in kinds for kinds in known[:1])


@pytest.mark.parametrize("directional", [True, False])
def test_what_the_agent_says_of_its_intent_stands_in_the_intent(
    desk: MemoryDesk, *, directional: bool
) -> None:
    response = desk.small.desk.submit(AGENT, request(directional=directional))
    intent = desk.verdict(response.decision_id).body["intent"]
    assert (intent["directional"], intent["author"]) == (directional, AGENT.name)
    assert (intent["account"], intent["strategy"]) == (AGENT_ACCOUNT, "agent-exposure")


def test_reading_a_decision_is_on_record_and_a_decision_that_is_none_is_not(
    desk: MemoryDesk,
) -> None:
    decision_id = desk.rest().decision_id
    size = desk.log.size
    for name in ("nobody-knows-it", "a\x00b", ""):
        with pytest.raises(UnknownDecisionError):
            desk.small.desk.decision(name, reader=APPROVER)
    assert desk.log.size == size
    shown = desk.small.desk.decision(decision_id, reader=APPROVER)
    own = [k.value for k in desk.kinds(decision_id)]
    listed = [one["kind"] for one in shown["records"]]
    assert [one for one in listed if one in own] == own
    assert set(listed) - set(own) >= {"snapshot_taken", "forecast_made", "forecast_sealed"}
    (read,) = desk.log.records(after_seq=size - 1)
    assert f"decision/{decision_id}" in read.body.values()


def difference(instrument: str) -> Draft:
    """A difference that a report shows."""
    found = Found(
        cause=DifferenceCause.CUM_QTY,
        account=AGENT_ACCOUNT,
        instrument=instrument,
        cl_ord_id="X",
        book_lots=1,
        broker_lots=2,
    )
    return book_difference(found, session="EMSSIM", source="report", number=1)


@pytest.mark.parametrize(
    ("instrument", "leaves"), [("SPXN", False), ("*", False), ("NDXN", True), ("", True)]
)
def test_what_was_approved_is_not_sent_once_the_book_of_its_instrument_differs(
    desk: MemoryDesk, instrument: str, *, leaves: bool
) -> None:
    order = desk.approved()
    desk.log.append(difference(instrument))
    assert (desk.dispatch(order) is not None) == leaves
    assert len(desk.small.broker.orders) == leaves
    assert ("differs" in desk.withdrawn(order.decision_id)) != leaves


def test_the_state_of_a_kill_is_told_with_the_parts(desk: MemoryDesk) -> None:
    assert desk.small.desk.parts() == {
        "ledger": "ready",
        "desk": "ready",
        "kill": "ready",
        "stops": "ready",
    }
    epoch = desk.small.desk.kill_switch.press(actor="ops", reason="drill").kill_epoch
    assert desk.small.desk.parts()["kill"] == f"in force, epoch {epoch}"


def test_what_an_agent_calls_a_reduction_does_not_go_before_others(
    desk: MemoryDesk, standing_still: threading.Event
) -> None:
    """One who says so each time would keep all others out."""
    desk.small.keyring.issue(OTHER.name, OTHER.role)
    own, order = desk.small.desk, list[str]()
    with ThreadPoolExecutor(AT_ONCE + 2) as pool:
        hands: list[Future[Any]] = [
            pool.submit(own.submit, AGENT, request(f"k{n}")) for n in range(AT_ONCE)
        ]
        until(lambda: own.load().waiting.handled == AT_ONCE)

        def ask(caller: Caller, exposure_bp: int) -> None:
            asked = request("mine", target_exposure_bp=exposure_bp, max_qty_lots=60)
            own.submit(caller, asked)
            order.append(caller.name)

        hands.append(pool.submit(ask, OTHER, 2_000))
        until(lambda: own.load().waiting.queue == 1)
        hands.append(pool.submit(ask, AGENT, 0))
        until(lambda: own.load().waiting.queue == 2)
        line = own.admission._line.in_order()  # noqa: SLF001 - the order before anybody is called
        assert [one.key for one in line] == [OTHER.name, AGENT.name]
        standing_still.set()
        for one in hands:
            one.result()
    assert sorted(order) == sorted([OTHER.name, AGENT.name])
