"""The split of an aggregated order across client accounts, sealed before it trades.

An agent names the shares in its intent: they are on record with it, before rules judge and long
before anything trades. When the decision is sealed, the filled lots have exactly one split by
those shares. Any other one is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.booking import AllocationBody
from gateway.desk.parts import DeskParts
from gateway.errors import AllocationRefusedError, UnknownDecisionError
from gateway.walk.journal.control.groups.allocation import OrderAllocated
from gateway.walk.journal.decision import IntentReceived
from gateway.walk.journal.order import OrderReported
from risk.windows.allocation import split


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSplit:
    """What is on record of a decision's split.

    Attributes:
        seq: The record that fixed the shares.
        lots: What its order has traded.
        done: Whether the decision is sealed and its order works no more.
    """

    decision_id: str
    account: str
    seq: int
    shares_bp: Mapping[str, int]
    lots: int
    done: bool

    def parts(self) -> dict[str, int]:
        """Return the only split there is."""
        return split(self.lots, self.shares_bp)

    def document(self) -> dict[str, Any]:
        """Return it for the API."""
        return {
            "decision_id": self.decision_id,
            "sealed_seq": self.seq,
            "shares_bp": dict(self.shares_bp),
            "lots": self.lots,
            "done": self.done,
            "parts": self.parts(),
        }


def sealed_split(reader: LedgerReader, decision_id: str) -> SealedSplit:
    """Return what is on record of a decision's split.

    Raises:
        UnknownDecisionError: there is no such decision.
        AllocationRefusedError: its intent named no shares.
    """
    stream = f"decision/{decision_id}"
    records = list(reader.records(stream=stream, kinds=_KINDS)) if stream.isprintable() else []
    received = next((one for one in records if one.kind is Kind.INTENT_RECEIVED), None)
    if not records:
        raise UnknownDecisionError(problem=f"no decision {decision_id[:64]} of an agent")
    asked = None if received is None else IntentReceived.of(received)
    if received is None or asked is None or not asked.request.get("allocation"):
        raise AllocationRefusedError(
            problem="the intent named no shares: an order is split only as its intent says"
        )
    lots, done = 0, False
    for record in records:
        if record.kind is Kind.DECISION_SEALED:
            done = True
        elif record.kind is Kind.ORDER_REPORTED:
            report = OrderReported.of(record)
            lots += report.last_lots
            done = done and not report.reopens
    shares = {str(one["client"]): int(one["share_bp"]) for one in asked.request["allocation"]}
    return SealedSplit(
        decision_id=decision_id,
        account=asked.account,
        seq=received.seq,
        shares_bp=shares,
        lots=lots,
        done=done,
    )


def allocate(own: DeskParts, actor: str, decision_id: str, body: AllocationBody) -> dict[str, Any]:
    """Put the split of a done order on record, if it is the sealed one.

    Raises:
        AllocationRefusedError: it is another one, or the order is not done, or nothing traded.
        UnknownDecisionError: there is no such decision.
    """
    found = sealed_split(own.reader, decision_id)
    if not found.done or found.lots <= 0:
        raise AllocationRefusedError(problem="the order is not done, or nothing of it traded")
    if dict(body.parts) != found.parts():
        raise AllocationRefusedError(
            problem=f"record {found.seq} sealed another split: {found.parts()} of {found.lots} lots"
        )
    said = OrderAllocated(
        account=found.account,
        decision_id=decision_id,
        sealed_seq=found.seq,
        lots=found.lots,
        parts=found.parts(),
        allocated_by=actor,
    )
    (record,) = own.tools.ledger.append(said.draft())
    return {"seq": record.seq, **found.document()}


_KINDS = (Kind.INTENT_RECEIVED, Kind.ORDER_REPORTED, Kind.DECISION_SEALED)
