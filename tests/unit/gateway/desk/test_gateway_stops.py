"""Stops apart from the kill: on record, for every verdict and every announcement after it."""

from collections.abc import Sequence
from typing import cast

import pytest

from audit.errors import LedgerWriteError
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentResponse
from gateway.desk.controls.cancel_all import CancelAll
from gateway.desk.officers import stops as stopping
from gateway.errors import StopRefusedError
from gateway.evidence.replay.replay import replay
from gateway.installation.keys.log_id import log_id
from gateway.walk.projections.stops import Stops, open_cancel_all
from risk.state.state import Stop
from tests.doubles.memory_desk import TABLE, MemoryDesk


def stop(desk: MemoryDesk, which: Stop, by: str = "ada") -> None:
    stopping.begin_stop(desk.small.desk.own, by, which, "a test")


def resume(desk: MemoryDesk, by: str = "ada", **signatures: str) -> None:
    stopping.resume(desk.small.desk.own, by, None, "over", signatures)


def reasons(response: IntentResponse) -> set[str | None]:
    return {one.reason for one in response.rules if one.action == "REJECT"}


def holding(desk: MemoryDesk, lots: int = 50) -> None:
    """Let the agents' book hold what one order bought."""
    order = desk.rest(lots)
    sent = order.sending
    assert sent is not None
    qty = dict(sent.body["fields"])[38]
    desk.settled(desk.report(order, t32=qty, t14=qty, t151="0", t39="2"))
    assert desk.lots() == int(qty)


def test_a_pause_refuses_every_intent_on_record_and_a_replay_agrees(desk: MemoryDesk) -> None:
    stop(desk, Stop.PAUSE)
    response = desk.ask()
    assert (response.result, reasons(response)) == ("rejected", {"ENTRIES_PAUSED"})
    assert desk.verdict(response.decision_id).body["state"]["stops"] == ["pause"]
    assert desk.small.broker.orders == []
    replay(cast("LedgerReader", desk.log), TABLE, response.decision_id)
    resume(desk)
    after = desk.ask()
    assert after.result == "approved"
    assert "stops" not in desk.verdict(after.decision_id).body["state"]
    replay(cast("LedgerReader", desk.log), TABLE, after.decision_id)


def test_reduce_only_lets_an_order_out_of_a_position_pass(desk: MemoryDesk) -> None:
    holding(desk)
    stop(desk, Stop.REDUCE_ONLY)
    grows = desk.ask(exposure_bp=4_000)
    assert (grows.result, reasons(grows)) == ("rejected", {"DOES_NOT_REDUCE"})
    closes = desk.ask(20, exposure_bp=0)
    assert closes.result == "approved", "it passed the stop, so the stop does not hold it back"
    assert len(desk.small.broker.orders) == 2
    for one in (grows, closes):
        replay(cast("LedgerReader", desk.log), TABLE, one.decision_id)


@pytest.mark.parametrize("which", [one for one in Stop if one is not Stop.SECURE])
def test_an_order_approved_before_a_stop_is_withdrawn(desk: MemoryDesk, which: Stop) -> None:
    standing = desk.approved()
    stop(desk, which)
    assert desk.dispatch(standing) is None
    assert desk.withdrawn(standing.decision_id) == f"stop_{which}"
    assert desk.small.broker.orders == []


def test_an_order_announced_after_a_stop_is_not_handed_out(desk: MemoryDesk) -> None:
    """The stop is recorded between the last look and the announcement."""
    standing = desk.approved()

    def before(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.ORDER_SENDING for one in drafts):
            desk.log.before = lambda _: None
            stop(desk, Stop.PAUSE)

    desk.log.before = before
    result = desk.dispatch(standing)
    assert result is not None
    assert (result.outcome, result.reason) == ("refused", "stop_pause")
    assert desk.small.broker.orders == []
    assert desk.outcome(standing.decision_id) == "refused"
    begun, sending = (desk.log.of_kind(k)[0].seq for k in (Kind.STOP_BEGUN, Kind.ORDER_SENDING))
    assert begun < sending


