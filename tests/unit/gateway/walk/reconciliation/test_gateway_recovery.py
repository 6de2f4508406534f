"""What a start finds is brought to its end."""

import pytest

from audit.records.kinds import Kind
from audit.sequencer.ledger import Lane
from fix.session.link import HandResult
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.reconciliation.recovery import close_abandoned, mark_unknown
from tests.doubles.memory_desk import MemoryDesk

MARKET_US = 1_514_905_200_000_000


def closed(desk: MemoryDesk, market_time_us: int = MARKET_US) -> int:
    own = desk.small.desk.own
    return close_abandoned(
        desk.small.ledger, own.orders, own.section.differences, market_time_us=market_time_us
    )


def announced(desk: MemoryDesk) -> Standing:
    """Leave an order that was announced and of whose fate nothing is on record."""
    standing = desk.approved()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(desk.small.broker, "hand", lost)
        with pytest.raises(Lost):
            desk.dispatch(standing)
    return desk.standing(standing.decision_id)


class Lost(Exception):  # noqa: N818 - no error of ours: the process ends here
    """Stands for the end of the process."""


def lost(*_: object) -> HandResult:
    raise Lost


def last_two(desk: MemoryDesk, decision_id: str) -> list[Kind]:
    return desk.kinds(decision_id)[-2:]


def test_a_hold_that_a_start_finds_is_freed_and_sealed(desk: MemoryDesk) -> None:
    name = desk.hold()
    assert desk.reserved() > 0
    assert closed(desk) == 1
    assert desk.outcome(name) == "hold_expired"
    assert last_two(desk, name) == [Kind.RESERVATION_RELEASED, Kind.DECISION_SEALED]
    assert desk.reserved() == 0
    (freed,) = desk.log.of_kind(Kind.RESERVATION_RELEASED)
    assert (freed.body["reason"], freed.body["market_time_us"]) == ("gateway restarted", MARKET_US)


def test_an_approval_that_a_start_finds_is_withdrawn_and_never_sent(desk: MemoryDesk) -> None:
    standing = desk.approved()
    assert closed(desk) == 1
    assert desk.withdrawn(standing.decision_id) == "restart"
    assert desk.outcome(standing.decision_id) == "withdrawn"
    assert (desk.small.broker.orders, desk.reserved()) == ([], 0)


def test_an_order_that_may_live_is_left_to_the_broker(desk: MemoryDesk) -> None:
    order = desk.rest()
    before = desk.log.size
    assert (closed(desk), desk.log.size) == (0, before)
    assert desk.standing(order.decision_id).stage is Stage.SENT


def test_a_decision_without_a_verdict_is_abandoned(desk: MemoryDesk) -> None:
    """The ledger refuses the verdict: the decision was opened and nothing came of it."""
    opened = desk.log.size

    def stop(drafts: tuple[object, ...]) -> None:
        if any(getattr(one, "kind", None) is Kind.VERDICT_GIVEN for one in drafts):
            raise Lost

    desk.log.before = stop
    with pytest.raises(Lost):
        desk.ask()
    desk.log.before = lambda _: None
    (name,) = {
        one.stream.removeprefix("decision/")
        for one in desk.log.records(after_seq=opened - 1)
        if one.stream.startswith("decision/")
    }
    assert closed(desk) == 1
    assert (desk.outcome(name), desk.kinds(name)[-1]) == ("abandoned", Kind.DECISION_SEALED)
    assert closed(desk) == 0, "once is enough"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("2", "filled"), ("4", "cancelled"), ("8", "rejected_by_broker"), ("C", "expired")],
)
def test_an_order_that_ended_unsealed_is_sealed_as_it_ended(
    desk: MemoryDesk, status: str, outcome: str
) -> None:
    order = desk.rest()
    assert order.approving is not None
    total = str(order.approving.body["intent"]["qty_lots"]) if status == "2" else "0"
    fields = {"t39": status, "t150": "F" if status == "2" else status, "t151": "0"}
    raw = desk.report(order, t32=total, t14=total, **fields)

    def stop(drafts: tuple[object, ...]) -> None:
        if any(getattr(one, "kind", None) is Kind.DECISION_SEALED for one in drafts):
            raise Lost

    desk.log.before = stop
    with pytest.raises(Lost):
        desk.settled(raw)
    desk.log.before = lambda _: None
    assert desk.standing(order.decision_id).stage is Stage.CLOSED
    assert closed(desk) == 1
    assert desk.outcome(order.decision_id) == outcome
    assert desk.log.lanes[-1] is Lane.URGENT


def test_what_was_announced_and_never_answered_is_unknown_and_not_sent_again(
    desk: MemoryDesk,
) -> None:
    first, second = announced(desk), announced(desk)
    resting = desk.rest()
    handed = len(desk.small.broker.orders)
    own = desk.small.desk.own
    assert closed(desk) == 0
    assert mark_unknown(desk.small.ledger, own.orders, market_time_us=MARKET_US) == 2
    for one in (first, second):
        now = desk.standing(one.decision_id)
        assert (now.stage, now.order_state) == (Stage.UNKNOWN, "UNKNOWN")
    assert desk.standing(resting.decision_id).stage is Stage.SENT
    assert len(desk.small.broker.orders) == handed
    (told, _) = desk.log.of_kind(Kind.ORDER_UNKNOWN)
    assert told.body["reason"] == "gateway restarted before an answer"
    assert told.body["market_time_us"] == MARKET_US
    assert mark_unknown(desk.small.ledger, own.orders, market_time_us=MARKET_US) == 0
