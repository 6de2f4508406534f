"""A silent broker is asked ever less often, and never beyond the budget of a second."""

import itertools
from dataclasses import dataclass, field, replace

import pytest

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from fix.durable.resets import Reset, ResetCause
from fix.session.link import HandResult, SessionState
from fix.wire.messages import Fields
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.reconciliation.asking import (
    FIRST_US,
    LONGEST_US,
    Budget,
    Chaser,
    ended_unheard,
)
from tests.doubles.whole_records import whole

STEP_US = 50_000
HOUR_US = 3_600_000_000


def standing(number: int) -> Standing:
    """Return an order that was announced, with a wall clock that says nonsense."""
    name = f"N{number:05d}"
    fields: list[JSON] = [[35, "D"], [11, name], [55, "SPXN"], [54, "1"], [38, "1"], [1, "acct"]]
    sending = Record(
        seq=number,
        stream=f"decision/{name}",
        stream_seq=0,
        kind=Kind.ORDER_SENDING,
        version=1,
        recorded_at_us=10**17,
        actor="test",
        prev=bytes(32),
        payload_digest=bytes(32),
        header=b"",
        payload=canonical(whole(Kind.ORDER_SENDING, {"fields": fields})),
        leaf=bytes(32),
        idem_key="",
    )
    return Standing(decision_id=name, stage=Stage.SENT, sending=sending, cl_ord_id=name)


@dataclass
class Silent:
    """A broker that says nothing, and a projection of the orders it has."""

    orders: list[Standing]
    state: SessionState = SessionState.READY
    now_us: int = 0
    asked: list[tuple[int, str]] = field(default_factory=list)

    def live(self) -> list[Standing]:
        return self.orders

    def status_request(self, fields: Fields) -> HandResult:
        self.asked.append((self.now_us, dict(fields)[11]))
        return HandResult(outcome="sent")

    def pass_time(self, chaser: Chaser, until_us: int) -> None:
        while self.now_us < until_us:
            self.now_us += STEP_US
            chaser.ask(self.now_us)


def test_a_silent_broker_is_asked_after_twice_the_time_each_time() -> None:
    broker = Silent([standing(1)])
    broker.pass_time(Chaser(broker, broker, Budget(20)), HOUR_US)
    times = [at for at, _ in broker.asked]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert times[0] in range(FIRST_US, FIRST_US + 2 * STEP_US)
    assert gaps[:6] == [2 * FIRST_US << n for n in range(6)]
    assert set(gaps[7:]) == {LONGEST_US}
    assert len(times) < 70, "an hour of half seconds would be 7,200"


@pytest.mark.parametrize(("orders", "per_s"), [(500, 20), (30, 1), (200, 200)])
def test_no_second_has_more_questions_than_the_budget_and_each_order_gets_its_turn(
    orders: int, per_s: int
) -> None:
    broker = Silent([standing(n) for n in range(orders)])
    broker.pass_time(Chaser(broker, broker, Budget(per_s)), 120_000_000)
    times = [at for at, _ in broker.asked]
    for place, at in enumerate(times):
        assert len([t for t in times[place : place + per_s + 1] if t - at < 1_000_000]) <= per_s
    assert {name for _, name in broker.asked} == {s.cl_ord_id for s in broker.orders}


def test_an_order_that_was_reported_or_is_gone_is_asked_for_no_more() -> None:
    broker = Silent([standing(1)])
    chaser = Chaser(broker, broker, Budget(20))
    broker.pass_time(chaser, 1_000_000)
    before = len(broker.asked)
    broker.orders = []
    broker.pass_time(chaser, 60_000_000)
    assert len(broker.asked) == before == 1
    broker.orders = [replace(standing(2), report_status="0"), replace(standing(3), sending=None)]
    broker.pass_time(chaser, 120_000_000)
    assert len(broker.asked) == 1, "one was reported on, one was never announced"


def test_a_session_that_is_down_is_asked_nothing_and_all_is_asked_once_it_is_ready() -> None:
    broker = Silent([standing(1), standing(2)], state=SessionState.RECONCILING)
    chaser = Chaser(broker, broker, Budget(20))
    broker.pass_time(chaser, 60_000_000)
    assert broker.asked == []
    broker.state = SessionState.READY
    broker.pass_time(chaser, 61_000_000)
    assert sorted(name for _, name in broker.asked) == ["N00001", "N00002"]


def reset(at_us: int, cause: ResetCause = ResetCause.BY_BROKER, *, allowed: bool = True) -> Reset:
    return Reset(
        reset_no=1,
        cause=cause,
        allowed=allowed,
        old_sender=9,
        old_target=9,
        new_sender=1,
        new_target=1,
        at_us=at_us,
    )


def ended(number: int, said_us: int) -> Standing:
    return replace(standing(number), stage=Stage.SEALED, sealed=True, said_us=said_us)


def test_orders_that_ended_on_the_day_before_a_reset_are_asked_for() -> None:
    now_us = 100 * HOUR_US
    orders = [
        ended(1, now_us - 25 * HOUR_US),
        ended(2, now_us - 23 * HOUR_US),
        ended(3, now_us - 1),
        ended(4, now_us + 2 * HOUR_US),  # said under the new numbers
        replace(standing(5), said_us=now_us - 1),  # live: asked for anyway
        ended(6, 0),  # nobody ever spoke of it
    ]

    def asked(*resets: Reset) -> list[str]:
        return [one.cl_ord_id for one in ended_unheard(orders, resets)]

    assert asked(reset(now_us)) == ["N00002", "N00003"]
    assert asked(reset(now_us - 40 * HOUR_US), reset(now_us)) == ["N00002", "N00003"]
    assert asked() == []
    assert asked(reset(now_us, allowed=False)) == []
    assert asked(reset(now_us, ResetCause.NIGHTLY)) == [], "another trading day"
    assert asked(reset(now_us, ResetCause.AT_LOGON)) == ["N00002", "N00003"]
