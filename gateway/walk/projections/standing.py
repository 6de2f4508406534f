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


_LIVE = frozenset({Stage.SENDING, Stage.SENT, Stage.UNKNOWN})


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


class CancelOutcome(StrEnum):
    """How a cancel that somebody asked for ended."""

    NOT_SENT = "not_sent"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCancel:
    """One request to cancel an order; `outcome` is empty until it is over.

    `seq` and `asked_us` are those of the request's record, whose leaf gives `cancel_id`.
    """

    seq: int
    asked_us: int
    cancel_id: str
    requested_by: str
    client_key: str
    reason: str
    outcome: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One decision and its order.

    Attributes:
        approving: the approving verdict, whose leaf names the order.
        order_state: name of an `OrderState`.
        report_status: the last reported OrdStatus (39), or None.
        seals: how often the decision was sealed; a bust can reopen its order.
        broker_id: the broker's OrderID (37), as last reported.
        said_us: when the order's last record was made, wall clock.
        cancels: the requests to cancel its order, oldest first.
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
    broker_id: str = ""
    said_us: int = 0
    cancels: tuple[AskedCancel, ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether its order may be working at the broker."""
        return self.stage in _LIVE

    @property
    def is_doubted(self) -> bool:
        """Whether the broker refused a cancel because the order is over, and has not said how."""
        return self.is_live and any(c.outcome == CancelOutcome.TOO_LATE for c in self.cancels)

    @property
    def open_cancels(self) -> tuple[AskedCancel, ...]:
        """The requests that are not over."""
        return tuple(one for one in self.cancels if not one.outcome)

    def open_cancel(self, cancel_id: str) -> AskedCancel | None:
        """Return the open request whose message has this ClOrdID, or None."""
        return next((one for one in self.open_cancels if one.cancel_id == cancel_id), None)

    def trade(self, exec_id: str) -> BookedTrade | None:
        """Return the trade that an ExecID names, its own or a correction's; None if unknown."""
        return next((t for t in reversed(self.trades) if exec_id and exec_id in t.exec_ids), None)
