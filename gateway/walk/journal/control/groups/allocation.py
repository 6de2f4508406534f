"""The record of an order that was split across client accounts as it had been sealed.

Not here: what a split must be (`gateway.desk.agents.allocation`).
"""

from collections.abc import Mapping

from audit.records.record_kind import Filing, RecordKind


class OrderAllocated(RecordKind, frozen=True, kw_only=True):
    """What each client account got, in lots; once for each decision.

    `sealed_seq` is the record that fixed the shares.
    """

    filing = Filing("control", "allocated:{decision_id}", "person:{allocated_by}")

    account: str
    decision_id: str
    sealed_seq: int
    lots: int
    parts: Mapping[str, int]
    allocated_by: str
