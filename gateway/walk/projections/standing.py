"""Where one decision and its order stand.

Not here: the fold that gives it (`outbox`).
"""

from dataclasses import dataclass
from enum import StrEnum

from audit.records.record import Record
from gateway.walk.journal.contents import Fill


class Stage(StrEnum):
    """How far a decision has come."""

    OPEN = "open"
    HELD = "held"
    APPROVED = "approved"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    CLOSED = "closed"
    SEALED = "sealed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BookedTrade:
    """One trade of an order: `fill` as last corrected, or None once it was busted.

    `seq` is the record that booked it. `exec_ids` has its own ExecID, then its corrections'.
    """

    seq: int
    exec_ids: tuple[str, ...]
    fill: Fill | None

    @property
    def lots(self) -> int:
        """Its lots; 0 once it was busted."""
        return 0 if self.fill is None else self.fill.qty_lots


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One decision and its order.

    Attributes:
        approving: the approving verdict, whose leaf names the order.
        order_state: name of an `OrderState`.
        report_status: the last reported OrdStatus (39), or None.
        seals: how often the decision was sealed; a bust can reopen its order.
    """

    decision_id: str
    account: str = ""
    stage: Stage = Stage.OPEN
    approving: Record | None = None
    verdict: Record | None = None
    sending: Record | None = None
    cl_ord_id: str = ""
    order_state: str = "INTENT"
    filled_lots: int = 0
    report_status: str | None = None
    sealed: bool = False
    seals: int = 0
    trades: tuple[BookedTrade, ...] = ()

    def trade(self, exec_id: str) -> BookedTrade | None:
        """Return the trade that an ExecID names, its own or a correction's; None if unknown."""
        return next((t for t in reversed(self.trades) if exec_id and exec_id in t.exec_ids), None)
