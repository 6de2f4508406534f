"""A message of ours that the broker refuses ends the order it names, once, and no other."""

from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from fix.durable.resets import Reset, ResetCause
from fix.session.link import HandResult
from gateway.errors import NotReadyError
from gateway.walk.journal.persons import RAW_MAX
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.sequence import epoch_of, record_resets
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk

HEAD = ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "9"), (52, "20180102-15:00:00"))


def anomalies(records: list[Record]) -> list[tuple[str, str]]:
    return [
        (str(one.body["reason"]), str(one.body["detail"]))
        for one in records
        if one.kind is Kind.FIX_ANOMALY
    ]


def number_of(desk: MemoryDesk, order: Standing) -> str:
    """The MsgSeqNum under which an order left."""
    (sent,) = desk.log.records(stream=f"decision/{order.decision_id}", kinds=(Kind.ORDER_SENT,))
    return str(sent.body["msg_seq_num"])


def business(ref: str, *, of: str = "D", name: str = "", reason: str = "3") -> str:
    named = ((379, name),) if name else ()
    return framed("j", (*HEAD, (45, ref), (372, of), *named, (380, reason), (58, "not here")))


def session(ref: str, *, of: str = "D", reason: str = "5") -> str:
    told = ((372, of),) if of else ()
    return framed("3", (*HEAD, (45, ref), *told, (373, reason), (58, "not so")))


def test_a_reject_ends_the_order_of_its_number_and_no_other(desk: MemoryDesk) -> None:
    first, second, third = desk.rest(20), desk.rest(30), desk.rest(40)
    reserved = desk.reserved()
    assert second.approving is not None
    records = desk.settled(session(number_of(desk, second)), offset=4_321)
    assert anomalies(records) == []
    (ended,) = (one for one in records if one.kind is Kind.ORDER_ENDED)
    assert ended.stream == f"decision/{second.decision_id}"
    told = {name: ended.body[name] for name in ("reason", "order_state", "session", "inbox_offset")}
    assert told == {
        "reason": "3:5",
        "order_state": "REJECTED",
        "session": "EMSSIM",
        "inbox_offset": 4_321,
    }
    assert desk.outcome(second.decision_id) == "rejected_by_broker"
    assert desk.reserved() == reserved - second.approving.body["intent"]["qty_lots"]
    for other in (first, third):
        assert desk.standing(other.decision_id).stage is Stage.SENT
        assert desk.outcome(other.decision_id) == ""


def test_a_business_reject_goes_by_its_name_before_its_number(desk: MemoryDesk) -> None:
    named, numbered = desk.rest(20), desk.rest(30)
    desk.settled(business(number_of(desk, numbered), name=named.cl_ord_id))
    assert desk.outcome(named.decision_id) == "rejected_by_broker"
    assert desk.outcome(numbered.decision_id) == ""
    desk.settled(business(number_of(desk, numbered), name="A NAME THAT NOBODY GAVE"))
    assert desk.outcome(numbered.decision_id) == "rejected_by_broker"


@pytest.mark.parametrize("of", ["D", ""])
def test_a_reject_that_names_no_type_may_be_about_an_order(desk: MemoryDesk, of: str) -> None:
    order = desk.rest()
    desk.settled(session(number_of(desk, order), of=of))
    assert desk.outcome(order.decision_id) == "rejected_by_broker"