def test_a_stop_that_is_being_recorded_holds_orders_back_already(desk: MemoryDesk) -> None:
    stops = desk.small.desk.own.section.stops
    standing = desk.approved()
    with stops.beginning(Stop.REDUCE_ONLY):
        assert stops.in_force() == (), "no verdict rests on what is not on record"
        assert desk.dispatch(standing) is None
    assert desk.withdrawn(standing.decision_id) == "stop_reduce-only"


def test_a_stop_that_the_ledger_refuses_is_not_in_force(desk: MemoryDesk) -> None:
    desk.log.refuses = LedgerWriteError("the disk is full")
    with pytest.raises(LedgerWriteError):
        stop(desk, Stop.PAUSE)
    desk.log.refuses = None
    assert desk.small.desk.own.section.stops.state == "ready"
    assert desk.ask().result == "approved"


def test_the_one_who_pressed_resumes_and_nobody_else_without_an_officer(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    stop(desk, Stop.PAUSE, by="ada")
    with pytest.raises(StopRefusedError, match="pressed by ada, and you are bob"):
        resume(desk, by="bob")
    to_sign = stopping.stops_state(own)["to_sign"].encode()
    for role in ("risk", "compliance"):
        signature = signature_of(desk, role, to_sign + b"and more")
        with pytest.raises(StopRefusedError, match="pressed by ada"):
            resume(desk, by="bob", **{role: signature})
    resume(desk, by="bob", risk=signature_of(desk, "risk", to_sign))
    assert own.section.stops.in_force() == ()
    (ended,) = desk.log.of_kind(Kind.STOP_ENDED)
    assert ended.body["log_id"] == log_id(own.reader, own.origin)
    assert set(ended.body["signatures"]) == {"risk"}
    with pytest.raises(StopRefusedError, match="no such stop"):
        resume(desk)


def signature_of(desk: MemoryDesk, role: str, signed: bytes) -> str:
    return desk.small.desk.own.keyring.signing_key(role).sign(signed).hex()


def test_a_signature_ends_the_stops_that_it_names_and_no_later_one(desk: MemoryDesk) -> None:
    stop(desk, Stop.PAUSE)
    signed = stopping.stops_state(desk.small.desk.own)["to_sign"].encode()
    signature = signature_of(desk, "compliance", signed)
    resume(desk, by="bob", compliance=signature)
    stop(desk, Stop.PAUSE)
    with pytest.raises(StopRefusedError, match="pressed by ada"):
        resume(desk, by="bob", compliance=signature)


def test_two_presses_of_one_stop_end_each_by_itself(desk: MemoryDesk) -> None:
    stop(desk, Stop.PAUSE, by="ada")
    stop(desk, Stop.PAUSE, by="bob")
    with pytest.raises(StopRefusedError, match="pressed by bob"):
        resume(desk, by="ada")
    assert desk.small.desk.own.section.stops.in_force() == (Stop.PAUSE,)


def test_one_sort_of_stop_is_resumed_and_the_other_stays(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    for which in (Stop.PAUSE, Stop.REDUCE_ONLY):
        stop(desk, which)
    stopping.resume(own, "ada", Stop.PAUSE, "over", {})
    assert own.section.stops.in_force() == (Stop.REDUCE_ONLY,)


def test_a_restart_forgets_no_stop_and_readiness_shows_it(desk: MemoryDesk) -> None:
    stop(desk, Stop.PAUSE)
    again = Stops(desk.log)
    again.read(desk.log.size)
    assert again.in_force() == (Stop.PAUSE,)
    assert again.open() == desk.small.desk.own.section.stops.open()
    assert desk.small.desk.parts()["stops"].startswith("pause in force")


def test_a_hold_that_is_answered_while_paused_is_refused(desk: MemoryDesk) -> None:
    held = desk.hold()
    stop(desk, Stop.PAUSE)
    assert desk.answer(held) == "rejected"
    assert desk.small.broker.orders == []


def test_cancelling_everything_is_on_record_before_the_sweep_and_after_it(
    desk: MemoryDesk,
) -> None:
    own = desk.small.desk.own
    order = desk.rest().cl_ord_id
    assert own.cancel_all is not None
    asked = stopping.cancel_all(own, "ada", "end of the day")
    assert (asked["live"], desk.small.broker.sweeps) == ([order], 1)
    (record,) = desk.log.of_kind(Kind.CANCEL_ALL_ASKED)
    assert record.body["live"] == [order]
    for _ in range(2):  # the second sweep was nobody's request
        own.cancel_all.record_outcome(confirmed=[order], unknown=[], still_open=[])
    (outcome,) = desk.log.of_kind(Kind.CANCEL_ALL_OUTCOME)
    assert outcome.body["cancel_id"] == record.body["cancel_id"]
    assert outcome.body["confirmed"] == [order]
    assert desk.ask().result == "approved", "it stops nothing"


def test_nothing_is_cancelled_that_is_not_on_record(desk: MemoryDesk) -> None:
    desk.log.refuses = LedgerWriteError("the disk is full")
    with pytest.raises(LedgerWriteError):
        stopping.cancel_all(desk.small.desk.own, "ada", "end of the day")
    assert desk.small.broker.sweeps == 0


def test_a_child_that_takes_no_sweep_is_said(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    assert own.cancel_all is not None
    own.cancel_all.sweep = lambda: False
    with pytest.raises(StopRefusedError, match="nothing is cancelled yet"):
        stopping.cancel_all(own, "ada", "end of the day")


def test_a_request_that_no_sweep_ended_goes_on_from_its_record(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    order = desk.rest().cl_ord_id
    assert own.cancel_all is not None
    own.cancel_all.sweep = lambda: False
    with pytest.raises(StopRefusedError, match="goes on when the session is back"):
        stopping.cancel_all(own, "ada", "end of the day")
    (record,) = desk.log.of_kind(Kind.CANCEL_ALL_ASKED)
    swept: list[tuple[str, ...]] = []

    def again(names: Sequence[str]) -> bool:
        swept.append(tuple(names))
        return True

    found = open_cancel_all(own.reader)
    assert found is not None
    assert (found.cancel_id, found.live) == (record.body["cancel_id"], (order,))
    later = CancelAll(own.tools.ledger, lambda: True, list, again, found)
    desk.rest()
    later.go_on()
    assert swept == [(order,)], "an order that came later is not cancelled"
    later.record_outcome(confirmed=[order], unknown=[], still_open=[])
    assert open_cancel_all(own.reader) is None
    later.go_on()
    assert swept == [(order,)], "over is over"


def test_a_request_without_an_order_ends_at_the_next_logon(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    assert own.cancel_all is not None
    stopping.cancel_all(own, "ada", "end of the day")
    own.cancel_all.go_on()
    (outcome,) = desk.log.of_kind(Kind.CANCEL_ALL_OUTCOME)
    assert outcome.body["confirmed"] == []
    own.cancel_all.go_on()
    assert len(desk.log.of_kind(Kind.CANCEL_ALL_OUTCOME)) == 1


def test_a_drill_is_on_record_with_its_times_and_stops_nothing(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    assert own.drills is not None
    before = own.word.read()
    told = own.drills.drill("ada", "monthly")
    (record,) = desk.log.of_kind(Kind.KILL_DRILLED)
    body = record.body
    assert body["pressed_us"] <= body["durable_us"] <= body["confirmed_us"]
    assert (told["confirmed"], own.word.read()) == (True, before)
    assert "by ada" in own.drills.newest
    assert desk.ask().result == "approved"
    assert desk.log.of_kind(Kind.KILL_PRESSED) == []


def test_a_drill_that_is_not_answered_says_so(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = desk.small.desk.own
    assert own.drills is not None
    monkeypatch.setattr(desk.small.broker, "drill", lambda: False)
    assert own.drills.drill("ada", "monthly")["confirmed"] is False
    (record,) = desk.log.of_kind(Kind.KILL_DRILLED)
    assert "confirmed_us" not in record.body
    assert "did not answer in time" in own.drills.newest
