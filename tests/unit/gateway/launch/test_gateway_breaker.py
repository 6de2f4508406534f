"""The AI circuit breaker: opened by records, it leaves every new order to a person."""

from typing import cast

import pytest

from audit.errors import LedgerWriteError
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.officers import stops as stopping
from gateway.errors import StopRefusedError
from gateway.evidence.replay.replay import replay
from gateway.launch.threads.breaker import BreakerWatch
from gateway.walk.journal.control.modes import digests_registered
from gateway.walk.journal.decision import GATEWAY
from risk.state.state import Stop
from tests.doubles.memory_desk import TABLE, MemoryDesk


def watch(desk: MemoryDesk) -> BreakerWatch:
    own = desk.small.desk.own

    def press(stop: Stop, says: str) -> None:
        if stop not in own.section.stops.in_force():
            stopping.begin_stop(own, GATEWAY, stop, says)

    return BreakerWatch(cast("LedgerReader", desk.log), press)


def failed(desk: MemoryDesk, number: int, reason: str) -> None:
    """Put a forecast on record that failed."""
    desk.log.append(
        Draft(
            stream=f"forecast/FAILED.{number}",
            kind=Kind.FORECAST_FAILED,
            payload={
                "mode": desk.small.tags.mode,
                "reason": reason,
                "detail": "a test",
                "attempt": number,
            },
            actor="gateway",
            idem_key=f"forecast_failed:{number}",
        )
    )


def in_force(desk: MemoryDesk) -> tuple[Stop, ...]:
    return desk.small.desk.own.section.stops.in_force()


def signatures(desk: MemoryDesk, *roles: str) -> dict[str, str]:
    own = desk.small.desk.own
    said = stopping.stops_state(own)["to_sign"].encode()
    return {role: own.keyring.signing_key(role).sign(said).hex() for role in roles}


def test_three_unusable_forecasts_open_it_with_their_figures(desk: MemoryDesk) -> None:
    looking = watch(desk)
    looking.look()
    for number in range(5):
        failed(desk, number, "engine_deadline")
    looking.look()
    assert in_force(desk) == (), "a slow machine is no anomaly of reasoning"
    for number in range(5, 8):
        failed(desk, number, "capture_invalid")
    last = desk.log.size - 1
    looking.look()
    looking.look()
    begun = desk.log.of_kind(Kind.STOP_BEGUN)
    assert [one.body["stop"] for one in begun] == ["breaker", "secure"]
    for one in begun:
        assert one.actor == GATEWAY
        assert one.body["reason"] == (
            f"unusable: 3 of the last 3 forecasts did not follow from their record (record {last})"
        )
    assert in_force(desk) == (Stop.BREAKER, Stop.SECURE)


def test_what_was_there_before_the_start_opens_nothing(desk: MemoryDesk) -> None:
    for number in range(4):
        failed(desk, number, "capture_invalid")
    looking = watch(desk)
    looking.look()
    assert in_force(desk) == ()
    failed(desk, 5, "forecast_invalid")
    looking.look()
    assert in_force(desk) == (Stop.BREAKER, Stop.SECURE), "the next one completes the pattern"


def test_a_stop_that_the_ledger_refuses_is_tried_again(desk: MemoryDesk) -> None:
    looking = watch(desk)
    looking.look()
    for number in range(3):
        failed(desk, number, "engine_frame")
    desk.log.refuses = LedgerWriteError("refused")
    with pytest.raises(LedgerWriteError):
        looking.look()
    desk.log.refuses = None
    looking.look()
    assert in_force(desk) == (Stop.BREAKER, Stop.SECURE)


def test_another_model_than_the_registered_one_opens_it_once(desk: MemoryDesk) -> None:
    looking = watch(desk)
    looking.look()
    desk.log.append(digests_registered({"model": "00" * 32}, "ada", "a test", number=1))
    run = desk.small.tags.run_id
    engine: dict[str, JSON] = {"manifest": "11" * 32, "engine": {}, "self_test": {}, "run_id": run}
    desk.log.append(
        Draft(
            stream="control",
            kind=Kind.MODEL_LOADED,
            payload=engine,
            actor="engine",
            idem_key="model:test",
        )
    )
    looking.look()
    (begun,) = desk.log.of_kind(Kind.STOP_BEGUN)
    assert begun.body["reason"].startswith("model: 1111111111111111 is loaded")
    own = desk.small.desk.own
    both = signatures(desk, "risk", "compliance")
    stopping.resume(own, "bob", None, "we know", both)
    looking.look()
    assert in_force(desk) == ()


def test_an_open_breaker_leaves_each_new_order_to_a_person(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    assert desk.ask().result == "approved"
    stopping.begin_stop(own, GATEWAY, Stop.BREAKER, "a test")
    response = desk.ask()
    assert response.result == "held"
    assert [one.rule for one in response.rules if one.action == "HOLD"] == ["R29.breaker"]
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
    sent = len(desk.small.broker.orders)
    assert desk.answer(response.decision_id) == "approved"
    assert len(desk.small.broker.orders) == sent + 1
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)


def test_only_both_officers_close_it(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    stopping.begin_stop(own, GATEWAY, Stop.BREAKER, "a test")
    stopping.begin_stop(own, "ada", Stop.PAUSE, "a test")
    for given in ({}, signatures(desk, "risk"), signatures(desk, "compliance")):
        with pytest.raises(StopRefusedError, match="both officers"):
            stopping.resume(own, GATEWAY, None, "over", given)
    stopping.resume(own, "ada", Stop.PAUSE, "over", {})
    stopping.resume(own, "ada", None, "over", signatures(desk, "risk", "compliance"))
    assert in_force(desk) == ()
    assert desk.ask().result == "approved"
