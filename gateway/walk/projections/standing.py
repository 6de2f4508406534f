"""Where one decision and its order stand.

Not here: the fold that gives it (`outbox`).
"""

from dataclasses import dataclass
from enum import StrEnum

from audit.records.record import Record
from gateway.walk.journal.contents import Fill


class Stage(StrEnum):
    """How far a decision has come; the names follow the walk."""

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
    """One trade of an order, as it stands now.

    Attributes:
        seq: the record that booked it; busts and corrections name it.
        exec_ids: its own ExecID, then those of its corrections.
        fill: as booked, or as corrected; None once it was taken back.
    """

    seq: int
    exec_ids: tuple[str, ...]
    fill: Fill | None

    @property
    def lots(self) -> int:
        """Its quantity, lots; nothing once it was taken back."""
        return 0 if self.fill is None else self.fill.qty_lots


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One decision's standing.

    Attributes:
        approving: the record whose leaf names the order: the verdict that let it through.
        order_state: the broker's view, FIX OrdStatus name as `fix.orders.state` writes it.
        filled_lots: quantity filled so far, lots.
        report_status: the last OrdStatus (39) reported, or None.
        seals: how often the decision was sealed; a bust may let its order live again.
        trades: what was traded, in the order of the reports.
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
        """Return the trade that an ExecID, or that of one of its corrections, names."""
        return next((t for t in reversed(self.trades) if exec_id and exec_id in t.exec_ids), None)
