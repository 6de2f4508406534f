"""What is made while a commit is under way is used for that record and moment, or not at all."""

from dataclasses import replace

import pytest

from audit.records.kinds import Kind
from gateway.walk.dispatch import READY_US, dispatch, foresee
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.outbox import Orders
from tests.doubles.memory_desk import MemoryDesk


def foreseen(desk: MemoryDesk) -> Standing:
    """Leave an approved order whose fields were made while its verdict was committed."""
    standing = desk.approved()
    assert standing.approving is not None
    own = desk.small.desk.own
    order = own.section.kept.get(standing.approving.leaf)
    assert order is not None
    own.dispatching.ready.clear()
    foresee(order, own.dispatching)
    return standing


def made_at(desk: MemoryDesk) -> str:
    """Return the TransactTime (60) of the order at the broker."""
    ((_, fields),) = desk.small.broker.orders
    return str(fields[60])


@pytest.mark.parametrize(
    ("later_us", "kept"), [(READY_US, True), (READY_US + 1, False), (-1, False)]
)
def test_fields_made_beforehand_are_sent_only_in_their_moment(
    desk: MemoryDesk, *, later_us: int, kept: bool
) -> None:
    standing = foreseen(desk)
    tools = desk.small.desk.own.dispatching
    made_us = tools.wall_us()
    desk.small.desk.own.dispatching.ready.update(
        {leaf: one._replace(made_us=made_us) for leaf, one in tools.ready.items()}
    )
    later = replace(tools, wall_us=lambda: made_us + later_us)
    before = dict(next(iter(tools.ready.values())).fields)[60]
    result = dispatch(standing, later)
    assert result is not None
    assert result.outcome == "sent"
    assert (made_at(desk) == before) is kept
    assert not tools.ready, "used once"


def test_fields_made_for_another_broker_are_made_again(desk: MemoryDesk) -> None:
    standing = foreseen(desk)
    tools = desk.small.desk.own.dispatching
    other = tools.profile.model_copy(update={"account": "THEIRS"})
    assert dispatch(standing, replace(tools, profile=other)) is not None
    ((_, fields),) = desk.small.broker.orders
    assert fields[1] == "THEIRS"


def test_what_was_foreseen_of_a_record_changes_nothing_until_it_is_taken(desk: MemoryDesk) -> None:
    standing = desk.approved()
    orders = Orders()
    orders.fold(desk.log.records(stream=f"decision/{standing.decision_id}"))
    before = orders.get(standing.decision_id)
    assert desk.dispatch(standing) is not None
    (sending,) = desk.log.records(
        stream=f"decision/{standing.decision_id}", kinds=(Kind.ORDER_SENDING,)
    )
    again = Orders()
    again.fold(r for r in desk.log.records() if r.seq < sending.seq)
    again.foresee(sending)
    assert again.get(standing.decision_id) == before
    assert again.take_own(sending)
    after = again.get(standing.decision_id)
    assert after is not None
    assert (after.stage, after.sending) == (Stage.SENDING, sending)