@pytest.mark.parametrize("of", ["D", ""])
def test_a_reject_after_a_reset_ends_no_order_of_before(
    desk: MemoryDesk, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number that it names belongs to another message since."""
    before = desk.rest(20)
    number = number_of(desk, before)
    begin_anew(desk, reset_no=1)
    (found,) = anomalies(desk.settled(session(number, of=of)))
    assert found == ("reject_unmatched", f"MsgSeqNum {number} ")
    assert desk.standing(before.decision_id).stage is Stage.SENT
    hand = desk.small.broker.hand
    monkeypatch.setattr(
        desk.small.broker,
        "hand",
        lambda *order: replace(hand(*order), msg_seq_num=int(number), epoch=1),
    )
    after = desk.rest(30)
    desk.settled(session(number, of=of))
    assert desk.outcome(after.decision_id) == "rejected_by_broker"
    assert desk.standing(before.decision_id).stage is Stage.SENT


def begin_anew(desk: MemoryDesk, *, reset_no: int) -> None:
    """Put a new beginning of the session's numbers on record, as the gateway does."""
    one = Reset(
        reset_no=reset_no,
        cause=ResetCause.BY_BROKER,
        allowed=True,
        old_sender=9,
        old_target=8,
        new_sender=1,
        new_target=1,
        at_us=1,
    )
    record_resets(desk.small.ledger, "EMSSIM", "run", [one])
    now = partial(epoch_of, desk.small.reader, "EMSSIM", ())
    desk.small = replace(desk.small, settling=replace(desk.small.settling, epoch=now))


@pytest.mark.parametrize("of", ["F", "H", "q", "AF"])
def test_a_reject_of_another_message_ends_no_order(desk: MemoryDesk, of: str) -> None:
    order = desk.rest()
    for raw in (session(number_of(desk, order), of=of), business(number_of(desk, order), of=of)):
        (found,) = anomalies(desk.settled(raw))
        assert found[0] == "rejected_by_peer"
        assert found[1] in {"not so", "not here"}
    assert desk.standing(order.decision_id).stage is Stage.SENT


def test_the_same_reject_again_ends_nothing_again(desk: MemoryDesk) -> None:
    order = desk.rest()
    raw = session(number_of(desk, order))
    desk.settled(raw)
    again = desk.settled(raw)
    assert [one.kind for one in again] == [Kind.FIX_INBOUND]


def test_a_reject_of_a_filled_order_is_an_alarm(desk: MemoryDesk) -> None:
    order = desk.rest()
    assert order.approving is not None
    total = str(order.approving.body["intent"]["qty_lots"])
    desk.settled(desk.report(order, t32=total, t14=total, t151="0", t39="2"))
    number = number_of(desk, order)
    (found,) = anomalies(desk.settled(session(number)))
    assert found[0] == "reject_unmatched"
    assert number in found[1]
    assert desk.outcome(order.decision_id) == "filled"


def test_a_number_that_nobody_used_is_an_alarm_once_every_number_is_known(
    desk: MemoryDesk,
) -> None:
    desk.rest()
    (found,) = anomalies(desk.settled(business("999", name="NOBODY")))
    assert found == ("reject_unmatched", "MsgSeqNum 999 NOBODY")


@pytest.mark.parametrize("others", [0, 2])
def test_while_one_order_has_no_number_yet_an_unknown_number_waits(
    desk: MemoryDesk, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One order is being handed out, others rest: the reject may be about the one."""
    for place in range(others):
        desk.rest(20 + 10 * place)
    raw = session("77")
    met: list[int] = []
    hand = desk.small.broker.hand

    def answered_at_once(*order: object) -> HandResult:
        size = desk.log.size
        with pytest.raises(NotReadyError, match="number"):
            desk.settled(raw, offset=70)
        met.append(desk.log.size - size)
        return replace(hand(*order), msg_seq_num=77)  # type: ignore[arg-type]

    monkeypatch.setattr(desk.small.broker, "hand", answered_at_once)
    order = desk.rest(90)
    assert met == [0], "nothing is on record of it yet, so it is settled again later"
    desk.settled(raw, offset=70)
    assert desk.outcome(order.decision_id) == "rejected_by_broker"


@pytest.mark.parametrize("more", [0, 1, 1_000_000])
def test_a_message_too_long_for_its_record_is_kept_beside_it(desk: MemoryDesk, more: int) -> None:
    raw = "x" * (RAW_MAX + more)
    inbound, alarm, *_ = desk.settled(raw, offset=5)
    assert (inbound.kind, alarm.kind) == (Kind.FIX_INBOUND, Kind.FIX_ANOMALY)
    assert len(alarm.body["raw"]) == RAW_MAX
    whole = sha256(raw.encode()).hexdigest()
    assert inbound.body["digest"] == whole
    fits = more < 1_000_000
    assert len(inbound.body["raw"]) == (len(raw) if fits else RAW_MAX)
    assert desk.log.blob(whole) == (None if fits else raw.encode())
    assert alarm.body["reason"] == ("unreadable" if fits else "unbookable")
