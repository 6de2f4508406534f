"""The record of an order that was split across client accounts as it had been sealed.

Not here: what a split must be (`gateway.desk.agents.allocation`).
"""

from collections.abc import Mapping

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents


class OrderAllocated(Contents, frozen=True, kw_only=True):
    """The contents of `order_allocated`; `sealed_seq` is the record that fixed the shares."""

    account: str
    decision_id: str
    sealed_seq: int
    lots: int
    parts: Mapping[str, int]
    allocated_by: str


def order_allocated(split: OrderAllocated) -> Draft:
    """What each client account got, in lots; once for each decision."""
    return Draft(
        stream="control",
        kind=Kind.ORDER_ALLOCATED,
        payload=split.document(),
        actor=f"person:{split.allocated_by}",
        idem_key=f"allocated:{split.decision_id}",
    )
